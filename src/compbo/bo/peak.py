"""What a proposal needs of memory at its peak, stated before it begins.

Nothing in a proposal grows with raw batches x q x q, x q x n or x q x K: raw batches are ranked a few at a time, and
those that are not climbed from are forgotten. The ascent keeps restarts x q x n for the way back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.acquisition.oracle import VALUE_ELEMENTS
from compbo.bo.choice import COMMON_SAMPLE, SCRAMBLES
from compbo.bo.second_opinion import GIVEN_UP, GOOD_SPARE, TAKEN_IN
from compbo.surrogate.posterior import CHUNK_ELEMENTS

if TYPE_CHECKING:
    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.bo.starts import StartPolicy

# L z, its absolute value, v, another copy of it; factors, joined, scaled; and what the posterior makes of a chunk
VALUES = 8 * (7 * VALUE_ELEMENTS + 5 * CHUNK_ELEMENTS)
COPIES = 12  # of the restarts' points: where they stand, the best, what a rule remembers, a step, the choice


def bytes_at_peak(oracle: AcquisitionOracle, starts: StartPolicy, tracked: bool) -> int:
    """Bytes that one maximisation adds at its peak, at most, from the raw batches to the verdict.

    Args:
        oracle: of the acquisition function, with its samples; their width is q and the pending points.
        starts: how many raw batches and restarts.
        tracked: whether the maximizer has a tracker.

    Returns:
        What raw batches take while they are drawn and ranked, or the ascent and the verdict later: the larger of both.
    """
    width = oracle.samples.width
    batch = 8 * (width - oracle.posterior.extra_points) * oracle.posterior.dim
    raw = batch * starts.raw_batches
    drawn, ranked = raw * (1.0 + starts.around_incumbents), raw + VALUES
    kept = batch * (COPIES * starts.restarts + GOOD_SPARE + 2 * GIVEN_UP * TAKEN_IN)
    zeta = 8 * starts.restarts * width * oracle.pool_size if tracked else 0
    verdict = VALUES + 3 * 8 * width * SCRAMBLES * COMMON_SAMPLE
    return int(max(drawn, ranked, kept + zeta + verdict, kept + oracle.bytes_needed(starts.restarts, tracked)))
