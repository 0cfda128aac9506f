"""Means, medians and interquartile means over tasks, with intervals by the stratified bootstrap.

A value belongs to a run, a run to a task (here: the stratum), and every task counts the same. Where all tasks have
several runs, the runs are resampled within each task: the interval says what other seeds would have given. Where some
have one run only, whole tasks are resampled: the interval says what other tasks like these would have given. With
fewer than three tasks of one run there is no interval. (Efron and Tibshirani, 1993; Agarwal et al., NeurIPS 2021.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from compbo.seeds import numpy_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Statistic = Callable[[Array, Array], Array]

RESAMPLES = 2000
LEVEL = 0.95
FEWEST_TASKS = 3  # that can be resampled

Unit = Literal["seeds", "tasks", "black boxes", "nothing"]


class Resampling(NamedTuple):
    """What each of N runs counts for; every row sums to 1."""

    weights: Array  # (N,) of the runs as they are
    resampled: Array  # (R, N) in R resamples
    unit: Unit  # what was resampled


class Estimate(NamedTuple):
    """A number, or one per column of the values, with the ends of its interval (NaN where there is none)."""

    value: Array
    low: Array  # end of the interval
    high: Array  # end of the interval
    unit: Unit  # what was resampled; black boxes: by Student's t over them
    tasks: int  # how many
    runs: int  # how many


def resample(
    strata: ArrayLike,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    groups: ArrayLike | None = None,
) -> Resampling:
    """Weights of the runs in `resamples` resamples, given the task of each, strata (N,).

    generator: the source of everything random.

    groups: of the tasks, for instance by dimension; every group counts the same, and tasks are resampled within theirs.
    """
    names = np.asarray(strata)
    _, first, task = np.unique(names, return_index=True, return_inverse=True)
    group = np.zeros(len(first), dtype=np.int64)
    if groups is not None and len(first):
        group = np.unique(np.asarray(groups)[first], return_inverse=True)[1]
    sizes, members = np.bincount(task), np.bincount(group)
    share = 1.0 / (len(members) * members[group]) if len(first) else np.empty(0)  # of a task
    weights = share[task] / sizes[task]
    if len(task) and (sizes > 1).all():
        drawn = np.empty((resamples, len(task)))
        for k, size in enumerate(sizes):
            drawn[:, task == k] = generator.multinomial(size, np.full(size, 1.0 / size), resamples)
        return Resampling(weights, drawn * weights, "seeds")
    if len(task) and (members >= FEWEST_TASKS).all():
        drawn = np.empty((resamples, len(first)))
        for g, size in enumerate(members):
            drawn[:, group == g] = generator.multinomial(size, np.full(size, 1.0 / size), resamples)
        return Resampling(weights, drawn[:, task] * weights, "tasks")
    return Resampling(weights, np.empty((0, len(task))), "nothing")


def mean(values: Array, weights: Array) -> Array:
    """Weighted means: values (N, ...) and weights (R, N) give (R, ...)."""
    return np.tensordot(weights, values, axes=1)


def median(values: Array, weights: Array) -> Array:
    """Weighted medians of values (N, ...) by weights (R, N); where two values are in the middle, their mean."""

    def of_column(column: Array) -> Array:
        order = np.argsort(column, kind="stable")
        below = np.cumsum(weights[:, order], axis=1)
        first = np.argmax(below >= 0.5 - 1e-12, axis=1)
        last = np.argmax(below > 0.5 + 1e-12, axis=1)
        return np.asarray((column[order][first] + column[order][last]) / 2.0)

    return _by_column(of_column, values, len(weights))


def iqm(values: Array, weights: Array) -> Array:
    """Weighted interquartile means of values (N, ...): the mean of the middle half of the weight."""

    def of_column(column: Array) -> Array:
        order = np.argsort(column, kind="stable")
        below = np.clip(np.cumsum(weights[:, order], axis=1), 0.25, 0.75)
        inside = np.diff(below, axis=1, prepend=0.25)
        return np.asarray(2.0 * inside @ column[order])

    return _by_column(of_column, values, len(weights))


def _by_column(statistic: Callable[[Array], Array], values: Array, resamples: int) -> Array:
    columns = values.reshape(len(values), -1)
    found = np.stack([statistic(column) for column in columns.T], axis=-1) if columns.shape[1] else np.empty((0,))
    return np.asarray(found.reshape(resamples, *values.shape[1:]))


def estimate(
    values: ArrayLike,
    strata: ArrayLike,
    statistic: Statistic = mean,
    *,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    resamples: int = RESAMPLES,
) -> Estimate:
    """A statistic of values (N, ...) of runs, and its 95 % interval by percentiles; strata: the task of each run.

    groups: of each run's task, where groups of tasks are to count the same (`resample`).
    Runs with a NaN are left out. Without a generator the draws are those of a stream of their own, so that the same
    table gives the same numbers.
    """
    array, tasks = np.asarray(values, dtype=np.float64), np.asarray(strata)
    known = ~np.isnan(array).any(axis=tuple(range(1, array.ndim)))
    array, tasks, groups = array[known], tasks[known], None if groups is None else np.asarray(groups)[known]
    if not len(array):
        nothing = np.full(array.shape[1:], np.nan)
        return Estimate(nothing, nothing, nothing, "nothing", 0, 0)
    generator = numpy_stream(0, "bootstrap") if generator is None else generator
    drawn = resample(tasks, generator, resamples, groups)
    value = statistic(array, drawn.weights[None])[0]
    if drawn.unit == "nothing":
        low = high = np.full_like(value, np.nan)
    else:
        tail = 100.0 * (1.0 - LEVEL) / 2.0
        low, high = np.percentile(statistic(array, drawn.resampled), [tail, 100.0 - tail], axis=0)
    return Estimate(value, low, high, drawn.unit, len(np.unique(tasks)), len(array))
