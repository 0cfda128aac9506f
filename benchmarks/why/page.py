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
    """A setting minus the base: mean over the tasks of paired differences, with its 95 % interval."""

    setting: str
    middle: float
    low: float
    high: float


def differences(table: pd.DataFrame, values: pd.Series, base: str = BASE) -> list[Difference]:
    """Every setting against the base, paired by all that the rows have in common.

    Args:
        table: with the columns task, setting and seed, and perhaps observations.
        values: a number for every row of it.
        base: the setting that is subtracted.

    Returns:
        One for every setting, in their order; the interval is from a bootstrap that draws the seeds of a task again.
    """
    keys = [name for name in ("task", "seed", "observations") if name in table.columns]
    wide = table[[*keys, "setting"]].assign(value=values).pivot_table("value", keys, "setting")
    found = []
    for setting in table["setting"].unique():
        by_seed = (wide[setting] - wide[base]).groupby(["task", "seed"]).mean()
        by_task = [group.to_numpy() for _, group in by_seed.groupby("task")]
        middle = float(np.mean([group.mean() for group in by_task]))
        found.append(Difference(setting, middle, *_interval(by_task)))
    return found


def _interval(by_task: Sequence[np.ndarray]) -> tuple[float, float]:
    generator = np.random.default_rng(0)
    draws = [task[generator.integers(len(task), size=(RESAMPLES, len(task)))].mean(1) for task in by_task]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
    return float(low), float(high)


def regrets(runs: pd.DataFrame) -> pd.Series:
    """Logarithms of last / first loss of the runs: the optimum of all tasks is 0."""
    return pd.Series(np.log(runs["last"] / runs["first"]))


def ratios(runs: pd.DataFrame, base: str = BASE) -> list[Difference]:
    """Final regret of the runs in units of the base's, a geometric mean."""
    found = differences(runs, regrets(runs), base)
    return [Difference(d.setting, *(float(np.exp(number)) for number in d[1:])) for d in found]


def section(climbs: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Where the chosen batches lie and how the runs end, in Markdown.

    Args:
        climbs: rows of why_climbs.csv.
        runs: rows of why_runs.csv.

    Returns:
        Two tables.
    """
    columns = ["joint_ucb", "mean", "deviation", "distance", "moved", "luck"]
    means = climbs.groupby("setting", sort=False)[columns].mean()
    titles = ["joint UCB reached", "posterior mean", "standard deviation", "to the nearest incumbent"]
    titles += ["moved from the start", "luck of the winners"]
    lines = ["| climbed with | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    lines += [f"| {name} | " + " | ".join(f"{row[c]:.2f}" for c in columns) + " |" for name, row in means.iterrows()]
    tasks = list(runs["task"].unique())
    by_task = np.exp(runs.assign(log=regrets(runs)).groupby(["setting", "task"])["log"].mean().unstack())
    relative = by_task.div(by_task.loc[BASE])
    titles = [task.replace("_", " ") for task in tasks]
    lines += ["", f"| climbed with | final regret / {BASE}'s | 95 % interval | " + " | ".join(titles) + " |"]
    lines.append("|---|---|---|" + "---|" * len(tasks))
    for d in ratios(runs):
        cells = " | ".join(f"{relative.loc[d.setting, task]:.2f}" for task in tasks)
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
