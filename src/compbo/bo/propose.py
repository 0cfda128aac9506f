"""One maximisation of the acquisition function: raw batches, start points, ascent, choice, and what it looked like.

Raw batches are ranked on the first K columns of one common Sobol sample; the start batches picked of them (the best
always among them) and all that the ascent reaches are compared on the whole of it. The batch proposed is never worse
there than any start batch. A raw batch that was not picked may be, within the error of its rank.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.samples import DEFAULT_K, make_samples, sobol_normals
from compbo.bo.choice import COMMON_SAMPLE, choose
from compbo.bo.levels import moved_by_levels
from compbo.bo.second_opinion import GOOD_SPARE, Case
from compbo.bo.starts import boltzmann, raw_batches, spare_batches
from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import judge
from compbo.compiled.choice import backend_of, climbing_oracle, make_oracle, oracle_threads
from compbo.maximizers.race import raced
from compbo.seeds import beside
from compbo.surrogate.posterior import with_pending
from compbo.types import Box, Draw

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.bo.starts import StartPolicy
    from compbo.maximizers import Maximizer
    from compbo.surrogate.posterior import Posterior
    from compbo.types import Budget

LEAST_SECONDS = 1e-3  # what is left of a time limit that was used up before the ascent


class Proposal(NamedTuple):
    """The batch (q, d), not rounded, and the telemetry: how it was found."""

    batch: Tensor
    telemetry: Telemetry


@dataclass(frozen=True)
class AcquisitionProblem:
    """What is to be maximised: an acquisition over a posterior, with pending points and the best value f*."""

    posterior: Posterior
    acquisition: Acquisition
    best: float  # f*, in the units of the posterior
    incumbents: Tensor  # (k, d), best first
    pending: Tensor | None = None  # (p, d)
    neighbours: Callable[[Tensor], Tensor] | None = None  # x (d,) -> (m, d), see `Space.neighbours`
    rounded: Tensor | None = None  # (d,) see `Space.rounded_columns`; None: levels are not searched


def propose(
    problem: AcquisitionProblem,
    q: int,
    *,
    maximizer: Maximizer,
    generator: Generator,
    budget: Budget,
    starts: StartPolicy,
    minibatch: int = DEFAULT_K,
    box: Box | None = None,
) -> Proposal:
    """The best joint batch of q points that the maximizer finds in the box (None: the unit cube).

    Args:
        problem: the acquisition function and what it is made of.
        q: points of the batch.
        maximizer: climbs from the start points; its form says which samples the acquisition is built on.
        generator: the source of everything random.
        budget: steps, seconds and memory of the maximisation.
        starts: how many raw batches and restarts, and where.
        minibatch: samples K of one step.
        box: bounds of every point.
    """
    clock = time.perf_counter()
    box = box if box is not None else Box.unit(problem.posterior.dim)
    posterior = with_pending(problem.posterior, problem.pending)
    width = q + posterior.extra_points
    common = Draw(sobol_normals(width, COMMON_SAMPLE, generator))
    samples = make_samples(maximizer.form, width, minibatch=minibatch, steps=budget.steps)
    oracle = make_oracle(problem.acquisition, posterior, samples, problem.best)
    climbing = climbing_oracle(oracle)  # the choice and the verdict are those of `oracle`
    with oracle_threads(oracle, starts.restarts * width * posterior.flops_per_row()):
        begin = _start_batches(climbing, Draw(common.z[:, :minibatch]), problem, box, starts, generator)
        start_seconds = time.perf_counter() - clock
        left = remaining(budget, start_seconds)
        climb = raced(maximizer, starts.polish) if starts.race else maximizer
        trace = climb(climbing, begin.picked, budget=left, box=box, generator=generator)
        chosen = choose(oracle, trace, begin.picked, common)
        if problem.rounded is not None and problem.neighbours is not None:
            spent, own = time.perf_counter() - clock, beside(generator, "levels")
            chosen = moved_by_levels(oracle, chosen, common, problem.neighbours, own, remaining(budget, spent))
        case = Case(
            oracle,
            common,
            box,
            trace,
            chosen,
            spare=begin.spare,
            incumbents=problem.incumbents,
            neighbours=problem.neighbours,
            rounded=problem.rounded,
            generator=beside(generator, "verdict"),
            budget=remaining(budget, time.perf_counter() - clock),
        )
        telemetry = _telemetry(case)
    return Proposal(
        chosen.batch,
        replace(
            telemetry,
            points=q,
            pending=posterior.extra_points,
            start_seconds=start_seconds,
            maximise_seconds=time.perf_counter() - clock - start_seconds,
            maximizer=maximizer.name,
            acquisition=problem.acquisition.name,
            backend=backend_of(climbing),
        ),
    )


class _Begin(NamedTuple):
    """What is kept of the raw batches."""

    picked: Tensor  # (restarts, q, d) that are climbed from
    spare: Tensor  # (S, q, d) others, best first


def _start_batches(
    oracle: AcquisitionOracle,
    draw: Draw,
    problem: AcquisitionProblem,
    box: Box,
    starts: StartPolicy,
    generator: Generator,
) -> _Begin:
    """Raw batches, ranked by the oracle on the draw; nearly all of them are forgotten before the ascent begins."""
    q = oracle.samples.width - oracle.posterior.extra_points
    raw = raw_batches(q, box, problem.incumbents, starts, generator, problem.rounded)
    values = oracle.value(raw, draw)
    picked = boltzmann(values, starts.restarts, starts.eta, generator)
    return _Begin(raw[picked], raw[spare_batches(values, picked)[:GOOD_SPARE]])


def remaining(budget: Budget, spent: float) -> Budget:
    """The budget without the seconds that were spent."""
    return budget if budget.seconds is None else replace(budget, seconds=max(budget.seconds - spent, LEAST_SECONDS))


def _telemetry(case: Case) -> Telemetry:
    judgement, trace, chosen = judge(case), case.trace, case.chosen
    reached = chosen.end[torch.isfinite(chosen.end)]
    return Telemetry(
        verdict=judgement.verdict,
        reason=judgement.reason,
        acquisition_value=chosen.value,
        acquisition_gain=chosen.gain,
        acquisition_error=judgement.standard_error,
        spread=float(reached.std(correction=0)) if len(reached) > 0 else math.nan,
        start_values=tuple(chosen.start.tolist()),
        end_values=tuple(chosen.end.tolist()),
        gradient_norms=tuple(trace.gradient_norm.tolist()),
        statuses=tuple(str(status) for status in trace.status),
        winner=chosen.winner,
        ascent_steps=trace.steps,
        jitter=trace.jitter,
    )
