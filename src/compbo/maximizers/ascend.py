"""The loop of every gradient method, written once.

    G_t        = J_g(x_t; w_t)^T grad f(zeta_t)                 compositional gradient
    x_{t+1}    = rule's move, projected on the box
    u_{t+1}    = tracker's query point                          built from the projected x_{t+1}
    zeta_{t+1} = tracker's blend of zeta_t, g(x_{t+1}; w_{t+1}) and g(u_{t+1}; w_{t+1})

Without a tracker zeta_t = g(x_t; w_t): the ordinary stochastic gradient. x_{t+1} and u_{t+1} share the draw and are
evaluated in one call, so a tracker costs one more forward pass in the same batch and no backward pass.

A restart that cannot be evaluated is frozen at its best point; the others never notice.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.budget import Clock, fits, is_out_of_memory, without_memory
from compbo.maximizers.rules.base import apply
from compbo.maximizers.trackers import FreshMemory, Memory
from compbo.types import Status, Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.maximizers.rules.base import Rule
    from compbo.maximizers.trackers import Tracker
    from compbo.types import Box, Budget, Oracle

logger = logging.getLogger(__name__)


def ascend(
    oracle: Oracle,
    rule: Rule,
    tracker: Tracker | None,
    x0: Tensor,
    *,
    budget: Budget,
    box: Box,
    generator: Generator,
    record: bool = False,
) -> Trace:
    """Climb from every start point of x0 (B, q, d) for `budget.steps` steps.

    record: also keep the value (T, B) and the point (T, B, q, d) after every step. Values are those of the step's own
    minibatch.
    """
    clock = Clock(budget.seconds)
    if not fits(oracle, len(x0), budget, tracked=tracker is not None):
        return without_memory(oracle, x0, generator, budget, clock, record)
    progress = Progress(box.project(x0), record)
    try:
        status = _climb(oracle, rule, tracker, progress, budget.steps, box, generator, clock)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        logger.warning("Stopped after %d steps: %s", progress.steps, error)
        if bool(progress.start_value.isnan().all()):
            return without_memory(oracle, x0, generator, budget, clock, record)
        status = Status.MEMORY
    return progress.trace(status, clock.seconds())


@dataclass
class Progress:
    """Where the restarts stand: what the loop needs of the past, and what the trace will say."""

    x: Tensor
    record: bool
    steps: int = 0
    jitter: float = 0.0
    value: Tensor = field(init=False)
    start_value: Tensor = field(init=False)
    best: Tensor = field(init=False)
    best_value: Tensor = field(init=False)
    gradient_norm: Tensor = field(init=False)
    failed: Tensor = field(init=False)  # (B,) bool
    some_failed: bool = False
    values: list[Tensor] = field(default_factory=list)
    points: list[Tensor] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Nothing is known yet."""
        unknown = self.x.new_full(self.x.shape[:1], torch.nan)
        self.best, self.best_value = self.x.clone(), unknown.clone()
        self.value, self.start_value, self.gradient_norm = unknown, unknown.clone(), unknown.clone()
        self.failed = torch.zeros_like(unknown, dtype=torch.bool)

    def fail(self, which: Tensor) -> None:
        """Mark restarts (B,) that cannot go on."""
        self.failed = self.failed | which
        self.some_failed = bool(self.failed.any())

    def arrive(self, x: Tensor, value: Tensor, broken: Tensor | None) -> None:
        """Take x with its values as the current points; restarts that are broken there are frozen at their best."""
        if broken is not None:
            self.fail(broken)
        if not _all_finite(value):
            self.fail(~torch.isfinite(value))
        better = ~(value <= self.best_value)
        if self.some_failed:
            better &= ~self.failed
        if bool(better.any()):
            self.best = torch.where(better[:, None, None], x, self.best)
            self.best_value = torch.where(better, value, self.best_value)
        if self.some_failed:
            x = torch.where(self.failed[:, None, None], self.best, x)
            value = torch.where(self.failed, self.best_value, value)
        self.x, self.value = x, value

    def advance(self) -> None:
        """Count a finished step."""
        self.steps += 1
        if self.record:
            self.values.append(self.value)
            self.points.append(self.x)

    def trace(self, status: Status, seconds: float) -> Trace:
        """What is left for the caller."""
        shape = self.x.shape
        return Trace(
            final=self.x,
            final_value=self.value,
            best=self.best,
            best_value=self.best_value,
            start_value=self.start_value,
            gradient_norm=self.gradient_norm,
            status=tuple(Status.FAILED if failed else status for failed in self.failed.tolist()),
            steps=self.steps,
            seconds=seconds,
            jitter=self.jitter,
            values=torch.stack(self.values) if self.values else self._empty(shape[:1]),
            points=torch.stack(self.points) if self.points else self._empty(shape),
        )

    def _empty(self, shape: torch.Size) -> Tensor | None:
        return self.x.new_zeros((0, *shape)) if self.record else None


class Here(NamedTuple):
    """What the gradient at the current points needs."""

    pullback: Callable[[Tensor], Tensor]
    zeta: Tensor  # (B, q, K), the drawn columns
    mean_utility: Tensor | None


