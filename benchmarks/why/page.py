"""The section of docs/defaults.md on the default maximizer: tables from results/why_climbs.csv and why_runs.csv.

python -m benchmarks.why.page
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.why.measure import CLIMBS, RUNS

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = Path(__file__).parents[2] / "docs" / "defaults.md"
BEGIN, END = "<!-- why -->", "<!-- /why -->"
BASE = "Adam-ERM"
RESAMPLES = 2000


class Difference(NamedTuple):
    """A setting against the base: the middle, and from where to where."""

    setting: str
    middle: float
    low: float
    high: float


def differences(climbs: pd.DataFrame, column: str) -> list[Difference]:
    """Every setting minus the base in one column of the climbs.

    Args:
        climbs: rows of why_climbs.csv.
        column: of numbers.

    Returns:
        Median, 10 % and 90 % quantile of the differences by case, for every setting in their order.
    """
    wide = climbs.pivot_table(column, ["task", "seed", "observations"], "setting")
    apart = wide.sub(wide[BASE], axis=0).quantile([0.5, 0.1, 0.9])
    return [Difference(name, *map(float, apart[name])) for name in climbs["setting"].unique()]


def ratios(runs: pd.DataFrame) -> list[Difference]:
    """The final regret of every setting in units of the base's; the optimum of all tasks is 0.

    Args:
        runs: rows of why_runs.csv.

    Returns:
        Geometric means over tasks, paired by task and seed, with 95 % intervals from a bootstrap over the seeds.
    """
    logs = regrets(runs)
    found = []
    for name in runs["setting"].unique():
        by_task = [group.to_numpy() for _, group in (logs[name] - logs[BASE]).groupby("task")]
        middle = np.mean([group.mean() for group in by_task])
        found.append(Difference(name, *(float(np.exp(number)) for number in (middle, *_interval(by_task)))))
    return found


def regrets(runs: pd.DataFrame) -> pd.DataFrame:
    """The logarithm of the final regret by task and seed, a column for every setting."""
    return runs.assign(log=np.log(runs["last"] / runs["first"])).pivot_table("log", ["task", "seed"], "setting")


def _interval(by_task: Sequence[np.ndarray]) -> tuple[float, float]:
    generator = np.random.default_rng(0)
    draws = [task[generator.integers(len(task), size=(RESAMPLES, len(task)))].mean(1) for task in by_task]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
    return float(low), float(high)


def section(climbs: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Where the chosen batches lie and how the runs end, in Markdown.

    Args:
        climbs: rows of why_climbs.csv.
        runs: rows of why_runs.csv.

    Returns:
        Two tables.
    """
    columns = ["joint_ucb", "mean", "deviation", "distance", "moved", "luck"]
    middles = climbs.groupby("setting", sort=False)[columns].median()
    titles = ["joint UCB reached", "posterior mean", "standard deviation", "to the nearest incumbent"]
    titles += ["moved from the start", "luck of the winners"]
    lines = ["| climbed with | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    lines += [f"| {name} | " + " | ".join(f"{row[c]:.2f}" for c in columns) + " |" for name, row in middles.iterrows()]
    tasks = list(runs["task"].unique())
    logs = regrets(runs)
    relative = np.exp(logs.sub(logs[BASE], axis=0).groupby("task").mean())
    titles = [task.replace("_", " ") for task in tasks]
    lines += [
        "",
        f"| climbed with, {len(logs)} runs each | final regret / {BASE}'s | 95 % interval | "
        + " | ".join(titles)
        + " |",
    ]
    lines.append("|---|---|---|" + "---|" * len(tasks))
    for d in ratios(runs):
        cells = " | ".join(f"{relative.loc[task, d.setting]:.2f}" for task in tasks)
        lines.append(f"| {d.setting} | {d.middle:.2f} | {d.low:.2f} to {d.high:.2f} | {cells} |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """The page's text with the tables of the committed files between the marks."""
    before, _, rest = text.partition(BEGIN)
    tables = section(pd.read_csv(CLIMBS), pd.read_csv(RUNS))
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
