"""Which restarts of a race can still win, judged by their values on one fixed draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.types import Box, Oracle

SURELY = 3.0  # standard errors of a paired difference that chance does not explain
GAINS_TO_COME = 2.0  # times the last gain: what a restart may still be expected to gain
ROUNDING = 1e-12  # relative to a value of at least 1
MET = 0.01  # share of the box: batches whose points lie closer have met


class Look(NamedTuple):
    """Restarts on the fixed draw."""

    value: Tensor  # (B,) f(g(x)); NaN where there is none
    utility: Tensor  # (B, K) h of every column; the columns of two restarts are pairs
    no_factor: Tensor  # (B,) no value for want of a Cholesky factor
    jitter: float  # largest relative one that was needed


def look_at(oracle: Oracle, x: Tensor) -> Look:
    """The batches x (B, q, d) on the fixed draw of the oracle."""
    inner = oracle.inner(x, oracle.fixed_draw(), gradient_rows=0)
    value = oracle.outer(inner.v)
    broken = inner.failed | ~torch.isfinite(value)
    return Look(value.masked_fill(broken, torch.nan), oracle.utility(inner.v), inner.failed, inner.jitter)


def has_stopped(value: Tensor, gain: Tensor) -> Tensor:
    """Where a restart did not gain or lose anything (gain (B,), to a value (B,)): on a plateau, or converged."""
    return gain.abs() <= ROUNDING * value.abs().clamp_min(1.0)


class Contenders(NamedTuple):
    """Who goes on in a race."""

    rows: Tensor  # their indices, the best first
    all_met: bool  # whether all that could win stand at one place


def contenders(look: Look, gain: Tensor, x: Tensor, running: Tensor, box: Box, most: int) -> Contenders:
    """The restarts that go on.

    A restart cannot win if it is behind the best by more than chance explains and by more than it may still gain. Of
    restarts that have met, the best goes on.

    Args:
        look: what they are worth.
        gain: (B,) what each has gained since the look before.
        x: (B, q, d) where they stand.
        running: (B,) which of them may go on at all.
        box: its sides are the unit of distances.
        most: how many go on.
    """
    value = torch.where(running & torch.isfinite(look.value), look.value, -torch.inf)
    order = torch.argsort(value, descending=True, stable=True)
    best = order[0]
    behind = look.utility[best] - look.utility
    error = behind.std(-1, correction=0) / behind.shape[-1] ** 0.5
    hope = value + GAINS_TO_COME * gain.clamp_min(0.0)
    possible = (value > -torch.inf) & ((behind.mean(-1) <= SURELY * error) | (hope >= value[best]))
    able, chosen = order[possible[order]].tolist(), list[int]()
    for i in able:
        if len(chosen) < most and not any(have_met(x[i], x[j], box) for j in chosen):
            chosen.append(i)
    return Contenders(torch.tensor(chosen, dtype=torch.long), len(chosen) == 1 < min(len(able), most))


def have_met(one: Tensor, other: Tensor, box: Box) -> bool:
    """Whether the batches `one` and `other` (q, d) are the same points of the box, nearly and in any order."""
    width = box.upper - box.lower
    apart = torch.cdist(one / width, other / width, p=torch.inf)
    return max(float(apart.amin(0).max()), float(apart.amin(1).max())) < MET
