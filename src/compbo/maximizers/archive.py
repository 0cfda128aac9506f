"""The B best batches of everything that was evaluated: what the methods without gradients leave behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch

from compbo.maximizers.budget import Clock, fits, is_out_of_memory, without_memory
from compbo.types import Status, Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.types import Box, Budget, Oracle

logger = logging.getLogger(__name__)


class Archive:
    """Evaluates batches on one fixed draw and keeps the best; rows are ranks, not trajectories."""

    def __init__(self, oracle: Oracle, x0: Tensor, clock: Clock, record: bool) -> None:
        self._oracle, self._clock, self._record = oracle, clock, record
        self.best, self.best_value = x0.clone(), x0.new_full((len(x0),), torch.nan)
        self.final, self.final_value = x0.clone(), self.best_value.clone()
        self.start_value = self.best_value.clone()
        self.jitter, self.steps = 0.0, 0
        self._values: list[Tensor] = []
        self._points: list[Tensor] = []

    def start(self) -> Tensor:
        """Evaluate the start points; their values (B,)."""
        value = self.evaluate(self.final)
        self.start_value, self.final_value = value, value.clone()
        return value

    def evaluate(self, x: Tensor) -> Tensor:
        """Values (S,) of batches x (S, q, d), at most B at a time; NaN where there is none."""
        chunks = x.chunk(-(-len(x) // len(self.best)))
        return torch.cat([self._evaluate(chunk) for chunk in chunks])

    def _evaluate(self, x: Tensor) -> Tensor:
        inner = self._oracle.inner(x, self._oracle.fixed_draw(), gradient_rows=0)
        self.jitter = max(self.jitter, inner.jitter)
        value = self._oracle.outer(inner.v)
        value = value.masked_fill(inner.failed | ~torch.isfinite(value), torch.nan)
        self.best, self.best_value = best_of(len(self.best), (self.best, x), (self.best_value, value))
        return value

    def advance(self, population: Tensor, value: Tensor) -> None:
        """Count a finished generation; its B best are the current points."""
        self.final, self.final_value = best_of(len(self.best), (population,), (value,))
        self.steps += 1
        if self._record:
            self._values.append(self.final_value)
            self._points.append(self.final)

    def expired(self) -> bool:
        """Whether the clock has run out."""
        return self._clock.expired()

    def trace(self, status: Status) -> Trace:
        """What is left for the caller."""
        shape = (0, *self.best.shape)
        return Trace(
            final=self.final,
            final_value=self.final_value,
            best=self.best,
            best_value=self.best_value,
            start_value=self.start_value,
            gradient_norm=torch.full_like(self.best_value, torch.nan),
            status=tuple(Status.FAILED if lost else status for lost in self.best_value.isnan().tolist()),
            steps=self.steps,
            seconds=self._clock.seconds(),
            jitter=self.jitter,
            values=(torch.stack(self._values) if self._values else self.best.new_zeros(shape[:2]))
            if self._record
            else None,
            points=(torch.stack(self._points) if self._points else self.best.new_zeros(shape))
            if self._record
            else None,
        )


def best_of(count: int, points: tuple[Tensor, ...], values: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The `count` batches with the highest values, best first; NaN is worse than anything."""
    x, value = torch.cat(points), torch.cat(values)
    order = torch.argsort(value.nan_to_num(nan=-torch.inf), descending=True, stable=True)[:count]
    return x[order], value[order]


def run(
    search: Callable[[Archive, Tensor], Status],
    oracle: Oracle,
    x0: Tensor,
    *,
    budget: Budget,
    box: Box,
    generator: Generator,
    record: bool,
) -> Trace:
    """Run a search on an archive within the budget: search(archive, projected start points) -> how it ended."""
    clock = Clock(budget.seconds)
    if not fits(oracle, len(x0), budget):
        return without_memory(oracle, x0, generator, budget, clock, record)
    start = box.project(x0)
    archive = Archive(oracle, start, clock, record)
    try:
        oracle.start(generator)
        archive.start()
        status = search(archive, start)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        logger.warning("Stopped after %d steps: %s", archive.steps, error)
        if bool(archive.start_value.isnan().all()):
            return without_memory(oracle, x0, generator, budget, clock, record)
        status = Status.MEMORY
    return archive.trace(status)
