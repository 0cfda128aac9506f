"""A second opinion on the chosen batch: short climbs, from there and from elsewhere, for a better one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from compbo.acquisition.integrands import EI, PI, LogEI
from compbo.acquisition.samples import OneSample
from compbo.bo.second_opinion import FEW_COLUMNS, best_of, ranked
from compbo.bo.starts import around
from compbo.compiled.choice import make_oracle
from compbo.maximizers.ascend import Ascent
from compbo.maximizers.climb import run_within
from compbo.maximizers.rules.base import Rule
from compbo.maximizers.rules.rprop import Steps, rprop
from compbo.types import Status

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.bo.second_opinion import Case, Finding
    from compbo.types import Draw, Trace

SMALL_SHARE = 0.02  # of what the climb gained: a batch that is better by more says that the climb was not over
A_LITTLE = 0.25  # of that
NEAR_STEPS = (0.002, 0.01)  # first steps of the climbs from the chosen batch, as shares of the box
FAR_STEP = 0.02  # of the climbs from elsewhere
EXCHANGED, SPARE, NEAR_INCUMBENTS = 3, 2, 2  # where those begin: exchanges, raw batches, around the incumbents
ELSEWHERE = 0.2  # share of the box: a point that is nearer climbs to where one is already
HOPEFUL = (1, 2, 2)  # climbs that go on: from exchanges, from exchanges far away, from other batches
SHORT, LONG = 8, 16  # steps of a climb
SOME_COLUMNS = 256  # of the common sample: for longer climbs from elsewhere

# Acquisitions whose slope vanishes are climbed by others: far from anything good, and close to it.
FAR_GUIDES: dict[str, Acquisition] = {EI.name: LogEI(), PI.name: LogEI()}
CLOSE_GUIDES: dict[str, tuple[Acquisition, ...]] = {PI.name: (PI(tau=0.1), PI(tau=0.02))}


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
    other = [case.spare[:SPARE]]
    if len(case.incumbents) > 0:
        other.append(around(case.incumbents, (NEAR_INCUMBENTS, q), case.box, case.generator, case.rounded))
    starts = [exchanged[:EXCHANGED], _elsewhere(case, exchanged)[:EXCHANGED], torch.cat(other)]
    if sum(map(len, starts)) == 0:
        starts = [case.chosen.best_start.unsqueeze(0)]
    guide, x0 = FAR_GUIDES.get(acquisition.name), torch.cat(starts)
    few, steps = case.part(FEW_COLUMNS), LONG if guide else SHORT
    short = _climb(case, guide or acquisition, few, x0, (FAR_STEP,) * len(x0), steps)
    ends = torch.split(short.best, [len(part) for part in starts])
    hopeful = torch.cat([ranked(case, part)[:count] for part, count in zip(ends, HOPEFUL, strict=False)])
    how = "a climb from elsewhere"
    if _cut_short(short):
        return best_of(case, hopeful, how, _cut_short(short))
    return _close_climb(case, case.part(SOME_COLUMNS), hopeful, (FAR_STEP / 2,) * len(hopeful), LONG, how)


def _elsewhere(case: Case, exchanged: Tensor) -> Tensor:
    """Those of exchanges (S, q, d) whose new point is far from every point of the chosen batch."""
    width, batch = case.width, case.chosen.batch
    apart = torch.cdist((exchanged / width).flatten(0, 1), batch / width, p=math.inf).amin(-1)
    return exchanged[apart.reshape(len(exchanged), len(batch)).amax(-1) > ELSEWHERE]


def _close_climb(
    case: Case, draw: Draw, starts: Tensor, first_steps: tuple[float, ...], steps: int, how: str
) -> Finding:
    """The best, by the acquisition itself, of the starts (S, q, d) and of what is climbed from there."""
    acquisition = case.oracle.acquisition
    guides = CLOSE_GUIDES.get(acquisition.name, (acquisition,))
    traces = [_climb(case, guide, draw, starts, first_steps, steps) for guide in guides]
    batches = torch.cat([starts, *(trace.best for trace in traces)])
    return best_of(case, batches, how, next(filter(None, map(_cut_short, traces)), ""))


def _climb(
    case: Case, acquisition: Acquisition, draw: Draw, starts: Tensor, first_steps: tuple[float, ...], steps: int
) -> Trace:
    """Rprop from starts (S, q, d), with first steps (S,): a climb that needs no scale of the gradient."""
    oracle = case.oracle
    fixed = make_oracle(acquisition, oracle.posterior, OneSample(draw.z), oracle.best)
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
