"""Values so far from the others that a chart of all would show a flat line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.bo.history import sign_of
from compbo.records import COMPLETE
from compbo.report.data import of_state

if TYPE_CHECKING:
    from compbo.report.data import Report, Row

OUTLIERS = 0.05  # the share of the evaluations that may lie off a chart, and at least one
FLATTENED = 5.0  # they do if the chart would otherwise be more than this many times as high


def value_range(report: Report) -> tuple[float, float] | None:
    """The range of values to show, if a few bad ones would flatten all others; None: the range of all.

    The best value is always in it.
    """
    sign = sign_of(report["direction"])
    values = sorted(-sign * (row["value"] or 0.0) for row in of_state(report, COMPLETE))  # the best first
    for dropped in range(1, max(1, int(OUTLIERS * len(values))) + 1):
        rest = values[: len(values) - dropped]
        if len(rest) < 3 or rest[-1] == rest[0]:
            return None
        if values[-1] - values[0] > FLATTENED * (rest[-1] - rest[0]):
            pad = 0.06 * (rest[-1] - rest[0])
            ends = -sign * (rest[0] - pad), -sign * (rest[-1] + pad)
            return min(ends), max(ends)
    return None


def outside(report: Report, cut: tuple[float, float]) -> list[Row]:
    """The evaluations whose values lie beyond a range; cut: its two ends."""
    rows = [row for row in report["evaluations"] if row["value"] is not None]
    return [row for row in rows if not cut[0] <= (row["value"] or 0.0) <= cut[1]]
