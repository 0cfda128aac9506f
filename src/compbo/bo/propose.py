"""One maximisation of the acquisition function: raw batches, start points, ascent, choice, and what it looked like.

Raw batches are ranked on the first K columns of one common Sobol sample; the start batches picked of them (the best
always among them) and all that the ascent reaches are compared on the whole of it. On that sample the proposed batch
is at least as good as every start batch.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import DEFAULT_K, make_samples, sobol_normals
from compbo.bo.starts import boltzmann, raw_batches
from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import Chosen, judge
from compbo.surrogate.posterior import with_pending
from compbo.threads import threads_for
from compbo.types import Box, Draw

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.bo.starts import StartPolicy
    from compbo.maximizers import Maximizer
    from compbo.surrogate.posterior import Posterior
    from compbo.types import Budget, Trace

COMMON_SAMPLE = 512  # columns of the sample on which restarts are compared
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
    oracle = AcquisitionOracle(problem.acquisition, posterior, samples, problem.best)
    with threads_for(starts.restarts * width * posterior.flops_per_row()):
        raw = raw_batches(q, box, problem.incumbents, starts, generator)
        raw_values = oracle.value(raw, Draw(common.z[:, :minibatch]))
        x0 = raw[boltzmann(raw_values, starts.restarts, starts.eta, generator)]
        start_seconds = time.perf_counter() - clock
        left = remaining(budget, start_seconds)
        trace = maximizer(oracle, x0, budget=left, box=box, generator=generator)
        chosen = _choose(oracle, trace, x0, common)
        telemetry = _telemetry(oracle, trace, chosen, common, box)
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
        ),
    )


def remaining(budget: Budget, spent: float) -> Budget:
    """The budget without the seconds that were spent."""
    return budget if budget.seconds is None else replace(budget, seconds=max(budget.seconds - spent, LEAST_SECONDS))


def _choose(oracle: AcquisitionOracle, trace: Trace, x0: Tensor, common: Draw) -> Chosen:
    """The best of start, final and best points on the common sample."""
    b = len(x0)
    points = torch.cat([x0, trace.final, trace.best])
    points = torch.where(torch.isfinite(points), points, x0.repeat(3, 1, 1))
    values = oracle.value(points, common)
    ranked = torch.where(torch.isfinite(values), values, -torch.inf)
    top = int(ranked.argmax())
    return Chosen(
        batch=points[top],
        value=float(ranked[top]),
        winner=top % b if top >= b else -1,
        start=ranked[:b],
        end=ranked.reshape(3, b).amax(0),
    )


def _telemetry(oracle: AcquisitionOracle, trace: Trace, chosen: Chosen, common: Draw, box: Box) -> Telemetry:
    verdict, reason = judge(oracle, trace, chosen, common, box)
    reached = chosen.end[torch.isfinite(chosen.end)]
    return Telemetry(
        verdict=verdict,
        reason=reason,
        acquisition_value=chosen.value,
        acquisition_gain=chosen.value - float(chosen.start.max()),
        acquisition_error=_standard_error(oracle, chosen.batch, common),
        spread=float(reached.std(correction=0)) if len(reached) > 0 else math.nan,
        start_values=tuple(chosen.start.tolist()),
        end_values=tuple(chosen.end.tolist()),
        gradient_norms=tuple(trace.gradient_norm.tolist()),
        statuses=tuple(str(status) for status in trace.status),
        winner=chosen.winner,
        ascent_steps=trace.steps,
        jitter=trace.jitter,
    )


def _standard_error(oracle: AcquisitionOracle, batch: Tensor, common: Draw) -> float:
    """Monte-Carlo standard error of the acquisition value of a batch."""
    columns = oracle.utility(oracle.inner(batch.unsqueeze(0), common, gradient_rows=0).v)
    error = float(columns.std()) / math.sqrt(COMMON_SAMPLE)
    return (
        error / max(float(columns.mean()), 1e-200) if not oracle.linear_outer else error
    )  # the logarithm's: delta method
