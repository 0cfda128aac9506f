"""The baselines of `compbo.baselines` as methods of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compbo.study.methods.method import inner_of, surrogate_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compbo.baselines.asktell import AskTell
    from compbo.baselines.thompson import Flavour
    from compbo.study.cell import Cell
    from compbo.study.methods.method import Method, Point
    from compbo.study.tasks import Task


class BaselineMethod:
    """A baseline; it says nothing about its asks."""

    def __init__(self, baseline: AskTell) -> None:
        self._baseline = baseline
        self.last_ask: Mapping[str, Any] = {}

    def ask(self, count: int) -> list[Point]:
        """The next points."""
        return self._baseline.ask(count)

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._baseline.tell(points, losses)


def random_search(cell: Cell, task: Task) -> Method:
    """Uniform points."""
    from compbo.baselines.random import RandomSearch

    return BaselineMethod(RandomSearch(task.space, cell.seed))


def bohb(cell: Cell, task: Task) -> Method:
    """The model of BOHB."""
    from compbo.baselines.bohb import BOHBModel

    return BaselineMethod(BOHBModel(task.space, cell.seed))


def thompson(flavour: Flavour) -> Callable[[Cell, Task], Method]:
    """Thompson sampling with as many candidates as the cell has raw batches, and as many steps as a maximizer."""

    def make(cell: Cell, task: Task) -> Method:
        from compbo.baselines.thompson import ThompsonSampling

        inner = inner_of(cell)
        sampling = ThompsonSampling(
            task.space,
            cell.seed,
            flavour=flavour,
            candidates=inner.raw_batches,
            steps=inner.steps,
            **surrogate_of(cell).arguments(),
        )
        return BaselineMethod(sampling)

    return make
