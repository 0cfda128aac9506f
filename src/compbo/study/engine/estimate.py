"""How long cells will take, from those that are done."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compbo.study.results import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.study.cell import Cell
    from compbo.study.results.survey import Survey


@dataclass
class Estimator:
    """The seconds of a cell: the mean of the done cells of its optimiser, else of its kind, of its size, or of all."""

    _sums: dict[tuple[object, ...], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    @classmethod
    def of(cls, survey: Survey) -> Estimator:
        """An estimator that knows the cells of a results folder."""
        estimator = cls()
        for stored in survey.stored.values():
            if stored.status == schema.DONE:
                estimator.add(stored.cell, stored.seconds)
        return estimator

    def add(self, cell: Cell, seconds: float) -> None:
        """Take in how long a cell took."""
        for key in _keys(cell):
            total = self._sums[key]
            total[0] += seconds
            total[1] += 1.0

    def seconds(self, cell: Cell) -> float | None:
        """The mean of the most similar cells; None while no cell is done."""
        for key in _keys(cell):
            if key in self._sums:
                total, count = self._sums[key]
                return total / count
        return None

    def total(self, cells: Iterable[Cell]) -> float | None:
        """Seconds of all these cells, one after the other; None while no cell is done."""
        expected = [self.seconds(cell) for cell in cells]
        return None if None in expected else sum(seconds for seconds in expected if seconds is not None)


def _keys(cell: Cell) -> list[tuple[object, ...]]:
    size = (cell.dimension, cell.batch, cell.steps)
    method = cell.method
    return [(*size, method.optimiser, method.acquisition), (*size, method.optimiser), (*size, method.kind), size, ()]


def duration_in_words(seconds: float | None) -> str:
    """A time as a person would say it: `5 min`; None is unknown."""
    if seconds is None:
        return "unknown"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:.0f} min"
    return f"{seconds / 86400:.1f} days"
