"""The measures of the study, as small functions of arrays, and of the results table.

Curves have the steps on the last axis, from 0 (the initial design) to T. Lower regrets and higher scores are better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.study.results import schema
from compbo.study.tasks import require_reference

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


def best_share(final: ArrayLike) -> Array:
    """#Best: for every method the share of tasks that it won, in percent.

    final: methods x tasks, lower is better. A tie splits the task, a NaN never wins, a task of NaNs is not counted.
    """
    values = np.asarray(final, dtype=np.float64)
    played = ~np.isnan(values).all(axis=0)
    if not played.any():
        return np.full(len(values), np.nan)
    values = values[:, played]
    won = values == np.nanmin(values, axis=0)
    return np.asarray(100.0 * (won / won.sum(axis=0)).mean(axis=1))


def bayesmark_score(loss: ArrayLike, random_loss: ArrayLike, best_loss: float) -> Array:
    """100 (1 - (L_t - L*) / (L_t^rand - L*)): 0 is random search, 100 the best loss known; NaN where these coincide.

    The paper prints the ratio itself, of which lower is better, and says that higher is.
    """
    gap = np.asarray(random_loss, dtype=np.float64) - best_loss
    ratio = np.divide(np.asarray(loss, dtype=np.float64) - best_loss, gap, out=np.full_like(gap, np.nan), where=gap > 0)
    return np.asarray(100.0 * (1.0 - ratio))


def task_score(task: str, losses: ArrayLike, evaluations: ArrayLike) -> Array:
    """The Bayesmark score of a curve on a tuning task, against the stored random search.

    Args:
        task: its spec.
        losses: the curve of the best loss.
        evaluations: how many evaluations there were at each step of the curve.
    """
    reference = require_reference(task)
    random_loss = [reference.random_loss(int(count)) for count in np.asarray(evaluations)]
    return bayesmark_score(losses, random_loss, reference.best)


# -- of the results table ------------------------------------------------------------------------------------------


def finished(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the cells that are done."""
    return table[table["status"] == schema.DONE]


def with_final_scores(table: pd.DataFrame) -> pd.DataFrame:
    """The finished rows with the columns final_regret, log10_regret and nfr."""
    rows = finished(table)
    curves = [np.asarray(curve, dtype=np.float64) for curve in rows["regret"]]
    return rows.assign(
        final_regret=[float(curve[-1]) for curve in curves],
        log10_regret=[float(log10_regret(curve)[-1]) for curve in curves],
        nfr=[float(normalised_final_regret(curve)) for curve in curves],
    )


def table_of_winners(table: pd.DataFrame, by: str = "optimiser") -> pd.DataFrame:
    """#Best (%) and mean NFR per optimiser, as in the paper's Table 1: a task is a black box under an acquisition.

    Methods without an acquisition function are left out. An optimiser with several settings of its hyperparameters is
    refused: the best of many settings is no fair winner.
    """
    rows = with_final_scores(table[table["acquisition"] != ""])
    again = rows[rows.duplicated(["task", "acquisition", "optimiser", "seed"])]
    if len(again):
        first = again.iloc[0]
        raise ValueError(
            f"{first['optimiser']} is there more than once for {first['task']}, {first['acquisition']}, seed "
            f"{first['seed']}: tuned and not, or from tuning. Name the cells you mean: load(results, cells=...)."
        )
    pivot = rows.pivot_table(index=by, columns=["task", "acquisition", "seed"], values="final_regret", aggfunc="min")
    shares = best_share(pivot.to_numpy())
    winners = rows.groupby(by)[["nfr"]].mean().reindex(pivot.index)
    return winners.assign(best_percent=shares)
