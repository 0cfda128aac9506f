"""The figure and the numbers of the README: regret against evaluations and seconds, compbo beside its peers.

python -m benchmarks.readme

The runs are those of the league (results/league.parquet): all tasks with a known optimum, in batches of 8. A regret is
the best loss minus the optimum, in units of the same for the initial design, which all methods share.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from compbo.study.outputs.compact import finished, from_bytes

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "results" / "league.parquet"
PAGE = ROOT / "README.md"
FIGURE = ROOT / "docs" / "figures" / "regret.svg"
SPEED = ROOT / "benchmarks" / "results.json"
BATCH = 8
SMALLEST = 1e-4  # of a regret: below it runs count as equal
OURS = "compbo"
FEWEST = 0.4  # of compbo's tasks: a method with fewer is left out; the core of the league has somewhat more

NAMES = {
    "compbo": "compbo",
    "botorch-qlogei": "BoTorch, qLogEI",
    "botorch-qlogei-sequential": "BoTorch, qLogEI, point by point",
    "turbo": "TuRBO",
    "hebo": "HEBO",
    "smac": "SMAC3",
    "optuna-gp": "Optuna, GP",
    "optuna-tpe": "Optuna, TPE",
    "pycma": "CMA-ES (pycma)",
    "random-search": "random search",
}
COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#6A3D9A", "#CC79A7", "#7A4A1E", "#56B4E9", "#009E73", "#000000", "#8A8A8A")


class Line(NamedTuple):
    """One method, step by step (steps + 1 numbers each)."""

    method: str
    evaluations: np.ndarray
    regret: np.ndarray  # geometric mean over tasks and seeds
    low: np.ndarray  # the same for the best and the worst seed
    high: np.ndarray
    seconds: np.ndarray  # mean over tasks and seeds, summed over the steps
    tasks: int
    runs: int

    @property
    def per_batch(self) -> float:
        """Mean seconds of a suggestion."""
        return float(self.seconds[-1]) / (len(self.evaluations) - 1)


def comparable(table: pd.DataFrame) -> pd.DataFrame:
    """The runs that can be compared: the tasks and seeds that all methods have, those on few tasks left out.

    Args:
        table: of the cells.

    Returns:
        Their rows, tasks with a known optimum and batches of 8 alone, in one order for all methods.
    """
    rows = finished(table)
    known = (rows["floor_kind"] == "optimum") & (rows["batch"] == BATCH) & rows["optimiser"].isin(NAMES)
    rows = rows[known].sort_values(["task", "seed"])
    tasks = rows.groupby("optimiser")["task"].nunique()
    rows = rows[rows["optimiser"].isin(tasks.index[tasks >= FEWEST * tasks[OURS]])]
    methods = rows.groupby(["task", "seed"])["optimiser"].transform("nunique")
    return rows[methods == rows["optimiser"].nunique()]


def lines_of(table: pd.DataFrame) -> list[Line]:
    """The methods of a table, the smallest final regret first.

    Args:
        table: of the cells.

    Returns:
        A line for every method. Seconds are those of the clock.
    """
    found = []
    for method, runs in comparable(table).groupby("optimiser"):
        curves = np.stack(list(runs["regret"]))
        logs = np.log(np.maximum(curves / curves[:, :1], SMALLEST))
        by_seed = np.exp(np.stack([logs[runs["seed"] == seed].mean(0) for seed in sorted(set(runs["seed"]))]))
        asks = np.stack(list(runs["ask_seconds"])).mean(0)
        evaluations = runs["initial"].iloc[0] + BATCH * np.arange(curves.shape[1])
        seconds = np.concatenate([[0.0], asks.cumsum()])
        mean, low, high = np.exp(logs.mean(0)), by_seed.min(0), by_seed.max(0)
        found.append(Line(str(method), evaluations, mean, low, high, seconds, runs["task"].nunique(), len(runs)))
    return sorted(found, key=lambda line: line.regret[-1])


def table_of(lines: list[Line]) -> str:
    """The end of every line in Markdown.

    Args:
        lines: of the methods.

    Returns:
        A row for every method.
    """
    first, last = lines[0].evaluations[[0, -1]]
    tasks = "task" if lines[0].tasks == 1 else "tasks"
    rows = [
        f"| method | regret after {last} evaluations | seconds per batch of {BATCH} | runs |",
        "|---|---|---|---|",
    ]
    for line in lines:
        name = f"**{NAMES[line.method]}**" if line.method == OURS else NAMES[line.method]
        rows.append(f"| {name} | {line.regret[-1]:.2g} | {line.per_batch:.2g} | {line.runs} on {line.tasks} {tasks} |")
    place = [line.method for line in lines].index(OURS) + 1
    note = (
        f"compbo is number {place} of {len(lines)}. Regret 1 is the best of the {first} points of the initial design."
    )
    return "\n".join([*rows, "", note])


def draw(lines: list[Line], target: Path) -> None:
    """Both panels: means as lines, the range over the seeds as bands.

    Args:
        lines: of the methods.
        target: the SVG file; a PNG with the same name is written beside it, for pages that show no SVG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    mpl.rcParams["svg.hashsalt"] = "compbo"
    figure, (by_count, by_time) = plt.subplots(1, 2, figsize=(10.0, 4.2), sharey=True, layout="constrained")
    colours = dict(zip(NAMES, COLOURS, strict=True))
    for line in lines:
        colour, width = colours[line.method], 3.0 if line.method == OURS else 1.6
        by_count.fill_between(line.evaluations, line.low, line.high, color=colour, alpha=0.12, linewidth=0)
        by_count.plot(line.evaluations, line.regret, color=colour, linewidth=width, label=NAMES[line.method])
        by_time.plot(line.seconds[1:], line.regret[1:], color=colour, linewidth=width)
        by_time.plot(line.seconds[-1], line.regret[-1], "o", color=colour, markersize=3 + width)
    by_count.set(yscale="log", xlabel="evaluations", ylabel="regret, initial design = 1")
    by_time.set(xscale="log", xlabel="seconds spent on suggestions")
    for axes in (by_count, by_time):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, which="major")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    figure.legend(*by_count.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None})
    figure.savefig(target.with_suffix(".png"), dpi=120, metadata={"Software": None})
    plt.close(figure)


