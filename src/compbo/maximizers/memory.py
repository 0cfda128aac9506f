"""Where a tracker's zeta is kept: on the columns of a pool, on the columns of a minibatch, or not at all.

The decay of all columns is one scalar c (zeta = c Z), and only drawn columns are touched: a step costs O(B q K),
for any M. Where f is linear, a column of zeta_0 is made when it is first drawn.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Protocol

import torch

from compbo.types import Draw, zeta_at_once

if TYPE_CHECKING:
    from typing import Self

    from torch import Tensor

    from compbo.maximizers.trackers import Blend, Tracker
    from compbo.types import Inner, Oracle

SMALLEST_SCALE = 1e-100  # below it c is folded into Z (once in many steps), before 1/c overflows
# Columns of zeta_0 are made in multiples of this: BLAS rounds the last few columns of a product in another way, and a
# column has the same bits whenever it is made.
TOGETHER = 48
NOT_MADE = -1  # the place of a column that was never drawn


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


def start_memory(tracker: Tracker, oracle: Oracle, x: Tensor, draw: Draw, inner: Inner) -> Memory:
    """zeta_0 = E[g](x_0), x = x_0: on the columns of the pool or, without a pool, on those of the first draw.

    inner: g at x_0 on that draw.
    """
    if not tracker.remembers:
        return NoMemory(inner.v)
    if draw.columns is None:
        return FreshMemory(inner.v)
    if oracle.linear_outer and inner.v_on is not None:
        return LatePoolMemory(x, oracle)
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
        return self._zeta_at(self._places(_columns(draw)))

    def _places(self, columns: Tensor) -> Tensor:
        """The rows of Z that columns (K,) of the pool have."""
        return columns

    def _zeta_at(self, places: Tensor) -> Tensor:
        return self._rows.index_select(0, places).mul_(self._scale).permute(1, 2, 0)

    def mean_utility(self) -> Tensor | None:
        """The mean of h over all M columns, (B,), if the outer function is not linear."""
        return None if self._total_utility is None else self._total_utility / self.pool_size

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor) -> Tensor:
        """One step of the recurrence; the new zeta in the drawn columns, (B, q, K)."""
        self._scale *= blend.decay
        if self._scale < SMALLEST_SCALE:
            self._fold()
        places = self._places(_columns(draw))
        zeta = self._zeta_at(places)
        if self._total_utility is not None:
            self._total_utility.mul_(blend.decay).sub_(self._oracle.utility(zeta).sum(-1))
        zeta = _blended(zeta, blend, v, v_query)
        if self._total_utility is not None:
            self._total_utility.add_(self._oracle.utility(zeta).sum(-1))
        self._rows.index_copy_(0, places, (zeta / self._scale).permute(2, 0, 1))
        return zeta

    def _fold(self) -> None:
        """Z <- c Z, c <- 1."""
        self._rows.mul_(self._scale)
        self._scale = 1.0

    def only(self, rows: Tensor) -> Self:
        """The memory of these restarts (their indices)."""
        part = copy(self)
        part._rows = self._rows[:, rows]
        part._total_utility = None if self._total_utility is None else self._total_utility[rows]
        return part


class LatePoolMemory(PoolMemory):
    """The same for a linear f: a column is made when it is first drawn, and one that never is costs nothing.

    T draws of K of the M = K T columns touch 63 % of them. The posterior at x_0 is evaluated once.
    """

    def __init__(self, x: Tensor, oracle: Oracle) -> None:
        """x: x_0, (B, q, d)."""
        self._scale, self._folded, self._oracle, self._total_utility = 1.0, 1.0, oracle, None
        self._pool = oracle.expectation_draw()
        m = self._pool.size
        last = torch.arange(max(0, m - m % TOGETHER - TOGETHER), m)  # at the end of a product, as in one of all columns
        inner = oracle.inner(x, self._draw_of(last), gradient_rows=0)
        assert inner.v_on is not None
        self._v_on = inner.v_on
        self._place = torch.full((m,), NOT_MADE)
        self._made, self._rows = 0, inner.v.new_empty(m - m // 4, *inner.v.shape[:2])
        self._keep(last, inner.v)

    @property
    def pool_size(self) -> int:
        """Number M of columns of the pool."""
        return self._pool.size

    def _places(self, columns: Tensor) -> Tensor:
        """The rows of Z that columns (K,) of the pool have; those that have none are made."""
        places = self._place[columns]
        new = columns[places == NOT_MADE]
        if len(new) == 0:
            return places
        whole = torch.cat([new, new[-1:].expand(-len(new) % TOGETHER)])
        self._keep(new, self._v_on(self._draw_of(whole))[..., : len(new)])
        return self._place[columns]

    def _draw_of(self, columns: Tensor) -> Draw:
        return Draw(self._pool.z.mT[columns].mT, columns)

    def _keep(self, columns: Tensor, v: Tensor) -> None:
        """v (B, q, K) at x_0 becomes Z in these columns, which had no rows."""
        before, self._made = self._made, self._made + len(columns)
        if self._made > len(self._rows):
            grown = self._rows.new_empty(self.pool_size, *self._rows.shape[1:])
            grown[:before] = self._rows[:before]
            self._rows = grown
        self._rows[before : self._made] = v.permute(2, 0, 1)
        if self._folded != 1.0:
            self._rows[before : self._made].mul_(self._folded)
        self._place[columns] = torch.arange(before, self._made)

    def _fold(self) -> None:
        self._folded *= self._scale
        super()._fold()

    def only(self, rows: Tensor) -> Self:
        """The memory of these restarts (their indices)."""
        part, of_all = super().only(rows), self._v_on
        part._v_on, part._place = lambda draw: of_all(draw)[rows], self._place.clone()
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
