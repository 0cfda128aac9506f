"""The baselines of `compbo.baselines` as methods of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compbo.baselines.bohb import BOHBModel
from compbo.baselines.random import RandomSearch
from compbo.baselines.thompson import Flavour, ThompsonSampling
from compbo.study.methods.method import required_inner, required_surrogate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compbo.baselines.asktell import AskTell
    from compbo.study.cell import Cell
    from compbo.study.methods.method import Method, Point
    from compbo.study.tasks import Task


class BaselineMethod:
    """A baseline; it says nothing about its asks.

    Args:
        baseline: one of `compbo.baselines`.
    """

    def __init__(self, baseline: AskTell) -> None:
        self._baseline = baseline
        self.last_ask: Mapping[str, Any] = {}

    def ask(self, count: int) -> list[Point]:
        """The next points."""
        return [*self._baseline.ask(count)]

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._baseline.tell(points, losses)


def make_random_search(cell: Cell, task: Task) -> Method:
    """Uniform points.

    Args:
        cell: the experiment; its seed is used.
        task: of the cell.

    Returns:
        The method, before its first tell.
    """
    return BaselineMethod(RandomSearch(task.space, cell.seed))


def make_bohb(cell: Cell, task: Task) -> Method:
    """The model of BOHB.

    Args:
        cell: the experiment; its seed is used.
        task: of the cell.

    Returns:
        The method, before its first tell.
    """
    return BaselineMethod(BOHBModel(task.space, cell.seed))


def make_thompson(flavour: Flavour) -> Callable[[Cell, Task], Method]:
    """Thompson sampling; its candidates are the raw batches of the cell, its steps those of a maximizer.

    Args:
        flavour: one of `compbo.baselines.thompson.FLAVOURS`.

    Returns:
        A function that makes the method of a cell and its task.
    """

    def make(cell: Cell, task: Task) -> Method:
        inner = required_inner(cell)
        sampling = ThompsonSampling(
            task.space,
            cell.seed,
            flavour=flavour,
            candidates=inner.raw_batches,
            steps=inner.steps,
            **required_surrogate(cell).arguments(),
        )
        return BaselineMethod(sampling)

    return make
