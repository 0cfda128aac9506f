"""Clocks and memory: what every maximizer does about its budget, written once.

A limit never raises: the trace says which restarts it stopped and holds the best so far.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import torch

from compbo.types import Status, Trace

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.types import Budget, Draw, Oracle

logger = logging.getLogger(__name__)


class Clock:
    """Wall-clock seconds since it was made, and whether they are more than allowed."""

    def __init__(self, seconds: float | None) -> None:
        self._start = time.perf_counter()
        self._limit = seconds

    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._start

    def expired(self) -> bool:
        """Whether the budget is spent."""
        return self._limit is not None and self.seconds() >= self._limit


def fits(oracle: Oracle, restarts: int, budget: Budget, tracked: bool = False) -> bool:
    """Whether one step of that many restarts stays within the budget's memory; tracked: with a zeta."""
    return budget.memory is None or oracle.bytes_needed(restarts, tracked) <= budget.memory


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out (PyTorch's CPU allocator raises a plain RuntimeError)."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def without_memory(
    oracle: Oracle, x0: Tensor, generator: Generator, budget: Budget, clock: Clock, record: bool
) -> Trace:
    """The trace of a maximisation that does not fit: the start points, with their values if those can be computed."""
    value = _start_values(oracle, x0, generator, budget)
    nothing = torch.full_like(value, torch.nan)
    return Trace(
        final=x0.clone(),
        final_value=value,
        best=x0.clone(),
        best_value=value.clone(),
        start_value=value.clone(),
        gradient_norm=nothing,
        status=(Status.MEMORY,) * len(x0),
        steps=0,
        seconds=clock.seconds(),
        values=value.new_zeros((0, len(x0))) if record else None,
        points=x0.new_zeros((0, *x0.shape)) if record else None,
    )


def _start_values(oracle: Oracle, x0: Tensor, generator: Generator, budget: Budget) -> Tensor:
    """Values at the start points, as many restarts at a time as fit; NaN where nothing fits."""
    rows = len(x0)
    while rows > 0:
        if fits(oracle, rows, budget):
            try:
                oracle.start(generator)
                draw = oracle.fixed_draw()
                return torch.cat([values_at(oracle, chunk, draw) for chunk in x0.chunk(-(-len(x0) // rows))])
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                logger.warning("%d start points at a time do not fit: %s", rows, error)
        rows //= 2
    return x0.new_full((len(x0),), torch.nan)


def values_at(oracle: Oracle, x: Tensor, draw: Draw) -> Tensor:
    """f(g(x)) on the samples given, (B,); NaN where it cannot be computed."""
    inner = oracle.inner(x, draw, gradient_rows=0)
    value = oracle.outer(inner.v)
    return value.masked_fill(inner.failed | ~torch.isfinite(value), torch.nan)
