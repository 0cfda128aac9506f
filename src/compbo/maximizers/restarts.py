"""Where the restarts of a maximisation stand: the best so far, which have failed, and what the trace will say.

A restart that cannot be evaluated is frozen at its best point; the others go on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.types import Failure, Status, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from compbo.maximizers.budget import Clock
    from compbo.types import Inner, Oracle


@dataclass
class Info:
    """What a person wants to see of the restarts; no step depends on it."""

    value: Tensor  # (B,) at the current points
    start_value: Tensor  # (B,)
    gradient_norm: Tensor  # (B,) of the last gradient
    steps: int = 0
    jitter: float = 0.0  # largest relative one that a Cholesky factor needed
    failures: dict[int, Failure] = field(default_factory=dict)  # by restart: what stopped it first
    values: list[Tensor] = field(default_factory=list)  # after every step, if recorded
    points: list[Tensor] = field(default_factory=list)  # after every step, if recorded


class Broken(NamedTuple):
    """Rows (B,) without usable columns: marked by the oracle for want of a Cholesky factor, or not finite."""

    rows: Tensor
    no_factor: Tensor  # (B,) for want of a Cholesky factor


class RestartBatch:
    """B restarts on their way: what the next step needs of the past, and beside it what the trace will say.

    x (B, q, d): where they stand. best, best_value: the best point of each so far. failed (B,): which cannot go on.
    """

    def __init__(self, x: Tensor, clock: Clock, record: bool) -> None:
        """record: keep values and points of every step."""
        unknown = x.new_full(x.shape[:1], torch.nan)
        self.x, self.clock, self.record = x, clock, record
        self.best, self.best_value = x.clone(), unknown.clone()
        self.failed, self.some_failed = torch.zeros_like(unknown, dtype=torch.bool), False
        self.info = Info(unknown, unknown.clone(), unknown.clone())

    @property
    def all_failed(self) -> bool:
        """Whether none can go on."""
        return self.some_failed and bool(self.failed.all())

    def fail(self, which: Tensor, why: Failure) -> None:
        """Mark restarts (B,) that cannot go on, and why; what stopped a restart first is kept."""
        for i in which.nonzero().flatten().tolist():
            self.info.failures.setdefault(i, why)
        self.failed = self.failed | which
        self.some_failed = bool(self.failed.any())

    def held(self, x: Tensor) -> Tensor:
        """x (B, q, d), with the best points in place of those of failed restarts."""
        return torch.where(self.failed[:, None, None], self.best, x) if self.some_failed else x

    def broken(self, inner: Inner) -> Broken | None:
        """Which rows have no usable columns. None: all are sound."""
        self.info.jitter = max(self.info.jitter, inner.jitter)
        if _all_finite(inner.v) and not bool(inner.failed.any()):
            return None
        return Broken(inner.failed | ~torch.isfinite(inner.v.sum((-2, -1))), inner.failed)

    def arrive(self, x: Tensor, value: Tensor, broken: Broken | None) -> None:
        """Take x with its values as the current points; restarts that are broken there are frozen at their best.

        broken: which rows are, those of x first.
        """
        if broken is not None:
            self.fail(broken.no_factor[: len(x)], Failure.NO_FACTOR)
            self.fail(broken.rows[: len(x)], Failure.VALUE)
        if not _all_finite(value):
            self.fail(~torch.isfinite(value), Failure.VALUE)
        better = is_better(value, self.best_value)
        if self.some_failed:
            better &= ~self.failed
        if bool(better.any()):
            self.best = torch.where(better[:, None, None], x, self.best)
            self.best_value = torch.where(better, value, self.best_value)
        self.x = self.held(x)
        self.info.value = torch.where(self.failed, self.best_value, value) if self.some_failed else value

    def leave(self, gradient: Tensor, x: Tensor) -> Tensor:
        """Where the restarts go next: x, but those whose gradient or move is not finite stay at their best."""
        norm = torch.linalg.vector_norm(gradient, dim=(1, 2))
        if not (_all_finite(norm) and _all_finite(x)):
            steep, far = ~torch.isfinite(norm), ~torch.isfinite(x.sum((1, 2)))
            norm = torch.where(steep | far, self.info.gradient_norm, norm)
            self.fail(steep, Failure.GRADIENT)
            self.fail(far, Failure.STEP)
        self.info.gradient_norm = norm
        return self.held(x)

    def advance(self) -> None:
        """Count a finished step."""
        self.info.steps += 1
        if self.record:
            self.info.values.append(self.info.value)
            self.info.points.append(self.x)

    def only(self, rows: Tensor) -> RestartBatch:
        """A batch of these restarts (their indices), which goes its own way under the same clock."""
        part = RestartBatch(self.x[rows], self.clock, self.record)
        part.best, part.best_value, part.failed = self.best[rows], self.best_value[rows], self.failed[rows]
        part.some_failed = bool(part.failed.any())
        info = self.info
        part.info = Info(info.value[rows], info.start_value[rows], info.gradient_norm[rows], jitter=info.jitter)
        return part

    def take_back(self, rows: Tensor, part: RestartBatch) -> None:
        """Where a part of the restarts, those of the indices `rows`, stands now; `seen` says what that is worth."""
        before, info, new = self.info.value, self.info, part.info
        self.x = self.x.index_copy(0, rows, part.x)
        self.failed = self.failed.index_copy(0, rows, part.failed)
        self.some_failed = bool(self.failed.any())
        info.value = before.index_copy(0, rows, new.value)
        info.gradient_norm = info.gradient_norm.index_copy(0, rows, new.gradient_norm)
        info.jitter, info.steps = max(info.jitter, new.jitter), info.steps + new.steps
        info.failures |= {int(rows[i]): why for i, why in new.failures.items()}
        for values, points in zip(new.values, new.points, strict=True):
            info.values.append(before.index_copy(0, rows, values))
            info.points.append(self.x.index_copy(0, rows, points))

    def seen(self, rows: Tensor, value: Tensor) -> None:
        """Take the values (R,) of the restarts `rows` (R,) at their current points; NaN where there is none."""
        better = rows[torch.isfinite(value) & is_better(value, self.best_value[rows])]
        self.info.value = self.info.value.index_copy(0, rows, value)
        self.best = self.best.index_copy(0, better, self.x[better])
        self.best_value = self.best_value.index_copy(0, better, self.info.value[better])

    def trace(self, ending: Status | Sequence[Status]) -> Trace:
        """What is left for the caller."""
        info, restarts = self.info, len(self.x)
        endings = (ending,) * restarts if isinstance(ending, Status) else ending
        return Trace(
            final=self.x,
            final_value=info.value,
            best=self.best,
            best_value=self.best_value,
            start_value=info.start_value,
            gradient_norm=info.gradient_norm,
            status=tuple(
                Status.FAILED if failed else status
                for failed, status in zip(self.failed.tolist(), endings, strict=True)
            ),
            steps=info.steps,
            seconds=self.clock.seconds(),
            jitter=info.jitter,
            failures=tuple(info.failures.get(i) if failed else None for i, failed in enumerate(self.failed.tolist())),
            values=_stacked(info.values, self.best_value) if self.record else None,
            points=_stacked(info.points, self.best) if self.record else None,
        )


def is_better(value: Tensor, best_value: Tensor) -> Tensor:
    """Where a value beats the best one so far. A best value of NaN, none yet, is beaten by any."""
    return ~(value <= best_value)


class FixedValues(NamedTuple):
    """f(g(x)) (B,), NaN where it cannot be computed, why that is so where it is, and the jitter that was needed."""

    value: Tensor  # (B,)
    failure: Failure | None
    jitter: float


def values_on_fixed_draw(oracle: Oracle, x: Tensor) -> FixedValues:
    """f(g(x)) on the run's fixed draw."""
    inner = oracle.inner(x, oracle.fixed_draw(), gradient_rows=0)
    value = oracle.outer(inner.v)
    broken = inner.failed | ~torch.isfinite(value)
    why = Failure.NO_FACTOR if bool(inner.failed.any()) else Failure.VALUE
    return FixedValues(value.masked_fill(broken, torch.nan), why if bool(broken.any()) else None, inner.jitter)


def _all_finite(values: Tensor) -> bool:
    """Whether every entry is finite, by one number. False says nothing: the sum may have overflowed."""
    return math.isfinite(float(values.sum()))


def _stacked(steps: list[Tensor], like: Tensor) -> Tensor:
    """(T, ...), also for no steps at all."""
    return torch.stack(steps) if steps else like.new_zeros((0, *like.shape))
