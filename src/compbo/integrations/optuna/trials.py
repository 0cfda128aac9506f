"""The trials of an Optuna study as a history, and what else they say.

Finished trials are evaluations, running ones pending points. A trial says what it will evaluate as soon as that is
decided, in a system attribute, long before its parameters are in the storage one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from optuna.trial import TrialState

from compbo.bo.history import History
from compbo.bo.numbered_point import NumberedPoint
from compbo.evaluation import Evaluation
from compbo.integrations.optuna.conditions import conditional_space
from compbo.space import Space
from compbo.space.convert import on_its_step
from compbo.storage.signature import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

    from compbo.bo.history import Point

POINT = "compbo:point"  # what the trial will evaluate
PLAN = "compbo:plan"  # the joint batch that was made for it and the trials after it
FINAL = "compbo:final"  # the point will not change any more
FIXED = "fixed_params"  # Optuna's: the parameters of an enqueued trial
CONSTRAINTS = "constraints"  # Optuna's: a list, or one attribute "constraints:<key>" per constraint from version 5 on


def publish(storage: BaseStorage, trial_id: int, key: str, data: object) -> None:
    """Write data as attributes of trial `trial_id` in the storage, under `key`, in place of what was there.

    The first piece comes last: it says that the others are there.
    """
    pieces = pack(key, data)
    left_over = [name for name in storage.get_trial(trial_id).system_attrs if name.startswith(f"{key}:")]
    for name, piece in reversed(({**pieces, **{name: "" for name in left_over if name not in pieces}}).items()):
        storage.set_trial_system_attr(trial_id, name, piece)


@dataclass(frozen=True)
class JointBatch:
    """Points that were suggested together: those of the trials anchor, anchor + 1, ..."""

    anchor: int
    points: Sequence[Point]

    def covers(self, number: int) -> bool:
        """Whether it has a point for this trial."""
        return self.anchor <= number < self.anchor + len(self.points)

    def point_of(self, number: int) -> Point:
        """What this trial is to evaluate."""
        return self.points[number - self.anchor]


@dataclass(frozen=True)
class StudyView:
    """What the trials of a study say about one search space."""

    evaluations: Sequence[Evaluation] = ()  # finished trials
    pending: Mapping[int, Point] = field(default_factory=dict)  # by trial number
    final: AbstractSet[int] = frozenset()  # those of them whose point will not change any more
    undecided: AbstractSet[int] = frozenset()  # running, and their points are not known yet
    batches: Sequence[JointBatch] = ()  # planned together
    repeats_allowed: bool = False  # finished trials have parameters outside the space: equal points, different trials

    def history(self, pending: Mapping[int, Point]) -> History:
        """The history with these pending points, by trial number."""
        points = tuple(NumberedPoint(point, number) for number, point in sorted(pending.items()))
        return History(tuple(self.evaluations), points, self.repeats_allowed)


class Announced(NamedTuple):
    """What an unfinished trial will evaluate."""

    point: Point | None  # None: nothing of this space
    final: bool  # whether the point can no longer change
    undecided: bool  # whether the point is unknown yet


class Reader:
    """Reads trials in the terms of one search space.

    Args:
        search_space: distributions by name.
        trials: of the study, which tell what is conditional on what.
    """

    def __init__(self, search_space: Mapping[str, BaseDistribution], trials: Sequence[FrozenTrial] = ()) -> None:
        self._distributions = dict(search_space)
        self.space = conditional_space(Space.from_optuna(self._distributions), trials)

    def view(self, trials: Sequence[FrozenTrial], *, without: int, batches_from: int) -> StudyView:
        """The study as one trial, number `without`, sees it; joint batches of the trials from a number on."""
        others = [trial for trial in trials if trial.number != without]
        finished = [(trial, self._finished_point(trial)) for trial in others if trial.state.is_finished()]
        known = [(trial, point) for trial, point in finished if point is not None]
        completed = _range([t for t in trials if t.state == TrialState.COMPLETE and is_feasible(t)])
        unfinished = [(trial, self._announced(trial)) for trial in others if not trial.state.is_finished()]
        batches = [self._batch(trial) for trial in others if trial.number >= batches_from]
        return StudyView(
            evaluations=[_evaluation(point, trial, completed) for trial, point in known],
            pending={trial.number: found.point for trial, found in unfinished if found.point is not None},
            final={trial.number for trial, found in unfinished if found.point is not None and found.final},
            undecided={trial.number for trial, found in unfinished if found.undecided},
            batches=[batch for batch in batches if batch is not None],
            repeats_allowed=any(self._has_more(trial) for trial, _ in known),
        )

    def _finished_point(self, trial: FrozenTrial) -> Point | None:
        """Its point, or None if one of these parameters has another range there, or is missing without a reason.

        What a completed trial has not asked for has no effect on its value: it stands at its middle.
        """
        there = trial.distributions
        if any(name in there and there[name] != wanted for name, wanted in self._distributions.items()):
            return None
        middle = self.space.middle if trial.state == TrialState.COMPLETE else {}
        return self.point({**middle, **trial.params})

    def _has_more(self, trial: FrozenTrial) -> bool:
        return any(not d.single() for name, d in trial.distributions.items() if name not in self._distributions)

    def _announced(self, trial: FrozenTrial) -> Announced:
        """What an unfinished trial will evaluate."""
        published = unpack(POINT, trial.system_attrs)
        middle = self.space.middle if published else {}  # of parameters that were unknown when it was published
        point = self.point({**middle, **(published or {}), **trial.system_attrs.get(FIXED, {}), **trial.params})
        return Announced(
            point,
            final=bool(trial.system_attrs.get(FINAL)) or published is None,  # without a claim it is not one of ours
            undecided=point is None and published is None and trial.state == TrialState.RUNNING,
        )

    def _batch(self, trial: FrozenTrial) -> JointBatch | None:
        """A joint batch that was made for this space, or for one with more parameters."""
        plan = unpack(PLAN, trial.system_attrs)
        points = [self.point(params) for params in plan["points"]] if plan else []
        usable = [point for point in points if point is not None]
        return JointBatch(plan["anchor"], usable) if usable and len(usable) == len(points) else None

    def point(self, params: Mapping[str, Any]) -> Point | None:
        """The point of these parameters; None if one is missing that is not left out, or does not belong there."""
        known = self.space.filled(params)
        try:
            return self.space.validate(
                {name: on_its_step(known[name], wanted) for name, wanted in self._distributions.items()}
            )
        except (KeyError, ValueError):
            return None


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether no constraint of the trial is above zero."""
    listed = trial.system_attrs.get(CONSTRAINTS) or ()
    keyed = [value for key, value in trial.system_attrs.items() if key.startswith(f"{CONSTRAINTS}:")]
    return all(value <= 0 for value in (*listed, *keyed))


def _range(trials: Sequence[FrozenTrial]) -> tuple[float, float] | None:
    """Lowest and highest finite value."""
    values = [t.value for t in trials if t.value is not None and math.isfinite(t.value)]
    return (min(values), max(values)) if values else None


def _evaluation(point: Point, trial: FrozenTrial, range_of_completed: tuple[float, float] | None) -> Evaluation:
    """What a finished trial is worth.

    Failed and infeasible ones have no value: the optimizer avoids them. A pruned one counts with the last value it
    reported, but within the range of the completed ones: it was not measured to the end.
    """
    if trial.state == TrialState.FAIL:
        return Evaluation(point, None, "failed", trial.number)
    if not is_feasible(trial):
        return Evaluation(point, None, "infeasible", trial.number)
    value = trial.value
    if value is None or not math.isfinite(value):
        reason = "pruned" if trial.state == TrialState.PRUNED else f"the value was {value}"
        return Evaluation(point, None, reason, trial.number)
    if trial.state == TrialState.PRUNED:
        if range_of_completed is None:
            return Evaluation(point, None, "pruned", trial.number)
        low, high = range_of_completed
        return Evaluation(point, min(max(value, low), high), "pruned", trial.number)
    return Evaluation(point, value, number=trial.number)
