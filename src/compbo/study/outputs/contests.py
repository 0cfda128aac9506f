"""Final regrets as tables for tests and comparisons: optimisers by tasks (by seeds)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.study.outputs.axes import sorted_optimisers
from compbo.study.outputs.statistics.ranks import Ranking, complete_part, ranking

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Finals(NamedTuple):
    """Final values (optimisers, tasks, seeds), NaN where there is no run; a task is task|acquisition."""

    optimisers: list[str]
    tasks: list[str]
    values: Array


def finals(rows: pd.DataFrame, column: str = "nfr") -> Finals:
    """The final numbers, a column of the rows, of the optimisers that maximise an acquisition function."""
    rows = rows[rows["acquisition"] != ""]
    optimisers = sorted_optimisers(rows["optimiser"])
    blocks = rows["task"] + "|" + rows["acquisition"]
    tasks, seeds = sorted(set(blocks)), sorted(set(rows["seed"]))
    values = np.full((len(optimisers), len(tasks), len(seeds)), np.nan)
    places = [
        {name: i for i, name in enumerate(optimisers)},
        {name: i for i, name in enumerate(tasks)},
        {seed: i for i, seed in enumerate(seeds)},
    ]
    for name, block, seed, value in zip(rows["optimiser"], blocks, rows["seed"], rows[column], strict=True):
        values[places[0][name], places[1][block], places[2][seed]] = value
    return Finals(optimisers, tasks, values)


class Ranked(NamedTuple):
    """The ranking of the optimisers that ran on the same tasks, and those that are left out of it."""

    optimisers: list[str]
    ranking: Ranking
    left_out: list[str]


def ranked(rows: pd.DataFrame) -> Ranked:
    """Ranks by the mean over seeds on the tasks that all optimisers in the rows ran; those with gaps are left out."""
    found = finals(rows)
    there = ~np.isnan(found.values)
    counts = there.sum(axis=-1)
    total = np.nansum(found.values, axis=-1)
    means = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    methods, tasks = complete_part(means)
    kept = [found.optimisers[i] for i in methods]
    left_out = [name for name in found.optimisers if name not in kept]
    return Ranked(kept, ranking(means[np.ix_(methods, tasks)]), left_out)
