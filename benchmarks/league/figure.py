"""Performance profiles: for every group, the share of the runs that end at or below a normalised regret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.league import measures
from benchmarks.made_of import KEY
from benchmarks.regrets import SMALLEST
from compbo.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

# Colours of Okabe and Ito; methods that share one differ in the line.
LOOKS = {
    "compbo": ("#000000", "-"),
    "random-search": ("#999999", ":"),
    "pycma": ("#009E73", "--"),
    "optuna-tpe": ("#E69F00", "--"),
    "optuna-gp": ("#E69F00", "-"),
    "botorch-qlogei": ("#0072B2", "-"),
    "botorch-qlogei-sequential": ("#0072B2", "--"),
    "turbo": ("#56B4E9", "-"),
    "hebo": ("#D55E00", "-"),
    "smac": ("#CC79A7", "-"),
}


def profile(regrets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the share of runs at or below a regret: sorted regrets, and the share from each of them on."""
    ordered = np.sort(regrets)
    return ordered, np.arange(1, len(ordered) + 1) / len(ordered)


def compared(runs: pd.DataFrame) -> dict[str, np.ndarray]:
    """The regrets of the methods that have run all tasks of a group, each on as many seeds as it has.

    Args:
        runs: as `measures.runs_of` gives them, of one group.

    Returns:
        By method.
    """
    counts = runs.groupby("method")["task"].nunique()
    whole = counts.index[counts == runs["task"].nunique()]
    return {str(method): runs.loc[runs["method"] == method, "regret"].to_numpy() for method in whole}


def left_out(runs: pd.DataFrame) -> dict[str, list[str]]:
    """The methods that have not run all tasks of a group, which its panel does not show, by group.

    Args:
        runs: as `measures.runs_of` gives them.

    Returns:
        Without the groups in which all of them are shown.
    """
    absent = {group: [m for m in LOOKS if m not in compared(runs[runs["group"] == group])] for group in measures.GROUPS}
    return {group: methods for group, methods in absent.items() if methods}


def draw(runs: pd.DataFrame, path: Path, source: str = "") -> None:
    """A panel for every group.

    Args:
        runs: as `measures.runs_of` gives them.
        path: of the SVG.
        source: what it is made of, as `made_of` says it.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "compbo"
    figure, panels = plt.subplots(2, 3, figsize=(11.0, 6.6), sharex=True, sharey=True, layout="constrained")
    for axes, group in zip(panels.flat, measures.GROUPS, strict=True):
        regrets = compared(runs[runs["group"] == group])
        for method in [name for name in LOOKS if name in regrets]:
            x, y = profile(regrets[method])
            colour, line = LOOKS[method]
            axes.step(
                [SMALLEST, *x, 2.0],
                [0.0, *y, 1.0],
                where="post",
                color=colour,
                linestyle=line,
                linewidth=2.6 if method == measures.OURS else 1.5,
                label=method,
            )
        axes.set_title(f"{group} ({counted(runs.loc[runs['group'] == group, 'task'].nunique(), 'task')})", fontsize=10)
        axes.set_xscale("log")
        axes.set_xlim(SMALLEST, 1.5)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("normalised regret")
    for axes in panels[:, 0]:
        axes.set_ylabel("share of the runs (higher is better)")
    handles = {text: line for axes in panels.flat for line, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, metadata={"Date": None, KEY: source})
    plt.close(figure)
