"""What the trials of a run say: its records, its history and its telemetry.

A finished trial cannot be changed in an Optuna storage. So what replaces it is another trial that names it, and what
was really used in the place of what was suggested is an attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.bo.history import History
from compbo.bo.numbered_point import NumberedPoint
from compbo.bo.telemetry import Telemetry
from compbo.evaluation import Evaluation
from compbo.records import COMPLETE, FAIL, PRUNED, RUNNING, Record
from compbo.space.convert import on_its_step
from compbo.storage.other_study import point_in
from compbo.storage.signature import unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from optuna.trial import FrozenTrial

    from compbo.space import Space

# System attributes of a trial
ASK = "compbo:ask"  # of the first trial of an ask: its telemetry and the rest of its batch
BATCH = "compbo:batch"  # of the others: the number of the first
USED = "compbo:used"  # the point that was really evaluated, where it is not the suggested one
REPLACES = "compbo:replaces"  # the number of a trial that this one stands for
FORGOTTEN = "compbo:forgotten"  # it will never be evaluated
IMPORTED = "compbo:imported"  # it was evaluated before the run
TRACEBACK = "compbo:traceback"
# User attributes: the dashboard shows them
MESSAGE, VERDICT, SECONDS = "message", "verdict", "seconds"


class Contents(NamedTuple):
    """What a stored run holds: its records in the order of asking, the same as a history, the telemetry of its asks."""

    records: list[Record]
    history: History
    telemetry: list[Telemetry]
    replaced: dict[int, int]  # numbers of trials that do not count any more, and of those that stand for them

    def now(self, number: int) -> int:
        """The number of the trial that stands for this one; itself, if none does."""
        while number in self.replaced:
            number = self.replaced[number]
        return number


def contents_of(space: Space, trials: Sequence[FrozenTrial]) -> Contents:
    """Records, history and telemetry of the trials; the history has what lies in the space (see `point_in`)."""
    records = records_of(trials)
    known = [(record, point) for record in records if (point := point_in(space, record)) is not None]
    history = History(
        tuple(Evaluation(point, r.value, r.message, r.number, r.suggested) for r, point in known if r.state != RUNNING),
        tuple(NumberedPoint(point, r.number) for r, point in known if r.state == RUNNING),
        next_number=len(trials),
    )
    asks = [unpack(ASK, trial.system_attrs) for trial in trials]
    telemetry = [Telemetry.from_dict(ask["telemetry"]) for ask in asks if ask is not None]
    return Contents(records, history, telemetry, _replaced(trials))


def records_of(trials: Sequence[FrozenTrial]) -> list[Record]:
    """The trials that count: not those that wait for a program to take them, were forgotten or replaced."""
    counting = [trial for trial in trials if trial.state.name != "WAITING" and not is_forgotten(trial)]
    replaced = _replaced(trials)
    before = {new: old for old, new in replaced.items()}
    numbered = {trial.number: trial for trial in trials}
    return [_record(t, numbered[_origin(before, t.number)]) for t in counting if t.number not in replaced]


def _origin(before: dict[int, int], number: int) -> int:
    """The number under which the point of a trial was first asked for, or stored."""
    while number in before:
        number = before[number]
    return number


def _replaced(trials: Sequence[FrozenTrial]) -> dict[int, int]:
    """Numbers of replaced trials, with those of what stands for them; what was forgotten replaces nothing."""
    links = {trial.number: trial.system_attrs.get(REPLACES) for trial in trials if not is_forgotten(trial)}
    return {old: new for new, old in links.items() if old is not None}


def is_forgotten(trial: FrozenTrial) -> bool:
    """Whether a trial was withdrawn before it was evaluated."""
    return bool(trial.system_attrs.get(FORGOTTEN)) and trial.state.is_finished()


def _record(trial: FrozenTrial, origin: FrozenTrial) -> Record:
    """A trial as a record. origin: the trial that it stands for, or the same trial."""
    params = unpack(USED, trial.system_attrs) or _suggested(trial)
    was_asked = not origin.system_attrs.get(IMPORTED)
    suggested = _suggested(origin) if was_asked and _suggested(origin) != params else None
    pruned = trial.state.name == "PRUNED"
    return Record(
        trial.number,
        state={"COMPLETE": COMPLETE, "RUNNING": RUNNING, "PRUNED": PRUNED}.get(trial.state.name, FAIL),
        value=trial.value if trial.state.name == "COMPLETE" else None,
        params=params,
        message=str(trial.user_attrs.get(MESSAGE, "pruned" if pruned else "")),
        suggested=suggested,
        traceback=str(unpack(TRACEBACK, trial.system_attrs) or ""),
        asked=_time(trial.datetime_start),
        ended=_time(trial.datetime_complete),
        seconds=_seconds(trial.user_attrs.get(SECONDS)),
    )


def _suggested(trial: FrozenTrial) -> dict[str, Any]:
    return {name: on_its_step(value, trial.distributions[name]) for name, value in trial.params.items()}


def _time(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat(timespec="seconds")


def _seconds(stored: Any) -> float | None:
    """What the user's own programs may have written under that name is not taken for ours."""
    return float(stored) if isinstance(stored, int | float) and not isinstance(stored, bool) else None
