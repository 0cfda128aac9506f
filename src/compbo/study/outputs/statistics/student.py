"""The mean of paired differences over tasks, with Student's interval: honest where a bootstrap of few is too narrow.

A value belongs to a run, a run to a task. The runs of a task are averaged first, every task counts the same, and the
interval says what other tasks like these would have given: value +- t(0.975, n - 1) s / sqrt(n) for n tasks.
Percentiles of a bootstrap over five tasks cover the mean in 85 % of the cases instead of 95 %, over two seeds in 77 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.study.outputs.statistics.bootstrap import FEWEST_TASKS, LEVEL, Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def mean_over_tasks(values: ArrayLike, strata: ArrayLike) -> Estimate:
    """The mean of values (N,) of runs over their tasks, strata (N,), and its 95 % interval by Student's t.

    Runs with a NaN are left out. With fewer than three tasks there is no interval.

    >>> found = mean_over_tasks([0.0, 2.0, 2.0, 3.0], ["a", "a", "b", "c"])  # tasks: 1, 2 and 3
    >>> float(found.value), round(float(found.low), 3), found.tasks, found.runs
    (2.0, -0.484, 3, 4)
    """
    array, tasks = np.asarray(values, dtype=np.float64), np.asarray(strata, dtype=object)
    known = ~np.isnan(array)
    array, tasks = array[known], tasks[known]
    nothing = np.asarray(np.nan)
    if not len(array):
        return Estimate(nothing, nothing, nothing, "nothing", 0, 0)
    names, place = np.unique(tasks.astype(str), return_inverse=True)
    means = np.bincount(place, array) / np.bincount(place)
    n, value = len(names), np.asarray(means.mean())
    if n < FEWEST_TASKS:
        return Estimate(value, nothing, nothing, "nothing", n, len(array))
    from scipy import stats

    half = stats.t.ppf((1.0 + LEVEL) / 2.0, n - 1) * means.std(ddof=1) / np.sqrt(n)
    return Estimate(value, value - half, value + half, "black boxes", n, len(array))
