"""The verdict on one maximisation of the acquisition function: was it carried to its end, and why not?

In the order of their gravity: degraded (it could not be carried out), flat (there is no slope to follow), still
climbing or did not move (something better was found), converged (nothing better was found by a second opinion).
"""

from __future__ import annotations

import math
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.bo.choice import values_on_scrambles
from compbo.bo.second_climbs import SMALL_SHARE, far_climbs, near_climbs
from compbo.bo.second_opinion import best_of, displacements, exchanges, gradient_steps, level_moves, slope_at
from compbo.maximizers.budget import Clock
from compbo.types import Status
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from compbo.bo.second_opinion import Case, Finding, Slope
    from compbo.types import Trace

SMALL_DISPLACEMENTS = (0.01, 0.01, 0.05, 0.05)  # shares of the box: where they change nothing, it is flat
ROUNDING = 1e-9  # relative to a value of at least 1
SURELY = 3.0  # standard errors that chance does not explain
NEXT_TO_NOTHING = 0.01  # of what the climb missed


class Verdict(StrEnum):
    """How a maximisation ended, in a word or three; docs/verdicts.md has what each means.

    >>> import compbo
    >>> compbo.Verdict("flat") is compbo.Verdict.FLAT
    True
    """

    CONVERGED = "converged"
    CLIMBING = "still climbing"
    DID_NOT_MOVE = "did not move"
    FLAT = "flat"
    DEGRADED = "degraded"
    DESIGN = "initial design"


class Judgement(NamedTuple):
    """The verdict, the reason in words, and the Monte-Carlo standard error of the chosen batch's value."""

    verdict: Verdict
    reason: str
    standard_error: float


def judge(case: Case) -> Judgement:
    """The verdict on a maximisation that is over. Nothing of it is changed: what is proposed stays."""
    chosen = case.chosen
    values = values_on_scrambles(case.oracle, torch.stack([chosen.batch, chosen.best_start]))
    noise = _Noise(values[0], float((values[0] - values[1]).std()))
    verdict, reason = _degraded(case) or _verdict(case, noise)
    if verdict is not Verdict.DEGRADED:
        reason += _failed_restarts(case.trace)
    return Judgement(verdict, reason, float(values[0].std()))


class _Noise(NamedTuple):
    """The chosen batch's values on independent scrambles (R,), and the standard error of what the climb gained."""

    values: Tensor
    gain_error: float


def _verdict(case: Case, noise: _Noise) -> tuple[Verdict, str]:
    """One of the four that a maximisation can have that was carried out."""
    slope, moves = slope_at(case), level_moves(case)
    if not bool(torch.isfinite(slope.gradient).all()):
        return Verdict.CLIMBING, "at the chosen batch there is no gradient to judge by"
    if _is_flat(case, slope, moves):
        return Verdict.FLAT, f"the acquisition function has no slope at the chosen batch{_time_limit(case.trace)}"
    clock, gain = Clock(case.budget.seconds), 0.0
    for finding in _looks(case, slope, moves):
        if _counts(case, finding, noise):
            return _not_over(case, finding, noise)
        if finding.cut_short or clock.expired():
            return Verdict.CLIMBING, f"{finding.cut_short or 'the time limit'} left no room for a second opinion"
        gain = max(gain, finding.gain)
    if Status.TIME in case.trace.status:
        return Verdict.CLIMBING, _time_limit(case.trace).removeprefix("; ")
    already = "" if _moved(case, noise, gain) else "; the best start batch was as good, but for chance"
    return Verdict.CONVERGED, f"nothing that was tried near by and elsewhere gains more than {gain:.2g}{already}"


def _looks(case: Case, slope: Slope, moves: Tensor) -> Iterator[Finding]:
    """Looks for something better, from cheap ones to dear ones; only cheap ones where the time is used up."""
    yield gradient_steps(case, slope)
    if len(moves) > 0:
        yield best_of(case, moves, "another level of one parameter")
    if Status.TIME in case.trace.status:
        return
    yield near_climbs(case)
    exchanged = exchanges(case, slope)
    if len(exchanged) > 0:
        yield best_of(case, exchanged[:1], "exchanging one point")
    yield far_climbs(case, exchanged)


