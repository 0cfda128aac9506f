"""The verdict on one maximisation of the acquisition function: was it carried to its end, and why not?"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.types import Status
from compbo.words import counted

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.types import Box, Draw, Trace

PROBE_STEPS = (1e-3, 1e-2)  # lengths of the steps that look whether the climb was over
SMALL_GAIN = 0.05  # share of what was climbed: a probe that gains more says that the climb was not over


class Verdict(StrEnum):
    """How a maximisation ended, in a word.

    >>> import compbo
    >>> compbo.Verdict("flat") is compbo.Verdict.FLAT
    True
    """

    CONVERGED = "converged"  # no step along the gradient gains much
    CLIMBING = "still climbing"  # one more step would still gain
    FLAT = "flat"  # the acquisition function has no slope
    DEGRADED = "degraded"  # there was no maximisation to speak of: the reason says why
    DESIGN = "initial design"  # nothing was maximised


class Chosen(NamedTuple):
    """The chosen batch (q, d), its value, the restart it came from, and all restarts' values, on the common sample."""

    batch: Tensor
    value: float
    winner: int  # -1: a start batch
    start: Tensor  # (B,) before the ascent; -inf where there is no value
    end: Tensor  # (B,) the best of each restart


def judge(oracle: AcquisitionOracle, trace: Trace, chosen: Chosen, common: Draw, box: Box) -> tuple[Verdict, str]:
    """The verdict and its reason, from the restarts' statuses and probe steps along the gradient at the chosen batch.

    Args:
        oracle: the acquisition function.
        trace: what the maximizer left.
        chosen: the batch that is proposed.
        common: the sample on which all values are compared.
        box: the bounds of every point.
    """
    nothing_done = _why_degraded(trace, chosen.value)
    if nothing_done:
        return Verdict.DEGRADED, nothing_done
    limited = _what_was_cut_short(trace)
    value, start, end = chosen.value, chosen.start, chosen.end
    batch = chosen.batch.unsqueeze(0)
    inner = oracle.inner(batch, common)
    gradient = inner.pullback(oracle.outer_gradient(inner.v))
    inside = box.project(batch + gradient.sign() * PROBE_STEPS[0]) - chosen.batch
    slope = float((gradient * inside).sum().abs())
    finite = torch.isfinite(start)
    # Restarts that met (in a corner, say) differ from where they began; on a plateau nothing differs.
    rounding = 1e-9 * max(1.0, abs(value))
    if slope <= rounding and float(end.max() - torch.where(finite, start, end.max()).min()) <= rounding:
        return Verdict.FLAT, f"the acquisition function has no slope at the chosen batch nor between batches{limited}"
    direction = gradient / gradient.abs().max().clamp_min(1e-300)
    probes = torch.cat([box.project(batch + step * direction) for step in PROBE_STEPS])
    gain = float((oracle.value(probes, common) - value).nan_to_num(-math.inf).max())
    # Restarts may lie far apart although none has climbed: the lead of the best one does not show that it is done.
    climb = float((end - start)[finite].median()) if bool(finite.any()) else math.inf
    climbed = max(min(value - float(end.median()), climb), abs(value) * 1e-3, 1e-9)
    if gain > SMALL_GAIN * climbed:
        return Verdict.CLIMBING, f"one more step along the gradient still gains {gain:.3g}{limited}"
    return Verdict.CONVERGED, f"no step along the gradient gains more than {max(gain, 0.0):.2g}{limited}"


def _why_degraded(trace: Trace, value: float) -> str:
    """Why there was no maximisation to speak of; empty if there was one."""
    if not math.isfinite(value):
        return "no batch has a finite acquisition value; the first start batch is proposed"
    if all(status == Status.FAILED for status in trace.status):
        return "every restart failed (no Cholesky factor); the best batch before that is proposed"
    if all(status == Status.MEMORY for status in trace.status):
        return "the memory budget was too small for one step; fell back to the best raw batch"
    return ""


def _what_was_cut_short(trace: Trace) -> str:
    """The time limit and failed restarts, to be added to a reason; empty if there was neither."""
    failed = trace.status.count(Status.FAILED)
    limit = f"; stopped by the time limit after {counted(trace.steps, 'step')}" if Status.TIME in trace.status else ""
    return limit + (f"; {failed} of {counted(len(trace.status), 'restart')} failed" if failed else "")
