"""One maximisation of the acquisition function: raw batches, start points, ascent, choice, and what it looked like.

Raw batches are ranked on the first K columns of one common Sobol sample; the start batches picked of them (the best
always among them) and all that the ascent reaches are compared on the whole of it. The batch proposed is never worse
there than any start batch.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import DEFAULT_K, make_samples, sobol_normals
from compbo.checks import real, whole_number
from compbo.maximizers import get_entry, make_maximizer
from compbo.numerics import threads_for
from compbo.surrogate.posterior import with_pending
from compbo.types import DTYPE, Box, Budget, Draw, Status, Trace
from compbo.words import counted

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.surrogate.posterior import Posterior

COMMON_SAMPLE = 512  # columns of the sample on which restarts are compared
PROBE_STEPS = (1e-3, 1e-2)  # lengths of the steps that look whether the climb was over


@dataclass(frozen=True)
class StartPolicy:
    """Where the ascent begins.

    raw_batches uniform batches, a share `around_incumbents` of them drawn around the best observations instead, each
    by perturbing a random subset of coordinates; the Boltzmann heuristic of BoTorch (temperature 1/eta) picks
    `restarts` of them, the best one always among them.
    """

    raw_batches: int = 1024
    restarts: int = 32
    around_incumbents: float = 0.5
    eta: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot start anything."""
        for name, least in (("raw_batches", 1), ("restarts", 0)):
            object.__setattr__(self, name, whole_number(f"StartPolicy: {name}", getattr(self, name), least))
        if not 1 <= self.restarts <= self.raw_batches:
            raise ValueError(
                f"StartPolicy: restarts must be between 1 and raw_batches ({self.raw_batches}), got {self.restarts}."
            )
        if not 0.0 <= real(self.around_incumbents) <= 1.0:
            raise ValueError(f"StartPolicy: around_incumbents is a share in [0, 1], got {self.around_incumbents!r}.")
        if not 0 < real(self.eta) < math.inf:
            raise ValueError(f"StartPolicy: eta must be positive and finite, got {self.eta!r}.")
        for name in ("around_incumbents", "eta"):
            object.__setattr__(self, name, real(getattr(self, name)))


class Verdict(StrEnum):
    """How a maximisation ended, in a word."""

    CONVERGED = "converged"
    CLIMBING = "still climbing"
    FLAT = "flat"
    DEGRADED = "degraded"
    DESIGN = "initial design"


@dataclass(frozen=True)
class Telemetry:
    """What one ask looked like. Values are acquisition values on the common sample, per restart where in lists."""

    verdict: Verdict
    reason: str
    observations: int = 0
    pending: int = 0
    points: int = 0
    value: float = math.nan  # of the chosen batch
    standard_error: float = math.nan  # Monte-Carlo error of that value
    gain: float = math.nan  # over the best start batch, which is the best raw one
    spread: float = math.nan  # standard deviation of the restarts' end values
    start_values: tuple[float, ...] = ()
    end_values: tuple[float, ...] = ()
    gradient_norms: tuple[float, ...] = ()
    statuses: tuple[str, ...] = ()
    winner: int = -1  # restart the batch came from; -1: a raw batch
    steps: int = 0
    jitter: float = 0.0
    fit_seconds: float = 0.0
    start_seconds: float = 0.0
    maximise_seconds: float = 0.0
    maximizer: str = ""
    acquisition: str = ""
    replaced_duplicates: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "verdict": str(self.verdict)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Telemetry:
        """The inverse of `to_dict`."""
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**{**plain, "verdict": Verdict(data["verdict"])})


class Proposal(NamedTuple):
    """The batch (q, d), not rounded, and how it was found."""

    batch: Tensor
    telemetry: Telemetry


@dataclass(frozen=True)
class Problem:
    """What is to be maximised: an acquisition over a posterior, with pending points and the best value f*."""

    posterior: Posterior
    acquisition: Acquisition
    best: float
    incumbents: Tensor  # (k, d), best first
    pending: Tensor | None = None  # (p, d)