def _rounding(case: Case) -> float:
    return ROUNDING * max(1.0, abs(case.chosen.value))


def _is_flat(case: Case, slope: Slope, moves: Tensor) -> bool:
    """Whether the gradient is zero up to rounding, and no small step changes anything.

    At an optimum small steps lower the value, and in a corner the gradient points outwards.
    """
    if not float((slope.gradient * case.width).abs().sum()) * max(SMALL_DISPLACEMENTS) <= _rounding(case):
        return False
    near = torch.cat([displacements(case, SMALL_DISPLACEMENTS), moves])
    return float(case.gains(near).abs().max()) <= _rounding(case)


def _counts(case: Case, finding: Finding, noise: _Noise) -> bool:
    """Whether a batch is better by more than a small share of what the climb gained, and than chance explains."""
    if finding.gain <= max(SMALL_SHARE * case.chosen.gain, _rounding(case)):
        return False
    difference = values_on_scrambles(case.oracle, finding.batch.unsqueeze(0))[0] - noise.values
    return not finding.gain <= float(difference.std())


def _moved(case: Case, noise: _Noise, missed: float) -> bool:
    """Whether the climb gained more than chance explains, and not next to nothing of what it missed."""
    least = max(SURELY * noise.gain_error, NEXT_TO_NOTHING * missed, _rounding(case))
    return case.chosen.gain > least


def _not_over(case: Case, finding: Finding, noise: _Noise) -> tuple[Verdict, str]:
    gain, limit = case.chosen.gain, _time_limit(case.trace)
    if not _moved(case, noise, finding.gain):
        gained = f"{gain:.2g} +- {noise.gain_error:.1g}" if gain > _rounding(case) else "nothing"
        climbed = f"the climb gained {gained} over the best start batch"
        return Verdict.DID_NOT_MOVE, f"{climbed}; {finding.how} gains {finding.gain:.3g}{limit}"
    share = f"{finding.gain / gain:.0%} of what the climb gained"
    return Verdict.CLIMBING, f"{finding.how} still gains {finding.gain:.3g}, {share}{limit}"


def _degraded(case: Case) -> tuple[Verdict, str] | None:
    """The verdict where the maximisation could not be carried out; None if it was."""
    trace, after = case.trace, f"after {counted(case.trace.steps, 'step')}"
    if not math.isfinite(case.chosen.value):
        return Verdict.DEGRADED, "no batch has a finite acquisition value; the first start batch is proposed"
    if all(status == Status.FAILED for status in trace.status):
        why = _causes(trace)
        return Verdict.DEGRADED, f"every restart failed {after} ({why}); the best batch so far is proposed"
    if Status.MEMORY in trace.status and trace.steps == 0:
        return Verdict.DEGRADED, "not enough memory for one step; the best start batch is proposed"
    if Status.MEMORY in trace.status:
        return Verdict.DEGRADED, f"stopped {after}: out of memory; the best batch so far is proposed"
    return None


def _causes(trace: Trace) -> str:
    """What made restarts fail, the most frequent first."""
    causes = Counter(failure for failure in trace.failures if failure is not None)
    return ", ".join(cause for cause, _ in causes.most_common())


def _failed_restarts(trace: Trace) -> str:
    """Failed restarts, to be added to a reason; empty if there are none."""
    failed = trace.status.count(Status.FAILED)
    return f"; {failed} of {counted(len(trace.status), 'restart')} failed ({_causes(trace)})" if failed else ""


def _time_limit(trace: Trace) -> str:
    """That the clock ran out, to be added to a reason; empty if it did not."""
    return f"; stopped by the time limit after {counted(trace.steps, 'step')}" if Status.TIME in trace.status else ""
