"""A second opinion on the chosen batch: looks for a better one, near by and elsewhere, from cheap looks to dear ones.

Everything is compared on the common sample, and nothing that is found is proposed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.integrands import EI, PI, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import OneSample
from compbo.bo.starts import around
from compbo.maximizers.ascend import Ascent
from compbo.maximizers.climb import run_within
from compbo.maximizers.rules.base import Rule
from compbo.maximizers.rules.rprop import Steps, rprop
from compbo.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.bo.choice import Chosen
    from compbo.types import Box, Budget, Draw, Trace

GRADIENT_STEPS = (1e-3, 1e-2, 3e-2, 0.1)  # of the coordinate with the largest slope, as shares of the box
SIGN_STEPS = (1e-3, 4e-3, 0.016, 0.05)  # of every coordinate
MOST_MOVES = 256  # levels and choices that are tried
GIVEN_UP, TAKEN_IN = 2, 48  # points of the batch that are replaced, and points that they are replaced by
CLIMB_STEPS = 8
GUIDED_STEPS = 16  # where the acquisition has no slope to follow
CLOSE_STEPS = (0.001, 0.004, 0.016)  # first steps of the climbs from the chosen batch, as shares of the box
FAR_STEP = 0.02  # of the climbs from elsewhere
SPARE, NEAR_INCUMBENTS = 4, 2  # where those begin: raw batches that were not picked, batches around the incumbents

GUIDES: dict[str, Acquisition] = {EI.name: LogEI(), PI.name: LogEI()}  # for acquisitions whose slope vanishes


@dataclass(frozen=True)
class Case:
    """A maximisation that is over."""

    oracle: AcquisitionOracle
    common: Draw  # the sample on which all values are compared
    box: Box
    trace: Trace
    chosen: Chosen
    spare: Tensor  # (S, q, d) raw batches that were not picked, best first
    incumbents: Tensor  # (k, d)
    neighbours: Callable[[Tensor], Tensor] | None  # (d,) -> (m, d): one rounded parameter one level away
    generator: Generator
    budget: Budget  # what is left of it

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
    """The best of batches (S, q, d)."""
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
    """The chosen batch, moved at random by up to these shares of the box."""
    batch = case.chosen.batch
    noise = 2 * torch.rand((len(sizes), *batch.shape), dtype=batch.dtype, generator=case.generator) - 1
    return case.box.project(batch + noise * case.width * torch.tensor(sizes, dtype=batch.dtype)[:, None, None])


def level_moves(case: Case) -> Tensor:
    """The chosen batch with one rounded parameter of one point a level up or down, or at another choice: (S, q, d).

    All there are, or a random selection of them.
    """
    batch = case.chosen.batch
    if case.neighbours is None:
        return batch.unsqueeze(0)[:0]
    near = [case.neighbours(point) for point in batch]
    moves = torch.cat([_with_point(batch, i, points) for i, points in enumerate(near)])
    if len(moves) <= MOST_MOVES:
        return moves
    return moves[torch.randperm(len(moves), generator=case.generator)[:MOST_MOVES]]


def _with_point(batch: Tensor, index: int, points: Tensor) -> Tensor:
    """Copies (m, q, d) of a batch with one point replaced by each of points (m, d)."""
    copies = batch.repeat(len(points), 1, 1)
    copies[:, index] = points
    return copies


def gradient_steps(case: Case, slope: Slope) -> Finding:
    """Steps of several lengths along the gradient and along its sign, projected on the box."""
    steep = slope.gradient * case.width  # per share of the box
    along = steep / steep.abs().max().clamp_min(1e-300)
    steps = [step * along for step in GRADIENT_STEPS] + [step * steep.sign() for step in SIGN_STEPS]
    return best_of(case, case.box.project(case.chosen.batch + torch.stack(steps) * case.width), "a step along the gradient")


def exchanges(case: Case, slope: Slope) -> Finding | None:
    """The points that the batch needs least, replaced by points of other batches; None for a batch of one."""
    batch = case.chosen.batch
    if len(batch) < 2:
        return None
    v = slope.v[0]
    without = torch.stack([torch.cat([v[:i], v[i + 1 :]]) for i in range(len(batch))])
    least = case.oracle.outer(without).argsort(descending=True)[:GIVEN_UP]
    pool = torch.cat([case.trace.best, case.spare]).flatten(0, 1)
    points = pool[torch.randperm(len(pool), generator=case.generator)[:TAKEN_IN]]
    return best_of(case, torch.cat([_with_point(batch, int(i), points) for i in least]), "moving one point elsewhere")


def second_climbs(case: Case, exchanged: Finding | None) -> Finding:
    """Short climbs on the common sample, from the chosen batch and from others."""
    batch = case.chosen.batch
    elsewhere = [case.spare[:SPARE]] if exchanged is None else [exchanged.batch.unsqueeze(0), case.spare[:SPARE]]
    if len(case.incumbents) > 0:
        elsewhere.append(around(case.incumbents, (NEAR_INCUMBENTS, len(batch)), case.box, case.generator))
    starts = torch.cat([batch.repeat(len(CLOSE_STEPS), 1, 1), *elsewhere])
    first = torch.full((len(starts),), FAR_STEP, dtype=batch.dtype)
    first[: len(CLOSE_STEPS)] = torch.tensor(CLOSE_STEPS, dtype=batch.dtype)
    trace = _climb(case, case.oracle.acquisition, starts, first, CLIMB_STEPS)
    ends = trace.best
    guide = GUIDES.get(case.oracle.acquisition.name)
    if guide is not None:
        guided = _climb(case, guide, starts, first, GUIDED_STEPS)
        ends = torch.cat([ends, guided.best, guided.final])
    return best_of(case, ends, "a second climb", _cut_short(trace))


def _climb(case: Case, acquisition: Acquisition, starts: Tensor, first: Tensor, steps: int) -> Trace:
    """Rprop from starts (S, q, d), with first steps (S,): a climb that needs no scale of the gradient."""
    oracle = case.oracle
    fixed = AcquisitionOracle(acquisition, oracle.posterior, OneSample(case.common.z), oracle.best)
    plain = rprop(lambda t: 1.0)  # noqa: ARG005 - constant

    def init(x: Tensor) -> Steps:
        return Steps(first[:, None, None] * case.width.expand_as(x), torch.zeros_like(x))

    budget = case.budget
    return run_within(
        Ascent(Rule(plain.name, init, plain.move)),
        fixed,
        starts,
        budget=type(budget)(steps, budget.seconds, budget.memory),
        box=case.box,
        generator=case.generator,
    )


def _cut_short(trace: Trace) -> str:
    if Status.TIME in trace.status:
        return "the time limit"
    if Status.MEMORY in trace.status:
        return "the memory limit"
    return ""