def _climb(
    oracle: Oracle,
    rule: Rule,
    tracker: Tracker | None,
    progress: Progress,
    steps: int,
    box: Box,
    generator: Generator,
    clock: Clock,
) -> Status:
    """The steps; how they ended."""
    oracle.start(generator)
    here, memory = _begin(oracle, progress, with_memory=tracker is not None)
    history = rule.init(progress.x)
    for t in range(1, steps + 1):
        if progress.some_failed and bool(progress.failed.all()):
            return Status.FAILED
        if clock.expired():
            return Status.TIME
        x = progress.x
        gradient = here.pullback(oracle.outer_gradient(here.zeta, here.mean_utility))
        move, history = rule.move(t, x, gradient, history)
        x_next = apply(move, x, box)
        x_next = _frozen_where_not_finite(progress, gradient, x_next)
        if t == steps:
            _finish(oracle, progress, x_next)
        elif tracker is None or memory is None:
            here = _look(oracle, progress, x_next)
        else:
            here = _look_and_track(oracle, progress, tracker, memory, t, x_next)
        progress.advance()
    return Status.DONE


def _begin(oracle: Oracle, progress: Progress, with_memory: bool) -> tuple[Here, Memory | FreshMemory | None]:
    """Evaluate x_0; zeta_0 = E[g](x_0), on all columns of the pool or, without a pool, on the first draw."""
    x, draw = progress.x, oracle.draw()
    inner = oracle.inner(x, draw, gradient_rows=len(x))
    progress.jitter = inner.jitter
    value = oracle.outer(inner.v)
    progress.arrive(x, value, _broken(inner.v, inner.failed))
    progress.start_value = progress.value.clone()
    if not with_memory:
        return Here(inner.pullback, inner.v, None), None
    if draw.columns is None:
        return Here(inner.pullback, inner.v, None), FreshMemory(inner.v)
    everywhere = oracle.inner(x, oracle.expectation_draw(), gradient_rows=0)
    memory = Memory(everywhere.v, oracle)
    return Here(inner.pullback, memory.read(draw), memory.mean_utility()), memory


def _look(oracle: Oracle, progress: Progress, x: Tensor) -> Here:
    """Evaluate x_{t+1} on the next draw; zeta is g there."""
    inner = oracle.inner(x, oracle.draw(), gradient_rows=len(x))
    progress.jitter = max(progress.jitter, inner.jitter)
    progress.arrive(x, oracle.outer(inner.v), _broken(inner.v, inner.failed))
    return Here(inner.pullback, inner.v, None)


def _look_and_track(
    oracle: Oracle, progress: Progress, tracker: Tracker, memory: Memory | FreshMemory, t: int, x: Tensor
) -> Here:
    """Evaluate x_{t+1} and the query together on the next draw, and update zeta."""
    rows, draw = len(x), oracle.draw()
    blend = tracker.blend(t, memory.pool_size / draw.size)
    batch = x if tracker.query is None else torch.cat([x, tracker.query(t, progress.x, x)])
    inner = oracle.inner(batch, draw, gradient_rows=rows)
    progress.jitter = max(progress.jitter, inner.jitter)
    broken = _broken(inner.v, inner.failed)
    v, v_query = inner.v[:rows], None
    if tracker.query is not None:
        v_query = inner.v[rows:]
        if broken is not None:  # a query that has no value is replaced by the point itself
            v_query = torch.where(broken[rows:, None, None], v, v_query)
    progress.arrive(x, oracle.outer(v), None if broken is None else broken[:rows])
    return Here(inner.pullback, memory.update(blend, draw, v, v_query), memory.mean_utility())


def _finish(oracle: Oracle, progress: Progress, x: Tensor) -> None:
    """The value of the last point; no gradient is needed any more."""
    inner = oracle.inner(x, oracle.draw(), gradient_rows=0)
    progress.jitter = max(progress.jitter, inner.jitter)
    progress.arrive(x, oracle.outer(inner.v), _broken(inner.v, inner.failed))


def _all_finite(values: Tensor) -> bool:
    """Whether every entry is finite, by one number. False says nothing: the sum may have overflowed."""
    return math.isfinite(float(values.sum()))


def _broken(v: Tensor, failed: Tensor) -> Tensor | None:
    """Which rows have no usable columns: marked by the oracle, or not finite. None: all are sound."""
    if _all_finite(v) and not bool(failed.any()):
        return None
    return failed | ~torch.isfinite(v.sum((-2, -1)))


def _frozen_where_not_finite(progress: Progress, gradient: Tensor, x_next: Tensor) -> Tensor:
    """Mark restarts whose gradient or move is not finite; they go (and stay) where they were best."""
    norm = torch.linalg.vector_norm(gradient, dim=(1, 2))
    if _all_finite(norm) and _all_finite(x_next):
        progress.gradient_norm = norm
    else:
        sound = torch.isfinite(norm) & torch.isfinite(x_next.sum((1, 2)))
        progress.gradient_norm = torch.where(sound, norm, progress.gradient_norm)
        progress.fail(~sound)
    if progress.some_failed:
        return torch.where(progress.failed[:, None, None], progress.best, x_next)
    return x_next
