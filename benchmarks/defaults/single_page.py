"""The section of docs/defaults.md on few points at a time, from results/single.parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.defaults.page import ROOT, normalised_regrets
from benchmarks.defaults.variants import DEFAULT, settings_of, words
from benchmarks.defaults.wide_page import PEERS, interval_over_tasks

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "single.parquet"
BEGIN, END = "<!-- single -->", "<!-- /single -->"
BATCHES_ALONE = 'acquisition=["ucb", "sr"]'  # the default as it is for batches of eight
WITHOUT_CHOICES = ("wide_tasks", "tasks")  # modules: there both are the same
COLUMNS = {  # module of the tasks, points of an ask
    ("mixed_tasks", 1): "choices, 1 point",
    ("mixed_tasks", 2): "choices, 2 points",
    ("mixed_tasks", 4): "choices, 4 points",
    ("wide_tasks", 1): "functions in 4D, 1 point",
    ("tasks", 1): "development tasks, 1 point",
}


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The runs, with what the table needs to know of each.

    Args:
        table: of the cells.

    Returns:
        The same with methods named by their settings and the module of a task in a column of its own.
    """
    module = table["task"].str.extract(r"\.(\w+):", expand=False)
    ours = table["hyperparameters"].str.contains("acquisition")
    names = [
        words(settings_of(stored), batch=int(batch)) if own else method
        for own, stored, batch, method in zip(
            ours, table["hyperparameters"], table["batch"], table["optimiser"], strict=True
        )
    ]
    rows = table.assign(optimiser=names, module=module.replace("special_tasks", "mixed_tasks"))
    same = rows["module"].isin(WITHOUT_CHOICES) & (rows["optimiser"] == BATCHES_ALONE)
    rows["optimiser"] = rows["optimiser"].mask(same, DEFAULT)
    return rows.drop_duplicates(["task", "seed", "batch", "optimiser"])


def single_table(table: pd.DataFrame) -> str:
    """Every method in units of the default, by the kind of space and the points of an ask, in Markdown.

    Args:
        table: of `named`.

    Returns:
        A row for every method, the best with choices and one point first; intervals are by a bootstrap over the tasks.
    """
    columns = {}
    for (module, batch), title in COLUMNS.items():
        rows = table[(table["module"] == module) & (table["batch"] == batch)]
        if DEFAULT in set(rows["optimiser"]):
            logs = np.log(normalised_regrets(rows)).unstack("optimiser")
            columns[title] = logs.sub(logs[DEFAULT], axis=0).groupby("task").mean()
    first, *_ = columns.values()
    means = {name: first[name].mean() if name in first else np.inf for ratios in columns.values() for name in ratios}
    lines = [f"| method | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in sorted(means, key=means.__getitem__):
        shown = f"`{name}`" if "=" in name else PEERS.get(name, name)
        cells = [_cell(ratios[name]) if name in ratios else "" for ratios in columns.values()]
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(logs: pd.Series) -> str:
    """The geometric mean, its interval, and how many tasks it is over."""
    found = logs.dropna().to_numpy()
    if len(found) == 0:
        return ""
    low, high = interval_over_tasks(found)
    return f"{np.exp(found.mean()):.2f} [{low:.2f}, {high:.2f}] ({len(found)})"
