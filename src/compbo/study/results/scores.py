"""The measures of the study, as small functions of arrays, and of the results table.

Curves have the steps on the last axis, from 0 (the initial design) to T. Lower regrets and higher scores are better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.study.results import schema
from compbo.study.tasks import require_reference, stored_reference

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

SMALLEST_REGRET = 1e-12  # below it the logarithm of a regret means rounding errors


def normalised_regret(regret: ArrayLike) -> Array:
    """r_t = |f(x_t) - f(x*)| / |f(x_0) - f(x*)| (the paper's immediate regret); NaN where the start is optimal.

    Where the regret is measured from the best of a random search, a run that beats that search has a negative one.
    """
    curve = np.asarray(regret, dtype=np.float64)
    start = np.abs(curve[..., :1])
    return np.divide(curve, start, out=np.full_like(curve, np.nan), where=start > 0)


def log10_regret(regret: ArrayLike) -> Array:
    """log10 of the raw regret, not below log10 of 1e-12."""
    return np.log10(np.maximum(np.asarray(regret, dtype=np.float64), SMALLEST_REGRET))


def normalised_final_regret(regret: ArrayLike) -> Array:
    """NFR: the normalised immediate regret at the last step."""
    return normalised_regret(regret)[..., -1]


def win_shares(final: ArrayLike) -> Array:
    """What each method won of each task: 1 for the winner, split between equals; NaN where a method did not run.

    final: methods x tasks, lower is better, NaN where there is no number.
    """
    values = np.asarray(final, dtype=np.float64)
    missing = np.isnan(values)
    lowest = np.min(np.where(missing, np.inf, values), axis=0, keepdims=True)
    won = (values == lowest) & ~missing
    return np.asarray(np.where(missing, np.nan, won / np.maximum(won.sum(axis=0), 1)))


def best_share(final: ArrayLike) -> Array:
    """#Best: for every method the share, in percent, that it won of the tasks that it ran; NaN if it ran none.

    final: methods x tasks, as for `win_shares`. The shares of methods that ran on different tasks need not add up to
    100.
    """
    won = win_shares(final)
    ran = (~np.isnan(won)).sum(axis=1)
    return np.asarray(np.divide(100.0 * np.nansum(won, axis=1), ran, out=np.full(len(won), np.nan), where=ran > 0))


def bayesmark_score(loss: ArrayLike, random_loss: ArrayLike, best_loss: ArrayLike) -> Array:
    """100 (1 - (min(L_t, L_t^rand) - L*) / (L_t^rand - L*)): 0 is random search or worse, 100 the best loss known.

    loss, random_loss, best_loss: L_t, L_t^rand, L*.

    A loss above that of random search counts as that of random search: where the two known losses almost coincide, a
    single row classified otherwise would weigh more than all other tasks together. NaN where they do coincide: random
    search has found the best known loss, and the task tells methods apart no more.

    A worked example: L* = 2, random search reaches L^rand = 6 with the same number of evaluations. A loss of 2 scores
    100, one of 3 scores 100 (1 - 1/4) = 75, one of 6 scores 0, and so does one of 60. The score of a method is the
    median over its tasks and seeds. (The paper prints the ratio. Lower ratios are better, but the paper says that
    higher ones are.)
    """
    best, random = np.asarray(best_loss, dtype=np.float64), np.asarray(random_loss, dtype=np.float64)
    clipped = np.minimum(np.asarray(loss, dtype=np.float64), random)
    gap = np.broadcast_to(random - best, clipped.shape)
    ratio = np.divide(clipped - best, gap, out=np.full_like(clipped, np.nan), where=gap > 0)
    return np.asarray(100.0 * (1.0 - ratio))


def task_score(task: str, losses: ArrayLike, evaluations: ArrayLike, best_loss: float) -> Array:
    """The Bayesmark score of a curve on a tuning task, against the stored random search.

    Args:
        task: its spec.
        losses: the curve of the best loss.
        evaluations: how many evaluations there were at each step of the curve.
        best_loss: L*, see `best_losses`.
    """
    reference = require_reference(task)
    random_loss = [reference.random_loss(int(count)) for count in np.asarray(evaluations)]
    return bayesmark_score(losses, random_loss, best_loss)


# -- of the results table ------------------------------------------------------------------------------------------


def finished(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table whose cells are done."""
    return table[table["status"] == schema.DONE]


def with_final_scores(table: pd.DataFrame) -> pd.DataFrame:
    """The finished rows of a table with the columns final_regret, log10_regret and nfr."""
    rows = finished(table)
    curves = [np.asarray(curve, dtype=np.float64) for curve in rows["regret"]]
    return rows.assign(
        final_regret=[float(curve[-1]) for curve in curves],
        log10_regret=[float(log10_regret(curve)[-1]) for curve in curves],
        nfr=[float(normalised_final_regret(curve)) for curve in curves],
    )


def best_losses(table: pd.DataFrame) -> dict[str, float]:
    """L* of every task in a table: the best loss of all methods and seeds, and of the stored random search if any."""
    found: dict[str, float] = {}
    for task, curves in finished(table).groupby("task")["best"]:
        reference = stored_reference(str(task))
        known = [] if reference is None else [reference.best]
        ends = [float(np.nanmin(curve)) for curve in curves if not np.isnan(curve).all()]
        found[str(task)] = min([*known, *ends], default=np.nan)
    return found


CONTEST = ["task", "acquisition", "seed"]  # what is won or lost; the paper's "task" is a black box under an acquisition


def contests(table: pd.DataFrame) -> pd.DataFrame:
    """The finished rows of a table with an acquisition function, their final scores and `won`: what they won.

    A tie is split; `won` is NaN without a regret. An optimiser with several settings of its hyperparameters is
    refused: the best of many settings is no fair winner.
    """
    rows = with_final_scores(table[table["acquisition"] != ""])
    again = rows[rows.duplicated([*CONTEST, "optimiser"])]
    if len(again):
        first = again.iloc[0]
        raise ValueError(
            f"{first['optimiser']} is there more than once for {first['task']}, {first['acquisition']}, seed "
            f"{first['seed']}: tuned and not, or from tuning. Name the cells you mean: load(results, cells=...)."
        )
    by = [rows[name] for name in CONTEST]
    lowest = rows["final_regret"].groupby(by).transform("min")
    winner = (rows["final_regret"] == lowest).astype(float)
    return rows.assign(won=(winner / winner.groupby(by).transform("sum")).where(rows["final_regret"].notna()))


def won_by(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """What every group of the columns `by` won of each contest in which one of its members ran; rows: of `contests`."""
    shares = rows.groupby([*by, *CONTEST], sort=False)["won"].sum(min_count=1)
    return shares.dropna().reset_index()


def table_of_winners(table: pd.DataFrame, by: str = "optimiser") -> pd.DataFrame:
    """#Best (%) and mean NFR of every optimiser, or of every group of a column `by`, as in the paper's Table 1.

    #Best is over the contests in which a member of the group ran; the NFR over all its runs. Methods without an
    acquisition function are in no contest, and left out.
    """
    rows = contests(table)
    shares = 100.0 * won_by(rows, [by]).groupby(by)["won"].mean()
    winners = rows.groupby(by)[["nfr"]].mean()
    return winners.assign(best_percent=shares.reindex(winners.index))
