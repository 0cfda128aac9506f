"""A run in an Optuna storage: one study, one trial per evaluation, so that Optuna's own tools can open it.

A point is a RUNNING trial from the moment it is suggested; its end is committed before the next step. The first trial
of every ask carries the telemetry and the rest of its batch, written in one transaction: a batch is there as a whole
or not at all, wherever the program was killed. Long texts are cut into pieces that every database takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.bo.history import History
from compbo.bo.optimizer import Optimizer
from compbo.bo.settings import Settings
from compbo.bo.telemetry import Telemetry
from compbo.errors import OptionError
from compbo.evaluation import Evaluation
from compbo.records import COMPLETE, FAIL, PRUNED, RUNNING, Record
from compbo.space import Space
from compbo.space.convert import on_its_step
from compbo.storage.connect import connect, quiet_optuna
from compbo.storage.lease import Lease
from compbo.storage.other_study import last_reported, point_in, shared_space, study_facts
from compbo.storage.signature import LONGEST_TEXT, SETTINGS, SPACE, VERSION, check, find_or_create, pack, sign, unpack

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

    from compbo.evaluation import Outcome
    from compbo.records import StudyFacts

ASK = "compbo:ask"
MESSAGE, VERDICT = "message", "verdict"  # user attributes: the dashboard shows them


class Contents(NamedTuple):
    """What a stored run holds: its records in the order of asking, the same as a history, the telemetry of its asks."""

    records: list[Record]
    history: History
    telemetry: list[Telemetry]


class StoredRun:
    """The study of one run, open for writing."""

    def __init__(self, storage: BaseStorage, study_id: int, space: Space) -> None:
        self._storage = storage
        self._study_id = study_id
        self._space = space
        self._distributions = space.to_optuna()
        self._trial_ids: dict[int, int] = {}
        self.lease = Lease(storage, study_id)

    @classmethod
    def open(
        cls, storage: str | os.PathLike[str] | BaseStorage | None, name: str, space: Space, settings: Settings
    ) -> StoredRun:
        """A new run, or the one that is there if it was made with the same space and settings."""
        if storage is not None:
            settings.check_saveable()
        backend = connect(storage)
        study_id = find_or_create(backend, name, settings.direction)
        check(backend, study_id, name, space, settings)  # before the lease, which writes
        run = cls(backend, study_id, space)
        run.lease.acquire()
        try:
            sign(backend, study_id, name, space, settings)
            run.complete_last_ask()
        except BaseException:
            run.close()
            raise
        return run

    def contents(self) -> Contents:
        """Everything that is stored."""
        trials = self._storage.get_all_trials(self._study_id, deepcopy=False)
        self._trial_ids = {trial.number: trial._trial_id for trial in trials}
        return _contents(self._space, trials)

    def add(self, points: Sequence[dict[str, Any]], telemetry: Telemetry) -> list[int]:
        """Store one ask; the numbers of its evaluations."""
        self.lease.check()
        leader = pack(ASK, {"telemetry": telemetry.to_dict(), "rest": list(points[1:])})
        return [self._create(point, telemetry.verdict, {} if i else leader) for i, point in enumerate(points)]

    def complete_last_ask(self) -> None:
        """Create what is missing of a batch that was being stored when the program was killed."""
        trials = self._storage.get_all_trials(self._study_id, deepcopy=False)
        leader = next((trial for trial in reversed(trials) if f"{ASK}:0" in trial.system_attrs), None)
        if leader is not None:
            ask = unpack(ASK, leader.system_attrs)
            for point in ask["rest"][len(trials) - leader.number - 1 :]:
                self._create(point, ask["telemetry"]["verdict"], {})

    def finish(self, number: int, outcome: Outcome) -> None:
        """Commit the end of an evaluation."""
        from optuna.trial import TrialState

        self.lease.check()
        trial_id = self._trial_ids[number]
        if outcome.value is None:
            self._storage.set_trial_user_attr(trial_id, MESSAGE, outcome.message[:LONGEST_TEXT])
            self._storage.set_trial_state_values(trial_id, TrialState.FAIL)
        else:
            self._storage.set_trial_state_values(trial_id, TrialState.COMPLETE, [outcome.value])

    def close(self) -> None:
        """Let others use the run."""
        self.lease.release()
        self._storage.remove_session()

    def _create(self, point: dict[str, Any], verdict: str, attributes: dict[str, str]) -> int:
        from optuna.trial import TrialState, create_trial

        trial = create_trial(
            state=TrialState.RUNNING,
            params=point,
            distributions=self._distributions,
            user_attrs={VERDICT: str(verdict)},
            system_attrs=attributes,
        )
        trial_id = self._storage.create_new_trial(self._study_id, template_trial=trial)
        number = self._storage.get_trial_number_from_id(trial_id)
        self._trial_ids[number] = trial_id
        return number


# Reading ------------------------------------------------------------------------------------------------------------


def load_optimizer(source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None) -> Optimizer:
    """The optimizer of a stored run, finished or not, with its evaluations, pending points and telemetry.

    source: a file (SQLite or an Optuna journal), a storage URL or a storage. study_name: needed if there are several.
    A study that another program wrote with Optuna is read too: the parameters that all its trials share are the space.
    """
    return load_run(source, study_name)[0]


def load_run(
    source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None
) -> tuple[Optimizer, Callable[[], StudyFacts] | None]:
    """The optimizer of a stored run, as `load_optimizer` gives it, and what a study of another program says beyond it.

    The facts are a function, as it takes a while to compute them; None for a run of compbo's own.
    """
    storage, study_id = _open_study(source, study_name)
    trials = storage.get_all_trials(study_id, deepcopy=False)
    attributes = storage.get_study_system_attrs(study_id)
    ours = VERSION in attributes
    if ours:
        space = Space.from_dict(unpack(SPACE, attributes))
        settings = Settings.from_dict(unpack(SETTINGS, attributes))
    else:
        space = shared_space(trials)
        settings = Settings(direction=storage.get_study_directions(study_id)[0].name.lower())  # type: ignore[arg-type]
    contents = _contents(space, trials)
    optimizer = Optimizer.resume(space, settings, contents.history, contents.telemetry)
    if ours:
        return optimizer, None
    return optimizer, lambda: study_facts(storage, study_id, contents.records, space)


def load_records(source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None) -> list[Record]:
    """All evaluations of a stored run, or of any Optuna study with one objective, in the order of asking."""
    storage, study_id = _open_study(source, study_name)
    return _records(storage.get_all_trials(study_id, deepcopy=False))


def copy_run(source: BaseStorage, study_name: str, path: str | os.PathLike[str]) -> None:
    """A run of one storage in a new file."""
    import optuna

    with quiet_optuna():
        optuna.copy_study(from_study_name=study_name, from_storage=source, to_storage=connect(path))


def _open_study(source: str | os.PathLike[str] | BaseStorage, study_name: str | None) -> tuple[BaseStorage, int]:
    storage = connect(source, existing=True)
    studies = {study.study_name: study for study in storage.get_all_studies()}
    if not studies:
        raise ValueError(f"{source}: there is no run in this storage.")
    listed = ", ".join(f'"{name}"' for name in studies)
    if study_name is None and len(studies) > 1:
        raise OptionError(
            "study_name",
            "{source} holds several runs ({listed}): choose one with {option}.",
            source=source,
            listed=listed,
        )
    if study_name is not None and study_name not in studies:
        raise OptionError(
            "study_name",
            '{source} has no run called "{name}"; it has {listed}.',
            source=source,
            name=study_name,
            listed=listed,
        )
    study = studies[study_name] if study_name is not None else next(iter(studies.values()))
    if len(study.directions) != 1:
        raise ValueError(f'Study "{study.study_name}" has {len(study.directions)} objectives; compbo reads one.')
    return storage, study._study_id


def _records(trials: Sequence[FrozenTrial]) -> list[Record]:
    """Trials that wait for a program to take them are left out."""
    records = []
    for trial in trials:
        params = {name: on_its_step(value, trial.distributions[name]) for name, value in trial.params.items()}
        match trial.state.name:
            case "COMPLETE":
                records.append(Record(trial.number, COMPLETE, trial.value, params))
            case "RUNNING":
                records.append(Record(trial.number, RUNNING, None, params))
            case "PRUNED":
                message = str(trial.user_attrs.get(MESSAGE, "pruned"))
                records.append(Record(trial.number, PRUNED, last_reported(trial), params, message))
            case "FAIL":
                records.append(Record(trial.number, FAIL, None, params, str(trial.user_attrs.get(MESSAGE, ""))))
    return records


def _contents(space: Space, trials: Sequence[FrozenTrial]) -> Contents:
    """Records, history and telemetry; the history has what lies in the space (see `point_in`)."""
    records = _records(trials)
    known = [(record, point) for record in records if (point := point_in(space, record)) is not None]
    history = History(
        tuple(Evaluation(point, r.value, r.message) for r, point in known if r.state != RUNNING),
        tuple(point for r, point in known if r.state == RUNNING),
    )
    asks = [unpack(ASK, trial.system_attrs) for trial in trials]
    return Contents(records, history, [Telemetry.from_dict(ask["telemetry"]) for ask in asks if ask is not None])
