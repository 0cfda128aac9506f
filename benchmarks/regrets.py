"""The normalised final regret by which runs are compared, in the league and among the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SMALLEST = 1e-3  # of a normalised regret: below it runs count as equal
MARGIN = 0.05  # by which the smallest loss lies below the best of all runs, where it is not known


def normalised_regrets(rows: pd.DataFrame) -> np.ndarray:
    """The regret of the last best point in units of that of the best initial point; a number for every row.

    On noisy tasks it is the regret without noise of the point with the smallest value seen, and may exceed 1. Where the
    optimum is not known, the best loss of all runs on the task stands for it, and `MARGIN` is added, so that one lucky
    run does not make all others infinitely bad.

    Args:
        rows: of finished runs; those on a task are compared with each other.

    Returns:
        Numbers from `SMALLEST` on.
    """
    last = rows["best"].map(lambda curve: curve[-1])
    least = last.groupby(rows["task"]).transform("min")
    known = rows["floor_kind"] == "optimum"
    first_regret = rows["regret"].map(lambda curve: curve[0]).where(known, rows["best"].map(lambda c: c[0]) - least)
    last_regret = rows["regret"].map(lambda curve: curve[-1]).where(known, last - least)
    ratio = (last_regret / first_regret).where(first_regret > 0, 1.0)  # nothing was left to gain
    return np.asarray(ratio.clip(lower=SMALLEST) + np.where(known, 0.0, MARGIN), dtype=np.float64)
