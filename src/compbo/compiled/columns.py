"""The integrands of `acquisition/integrands.py` in compiled code: inner functions, their derivatives, the winners."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.acquisition.integrands import FAT_TAIL
from compbo.compiled.build import entry, part, summing_part

if TYPE_CHECKING:
    from compbo.compiled.build import Array

UCB, EI, SR, PI, LOGEI = range(5)
IDENTITY_FROM = 20.0  # softplus(y) is y from here on, as in PyTorch
NOTHING_BELOW = -45.0  # softplus(y) and its slope vanish beside the fat tail


class Integrand(NamedTuple):
    """An acquisition function: which one, f*, and its one parameter."""

    code: int  # UCB, EI, SR, PI or LOGEI
    best: float  # f*
    parameter: float  # UCB's width, the temperature of PI and LogEI


@part
def inner_row(integrand: Integrand, mean: float, deviation: Array, v: Array) -> None:
    """v (K,) of one point for an integrand, from its mean and deviation L z (K,)."""
    code, best, parameter = integrand
    if code == UCB:
        for k in range(v.shape[0]):
            v[k] = mean + parameter * abs(deviation[k])
        return
    for k in range(v.shape[0]):
        v[k] = mean + deviation[k]
    if code == EI:
        for k in range(v.shape[0]):
            v[k] = 0.0 if v[k] < best else v[k] - best
    elif code == PI:
        for k in range(v.shape[0]):
            v[k] = (v[k] - best) / parameter
    elif code == LOGEI:
        for k in range(v.shape[0]):
            y = (v[k] - best) / parameter
            v[k] = parameter * (softplus(y) + FAT_TAIL / (1.0 + y * y))


@part
def softplus(y: float) -> float:
    """log(1 + exp(y))."""
    if y > IDENTITY_FROM:
        return y
    return 0.0 if y < NOTHING_BELOW else math.log1p(math.exp(y))


@summing_part
def inner_row_cotangent(integrand: Integrand, c: Array, mean: float, deviation: Array) -> float:
    """The cotangents of the deviation (K,), in its place, and of the mean, for c (K,), that of the integrand v."""
    code, best, parameter = integrand
    total = 0.0
    if code == UCB:
        for k in range(c.shape[0]):
            sign = 1.0 if deviation[k] > 0.0 else (-1.0 if deviation[k] < 0.0 else 0.0)
            deviation[k] = parameter * sign * c[k]
            total += c[k]
        return total
    for k in range(c.shape[0]):
        if code == EI:
            slope = 1.0 if mean + deviation[k] > best else 0.0
        elif code == SR:
            slope = 1.0
        elif code == PI:
            slope = 1.0 / parameter
        else:  # most c are 0: see `winners`
            slope = 0.0 if c[k] == 0.0 else log_ei_slope(((mean + deviation[k]) - best) / parameter)
        deviation[k] = slope * c[k]
        total += deviation[k]
    return total


@part
def log_ei_slope(y: float) -> float:
    """Sig(y) - 0.2 y / (1 + y^2)^2."""
    rising = 1.0 if y > -NOTHING_BELOW else (0.0 if y < NOTHING_BELOW else 1.0 / (1.0 + math.exp(-y)))
    around = 1.0 + y * y
    return rising - 2.0 * FAT_TAIL * y / (around * around)


@entry
def maxima(v: Array, top: Array) -> None:
    """top (B, K) = max_j v_jk of v (B, q, K)."""
    for b in range(v.shape[0]):
        column_maxima(v[b], top[b])


@part
def column_maxima(v: Array, top: Array) -> None:
    """top (K,) = max_j v_jk of v (q, K); a NaN stays."""
    for k in range(v.shape[1]):
        top[k] = v[0, k]
    for j in range(1, v.shape[0]):
        for k in range(v.shape[1]):
            top[k] = top[k] if top[k] >= v[j, k] or top[k] != top[k] else v[j, k]


@entry
def winners(v: Array, weight: Array, out: Array) -> None:
    """out: weight (B, K) at the largest value of each column of v (B, q, K), shared where several are; else 0."""
    top, share = np.empty(v.shape[2]), np.empty(v.shape[2])
    for b in range(v.shape[0]):
        column_maxima(v[b], top)
        share[:] = 0.0
        for j in range(v.shape[1]):
            for k in range(v.shape[2]):
                share[k] += 1.0 if v[b, j, k] == top[k] else 0.0
        for k in range(v.shape[2]):
            share[k] = weight[b, k] / max(share[k], 1.0)
        for j in range(v.shape[1]):
            for k in range(v.shape[2]):
                out[b, j, k] = share[k] if v[b, j, k] == top[k] else 0.0