def speed_of(measured: dict[str, Any]) -> str:
    """How a whole maximisation compares with BoTorch's, in a sentence.

    Args:
        measured: the sections of `make bench`.

    Returns:
        The range over the sizes that were measured.
    """
    rows = measured["maximisation"]["rows"]
    words = []
    for method in ("Adam-ERM", "CAdam"):
        faster = [row["faster than BoTorch Adam"] for row in rows if row["method"] == method]
        words.append(f"{min(faster):.1f} to {max(faster):.1f} times as fast with `{method}`")
    return (
        f"A whole maximisation is {' and '.join(words)} as BoTorch's with Adam, at equal steps, restarts and samples."
    )


def page_with(text: str, lines: list[Line], measured: dict[str, Any]) -> str:
    """The README with its numbers brought up to date.

    Args:
        text: of the README.
        lines: of the methods.
        measured: the sections of `make bench`.

    Returns:
        The new text.
    """
    text = filled(text, "regret", f"\n\n{table_of(lines)}\n\n")
    return filled(text, "speed", speed_of(measured))


def filled(text: str, mark: str, content: str) -> str:
    """A text with other content between two marks.

    Args:
        text: with `<!-- mark -->` and `<!-- /mark -->`.
        mark: their name.
        content: to be put between them.

    Returns:
        The new text.
    """
    before, _, rest = text.partition(f"<!-- {mark} -->")
    return f"{before}<!-- {mark} -->{content}<!-- /{mark} -->{rest.partition(f'<!-- /{mark} -->')[2]}"


def main() -> None:
    """Write the numbers into the README, and draw the figure."""
    lines = lines_of(from_bytes(SOURCE.read_bytes(), str(SOURCE)))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page_with(text, lines, json.loads(SPEED.read_text(encoding="utf-8"))), encoding="utf-8")
    draw(lines, FIGURE)


if __name__ == "__main__":
    main()
