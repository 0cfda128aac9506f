"""Where a tracker's zeta is kept: on the columns of a pool, on the columns of a minibatch, or not at all.

The decay of all columns is one scalar c (zeta = c Z), and only drawn columns are touched: a step costs O(B q K),
for any M.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Protocol

from compbo.types import zeta_at_once

if TYPE_CHECKING:
    from typing import Self

    from torch import Tensor

    from compbo.maximizers.trackers import Blend, Tracker
    from compbo.types import Draw, Oracle

SMALLEST_SCALE = 1e-100  # below it c is folded into Z (once in many steps), before 1/c overflows


class Memory(Protocol):
    """zeta, one step after the other."""

    @property
    def pool_size(self) -> int:
        """Number M of zeta's columns."""
        ...

    def read(self, draw: Draw) -> Tensor:
        """zeta in the drawn columns, (B, q, K)."""
        ...

    def mean_utility(self) -> Tensor | None:
        """The mean of h over all columns of zeta, (B,); None where the drawn columns are enough for grad f."""
        ...

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor) -> Tensor:
        """One step of the tracker's recurrence; the new zeta in the drawn columns, (B, q, K).

        v (B, q, K): the columns at x_{t+1}. v_query: those at u_{t+1}; of no rows if the tracker has no query.
        """
        ...

    def only(self, rows: Tensor) -> Memory:
        """The memory of these restarts (their indices), for a way of their own."""
        ...


def start_memory(tracker: Tracker, oracle: Oracle, x: Tensor, draw: Draw, v: Tensor) -> Memory:
    """zeta_0 = E[g](x_0), x = x_0: on all columns of the pool or, without a pool, v, the columns of the first draw."""
    if not tracker.remembers:
        return NoMemory(v)
    if draw.columns is None:
        return FreshMemory(v)
    return PoolMemory(_on_all_columns(oracle, x), oracle)


def _on_all_columns(oracle: Oracle, x: Tensor) -> Tensor:
    """v (B, q, M) at x in all columns of the pool; a large one is made a few restarts at a time, as zeta keeps it."""
    draw = oracle.expectation_draw()
    size = zeta_at_once(len(x), draw.z.numel())
    first = oracle.inner(x[:size], draw, gradient_rows=0).v
    if len(x) <= size:
        return first
    rows = first.new_empty(first.shape[2], len(x), first.shape[1])
    rows[:, :size] = first.permute(2, 0, 1)
    for start in range(size, len(x), size):
        part = slice(start, start + size)
        rows[:, part] = oracle.inner(x[part], draw, gradient_rows=0).v.permute(2, 0, 1)
    return rows.permute(1, 2, 0)


class _DrawnColumns:
    """zeta of the K columns of the last draw (M = K), (B, q, K)."""

    def __init__(self, v: Tensor) -> None:
        """v: zeta_0 = v at x_0, (B, q, K)."""
        self._zeta = v

    @property
    def pool_size(self) -> int:
        """Number K of drawn columns."""
        return self._zeta.shape[-1]

    def read(self, draw: Draw) -> Tensor:
        """All of zeta."""
        del draw
        return self._zeta

    def mean_utility(self) -> None:
        """None: the outer function is given all columns anyway."""

    def only(self, rows: Tensor) -> Self:
        """The memory of these restarts (their indices)."""
        return type(self)(self._zeta[rows])


class NoMemory(_DrawnColumns):
    """zeta is g at the current point and draw."""

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor) -> Tensor:
        """The new v in place of the old one."""
        del blend, draw, v_query
        self._zeta = v
        return v


class FreshMemory(_DrawnColumns):
    """zeta of K columns that are all drawn anew at every step."""

    def __init__(self, v: Tensor) -> None:
        """v: zeta_0 = v at x_0, (B, q, K); it stays as it is."""
        super().__init__(v.clone())

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor) -> Tensor:
        """One step of the recurrence; zeta."""
        del draw
        self._zeta = _blended(self._zeta.mul_(blend.decay), blend, v, v_query)
        return self._zeta


class PoolMemory:
    """zeta over a pool of M columns, stored as c Z with Z (M, B, q) so that a column is one contiguous row."""

    def __init__(self, v: Tensor, oracle: Oracle) -> None:
        """v: zeta_0 = v at x_0 in all M columns, (B, q, M)."""
        self._scale = 1.0
        self._rows = v.permute(2, 0, 1).contiguous()
        self._oracle = oracle
        self._total_utility = None if oracle.linear_outer else oracle.utility(v).sum(-1)  # sum_m h(zeta_m), (B,)

    @property
    def pool_size(self) -> int:
        """Number M of columns of the pool."""
        return self._rows.shape[0]

    def read(self, draw: Draw) -> Tensor:
        """zeta in the drawn columns, (B, q, K)."""
        columns = _columns(draw)
        return self._rows.index_select(0, columns).mul_(self._scale).permute(1, 2, 0)

    def mean_utility(self) -> Tensor | None:
        """The mean of h over all M columns, (B,), if the outer function is not linear."""
        return None if self._total_utility is None else self._total_utility / self.pool_size

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor) -> Tensor:
        """One step of the recurrence; the new zeta in the drawn columns, (B, q, K)."""
        self._scale *= blend.decay
        if self._scale < SMALLEST_SCALE:
            self._rows.mul_(self._scale)
            self._scale = 1.0
        zeta = self.read(draw)
        if self._total_utility is not None:
            self._total_utility.mul_(blend.decay).sub_(self._oracle.utility(zeta).sum(-1))
        zeta = _blended(zeta, blend, v, v_query)
        if self._total_utility is not None:
            self._total_utility.add_(self._oracle.utility(zeta).sum(-1))
        self._rows.index_copy_(0, _columns(draw), (zeta / self._scale).permute(2, 0, 1))
        return zeta

    def only(self, rows: Tensor) -> PoolMemory:
        """The memory of these restarts (their indices)."""
        part = copy(self)
        part._rows = self._rows[:, rows]
        part._total_utility = None if self._total_utility is None else self._total_utility[rows]
        return part


def _blended(zeta: Tensor, blend: Blend, v: Tensor, v_query: Tensor) -> Tensor:
    """keep * zeta + at_x * v + at_query * v_query, in place of zeta."""
    if blend.keep != 1.0:
        zeta.mul_(blend.keep)
    if blend.at_x != 0.0:
        zeta.add_(v, alpha=blend.at_x)
    if blend.at_query != 0.0:
        zeta.add_(v_query, alpha=blend.at_query)
    return zeta


def _columns(draw: Draw) -> Tensor:
    if draw.columns is None:
        raise ValueError("A pool of columns needs draws that name their columns; this draw has none.")
    return draw.columns
