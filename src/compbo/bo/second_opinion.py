"""A second opinion on the chosen batch: cheap looks for a better one.

Everything is compared on the common sample, and nothing that is found is proposed. The dear looks, which climb, are in
`second_climbs.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.oracle import VALUE_ELEMENTS
from compbo.bo.levels import moves_from, with_points
from compbo.types import Draw

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.bo.choice import Chosen
    from compbo.types import Box, Budget, Trace

GRADIENT_STEPS = (1e-3, 1e-2, 3e-2, 0.1)  # of the coordinate with the largest slope, as shares of the box
SIGN_STEPS = (1e-3, 4e-3, 0.016, 0.05)  # of every coordinate
GIVEN_UP, TAKEN_IN = 2, 96  # points of the batch that are replaced, and points that they are replaced by
GOOD_SPARE = 64  # raw batches from which half of those are taken
FEW_COLUMNS = 64  # of the common sample: for what is only ranked


@dataclass(frozen=True)
class Case:
    """A maximisation that is over."""

    oracle: AcquisitionOracle  # the acquisition function
    common: Draw  # the sample on which all values are compared
    box: Box
    trace: Trace
    chosen: Chosen
    spare: Tensor  # (S, q, d) raw batches that were not picked, best first, at most `GOOD_SPARE`
    incumbents: Tensor  # (k, d)
    neighbours: Callable[[Tensor], Tensor] | None  # (d,) -> (m, d): one rounded parameter one level away
    rounded: Tensor | None  # (d,) which rounded parameter a column belongs to; None: levels are not searched
    generator: Generator
    budget: Budget  # what is left of it

    def part(self, columns: int) -> Draw:
        """The first columns of the common sample."""
        return Draw(self.common.z[:, :columns])

    @property
    def width(self) -> Tensor:
        """Sides (d,) of the box."""
        return self.box.upper - self.box.lower

    def gains(self, batches: Tensor) -> Tensor:
        """Of batches (S, q, d) over the chosen one, on the common sample; -inf where there is no value."""
        return (self.oracle.value(batches, self.common) - self.chosen.value).nan_to_num(nan=-math.inf)


class Finding(NamedTuple):
    """The best batch of a look, what it gains over the chosen one, and how it was found.

    cut_short: why the look could not be carried to its end.
    """

    batch: Tensor
    gain: float
    how: str
    cut_short: str = ""


def best_of(case: Case, batches: Tensor, how: str, cut_short: str = "") -> Finding:
    """The best of batches (S, q, d).

    how: in words, how they were found. cut_short: in words, what ended the search early.
    """
    gains = case.gains(batches)
    top = int(gains.argmax())
    return Finding(batches[top], float(gains[top]), how, cut_short)


class Slope(NamedTuple):
    """At the chosen batch: the gradient (q, d), and the columns v (1, q, K)."""

    gradient: Tensor
    v: Tensor


def slope_at(case: Case) -> Slope:
    """The slope on the common sample; NaN where there is none."""
    inner = case.oracle.inner(case.chosen.batch.unsqueeze(0), case.common)
    gradient = inner.pullback(case.oracle.outer_gradient(inner.v))
    return Slope(gradient.masked_fill(inner.failed[:, None, None], torch.nan)[0], inner.v)


def displacements(case: Case, sizes: tuple[float, ...]) -> Tensor:
    """The chosen batch, moved at random by up to these shares (sizes) of the box."""
    batch = case.chosen.batch
    noise = 2 * torch.rand((len(sizes), *batch.shape), dtype=batch.dtype, generator=case.generator) - 1
    return case.box.project(batch + noise * case.width * torch.tensor(sizes, dtype=batch.dtype)[:, None, None])


def level_moves(case: Case) -> Tensor:
    """The chosen batch with one rounded parameter of one point a level up or down, or at another choice: (S, q, d)."""
    batch = case.chosen.batch
    if case.neighbours is None:
        return batch.unsqueeze(0)[:0]
    return moves_from(batch, case.neighbours, case.generator)


def gradient_steps(case: Case, slope: Slope) -> Finding:
    """Steps of several lengths along the gradient and along its sign, projected on the box."""
    steep = slope.gradient * case.width  # per share of the box
    along = steep / steep.abs().max().clamp_min(1e-300)
    steps = [step * along for step in GRADIENT_STEPS] + [step * steep.sign() for step in SIGN_STEPS]
    moved = case.box.project(case.chosen.batch + torch.stack(steps) * case.width)
    return best_of(case, moved, "a step along the gradient")


def exchanges(case: Case, slope: Slope) -> Tensor:
    """The points that the batch needs least, replaced by points of other good batches: (S, q, d), the best first.

    There are none for a batch of one.
    """
    batch = case.chosen.batch
    if len(batch) < 2:
        return batch.unsqueeze(0)[:0]
    least = _values_without(case.oracle, slope.v[0], len(batch)).argsort(descending=True)[:GIVEN_UP]
    pools = [good.flatten(0, 1) for good in (case.trace.best, case.spare[:GOOD_SPARE])]
    points = [pool[torch.randperm(len(pool), generator=case.generator)[: TAKEN_IN // 2]] for pool in pools]
    taken = torch.cat(points)
    return ranked(case, with_points(batch, least.repeat_interleave(len(taken)), taken.repeat(len(least), 1)))


def _values_without(oracle: AcquisitionOracle, v: Tensor, q: int) -> Tensor:
    """f of the columns v (q + pending, K) without each of the first q points in turn, (q,), a few at a time."""
    joint = len(v)
    others = torch.arange(joint).expand(q, joint)[~torch.eye(q, joint, dtype=torch.bool)].reshape(q, joint - 1)
    size = max(1, VALUE_ELEMENTS // v.numel())
    return torch.cat([oracle.outer(v[rows]) for rows in torch.split(others, size)])


def ranked(case: Case, batches: Tensor) -> Tensor:
    """Batches (S, q, d), the best first, on a small part of the common sample."""
    if len(batches) == 0:
        return batches
    values = case.oracle.value(batches, case.part(FEW_COLUMNS)).nan_to_num(nan=-math.inf)
    return batches[values.argsort(descending=True, stable=True)]
