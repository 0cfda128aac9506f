"""A second opinion on the chosen batch: looks for a better one, near by and elsewhere, from cheap looks to dear ones.

Everything is compared on the common sample, and nothing that is found is proposed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
from compbo.types import Draw, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.bo.choice import Chosen
    from compbo.types import Box, Budget, Trace

GRADIENT_STEPS = (1e-3, 1e-2, 3e-2, 0.1)  # of the coordinate with the largest slope, as shares of the box
SIGN_STEPS = (1e-3, 4e-3, 0.016, 0.05)  # of every coordinate
MOST_MOVES = 256  # levels and choices that are tried
GIVEN_UP, TAKEN_IN = 2, 48  # points of the batch that are replaced, and points that they are replaced by
ELSEWHERE = 0.2  # share of the box: a point that is nearer climbs to where one is already
GOOD_SPARE = 64  # raw batches from which half of those are taken
SMALL_SHARE = 0.02  # of what the climb gained: a batch that is better by more says that the climb was not over
A_LITTLE = 0.25  # of that
NEAR_STEPS = (0.002, 0.01)  # first steps of the climbs from the chosen batch, as shares of the box
FAR_STEP = 0.02  # of the climbs from elsewhere
EXCHANGED, SPARE, NEAR_INCUMBENTS = 3, 1, 2  # where those begin: exchanges, raw batches, around the incumbents
HOPEFUL = 3  # of those that go on
SHORT, LONG = 8, 16  # steps of a climb
FEW_COLUMNS, SOME_COLUMNS = 64, 256  # of the common sample: for what is ranked, and for longer climbs from elsewhere

# Acquisitions whose slope vanishes are climbed by others: far from anything good, and close to it.
FAR_GUIDES: dict[str, Acquisition] = {EI.name: LogEI(), PI.name: LogEI()}
CLOSE_GUIDES: dict[str, tuple[Acquisition, ...]] = {PI.name: (PI(tau=0.1), PI(tau=0.02))}


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
    moved = case.box.project(case.chosen.batch + torch.stack(steps) * case.width)
    return best_of(case, moved, "a step along the gradient")


def exchanges(case: Case, slope: Slope) -> Tensor:
    """The points that the batch needs least, replaced by points of other good batches: (S, q, d), the best first.

    There are none for a batch of one.
    """
    batch = case.chosen.batch
    if len(batch) < 2:
        return batch.unsqueeze(0)[:0]
    v = slope.v[0]
    without = torch.stack([torch.cat([v[:i], v[i + 1 :]]) for i in range(len(batch))])
    least = case.oracle.outer(without).argsort(descending=True)[:GIVEN_UP]
    pools = [good.flatten(0, 1) for good in (case.trace.best, case.spare[:GOOD_SPARE])]
    points = [pool[torch.randperm(len(pool), generator=case.generator)[: TAKEN_IN // 2]] for pool in pools]
    return _ranked(case, torch.cat([_with_point(batch, int(i), torch.cat(points)) for i in least]))


def _elsewhere(case: Case, exchanged: Tensor) -> Tensor:
    """Those of exchanges (S, q, d) whose new point is far from every point of the chosen batch."""
    width, batch = case.width, case.chosen.batch
    apart = torch.cdist((exchanged / width).flatten(0, 1), batch / width, p=math.inf).amin(-1)
    return exchanged[apart.reshape(len(exchanged), len(batch)).amax(-1) > ELSEWHERE]


def near_climbs(case: Case) -> Finding:
    """Short climbs from the chosen batch; where they gain a little, which may become more, a longer one."""
    how = "going on from there"
    found = _close_climb(case, case.common, case.chosen.batch.repeat(len(NEAR_STEPS), 1, 1), NEAR_STEPS, SHORT, how)
    if not A_LITTLE * SMALL_SHARE < found.gain / max(case.chosen.gain, 1e-300) <= SMALL_SHARE:
        return found
    return _close_climb(case, case.common, found.batch.unsqueeze(0), NEAR_STEPS[-1:], LONG, how)


def far_climbs(case: Case, exchanged: Tensor) -> Finding:
    """Short climbs on a small part of the common sample from other batches; the best of them go on, on a larger one.

    exchanged (S, q, d): the chosen batch with a point replaced, best first.
    """
    acquisition, q = case.oracle.acquisition, len(case.chosen.batch)
    starts = [exchanged[:EXCHANGED], _elsewhere(case, exchanged)[:EXCHANGED], case.spare[:SPARE]]
    if len(case.incumbents) > 0:
        starts.append(around(case.incumbents, (NEAR_INCUMBENTS, q), case.box, case.generator))
    x0 = torch.cat(starts) if sum(map(len, starts)) else case.chosen.best_start.unsqueeze(0)
    guide = FAR_GUIDES.get(acquisition.name)
    few, steps = case.part(FEW_COLUMNS), LONG if guide else SHORT
    short = _climb(case, guide or acquisition, few, x0, (FAR_STEP,) * len(x0), steps)
    hopeful, how = _ranked(case, short.best)[:HOPEFUL], "a climb from elsewhere"
    if _cut_short(short):
        return best_of(case, hopeful, how, _cut_short(short))
    return _close_climb(case, case.part(SOME_COLUMNS), hopeful, (FAR_STEP / 2,) * len(hopeful), LONG, how)


def _close_climb(
    case: Case, draw: Draw, starts: Tensor, first_steps: tuple[float, ...], steps: int, how: str
) -> Finding:
    """The best, by the acquisition itself, of the starts (S, q, d) and of what is climbed from there."""
    acquisition = case.oracle.acquisition
    guides = CLOSE_GUIDES.get(acquisition.name, (acquisition,))
    traces = [_climb(case, guide, draw, starts, first_steps, steps) for guide in guides]
    batches = torch.cat([starts, *(trace.best for trace in traces)])
    return best_of(case, batches, how, next(filter(None, map(_cut_short, traces)), ""))


def _ranked(case: Case, batches: Tensor) -> Tensor:
    """Batches (S, q, d), the best first, on a small part of the common sample."""
    values = case.oracle.value(batches, case.part(FEW_COLUMNS)).nan_to_num(nan=-math.inf)
    return batches[values.argsort(descending=True, stable=True)]


def _climb(
    case: Case, acquisition: Acquisition, draw: Draw, starts: Tensor, first_steps: tuple[float, ...], steps: int
) -> Trace:
    """Rprop from starts (S, q, d), with first steps (S,): a climb that needs no scale of the gradient."""
    oracle = case.oracle
    fixed = AcquisitionOracle(acquisition, oracle.posterior, OneSample(draw.z), oracle.best)
    plain = rprop(lambda t: 1.0)  # noqa: ARG005 - constant
    first = torch.tensor(first_steps, dtype=starts.dtype)[:, None, None]

    def init(x: Tensor) -> Steps:
        return Steps(first * case.width.expand_as(x), torch.zeros_like(x))

    return run_within(
        Ascent(Rule(plain.name, init, plain.move)),
        fixed,
        starts,
        budget=replace(case.budget, steps=steps),
        box=case.box,
        generator=case.generator,
    )


def _cut_short(trace: Trace) -> str:
    if Status.TIME in trace.status:
        return "the time limit"
    if Status.MEMORY in trace.status:
        return "the memory limit"
    return ""
