"""Random search: B uniform batches at every step, on one fixed sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.maximizers.archive import run
from compbo.types import Status, Trace

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.maximizers.archive import Archive
    from compbo.types import Box, Budget, Oracle


def random_search(
    oracle: Oracle, x0: Tensor, *, budget: Budget, box: Box, generator: Generator, record: bool = False
) -> Trace:
    """Evaluate B T uniform batches besides the start points; the rows are the B best of all."""

    def search(archive: Archive, start: Tensor) -> Status:
        for _ in range(budget.steps):
            if archive.expired():
                return Status.TIME
            uniform = torch.rand(start.shape, dtype=start.dtype, generator=generator)
            archive.evaluate(box.project(torch.lerp(box.lower, box.upper, uniform)))
            archive.advance(archive.best, archive.best_value)
        return Status.DONE

    return run(search, oracle, x0, budget=budget, box=box, generator=generator, record=record)
