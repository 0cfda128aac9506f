"""Trackers: running estimates zeta of the inner mapping E[g(x)].

All of them are one recurrence. After the step to x_{t+1}, with the new draw w of K of the M columns,

    zeta    <- decay * zeta                                                            in every column
    zeta_w  <- keep * zeta_w + at_x * v(x_{t+1}; w) + at_query * v(u_{t+1}; w)         in the drawn columns

on the v-scale: zeta_m estimates v_m and the minibatch estimate of column m is (M/K) v_m where drawn, 0 elsewhere. So a
tracker is four numbers per step and, if it needs one, a second point u. `memory.py` keeps the zeta.

That minibatch estimate is right on average and wrong in every single column, which is harmless where the utility of a
column is 1-homogeneous: h((M/K) v) = (M/K) h(v). Under PI's sigmoid it is not (docs/pi_tracker.md), so a tracker that
scales has a second form, which updates the drawn columns alone with v itself (`Tracker.under`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.maximizers.schedules import Schedule

# paper: all columns decay, the drawn ones take M/K times the new values, as published. drawn: the drawn ones alone,
# unscaled. auto: "paper" under a utility that is 1-homogeneous, "drawn" under any other.
ZetaUpdate = Literal["auto", "paper", "drawn"]
ZETA_UPDATES: tuple[ZetaUpdate, ...] = get_args(ZetaUpdate)


class Blend(NamedTuple):
    """The four numbers of one update.

    decay: factor of zeta in all columns. keep, at_x, at_query: in the drawn columns, factors of zeta, of g at x and of
    g at the query point.
    """

    decay: float
    keep: float
    at_x: float
    at_query: float = 0.0


class Tracker(NamedTuple):
    """How zeta follows E[g], as a value.

    name: as the catalogue shows it. blend: (t, M/K) -> the numbers of step t. query: (t, x_t, x_{t+1}) -> u_{t+1}; None
    where only x_{t+1} is needed. remembers: whether zeta outlives a step. update: which columns a step changes; None
    for a tracker that has one form only.
    """

    name: str
    blend: Callable[[int, float], Blend]
    query: Callable[[int, Tensor, Tensor], Tensor] | None = None
    remembers: bool = True
    update: ZetaUpdate | None = None

    def under(self, homogeneous_utility: bool) -> Tracker:
        """The tracker in the form that it takes under this kind of utility."""
        drawn = self.update == "drawn" or (self.update == "auto" and not homogeneous_utility)
        return self._replace(blend=_drawn_alone(self.blend)) if drawn else self


def _drawn_alone(blend: Callable[[int, float], Blend]) -> Callable[[int, float], Blend]:
    """The same weights in the drawn columns, as if all were drawn (M/K = 1); the other columns stay."""

    def alone(t: int, ratio: float) -> Blend:
        del ratio
        decay, keep, at_x, at_query = blend(t, 1.0)
        return Blend(1.0, decay * keep, at_x, at_query)

    return alone


# zeta = g(x_{t+1}; w): the ordinary stochastic gradient of ERM, finite-sum and Nested-MC methods.
MEMORYLESS = Tracker("none", lambda t, ratio: Blend(decay=0.0, keep=0.0, at_x=1.0), remembers=False)  # noqa: ARG005


def smoothed(beta: Schedule, update: ZetaUpdate = "auto") -> Tracker:
    """zeta = (1 - b_t) zeta + b_t g(x_{t+1}): SCGA, NASA.

    beta: schedule of b_t. update: of all columns, or of the drawn ones.
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=b * ratio)

    return Tracker("smoothed", blend, update=update)


def extrapolated(beta: Schedule, update: ZetaUpdate = "auto") -> Tracker:
    """zeta = (1 - b_t) zeta + b_t g(u), u = (1 - 1/b_t) x_t + x_{t+1} / b_t: ASCGA, CAdam.

    beta: schedule of b_t. update: of all columns, or of the drawn ones.

    u is built from the projected x_{t+1} and may leave the box; the GP is defined there.
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=0.0, at_query=b * ratio)

    def query(t: int, x: Tensor, x_next: Tensor) -> Tensor:
        return torch.lerp(x, x_next, 1 / beta(t))

    return Tracker("extrapolated", blend, query, update=update)


def corrected(beta: Schedule, update: ZetaUpdate = "auto") -> Tracker:
    """zeta = g(x_{t+1}; w) + (1 - b_t) (zeta - g(x_t; w)), the same sample at both points: SCSC.

    beta: schedule of b_t. update: of all columns, or of the drawn ones.

    Chen, Sun and Yin, "Solving stochastic compositional optimization is nearly as easy as solving stochastic
    optimization", IEEE Transactions on Signal Processing 69 (2021).
    """

    def blend(t: int, ratio: float) -> Blend:
        b = beta(t)
        return Blend(decay=1 - b, keep=1.0, at_x=ratio, at_query=-(1 - b) * ratio)

    return Tracker("corrected", blend, _previous_point, update=update)


def selective(beta: Schedule) -> Tracker:
    """zeta_w = (1 - b_t) zeta_w + b_t v(x_{t+1}; w) in the drawn columns, the others stay: SOX.

    beta: schedule of b_t.

    Wang and Yang, "Finite-sum coupled compositional stochastic optimization", ICML 2022.
    """

    def blend(t: int, ratio: float) -> Blend:
        del ratio
        b = beta(t)
        return Blend(decay=1.0, keep=1 - b, at_x=b)

    return Tracker("selective", blend)


def multiblock(beta: Schedule) -> Tracker:
    """zeta_w = (1-b) zeta_w + b v(x_{t+1}; w) + gamma (v(x_{t+1}; w) - v(x_t; w)), the other columns stay: MSVR.

    beta: schedule of b.

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
