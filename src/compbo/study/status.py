"""What is done, failed and left, and how long the rest will take."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from compbo.study import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.store import Known, Store, Survey


@dataclass
class Estimator:
    """Seconds of a cell, from those that are done: of its optimiser, else of its kind, of its size, of all."""

    _sums: dict[tuple[object, ...], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    def add(self, cell: Cell, seconds: float) -> None:
        """Learn from a cell."""
        for key in _keys(cell):
            total = self._sums[key]
            total[0] += seconds
            total[1] += 1.0

    def seconds(self, cell: Cell) -> float | None:
        """The mean of the most similar cells known; None while none is."""
        for key in _keys(cell):
            if key in self._sums:
                total, count = self._sums[key]
                return total / count
        return None

    def total(self, cells: Iterable[Cell]) -> float | None:
        """Seconds of all these cells one after the other; None while nothing is known."""
        expected = [self.seconds(cell) for cell in cells]
        return None if None in expected else sum(seconds for seconds in expected if seconds is not None)


def _keys(cell: Cell) -> list[tuple[object, ...]]:
    size = (cell.dimension, cell.batch, cell.steps)
    method = cell.method
    return [(*size, method.optimiser, method.acquisition), (*size, method.optimiser), (*size, method.kind), size, ()]


class Status(NamedTuple):
    """Where a study stands."""

    done: list[Known]
    failed: list[Known]
    left: list[Cell]
    damaged: dict[Path, str]
    seconds_spent: float  # of all cells, one after the other
    seconds_left: float | None  # the same for those left; None while nothing is known
    owner: str | None  # who is writing now

    @property
    def total(self) -> int:
        """Cells in all."""
        return len(self.done) + len(self.failed) + len(self.left)


def study_status(
    store: Store, cells: Iterable[Cell] | None = None, keep: Callable[[list[Cell]], list[Cell]] | None = None
) -> Status:
    """The status of these cells, or of all that were ever asked for in this folder and `keep` keeps."""
    survey = store.survey()
    wanted = list(store.plan().values()) if cells is None else list(cells)
    if cells is None:
        planned = {cell.hash for cell in wanted}
        wanted += [known.cell for key, known in survey.known.items() if key not in planned]
    if keep is not None:
        wanted = keep(wanted)
    return summarise(wanted, survey, store.owner())


def summarise(cells: Iterable[Cell], survey: Survey, owner: str | None) -> Status:
    """Sort the cells by what the survey knows of them."""
    done: list[Known] = []
    failed: list[Known] = []
    left: list[Cell] = []
    estimator = Estimator()
    for cell in cells:
        known = survey.known.get(cell.hash)
        if known is None:
            left.append(cell)
        elif known.status == schema.DONE:
            done.append(known)
            estimator.add(cell, known.seconds)
        else:
            failed.append(known)
    spent = sum(known.seconds for known in (*done, *failed))
    return Status(done, failed, left, survey.damaged, spent, estimator.total(left), owner)


def in_words(seconds: float | None) -> str:
    """A time as a person would say it."""
    if seconds is None:
        return "unknown"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:.0f} min"
    return f"{seconds / 86400:.1f} days"
