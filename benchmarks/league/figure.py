"""Performance profiles: for every group, the share of the runs that end at or below a normalised regret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.league import measures
from benchmarks.regrets import SMALLEST

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

FEWEST = 0.5  # of compbo's runs in a group: a method with fewer would leave only these to compare


def profile(regrets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the share of runs at or below a regret: sorted regrets, and the share from each of them on."""
    ordered = np.sort(regrets)
    return ordered, np.arange(1, len(ordered) + 1) / len(ordered)


def compared(runs: pd.DataFrame) -> pd.DataFrame:
    """The regrets of a group's runs, by task and seed, that all methods with many runs have.

    Args:
        runs: as `measures.runs_of` gives them, of one group.

    Returns:
        A column for every method with at least `FEWEST` of compbo's runs.
    """
    counts = runs["method"].value_counts()
    many = counts.index[counts >= FEWEST * counts.get(measures.OURS, 0)]
    return measures.complete(runs[runs["method"].isin(many)])


def left_out(runs: pd.DataFrame) -> dict[str, list[str]]:
    """The methods that no curve of a group's panel shows, by group.

    Args:
        runs: as `measures.runs_of` gives them.

    Returns:
        Without the groups in which all of them are shown.
    """
    absent = {group: [m for m in LOOKS if m not in compared(runs[runs["group"] == group])] for group in measures.GROUPS}
    return {group: methods for group, methods in absent.items() if methods}


def draw(runs: pd.DataFrame, path: Path) -> None:
    """A panel for every group.

    Args:
        runs: as `measures.runs_of` gives them.
        path: of the SVG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "compbo"
    figure, panels = plt.subplots(2, 3, figsize=(11.0, 6.6), sharex=True, sharey=True, layout="constrained")
    for axes, group in zip(panels.flat, measures.GROUPS, strict=True):
        regrets = compared(runs[runs["group"] == group])
        for method in [name for name in LOOKS if name in regrets]:
            x, y = profile(regrets[method].to_numpy())
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
        axes.set_title(f"{group} ({len(regrets)} runs of each)", fontsize=10)
        axes.set_xscale("log")
        axes.set_xlim(SMALLEST, 1.5)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("normalised regret")
    for axes in panels[:, 0]:
        axes.set_ylabel("share of the runs (higher is better)")
    handles = {text: line for axes in panels.flat for line, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
