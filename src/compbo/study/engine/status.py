"""Where the cells of a study stand: done, failed, left, and how long the rest will take."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.engine.estimate import Estimator
from compbo.study.results import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.results.store import Store
    from compbo.study.results.survey import StoredCell, Survey


class StudyStatus(NamedTuple):
    """Where a study stands.

    Args:
        done: cells that came to their end.
        failed: cells that did not.
        left: cells that are not stored.
        damaged: files that hold no cell, with the reason.
        seconds_spent: of all cells, one after the other.
        seconds_left: the same for those left; None while no cell is done.
        owner: the process that is writing now; None if there is none.
    """

    done: list[StoredCell]
    failed: list[StoredCell]
    left: list[Cell]
    damaged: dict[Path, str]
    seconds_spent: float
    seconds_left: float | None
    owner: str | None

    @property
    def total(self) -> int:
        """Cells in all."""
        return len(self.done) + len(self.failed) + len(self.left)


def cells_asked_for(store: Store, survey: Survey) -> dict[str, Cell]:
    """Every cell that was ever asked for in a folder or is stored there.

    Args:
        store: the results folder.
        survey: of the folder.

    Returns:
        The cells by hash.
    """
    return {**store.plan(), **{key: stored.cell for key, stored in survey.stored.items()}}


def study_status(
    store: Store,
    cells: Iterable[Cell] | None = None,
    survey: Survey | None = None,
    known: Mapping[str, StoredCell] | None = None,
) -> StudyStatus:
    """The status of cells.

    Args:
        store: the results folder.
        cells: None: all that were ever asked for in this folder.
        survey: of the folder; None: it is read now.
        known: cells that are done and stored elsewhere, by hash.

    Returns:
        What is done, failed and left, and how long the rest will take.

    >>> from compbo.study.grid import load_grid
    >>> from compbo.study.results import Store
    >>> len(study_status(Store("missing-folder"), load_grid("smoke").cells()).left)
    35
    """
    survey = store.survey() if survey is None else survey
    if cells is None:
        cells = cells_asked_for(store, survey).values()
    survey = survey.joined(known or {})
    done: list[StoredCell] = []
    failed: list[StoredCell] = []
    left: list[Cell] = []
    for cell in cells:
        stored = survey.stored.get(cell.hash)
        if stored is None:
            left.append(cell)
        else:
            (done if stored.status == schema.DONE else failed).append(stored)
    spent = sum(stored.seconds for stored in (*done, *failed))
    return StudyStatus(done, failed, left, survey.damaged, spent, Estimator.of(survey).total(left), store.owner())
