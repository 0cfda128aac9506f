"""The B best batches of everything that was evaluated: what the methods without gradients leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.maximizers.restarts import values_on_fixed_draw

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.climb import Maximisation
    from compbo.maximizers.restarts import RestartBatch


class Archive:
    """Evaluates the batches of a task on one fixed draw and keeps the best.

    The rows of the restarts are ranks, not trajectories.
    """

    def __init__(self, task: Maximisation, restarts: RestartBatch) -> None:
        """Start the oracle and evaluate the start points."""
        self._oracle, self._restarts = task.oracle, restarts
        task.oracle.start(task.generator)
        value = self.evaluate(restarts.x)
        restarts.info.start_value, restarts.info.value = value, value.clone()

    def evaluate(self, x: Tensor) -> Tensor:
        """Values (S,) of batches x (S, q, d), at most B at a time; NaN where there is none."""
        chunks = x.chunk(-(-len(x) // len(self._restarts.x)))
        return torch.cat([self._evaluate(chunk) for chunk in chunks])

    def _evaluate(self, x: Tensor) -> Tensor:
        restarts = self._restarts
        value, failure, jitter = values_on_fixed_draw(self._oracle, x)
        restarts.info.jitter = max(restarts.info.jitter, jitter)
        pool, pool_value = torch.cat([restarts.best, x]), torch.cat([restarts.best_value, value])
        restarts.best, restarts.best_value = best_of(pool, pool_value, len(restarts.x))
        restarts.failed = restarts.best_value.isnan()
        if failure is not None:  # a rank that stays without a value
            restarts.info.failures = dict.fromkeys(range(len(restarts.x)), failure)
        return value

    def advance(self, population: Tensor, value: Tensor) -> None:
        """Count a finished generation; its B best are the current points."""
        restarts = self._restarts
        restarts.x, restarts.info.value = best_of(population, value, len(restarts.x))
        restarts.advance()


def best_of(x: Tensor, value: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` batches of x (N, q, d) with the highest values (N,), best first; NaN is worse than anything."""
    order = torch.argsort(value.nan_to_num(nan=-torch.inf), descending=True, stable=True)[:count]
    return x[order], value[order]
