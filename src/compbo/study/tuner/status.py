"""How far a tuning is, beside the status of the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.engine.estimate import Estimator
from compbo.study.engine.status import StudyStatus, cells_asked_for, study_status
from compbo.study.tuner.records import key_of, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.results import Store
    from compbo.study.results.survey import StoredCell
    from compbo.study.tuner.records import TuningRecord


class TuningStatus(NamedTuple):
    """How far `compbo study tune` is.

    Args:
        problems: tasks x acquisition functions x maximizers.
        tuned: of them.
        configurations: asked for, of all problems.
        judged: of them.
        seconds_left: one cell after the other; None while no cell is done.
    """

    problems: int
    tuned: int
    configurations: int
    judged: int
    seconds_left: float | None


def tuning_status(records: Sequence[TuningRecord], estimator: Estimator) -> TuningStatus:
    """How far some problems are.

    Args:
        records: of the problems.
        estimator: of the time that cells take.

    Returns:
        The status.
    """
    return TuningStatus(
        problems=len(records),
        tuned=sum(not record.left for record in records),
        configurations=sum(record.configurations for record in records),
        judged=sum(record.configurations - record.left for record in records),
        seconds_left=estimator.total(cell for record in records for cell in record.judges * record.left),
    )


def study_and_tuning_status(
    store: Store,
    cells: Iterable[Cell] | None = None,
    keep: Callable[[list[Cell]], list[Cell]] = list,
    known: Mapping[str, StoredCell] | None = None,
) -> tuple[StudyStatus, TuningStatus]:
    """The status of cells, and of the tuning for them.

    Args:
        store: the results folder.
        cells: None: all that were ever asked for, or tuned for, in this folder.
        keep: which of the latter; not used if cells are given.
        known: cells that are done and stored elsewhere, by hash.

    Returns:
        Both.
    """
    survey, records = store.survey(), read_records(store)
    if cells is not None:
        wanted = list(cells)
        keys = {key_of(cell) for cell in wanted}
        records = [record for record in records if key_of(record.cell) in keys]
    else:
        asked_for = cells_asked_for(store, survey)
        tuned_for = {record.cell.hash: record.cell for record in records}
        kept = {cell.hash for cell in keep([*{**asked_for, **tuned_for}.values()])}
        wanted = [cell for key, cell in asked_for.items() if key in kept]
        records = [record for record in records if record.cell.hash in kept]
    return study_status(store, wanted, survey, known), tuning_status(records, Estimator.of(survey))
