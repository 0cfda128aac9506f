"""Trackers: running estimates zeta of the inner mapping E[g(x)].

All of them are one recurrence. After the step to x_{t+1}, with the new draw w of K of the M columns,

    zeta    <- decay * zeta                                                            in every column
    zeta_w  <- keep * zeta_w + at_x * v(x_{t+1}; w) + at_query * v(u_{t+1}; w)         in the drawn columns

on the v-scale: zeta_m estimates v_m and the minibatch estimate of column m is (M/K) v_m where drawn, 0 elsewhere. So a
tracker is four numbers per step and, if it needs one, a second point u. `memory.py` keeps the zeta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Blend(NamedTuple):
    """The four numbers of one update."""

    decay: float
    keep: float
    at_x: float
    at_query: float = 0.0


class Tracker(NamedTuple):
    """How zeta follows E[g], as a value.

    name: as the catalogue shows it. blend: (t, M/K) -> the numbers of step t. query: (t, x_t, x_{t+1}) -> u_{t+1}; None
    where only x_{t+1} is needed. remembers: whether zeta outlives a step.
    """

    name: str
    blend: Callable[[int, float], Blend]
    query: Callable[[int, Tensor, Tensor], Tensor] | None = None
    remembers: bool = True


# zeta = g(x_{t+1}; w): the ordinary stochastic gradient of ERM, finite-sum and Nested-MC methods.
MEMORYLESS = Tracker("none", lambda t, ratio: Blend(decay=0.0, keep=0.0, at_x=1.0), remembers=False)  # noqa: ARG005


def smoothed(beta: Schedule) -> Tracker:
    """zeta = (1 - b_t) zeta + b_t g(x_{t+1}): SCGA, NASA."""

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=b * ratio)

    return Tracker("smoothed", blend)


def extrapolated(beta: Schedule) -> Tracker:
    """zeta = (1 - b_t) zeta + b_t g(u), u = (1 - 1/b_t) x_t + x_{t+1} / b_t: ASCGA, CAdam.

    u is built from the projected x_{t+1} and may leave the box; the GP is defined there.
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=0.0, at_query=b * ratio)

    def query(t: int, x: Tensor, x_next: Tensor) -> Tensor:
        return torch.lerp(x, x_next, 1 / beta(t))

    return Tracker("extrapolated", blend, query)


def corrected(beta: Schedule) -> Tracker:
    """zeta = g(x_{t+1}; w) + (1 - b_t) (zeta - g(x_t; w)), the same sample at both points: SCSC.

    Chen, Sun and Yin, "Solving stochastic compositional optimization is nearly as easy as solving stochastic
    optimization", IEEE Transactions on Signal Processing 69 (2021).
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=ratio, at_query=-(1 - b) * ratio)

    return Tracker("corrected", blend, _previous_point)


def selective(beta: Schedule) -> Tracker:
    """zeta_w = (1 - b_t) zeta_w + b_t v(x_{t+1}; w) in the drawn columns, the others stay: SOX.

    Wang and Yang, "Finite-sum coupled compositional stochastic optimization", ICML 2022.
    """

    def blend(t: int, ratio: float) -> Blend:
        del ratio
        b = beta(t)
        return Blend(decay=1.0, keep=1 - b, at_x=b)

    return Tracker("selective", blend)


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

    return Tracker("multiblock", blend, _previous_point)


def _previous_point(t: int, x: Tensor, x_next: Tensor) -> Tensor:
    del t, x_next
    return x
