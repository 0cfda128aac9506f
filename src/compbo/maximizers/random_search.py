"""Random search: B uniform batches at every step, on one fixed sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from compbo.maximizers.archive import Archive
from compbo.maximizers.climb import Traits
from compbo.types import Status

if TYPE_CHECKING:
    from compbo.maximizers.climb import Maximisation
    from compbo.maximizers.restarts import RestartBatch


@dataclass(frozen=True)
class RandomBatches:
    """Evaluates B T uniform batches besides the start points; the rows are the B best of all."""

    traits: ClassVar[Traits] = Traits(order=0, rule="random")

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> Status:
        """One uniform batch per restart and step."""
        archive, start, box = Archive(task, restarts), restarts.x, task.box
        for _ in range(task.budget.steps):
            restarts.clock.check()
            uniform = torch.rand(start.shape, dtype=start.dtype, generator=task.generator)
            archive.evaluate(box.project(torch.lerp(box.lower, box.upper, uniform)))
            archive.advance(restarts.best, restarts.best_value)
        return Status.DONE
