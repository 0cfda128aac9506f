"""Read a stored run, or any Optuna study with one objective; nothing is written, and other processes may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.bo.optimizer import Optimizer
from compbo.bo.settings import Settings
from compbo.errors import NoRunError, OptionError
from compbo.space import Space
from compbo.storage.connect import connect, quiet_optuna
from compbo.storage.other_study import shared_space, study_facts
from compbo.storage.signature import SETTINGS, SPACE, VERSION, unpack
from compbo.storage.trials import contents_of, records_of

if TYPE_CHECKING:
    import os

    from optuna.storages import BaseStorage

    from compbo.records import Record, StudyFacts


class UnknownRunError(OptionError, NoRunError):
    """A storage has runs, but not the one that was named."""


class OpenStudy(NamedTuple):
    """A study in a storage: its study_id and its name."""

    storage: BaseStorage
    study_id: int
    name: str


class Signature(NamedTuple):
    """What a run was begun with, and its name."""

    name: str
    space: Space
    settings: Settings


def load_optimizer(source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None) -> Optimizer:
    """The optimizer of a stored run, finished or not, with its evaluations, pending points and telemetry.

    source: a file (SQLite or an Optuna journal), a storage URL or a storage. study_name: needed if there are several.
    A study that another program wrote with Optuna is read too: the parameters that all its trials share are the space.
    """
    return load_run(source, study_name)[0]


def load_records(source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None) -> list[Record]:
    """All evaluations of a stored run, or of any Optuna study with one objective, in the order of asking.

    source: a file, a URL or a storage. study_name: needed if there are several.
    """
    storage, study_id, _ = open_study(source, study_name)
    return records_of(storage.get_all_trials(study_id, deepcopy=False))


def load_run(
    source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None
) -> tuple[Optimizer, list[Record]]:
    """The optimizer of a stored run, and all its evaluations.

    source: a file, a URL or a storage. study_name: needed if there are several.
    """
    read = _read(open_study(source, study_name))
    return read.optimizer, read.records


class LoadedStudy(NamedTuple):
    """A stored run with its records, and what a study of another program says beyond it; None for a run of compbo's."""

    optimizer: Optimizer
    records: list[Record]
    facts: StudyFacts | None  # of a study of another program


def load_study(source: str | os.PathLike[str] | BaseStorage, study_name: str | None = None) -> LoadedStudy:
    """All that is known of a stored run, or of any Optuna study with one objective.

    source: a file, a URL or a storage. study_name: needed if there are several.
    """
    study = open_study(source, study_name)
    optimizer, records, ours = _read(study)
    facts = None if ours else study_facts(study.storage, study.study_id, records, optimizer.space)
    return LoadedStudy(optimizer, records, facts)


class _Read(NamedTuple):
    """A study as it stood at one moment; ours: whether compbo began it."""

    optimizer: Optimizer
    records: list[Record]
    ours: bool


def _read(study: OpenStudy) -> _Read:
    storage, study_id, _ = study
    trials = storage.get_all_trials(study_id, deepcopy=False)
    attributes = storage.get_study_system_attrs(study_id)
    ours = VERSION in attributes
    if ours:
        space, settings = signed(attributes)
    else:
        space = shared_space(trials)
        settings = Settings(direction=storage.get_study_directions(study_id)[0].name.lower())  # type: ignore[arg-type]
    contents = contents_of(space, trials)
    return _Read(Optimizer.resume(space, settings, contents.history, contents.telemetry), contents.records, ours)


def signature_of(source: str | os.PathLike[str] | BaseStorage, study_name: str | None) -> Signature | None:
    """What a run was begun with; None if there is no run yet. ValueError if it is not compbo's.

    source: a file, a URL or a storage. study_name: needed if there are several.
    """
    try:
        storage, study_id, name = open_study(source, study_name)
    except NoRunError:
        return None
    attributes = storage.get_study_system_attrs(study_id)
    if VERSION not in attributes:
        raise OptionError(
            "study_name", 'Study "{name}" was not begun by compbo: choose another {option} for this run.', name=name
        )
    return Signature(name, *signed(attributes))


def signed(attributes: dict[str, object]) -> tuple[Space, Settings]:
    """The space and the settings that a run was begun with, from the attributes of its study."""
    return Space.from_dict(unpack(SPACE, attributes)), Settings.from_dict(unpack(SETTINGS, attributes))


def copy_run(source: BaseStorage, study_name: str, path: str | os.PathLike[str]) -> None:
    """Write the run `study_name` of the storage `source` into a new file at `path`."""
    import optuna

    with quiet_optuna():
        optuna.copy_study(from_study_name=study_name, from_storage=source, to_storage=connect(path))


def open_study(
    source: str | os.PathLike[str] | BaseStorage, study_name: str | None, *, write: bool = False
) -> OpenStudy:
    """The study that is meant; ValueError if there is none, or several. write: it will be written to.

    source: a file, a URL or a storage. study_name: needed if there are several.
    """
    storage = connect(source, existing=True, write=write)
    studies = {study.study_name: study for study in storage.get_all_studies()}
    if not studies:
        raise NoRunError(f"{source}: there is no run in this storage.")
    listed = ", ".join(f'"{name}"' for name in studies)
    if study_name is None and len(studies) > 1:
        raise OptionError(
            "study_name",
            "{source} holds several runs ({listed}): choose one with {option}.",
            source=source,
            listed=listed,
        )
    if study_name is not None and study_name not in studies:
        raise UnknownRunError(
            "study_name",
            '{source} has no run called "{name}"; it has {listed}.',
            source=source,
            name=study_name,
            listed=listed,
        )
    study = studies[study_name] if study_name is not None else next(iter(studies.values()))
    if len(study.directions) != 1:
        raise ValueError(f'Study "{study.study_name}" has {len(study.directions)} objectives; compbo reads one.')
    return OpenStudy(storage, study._study_id, study.study_name)
