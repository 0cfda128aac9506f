"""The method that the study is about: `compbo.Optimizer` with an acquisition function and a maximizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compbo
from compbo.study.methods.method import required_inner, required_surrogate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task


class MaximizerMethod:
    """An acquisition function maximised by an entry of the catalogue: `compbo.Optimizer` with the settings of a cell.

    Args:
        cell: the experiment; it must have a surrogate and an inner budget.
        task: of the cell.
    """

    def __init__(self, cell: Cell, task: Task) -> None:
        inner = required_inner(cell)
        self._optimizer = compbo.Optimizer(
            task.space,
            acquisition=cell.method.make_acquisition(),
            maximizer=cell.method.maximizer,
            hyperparameters=dict(cell.method.hyperparameters),
            batch_size=cell.batch,
            direction="minimize",
            seed=cell.seed,
            initial_points=1,  # the initial design is told, the same to every method
            # no search over levels: the paper has none
            starts=compbo.StartPolicy(inner.raw_batches, inner.restarts, inner.around_incumbents, levels=False),
            budget=compbo.Budget(steps=inner.steps),
            minibatch=inner.minibatch,
            model_points=None,  # the paper's model is that of all observations
            inputs="none",  # and of the parameters as they are
            **required_surrogate(cell).arguments(),
        )

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        return [*self._optimizer.ask(count)]

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._optimizer.tell(points, losses)

    @property
    def last_ask(self) -> Mapping[str, Any]:
        """The telemetry of the last ask."""
        return self._optimizer.telemetry[-1].to_dict()
