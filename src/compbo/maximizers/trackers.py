"""Trackers: running estimates zeta of the inner mapping E[g(x)], and the memory that holds them.

All of them are one recurrence. After the step to x_{t+1}, with the new draw w of K of the M columns,

    zeta    <- decay * zeta                                                            in every column
    zeta_w  <- keep * zeta_w + at_x * v(x_{t+1}; w) + at_query * v(u_{t+1}; w)         in the drawn columns

on the v-scale: zeta_m estimates v_m and the minibatch estimate of column m is (M/K) v_m where drawn, 0 elsewhere. So a
tracker is four numbers per step and, if it needs one, a second point u.

The decay of all columns is one scalar c (zeta = c Z), and only drawn columns are touched: a step costs O(B q K)
whatever M is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.maximizers.schedules import Schedule
    from compbo.types import Draw, Oracle

SMALLEST_SCALE = 1e-100  # below it c is folded into Z (once in many steps), before 1/c overflows


class Blend(NamedTuple):
    """The four numbers of one update."""

    decay: float
    keep: float
    at_x: float
    at_query: float = 0.0


class Tracker(NamedTuple):
    """blend: (t, M/K) -> the numbers of step t. query: (t, x_t, x_{t+1}) -> u_{t+1}; None: x_{t+1}, at no cost."""

    blend: Callable[[int, float], Blend]
    query: Callable[[int, Tensor, Tensor], Tensor] | None = None


def smoothed(beta: Schedule) -> Tracker:
    """zeta = (1 - b_t) zeta + b_t g(x_{t+1}): SCGA, NASA."""

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=b * ratio)

    return Tracker(blend)


def extrapolated(beta: Schedule) -> Tracker:
    """zeta = (1 - b_t) zeta + b_t g(u), u = (1 - 1/b_t) x_t + x_{t+1} / b_t: ASCGA, CAdam.

    u is built from the projected x_{t+1} and may leave the box; the GP is defined there.
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=0.0, at_query=b * ratio)

    def query(t: int, x: Tensor, x_next: Tensor) -> Tensor:
        return torch.lerp(x, x_next, 1 / beta(t))

    return Tracker(blend, query)


def corrected(beta: Schedule) -> Tracker:
    """zeta = g(x_{t+1}; w) + (1 - b_t) (zeta - g(x_t; w)), the same sample at both points: SCSC.

    Chen, Sun and Yin, "Solving stochastic compositional optimization is nearly as easy as solving stochastic
    optimization", IEEE Transactions on Signal Processing 69 (2021).
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=ratio, at_query=-(1 - b) * ratio)

    return Tracker(blend, _previous_point)


def selective(beta: Schedule) -> Tracker:
    """zeta_w = (1 - b_t) zeta_w + b_t v(x_{t+1}; w) in the drawn columns, the others stay: SOX.

    Wang and Yang, "Finite-sum coupled compositional stochastic optimization", ICML 2022.
    """

    def blend(t: int, ratio: float) -> Blend:
        del ratio
        b = beta(t)
        return Blend(decay=1.0, keep=1 - b, at_x=b)

    return Tracker(blend)


def multiblock(beta: Schedule) -> Tracker:
    """zeta_w = (1-b) zeta_w + b v(x_{t+1}; w) + gamma (v(x_{t+1}; w) - v(x_t; w)), the other columns stay: MSVR.

    gamma = (M - K) / (K (1 - b)) + (1 - b) also pays for the drift of the columns that were not drawn. Jiang, Li,
    Wang, Zhang and Yang, "Multi-block-single-probe variance reduced estimator for coupled compositional
    optimization", NeurIPS 2022.
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        gamma = (ratio - 1) / (1 - b) + (1 - b)
        return Blend(decay=1.0, keep=1 - b, at_x=b + gamma, at_query=-gamma)

    return Tracker(blend, _previous_point)


def _previous_point(t: int, x: Tensor, x_next: Tensor) -> Tensor:
    del t, x_next
    return x


class Memory:
    """zeta over a pool of M columns, stored as c Z with Z (M, B, q) so that a column is one contiguous row."""

    def __init__(self, v: Tensor, oracle: Oracle) -> None:
        """v: zeta_0 = v at x_0 in all M columns, (B, q, M)."""
        self._scale = 1.0
        self._rows = v.permute(2, 0, 1).contiguous()
        self._oracle = oracle
        self._total_utility = oracle.utility(v).sum(-1) if not oracle.linear_outer else None  # sum_m h(zeta_m), (B,)

    @property
    def pool_size(self) -> int:
        """M."""
        return self._rows.shape[0]

    def read(self, draw: Draw) -> Tensor:
        """zeta in the drawn columns, (B, q, K)."""
        columns = _columns(draw)
        return self._rows.index_select(0, columns).mul_(self._scale).permute(1, 2, 0)

    def mean_utility(self) -> Tensor | None:
        """The mean of h over all M columns, (B,), if the outer function needs it."""
        return None if self._total_utility is None else self._total_utility / self.pool_size

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor | None) -> Tensor:
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


class FreshMemory:
    """zeta of K columns that are all drawn anew at every step (M = K), (B, q, K)."""

    pool_size: int

    def __init__(self, v: Tensor) -> None:
        """v: zeta_0 = v at x_0, (B, q, K)."""
        self.pool_size = v.shape[-1]
        self._zeta = v.clone()

    def mean_utility(self) -> Tensor | None:
        """Never needed: the columns given to the outer function are all there are."""
        return None

    def update(self, blend: Blend, draw: Draw, v: Tensor, v_query: Tensor | None) -> Tensor:
        """One step of the recurrence; zeta."""
        del draw
        self._zeta = _blended(self._zeta.mul_(blend.decay), blend, v, v_query)
        return self._zeta


def _blended(zeta: Tensor, blend: Blend, v: Tensor, v_query: Tensor | None) -> Tensor:
    """keep * zeta + at_x * v + at_query * v_query, in place of zeta."""
    if blend.keep != 1.0:
        zeta.mul_(blend.keep)
    if blend.at_x != 0.0:
        zeta.add_(v, alpha=blend.at_x)
    if v_query is not None and blend.at_query != 0.0:
        zeta.add_(v_query, alpha=blend.at_query)
    return zeta


def _columns(draw: Draw) -> Tensor:
    if draw.columns is None:
        raise ValueError("A pool of columns needs draws that name their columns; this draw has none.")
    return draw.columns