def propose(
    problem: Problem,
    q: int,
    *,
    maximizer: str,
    hyperparameters: dict[str, Any],
    generator: Generator,
    budget: Budget,
    starts: StartPolicy,
    minibatch: int = DEFAULT_K,
    box: Box | None = None,
) -> Proposal:
    """The best joint batch of q points that the maximizer finds."""
    clock = time.perf_counter()
    box = box if box is not None else Box.unit(problem.posterior.dim)
    posterior = with_pending(problem.posterior, problem.pending)
    width = q + posterior.extra_points
    common = Draw(sobol_normals(width, COMMON_SAMPLE, generator))

    samples = make_samples(get_entry(maximizer).form, width, minibatch=minibatch, steps=budget.steps)
    objective = AcquisitionOracle(problem.acquisition, posterior, samples, problem.best)
    with threads_for(starts.restarts * width * posterior.flops_per_row()):
        raw = raw_batches(q, box, problem.incumbents, starts, generator)
        raw_values = objective.value(raw, Draw(common.z[:, :minibatch]))
        x0 = raw[boltzmann(raw_values, starts.restarts, starts.eta, generator)]
        start_seconds = time.perf_counter() - clock
        left = budget if budget.seconds is None else replace(budget, seconds=max(budget.seconds - start_seconds, 1e-3))
        trace = make_maximizer(maximizer, **hyperparameters)(objective, x0, budget=left, box=box, generator=generator)
        batch, telemetry = _choose(objective, trace, x0, common, box)
    seconds = time.perf_counter() - clock - start_seconds
    return Proposal(
        batch,
        replace(
            telemetry,
            points=q,
            pending=posterior.extra_points,
            start_seconds=start_seconds,
            maximise_seconds=seconds,
            maximizer=maximizer,
            acquisition=problem.acquisition.name,
        ),
    )


def raw_batches(q: int, box: Box, incumbents: Tensor, starts: StartPolicy, generator: Generator) -> Tensor:
    """(raw_batches, q, d): uniform ones, then those around the incumbents."""
    d = len(box.lower)
    near = round(starts.raw_batches * starts.around_incumbents) if len(incumbents) > 0 else 0
    uniform = torch.rand(starts.raw_batches, q, d, dtype=DTYPE, generator=generator)
    raw = box.lower + (box.upper - box.lower) * uniform
    if near > 0:
        raw[-near:] = around(incumbents, (near, q), box, generator)
    return raw


def around(incumbents: Tensor, shape: tuple[int, int], box: Box, generator: Generator) -> Tensor:
    """Incumbents with a random subset of coordinates perturbed, (*shape, d); widths from 0.001 to 0.2 of the box."""
    d = len(box.lower)
    which = torch.randint(len(incumbents), shape, generator=generator)
    centre = incumbents[which]
    exponent = torch.rand((*shape, 1), dtype=DTYPE, generator=generator)
    width = 1e-3 * 200.0**exponent * (box.upper - box.lower)
    noise = torch.randn((*shape, d), dtype=DTYPE, generator=generator) * width
    chance = min(1.0, 20.0 / d)
    mask = torch.rand((*shape, d), dtype=DTYPE, generator=generator) < chance
    always = torch.randint(d, (*shape, 1), generator=generator)
    mask.scatter_(-1, always, True)
    return box.project(centre + noise * mask)


def boltzmann(values: Tensor, count: int, eta: float, generator: Generator) -> Tensor:
    """BoTorch's heuristic: `count` different indices with weights exp(eta * standardised value), the best included.

    Rows without a finite value are taken only when there are not enough others.
    """
    ranked = torch.where(torch.isfinite(values), values, -torch.inf)
    finite = torch.isfinite(values).nonzero().squeeze(-1)
    if len(finite) <= count:
        return torch.argsort(ranked, descending=True, stable=True)[:count]
    spread = values[finite].std()
    if 0 < float(spread) < math.inf:
        standard = (values[finite] - values[finite].max()) / spread
        # The top weight is 1 and none vanishes: multinomial needs `count` that are not zero.
        weights = (eta * standard).clamp_min(-300.0).exp()
        chosen = finite[torch.multinomial(weights, count, generator=generator)]
    else:
        chosen = finite[torch.randperm(len(finite), generator=generator)[:count]]
    best = ranked.argmax()
    if not bool((chosen == best).any()):
        chosen[-1] = best
    return chosen


