"""Methods in units of one of them, a column for every kind of tasks: a table of docs/defaults.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.defaults.page import normalised_regrets
from benchmarks.defaults.wide_page import PEERS, interval_over_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping


def kinds_table(kinds: Mapping[str, pd.DataFrame], base: str, names: Mapping[str, str] = PEERS) -> str:
    """Every method in units of the base, by the kind of tasks, in Markdown.

    Args:
        kinds: the cells of every column, by its title.
        base: the method that the others are compared with.
        names: of methods that are no settings of the library.

    Returns:
        A row for every method, the best of the first column first, those it lacks at the end; intervals are by a
        bootstrap over the tasks.
    """
    columns = {title: _ratios(table, base) for title, table in kinds.items()}
    first, *_ = columns.values()
    means = {name: first[name].mean() if name in first else np.inf for ratios in columns.values() for name in ratios}
    lines = [f"| method | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in sorted(means, key=means.__getitem__):
        shown = f"`{name}`" if "=" in name else names.get(name, name)
        cells = [_cell(ratios[name]) if name in ratios else "" for ratios in columns.values()]
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ratios(table: pd.DataFrame, base: str) -> pd.DataFrame:
    """Logarithms, tasks x methods: the mean over the seeds that a method and the base both have."""
    logs = np.log(normalised_regrets(table)).unstack("optimiser")
    return logs.sub(logs[base], axis=0).groupby("task").mean()


def _cell(logs: pd.Series) -> str:
    """The geometric mean, its interval, and how many tasks it is over."""
    found = logs.dropna().to_numpy()
    if len(found) == 0:
        return ""
    low, high = interval_over_tasks(found)
    return f"{np.exp(found.mean()):.2f} [{low:.2f}, {high:.2f}] ({len(found)})"
