"""Which of two methods ends lower: probability of improvement, and performance profiles (Agarwal et al., NeurIPS 2021).

values: (methods, tasks, runs), lower is better, NaN where there is no run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.seeds import numpy_stream
from compbo.study.outputs.statistics.bootstrap import FEWEST_TASKS, LEVEL

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from compbo.study.outputs.statistics.bootstrap import Unit

    Array = NDArray[np.float64]

RESAMPLES = 500  # of every pair of methods


class Improvement(NamedTuple):
    """Square tables: row i, column j is about method i ending lower than method j."""

    probability: Array  # that method i ends lower than method j
    low: Array  # end of the interval
    high: Array  # end of the interval
    tasks: NDArray[np.int64]  # on which both ran
    unit: Unit  # what was resampled


def lower_shares(values: ArrayLike) -> Array:
    """Per task, (tasks, methods, methods): the share of the pairs of runs in which row ends lower than column.

    values: (methods, tasks, runs).

    Ties count half; NaN where one of the two has no run.
    """
    array = np.asarray(values, dtype=np.float64)
    weights = _weights(array)
    return np.stack([_shares(_compared(array[:, t]), weights[None, :, t])[0] for t in range(array.shape[1])])


def _weights(array: Array) -> Array:
    """What each run counts for among those of its method and task."""
    there = ~np.isnan(array)
    counts = there.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(there, counts, out=np.full(array.shape, np.nan), where=counts > 0))


def _compared(runs: Array) -> Array:
    """(methods, runs, methods, runs): 1 where the first is lower, 1/2 for a tie, 0 where a run is missing."""
    first, second = runs[:, :, None, None], runs[None, None]
    return np.asarray((first < second) + 0.5 * (first == second))


def _shares(compared: Array, weights: Array) -> Array:
    """(R, methods, methods) for the weights (R, methods, runs)."""
    half = np.einsum("ria,iajb->rijb", weights, compared, optimize=True)
    return np.asarray(np.einsum("rijb,rjb->rij", half, weights))


def probability_of_improvement(
    values: ArrayLike, generator: np.random.Generator | None = None, resamples: int = RESAMPLES
) -> Improvement:
    """P(row ends lower than column), the mean over the tasks that both ran, with 95 % intervals.

    values: (methods, tasks, runs). resamples: how many.

    Runs are resampled within tasks if every method has several on each task that it ran, else tasks as a whole.
    """
    array = np.asarray(values, dtype=np.float64)
    generator = numpy_stream(0, "probability of improvement") if generator is None else generator
    shares = lower_shares(array)
    counts = (~np.isnan(array)).sum(axis=-1)
    unit: Unit = "nothing"
    drawn = np.empty((0, *shares.shape[1:]))
    if counts.size and (counts[counts > 0] > 1).all():
        unit, drawn = "seeds", _over_seeds(array, generator, resamples)
    elif array.shape[1] >= FEWEST_TASKS:
        unit, drawn = "tasks", _over_tasks(shares, generator, resamples)
    both = (~np.isnan(shares)).sum(axis=0)
    low, high = np.full(shares.shape[1:], np.nan), np.full(shares.shape[1:], np.nan)
    if unit != "nothing":
        tail = 50.0 * (1.0 - LEVEL)
        low[both > 0], high[both > 0] = np.nanpercentile(drawn[:, both > 0], [tail, 100.0 - tail], axis=0)
    return Improvement(_mean(shares), low, high, both, unit)


def _mean(shares: Array) -> Array:
    """The mean over the tasks, (tasks, ...) -> (...), of what is there."""
    count = (~np.isnan(shares)).sum(axis=0)
    total = np.nansum(shares, axis=0)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _over_seeds(array: Array, generator: np.random.Generator, resamples: int) -> Array:
    """Resampled means, the runs of every method and task drawn anew among those that are there."""
    total = np.zeros((resamples, len(array), len(array)))
    count = np.zeros(total.shape[1:])
    for t in range(array.shape[1]):
        runs = array[:, t]
        weights = np.full((resamples, *runs.shape), np.nan)
        for method, there in enumerate(~np.isnan(runs)):
            if size := int(there.sum()):
                weights[:, method] = 0.0
                weights[:, method, there] = generator.multinomial(size, np.full(size, 1 / size), resamples) / size
        shares = _shares(_compared(runs), weights)
        known = ~np.isnan(shares[0])
        total[:, known] += shares[:, known]
        count += known
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0)


def _over_tasks(shares: Array, generator: np.random.Generator, resamples: int) -> Array:
    """Resampled means, whole tasks drawn anew; a pair that is in none of the drawn tasks is NaN."""
    tasks = len(shares)
    drawn = generator.multinomial(tasks, np.full(tasks, 1.0 / tasks), resamples).astype(np.float64)
    known = ~np.isnan(shares)
    weight = np.tensordot(drawn, known.astype(np.float64), axes=1)
    total = np.tensordot(drawn, np.nan_to_num(shares), axes=1)
    return np.asarray(np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0))


def below(values: ArrayLike, levels: ArrayLike) -> Array:
    """The indicators of a performance profile: (N, levels), 1 where a run's value is at most the level."""
    return (np.asarray(values, dtype=np.float64)[:, None] <= np.asarray(levels)[None]).astype(np.float64)
