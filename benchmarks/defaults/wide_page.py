"""The section of docs/defaults.md on many kinds of functions, from results/wide.parquet."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.defaults.page import RESAMPLES, ROOT, normalised_regrets
from benchmarks.defaults.variants import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

RESULTS = ROOT / "results" / "wide.parquet"
BEGIN, END = "<!-- wide -->", "<!-- /wide -->"
PEERS = {"optuna-gp": "Optuna's GP", "random-search": "random search"}


def wide_table(table: pd.DataFrame, names: Mapping[str, str] = MappingProxyType(PEERS)) -> str:
    """Every method in units of the default, over all tasks and by dimension, in Markdown.

    Args:
        table: of cells on tasks whose names end with their dimension, named by their settings.
        names: of methods that are no settings of the library.

    Returns:
        A row for every method, the best first; intervals are by a bootstrap over the tasks.
    """
    logs = np.log(normalised_regrets(table)).unstack("optimiser")
    ratios = logs.sub(logs[DEFAULT], axis=0).groupby("task").mean()
    dimension = ratios.index.str.rpartition("_").get_level_values(2).astype(int)
    dimensions = sorted(set(dimension))
    header = ["method", "regret / the default's", "95 % interval", "better on", *(f"{d}D" for d in dimensions)]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name in ratios.mean().sort_values().index:
        found = ratios[name].dropna()
        low, high = interval_over_tasks(found.to_numpy())
        each = [np.exp(ratios.loc[dimension == d, name].mean()) for d in dimensions]
        cells = [
            f"`{name}`" if "=" in name else names.get(name, name),
            f"{np.exp(found.mean()):.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{int((found < 0).sum())} of {len(found)} tasks",
            *("" if np.isnan(ratio) else f"{ratio:.2f}" for ratio in each),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def interval_over_tasks(logs: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of a geometric mean, by a bootstrap over the tasks.

    Args:
        logs: of the ratios, one for every task.

    Returns:
        Its two ends.
    """
    drawn = np.random.default_rng(0).integers(len(logs), size=(RESAMPLES, len(logs)))
    low, high = np.quantile(np.exp(logs[drawn].mean(1)), [0.025, 0.975])
    return float(low), float(high)
