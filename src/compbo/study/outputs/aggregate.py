"""Runs put together: by optimiser, and by class in a fair way and in the paper's.

Fair: at every step the median member of a class, one number per task and seed. The paper's: the best member at that
step, which may be another one at every step and favours the class with more members; it is shown beside the fair one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from compbo.study.outputs.axes import CLASSES, sorted_optimisers
from compbo.study.outputs.runs import BLOCK, black_boxes, blocks, contest_places, matrix
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate, mean
from compbo.study.outputs.statistics.student import mean_over_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from compbo.study.outputs.statistics.bootstrap import Statistic

    Array = NDArray[np.float64]

How = Literal["median", "best"]
FAIR: How = "median"
PAPER: How = "best"
HOW_WORDS = {
    "median": "fair: the median member of each class",
    "best": "the paper's way: the best member of each class at every step",
}


def member_curves(
    rows: pd.DataFrame, how: How, column: str = "curve", *, higher_is_better: bool = False
) -> tuple[Array, NDArray[np.object_]]:
    """One curve per task, acquisition function and seed, from all optimisers in the rows; and the stratum of each.

    how: the median or the best member. column: of the curves. higher_is_better: which member is the best.
    """
    values = matrix(rows, column)
    best = np.max if higher_is_better else np.min
    reduce: Any = best if how == "best" else np.median
    whole = np.asarray(~np.isnan(values).any(axis=1))
    known = [(stratum, kept) for stratum, places in contest_places(rows) if len(kept := places[whole[places]])]
    if not known:
        return np.empty((0, values.shape[1])), np.empty(0, dtype=np.object_)
    reduced = np.stack([reduce(values[places], axis=0) for _, places in known])
    return reduced, np.array([stratum for stratum, _ in known], dtype=np.object_)


def classes_in(rows: pd.DataFrame) -> list[str]:
    """The classes that have runs in the rows, in their order."""
    there = set(rows["group"])
    return [group for group in CLASSES if group in there]


def by_class(
    rows: pd.DataFrame, how: How, statistic: Statistic = mean, *, higher_is_better: bool = False
) -> dict[str, Estimate]:
    """The curve of every class in the rows with its interval; how, higher_is_better: as for `member_curves`."""
    return {
        group: estimate(
            *member_curves(rows[rows["group"] == group], how, higher_is_better=higher_is_better), statistic=statistic
        )
        for group in classes_in(rows)
    }


def by_optimiser(rows: pd.DataFrame, column: str = "curve", statistic: Statistic = mean) -> dict[str, Estimate]:
    """The curve of every optimiser in the rows with its interval; column: of the curves."""
    return {
        name: estimate(matrix(part, column), blocks(part), statistic)
        for name in sorted_optimisers(rows["optimiser"])
        if len(part := rows[rows["optimiser"] == name])
    }


def common_blocks(rows: pd.DataFrame, names: list[str], by: str = "optimiser") -> pd.DataFrame:
    """The rows of these optimisers on the tasks, acquisition functions and seeds that all of them ran.

    names: of the optimisers, or of classes if `by` is "group". Of a class, all members that ran in that dimension must
    have run there: the median of some is another number.
    """
    chosen = rows[rows[by].isin(names)]
    start = chosen.groupby([*BLOCK, "seed"])
    together = start[by].transform("nunique") == len(names)
    if by == "group":
        together &= start["optimiser"].transform("nunique") == chosen.groupby("dimension")["optimiser"].transform(
            "nunique"
        )
    return chosen[together]


def whole_classes(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """The rows of the dimensions in which each of these classes has all members that it has anywhere in the rows.

    Elsewhere the median member of a class would be that of another class. names: of the classes.
    """
    there = rows[rows["group"].isin(list(names))]
    members = there.groupby("group")["optimiser"].nunique()
    here = there.groupby(["dimension", "group"])["optimiser"].nunique().unstack(fill_value=0)
    whole = here.index[(here == members).all(axis=1)]
    return rows[rows["dimension"].isin(whole)]


def paired_difference(
    rows: pd.DataFrame, first: str, second: str, by: str = "optimiser", column: str = "nfr", how: How = FAIR
) -> Estimate:
    """First minus second in a column of the rows, run by run from the same start, over the tasks that both ran.

    Where `by` names groups of several optimisers, the median member of each stands for it, or the best. The interval is
    Student's over black boxes.
    """
    both = common_blocks(rows, [first, second], by)
    keys = [*BLOCK, "seed", "function"]
    reduce = "min" if how == PAPER else "median"
    sides = [both[both[by] == name].groupby(keys, sort=True)[column].agg(reduce) for name in (first, second)]
    difference = (sides[0] - sides[1]).dropna().reset_index()
    return over_black_boxes(difference, column)


def over_black_boxes(rows: pd.DataFrame, column: str) -> Estimate:
    """The mean of a column of the rows with Student's interval over black boxes (`black_boxes`).

    The tasks of a black box, it under an acquisition function in a dimension, count the same, and so do their seeds.
    """
    tasks = _by_task(rows, column)
    found = mean_over_tasks(tasks[column].to_numpy(), black_boxes(tasks))
    return found._replace(runs=int(rows[column].notna().sum()))


def each_black_box(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """The mean of a column of the rows by black box; the mean of these means is that of `over_black_boxes`."""
    tasks = _by_task(rows, column)
    means = tasks[column].groupby(black_boxes(tasks), sort=True).mean()
    return {str(name): float(value) for name, value in means.items()}


def _by_task(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The mean of a column over the seeds of every task."""
    known = rows[rows[column].notna()]
    return known.groupby([*BLOCK, "function"], sort=True)[column].mean().reset_index()
