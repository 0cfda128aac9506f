"""The section of docs/defaults.md on other portfolios, from results/portfolios.csv.

python -m benchmarks.portfolios.page
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.defaults.page import PAGE, RESAMPLES
from benchmarks.portfolios.measure import load
from benchmarks.portfolios.policies import VARIANTS
from benchmarks.regrets import SMALLEST

BEGIN, END = "<!-- portfolios -->", "<!-- /portfolios -->"
BASE = "default"
TITLES = {(8, 0): "batches of 8", (8, 1): "batches of 8 beside 8 pending points", (1, 0): "one point at a time"}


class Effect(NamedTuple):
    """The regret of a variant in units of the default's: geometric mean over tasks, with its 95 % interval."""

    variant: str
    ratio: float
    low: float
    high: float
    better: int  # tasks on which the mean over the seeds is better
    tasks: int
    runs: int


def effects(rows: pd.DataFrame) -> list[Effect]:
    """Every variant against the default, on the tasks and seeds that both ran.

    Args:
        rows: of one kind of runs. The optimum of all tasks is 0.

    Returns:
        The best first. Intervals are from a bootstrap over the tasks: many variants have one seed.
    """
    regret = (rows["last"] / rows["first"]).clip(lower=SMALLEST)
    logs = rows.assign(log=np.log(regret)).pivot_table("log", ["task", "seed"], "variant")
    found = []
    for name in logs.columns:
        paired = (logs[name] - logs[BASE]).dropna()
        means = paired.groupby("task").mean().to_numpy()
        drawn = means[np.random.default_rng(0).integers(len(means), size=(RESAMPLES, len(means)))].mean(1)
        low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
        ratio, better = float(np.exp(means.mean())), int((means < 0).sum())
        found.append(Effect(str(name), ratio, float(low), float(high), better, len(means), len(paired)))
    return sorted(found, key=lambda effect: effect.ratio)


def table_of(rows: pd.DataFrame, title: str) -> str:
    """The effects in Markdown.

    Args:
        rows: of one kind of runs.
        title: of the column of the variants.

    Returns:
        A table, a row for every variant.
    """
    lines = [f"| {title} | regret / the default's | 95 % interval | better on | runs |", "|---|---|---|---|---|"]
    lines += [
        f"| {VARIANTS[e.variant].words} | {e.ratio:.2f} | {e.low:.2f} to {e.high:.2f} "
        f"| {e.better} of {e.tasks} tasks | {e.runs} |"
        for e in effects(rows)
    ]
    return "\n".join(lines)


def section() -> str:
    """A table for each kind of runs: batches of 8, of 8 beside pending points, of one point."""
    table = pd.DataFrame(load())
    parts = []
    for (q, pending), title in TITLES.items():
        rows = table[(table["q"] == q) & (table["pending"] == pending)]
        parts.append(table_of(rows, title))
    return "\n\n".join(parts)


def filled(text: str) -> str:
    """The page's text with the tables of the committed file between the marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{section()}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