def _choose(objective: AcquisitionOracle, trace: Trace, x0: Tensor, common: Draw, box: Box) -> tuple[Tensor, Telemetry]:
    """The best of start, final and best points on the common sample, and the verdict on the climb."""
    b = len(x0)
    points = torch.cat([x0, trace.final, trace.best])
    points = torch.where(torch.isfinite(points), points, x0.repeat(3, 1, 1))
    values = objective.value(points, common)
    ranked = torch.where(torch.isfinite(values), values, -torch.inf)
    start, end = ranked[:b], ranked.reshape(3, b).amax(0)
    top = int(ranked.argmax())
    batch = points[top]
    winner = top % b if top >= b else -1
    value = float(ranked[top])
    gain = value - float(start.max())
    columns = objective.utility(objective.inner(batch.unsqueeze(0), common, gradient_rows=0).v)
    error = float(columns.std()) / math.sqrt(COMMON_SAMPLE)
    if not objective.linear_outer:  # delta method for the logarithm
        error /= max(float(columns.mean()), 1e-200)
    verdict, reason = _judge(objective, trace, batch, value, start, end, common, box)
    return batch, Telemetry(
        verdict=verdict,
        reason=reason,
        value=value,
        standard_error=error,
        gain=gain,
        spread=float(end[torch.isfinite(end)].std(correction=0)) if bool(torch.isfinite(end).any()) else math.nan,
        start_values=tuple(start.tolist()),
        end_values=tuple(end.tolist()),
        gradient_norms=tuple(trace.gradient_norm.tolist()),
        statuses=tuple(str(status) for status in trace.status),
        winner=winner,
        steps=trace.steps,
        jitter=trace.jitter,
    )


def _judge(
    objective: AcquisitionOracle,
    trace: Trace,
    batch: Tensor,
    value: float,
    start: Tensor,
    end: Tensor,
    common: Draw,
    box: Box,
) -> tuple[Verdict, str]:
    """The verdict in words, from the restarts' statuses and a probe step along the gradient at the chosen batch."""
    failed = sum(status == Status.FAILED for status in trace.status)
    if not math.isfinite(value):
        return Verdict.DEGRADED, "no batch has a finite acquisition value; the first start batch is proposed"
    if failed == len(trace.status):
        return Verdict.DEGRADED, "every restart failed (no Cholesky factor); the best batch before that is proposed"
    if trace.status.count(Status.MEMORY) == len(trace.status):
        return Verdict.DEGRADED, "the memory budget was too small for one step; fell back to the best raw batch"
    limited = f"; stopped by the time limit after {counted(trace.steps, 'step')}" if Status.TIME in trace.status else ""
    limited += f"; {failed} of {counted(len(trace.status), 'restart')} failed" if failed else ""
    inner = objective.inner(batch.unsqueeze(0), common)
    gradient = inner.pullback(objective.outer_gradient(inner.v))
    inside = box.project(batch.unsqueeze(0) + gradient.sign() * PROBE_STEPS[0]) - batch
    slope = float((gradient * inside).sum().abs())
    finite = torch.isfinite(start)
    # Restarts that met (in a corner, say) differ from where they began; on a plateau nothing differs.
    rounding = 1e-9 * max(1.0, abs(value))
    if slope <= rounding and float(end.max() - torch.where(finite, start, end.max()).min()) <= rounding:
        return Verdict.FLAT, f"the acquisition function has no slope at the chosen batch nor between batches{limited}"
    direction = gradient / gradient.abs().max().clamp_min(1e-300)
    probes = torch.cat([box.project(batch.unsqueeze(0) + step * direction) for step in PROBE_STEPS])
    probe_gain = float((objective.value(probes, common) - value).nan_to_num(-math.inf).max())
    # Restarts lie far apart also where none has climbed: a climb is not over for being ahead of the others.
    climb = float((end - start)[finite].median()) if bool(finite.any()) else math.inf
    climbed = max(min(value - float(end.median()), climb), abs(value) * 1e-3, 1e-9)
    if probe_gain > 0.05 * climbed:
        return Verdict.CLIMBING, f"one more step along the gradient still gains {probe_gain:.3g}{limited}"
    return Verdict.CONVERGED, f"no step along the gradient gains more than {max(probe_gain, 0.0):.2g}{limited}"
