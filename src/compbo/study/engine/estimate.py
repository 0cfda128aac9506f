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
    """The seconds of a cell: the mean of the done cells of its optimiser, else of its kind, of its size, or of all.

    >>> from compbo.study.cell import Cell, MethodSpec
    >>> cell = Cell("levy-2", 2, MethodSpec("bohb"), seed=0, batch=1, steps=1, initial=1)
    >>> estimator = Estimator()
    >>> estimator.add(cell, 2.0)
    >>> estimator.add(cell, 4.0)
    >>> estimator.seconds(cell), estimator.total([cell, cell])
    (3.0, 6.0)
    """

    _sums: dict[tuple[object, ...], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    @classmethod
    def of(cls, survey: Survey) -> Estimator:
        """An estimator that knows the cells of a results folder.

        Args:
            survey: of the folder.

        Returns:
            The estimator.
        """
        estimator = cls()
        for stored in survey.stored.values():
            if stored.status == schema.DONE:
                estimator.add(stored.cell, stored.seconds)
        return estimator

    def add(self, cell: Cell, seconds: float) -> None:
        """Take in how long a cell took.

        Args:
            cell: that is done.
            seconds: its wall clock.
        """
        for key in _keys(cell):
            total = self._sums[key]
            total[0] += seconds
            total[1] += 1.0

    def seconds(self, cell: Cell) -> float | None:
        """How long a cell will take.

        Args:
            cell: that is to be run.

        Returns:
            The mean of the most similar cells; None while no cell is done.
        """
        for key in _keys(cell):
            if key in self._sums:
                total, count = self._sums[key]
                return total / count
        return None

    def total(self, cells: Iterable[Cell]) -> float | None:
        """How long cells will take, one after the other.

        Args:
            cells: that are to be run.

        Returns:
            Seconds; None while no cell is done.
        """
        expected = [self.seconds(cell) for cell in cells]
        return None if None in expected else sum(seconds for seconds in expected if seconds is not None)


def _keys(cell: Cell) -> list[tuple[object, ...]]:
    size = (cell.dimension, cell.batch, cell.steps)
    method = cell.method
    return [(*size, method.optimiser, method.acquisition), (*size, method.optimiser), (*size, method.kind), size, ()]


def duration_in_words(seconds: float | None) -> str:
    """A time as a person would say it.

    Args:
        seconds: None: unknown.

    Returns:
        A number with its unit.

    >>> duration_in_words(None), duration_in_words(300), duration_in_words(3 * 86400)
    ('unknown', '5 min', '3.0 days')
    """
    if seconds is None:
        return "unknown"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:.0f} min"
    return f"{seconds / 86400:.1f} days"
