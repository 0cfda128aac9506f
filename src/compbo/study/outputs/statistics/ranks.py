"""Ranks of many methods on many tasks: Friedman's test, then Wilcoxon's for every pair with Holm's correction.

values: methods x tasks, lower is better. (Demsar, JMLR 7, 2006; Benavoli, Corani and Mangili, JMLR 17, 2016, on why
Wilcoxon instead of differences of mean ranks.)
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.extras import load_optional

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

ALPHA = 0.05
FEWEST_METHODS = 3  # of Friedman's test
FEWEST_TASKS = 2


class Ranking(NamedTuple):
    """Mean ranks (1 is best), Friedman's statistic and p, and Holm's p of every pair (a symmetric table, 1 inside)."""

    mean_ranks: Array
    friedman: float
    p: float
    pairs: Array
    tasks: int  # how many


def complete_part(values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the largest part of the values without a NaN.

    It is sought among the parts that keep the methods with most tasks. values: (methods, tasks).
    """
    there = ~np.isnan(np.asarray(values, dtype=np.float64))
    order = np.argsort(-there.sum(axis=1), kind="stable")
    best, size = (order[:0], order[:0]), -1
    for count in range(1, len(order) + 1):
        kept = order[:count]
        tasks = np.flatnonzero(there[kept].all(axis=0))
        if count * len(tasks) > size:
            best, size = (np.sort(kept), tasks), count * len(tasks)
    return best


def ranking(values: ArrayLike) -> Ranking:
    """The tests on values (methods, tasks) without NaN; NaN for a test that needs more methods or tasks."""
    from scipy.stats import friedmanchisquare, rankdata

    array = np.asarray(values, dtype=np.float64)
    methods, tasks = array.shape
    ranks = rankdata(array, axis=0).mean(axis=1) if tasks else np.full(methods, np.nan)
    statistic = p = np.nan
    varied = tasks > 0 and bool((array != array[:1]).any())
    if methods >= FEWEST_METHODS and tasks >= FEWEST_TASKS and varied:
        statistic, p = (float(number) for number in friedmanchisquare(*array))
    return Ranking(ranks, statistic, p, wilcoxon_holm(array), tasks)


def wilcoxon_holm(array: Array) -> Array:
    """Two-sided p of Wilcoxon's signed-rank test for every pair, by Holm's correction over all pairs."""
    methods, tasks = array.shape
    table = np.ones((methods, methods))
    pairs = list(combinations(range(methods), 2))
    if not pairs or tasks < FEWEST_TASKS:
        return np.where(np.eye(methods, dtype=bool), 1.0, np.nan)
    multipletests = load_optional("statsmodels.stats.multitest", "study").multipletests
    corrected = multipletests([_wilcoxon(array[i], array[j]) for i, j in pairs], method="holm")[1]
    for (i, j), p in zip(pairs, corrected, strict=True):
        table[i, j] = table[j, i] = p
    return table


def _wilcoxon(first: Array, second: Array) -> float:
    from scipy.stats import wilcoxon

    if (first == second).all():
        return 1.0
    with warnings.catch_warnings():  # SciPy warns that few tasks leave little to go by; the p says it as well
        warnings.simplefilter("ignore", UserWarning)
        return float(wilcoxon(first, second).pvalue)


def indistinct_groups(mean_ranks: Array, pairs: Array, alpha: float = ALPHA) -> list[tuple[int, int]]:
    """The bars of a critical-difference diagram: largest runs of neighbours by rank without a pair that differs.

    alpha: the p from which on a pair does not differ.

    Each is (first, last), places in the order of the mean ranks, from 0.
    """
    order = np.argsort(mean_ranks, kind="stable")
    alike = pairs[np.ix_(order, order)] >= alpha
    found: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and alike[first : last + 2, first : last + 2].all():
            last += 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found
