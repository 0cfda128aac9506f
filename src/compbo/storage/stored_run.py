"""A run in an Optuna storage: one study, one trial per evaluation, so that Optuna's own tools can open it.

A point is a RUNNING trial from the moment it is suggested; its end is committed before the next step. The first trial
of every ask carries the telemetry and the rest of its batch, written in one transaction: a batch is there as a whole
or not at all, even if the program was killed in between. Long texts are cut into pieces that every database takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from compbo.evaluation import Outcome
from compbo.records import FAIL
from compbo.space import Float, Space
from compbo.storage.connect import connect
from compbo.storage.lease import Lease
from compbo.storage.load import open_study, signed
from compbo.storage.signature import LONGEST_TEXT, VERSION, check, find_or_create, pack, sign, unpack
from compbo.storage.sqlite import explained
from compbo.storage.trials import (
    ASK,
    BATCH,
    FORGOTTEN,
    IMPORTED,
    MESSAGE,
    REPLACES,
    SECONDS,
    TRACEBACK,
    USED,
    VERDICT,
    Contents,
    contents_of,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from optuna.storages import BaseStorage

    from compbo.bo.settings import Settings
    from compbo.bo.telemetry import Telemetry
    from compbo.evaluation import Evaluation


class StoredRun:
    """The study of one run (study_id in the storage), open for writing by this process alone.

    brief: for a moment only (`compbo ask`, `compbo tell`): others wait for it.
    """

    def __init__(
        self, storage: BaseStorage, study_id: int, space: Space, settings: Settings, *, brief: bool = False
    ) -> None:
        self._storage = storage
        self._study_id = study_id
        self.space = space
        self.settings = settings
        self._distributions = space.to_optuna()
        self._trial_ids: dict[int, int] = {}
        self.lease = Lease(storage, study_id, brief=brief)

    @classmethod
    def open(
        cls,
        storage: str | os.PathLike[str] | BaseStorage | None,
        name: str,
        space: Space,
        settings: Settings,
        *,
        brief: bool = False,
    ) -> StoredRun:
        """A new run, or the one that is there if it was made with the same space and settings.

        brief: it will be closed within moments, so that others may wait for it.
        """
        if storage is not None:
            settings.check_saveable()
        with explained(storage):
            backend = connect(storage, write=True)
            study_id = find_or_create(backend, name, settings.direction)
            check(backend, study_id, name, space, settings)  # before the lease, which writes
            run = cls(backend, study_id, space, settings, brief=brief)
            return run._begin(lambda: sign(backend, study_id, name, space, settings))

    @classmethod
    def reopen(cls, source: str | os.PathLike[str] | BaseStorage, study_name: str | None, *, brief: bool) -> StoredRun:
        """The run that is there, with the space and the settings it was begun with; ValueError if there is none."""
        with explained(source):
            storage, study_id, name = open_study(source, study_name, write=True)
            attributes = storage.get_study_system_attrs(study_id)
            if VERSION not in attributes:
                raise ValueError(f'Study "{name}" was not begun by compbo, which does not write to it.')
            return cls(storage, study_id, *signed(attributes), brief=brief)._begin(lambda: None)

    def _begin(self, prepare: Any) -> StoredRun:
        """Take the run, and complete what was being written when another process was killed."""
        self.lease.acquire()
        try:
            prepare()
            self.complete_last_ask()
        except BaseException:
            self.close()
            raise
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def contents(self) -> Contents:
        """Everything that is stored."""
        trials = self._storage.get_all_trials(self._study_id, deepcopy=False)
        self._trial_ids = {trial.number: trial._trial_id for trial in trials}
        return contents_of(self.space, trials)

    # What is asked for

    def add(self, points: Sequence[Mapping[str, Any]], telemetry: Telemetry) -> list[int]:
        """Store one ask; the numbers of its evaluations."""
        rest = [dict(point) for point in points[1:]]
        first = self._ask(points[0], telemetry.verdict, pack(ASK, {"telemetry": telemetry.to_dict(), "rest": rest}))
        return [first, *(self._ask(point, telemetry.verdict, {BATCH: first}) for point in rest)]

    def complete_last_ask(self) -> None:
        """Create what is missing of a batch that was being stored when the program was killed."""
        trials = self._storage.get_all_trials(self._study_id, deepcopy=False)
        leader = next((trial for trial in reversed(trials) if f"{ASK}:0" in trial.system_attrs), None)
        if leader is not None:
            ask = unpack(ASK, leader.system_attrs)
            stored = sum(trial.system_attrs.get(BATCH) == leader.number for trial in trials)
            for point in ask["rest"][stored:]:
                self._ask(point, ask["telemetry"]["verdict"], {BATCH: leader.number})

    def _ask(self, point: Mapping[str, Any], verdict: str, attributes: dict[str, Any]) -> int:
        return self._create(point, "RUNNING", None, {VERDICT: str(verdict)}, attributes)

    # What became of it

    def finish(self, number: int, outcome: Outcome, used: Mapping[str, Any] | None = None) -> None:
        """Commit the end of an evaluation; used: the point, if it is not the one that was suggested."""
        from optuna.trial import TrialState

        trial_id = self._trial_ids[number]
        self.lease.check()
        with explained(self._storage):
            for key, text in pack(USED, dict(used)).items() if used is not None else ():
                self._storage.set_trial_system_attr(trial_id, key, text)
            for key, value in _notes(outcome).items():
                self._storage.set_trial_user_attr(trial_id, key, value)
            for key, text in _traceback(outcome).items():
                self._storage.set_trial_system_attr(trial_id, key, text)
            if outcome.value is None:
                self._storage.set_trial_state_values(trial_id, TrialState.FAIL)
            else:
                self._storage.set_trial_state_values(trial_id, TrialState.COMPLETE, [outcome.value])

    def forget(self, numbers: Iterable[int]) -> None:
        """Withdraw pending trials: they will never be evaluated."""
        from optuna.trial import TrialState

        for number in numbers:
            self.lease.check()
            self._storage.set_trial_system_attr(self._trial_ids[number], FORGOTTEN, True)
            self._storage.set_trial_state_values(self._trial_ids[number], TrialState.FAIL)

    def retry(self, numbers: Iterable[int] | None = None) -> dict[int, int]:
        """Make failed trials pending again, all or those of these numbers: each gets a new number, by the old one."""
        failed = {record.number: record for record in self.contents().records if record.state == FAIL}
        again = [failed[number] for number in (failed if numbers is None else numbers)]
        return {
            record.number: self._create(record.params, "RUNNING", None, {}, {REPLACES: record.number})
            for record in again
        }

    def add_evaluations(self, evaluations: Sequence[Evaluation]) -> list[int]:
        """Store what was evaluated outside of the run; the numbers it gets. One with a number replaces that trial."""
        return [
            self._create(
                evaluation.params,
                "FAIL" if evaluation.failed else "COMPLETE",
                evaluation.value,
                _notes(Outcome(evaluation.value, evaluation.message)),
                {IMPORTED: True, **({} if evaluation.number is None else {REPLACES: evaluation.number})},
            )
            for evaluation in evaluations
        ]

    def close(self) -> None:
        """Let others use the run."""
        self.lease.release()
        self._storage.remove_session()

    def _create(
        self,
        point: Mapping[str, Any],
        state: str,
        value: float | None,
        user_attributes: dict[str, Any],
        attributes: dict[str, Any],
    ) -> int:
        from optuna.trial import TrialState, create_trial

        suggested = _on_steps(self.space, point)
        trial = create_trial(
            state=TrialState[state],
            value=value,
            params=suggested,
            distributions=self._distributions,
            user_attrs=user_attributes,
            system_attrs={**attributes, **(pack(USED, dict(point)) if suggested != point else {})},
        )
        self.lease.check()
        with explained(self._storage):
            trial_id = self._storage.create_new_trial(self._study_id, template_trial=trial)
            number = self._storage.get_trial_number_from_id(trial_id)
        self._trial_ids[number] = trial_id
        return number


def _notes(outcome: Outcome) -> dict[str, Any]:
    """The user attributes of a finished trial."""
    notes = {MESSAGE: outcome.message[:LONGEST_TEXT], SECONDS: outcome.seconds}
    return {key: value for key, value in notes.items() if value not in ("", None)}


def _traceback(outcome: Outcome) -> dict[str, str]:
    return pack(TRACEBACK, outcome.traceback) if outcome.traceback else {}


def _on_steps(space: Space, point: Mapping[str, Any]) -> dict[str, Any]:
    """The point with every number on its step: Optuna stores no other."""
    nearest = dict(point)
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Float) and parameter.step is not None:
            nearest[name] = float(parameter.nearest(np.array(point[name])))
    return nearest
