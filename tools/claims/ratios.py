"""Final regrets as ratios: what a mean of differences cannot show where little of the regret is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.study.outputs.axes import sorted_acquisitions
from compbo.study.outputs.statistics.student import mean_over_tasks

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

SMALLEST = 1e-6  # of the regret of the initial design; below it runs count as equal
PAIRS = (
    ("CAdam", "Adam-FSM"),
    ("AdamOS-FSM", "Adam-FSM"),
    ("CAdam", "AdamOS-FSM"),
    ("Nested-MC", "Adam-FSM"),
    ("CAdam-ME", "CAdam"),
    ("MSVR", "Adam-FSM"),
)
HOW = """\
**As ratios.** A difference of normalised regrets is small where little is left, even if one has half of the other's. So
here are ratios of final regrets, run by run: the geometric mean over the functions, with Student's interval over them,
by acquisition function and dimension. 0.5 is half of the other's regret; in bold what lies apart from 1. No correction
was made for how many there are."""


class Ratio(NamedTuple):
    """The final regret of the first in units of the second's, with its interval."""

    value: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """`0.49 [0.25, 0.95]`, in bold if 1 is outside."""
        if np.isnan(self.low):
            return f"{self.value:.2f}"
        said = f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return f"**{said}**" if self.high < 1 or self.low > 1 else said


def ratio(rows: pd.DataFrame, first: str, second: str) -> Ratio | None:
    """The ratio of the final regrets of two optimisers.

    Args:
        rows: the runs on the plain synthetic functions.
        first: the optimiser above the line.
        second: that below it.

    Returns:
        Its geometric mean over the functions, each counts once; None where no start has both.
    """
    both = rows[rows["optimiser"].isin([first, second])]
    wide = both.pivot_table("nfr", ["function", "dimension", "acquisition", "seed"], "optimiser")
    if wide.shape[1] < 2 or (wide := wide.dropna()).empty:
        return None
    logs = np.log(wide.clip(lower=SMALLEST))
    found: Estimate = mean_over_tasks(logs[first] - logs[second], wide.index.get_level_values("function"))
    return Ratio(*(float(np.exp(number)) for number in (found.value, found.low, found.high)))


def table(rows: pd.DataFrame) -> str:
    """All pairs, by acquisition function and dimension, in Markdown.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A row for every pair, a column for every acquisition function in every dimension that has several of the pairs.
    """
    columns = []
    for acquisition in sorted_acquisitions({*rows["acquisition"]} - {""}):
        for dimension, part in rows[rows["acquisition"] == acquisition].groupby("dimension"):
            columns.append((f"{acquisition.upper()}, {dimension}D", part))
    lines = [f"| final regrets | {' | '.join(title for title, _ in columns)} |", "|---" * (len(columns) + 1) + "|"]
    for first, second in PAIRS:
        found = [ratio(part, first, second) for _, part in columns]
        lines.append(f"| {first} / {second} | {' | '.join(one.words if one else '' for one in found)} |")
    return "\n".join(lines)
