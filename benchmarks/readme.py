"""The figure and the numbers of the README: regret and the seconds of a suggestion, compbo beside its peers.

python -m benchmarks.readme

The runs are those of the league (results/league.parquet) in batches of 8. The table has each method beside compbo, on
the runs that both have; the figure those that all methods have on tasks with a known optimum. A regret is the best loss
minus the optimum, in units of the same for the initial design, which all methods share. The seconds are those of
`make bench ARGS=suggestions`, side by side on an idle machine: runs of the league have other work beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.league.measures import runs_of, versus
from benchmarks.made_of import KEY, made_of
from benchmarks.regrets import SMALLEST
from compbo.study.outputs.compact import finished, from_bytes
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.league.measures import Versus

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "results" / "league.parquet"
PAGE = ROOT / "README.md"
FIGURE = ROOT / "docs" / "figures" / "regret.svg"
SPEED = ROOT / "benchmarks" / "results.json"
BATCH = 8
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
    tasks: int
    runs: int


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
        A line for every method.
    """
    found = []
    for method, runs in comparable(table).groupby("optimiser"):
        curves = np.stack(list(runs["regret"]))
        logs = np.log(np.maximum(curves / curves[:, :1], SMALLEST))
        by_seed = np.exp(np.stack([logs[runs["seed"] == seed].mean(0) for seed in sorted(set(runs["seed"]))]))
        evaluations = runs["initial"].iloc[0] + BATCH * np.arange(curves.shape[1])
        mean, low, high = np.exp(logs.mean(0)), by_seed.min(0), by_seed.max(0)
        found.append(Line(str(method), evaluations, mean, low, high, runs["task"].nunique(), len(runs)))
    return sorted(found, key=lambda line: line.regret[-1])


def suggestions(measured: dict[str, Any], q: int) -> dict[str, tuple[float, float]]:
    """The seconds of a suggestion, the smallest and the largest over the functions that were measured.

    Args:
        measured: the sections of `make bench`.
        q: points of it.

    Returns:
        By method; those that were not measured are not there.
    """
    rows = [row for row in measured["suggestions"]["rows"] if row["q"] == q]
    found = {}
    for method in NAMES:
        times = [1.0 if method == OURS else row.get(f"{method} / {OURS}") for row in rows]
        if times and all(isinstance(time, float) for time in times):
            seconds = [time * row[f"{OURS} s"] for time, row in zip(times, rows, strict=True)]
            found[method] = (min(seconds), max(seconds))
    return found


def table_of(found: Sequence[Versus], seconds: dict[str, tuple[float, float]]) -> str:
    """How every method ends and what a suggestion takes, in Markdown.

    Args:
        found: every method beside compbo, as `measures.versus` compares them.
        seconds: of a suggestion, of `suggestions`.

    Returns:
        A row for every method.
    """
    lines = [
        f"| method | regret / compbo's | 95 % interval | tasks | runs | seconds for {BATCH} points |",
        "|---|---|---|---|---|---|",
    ]
    for each in found:
        name = f"**{NAMES[each.method]}**" if each.method == OURS else NAMES[each.method]
        low, high = float(each.ratio.low), float(each.ratio.high)
        interval = "" if each.method == OURS else "–" if np.isnan(low) else f"{low:.2g} to {high:.2g}"
        time = "{:.2g} to {:.2g}".format(*seconds[each.method]) if each.method in seconds else ""
        lines.append(f"| {name} | {each.ratio.value:.2g} | {interval} | {each.tasks} | {each.runs} | {time} |")
    return "\n".join(lines)


def draw(lines: list[Line], measured: dict[str, Any], target: Path) -> None:
    """Both panels: mean regrets with the range over the seeds as bands, and the seconds of a suggestion as ranges.

    Args:
        lines: of the methods.
        measured: the sections of `make bench`.
        target: the SVG file; a PNG with the same name is written beside it, for pages that show no SVG.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    mpl.rcParams["svg.hashsalt"] = "compbo"
    figure, (by_count, by_time) = plt.subplots(1, 2, figsize=(10.0, 4.2), width_ratios=(1.35, 1), layout="constrained")
    colours = dict(zip(NAMES, COLOURS, strict=True))
    for line in lines:
        colour, width = colours[line.method], 3.0 if line.method == OURS else 1.6
        by_count.fill_between(line.evaluations, line.low, line.high, color=colour, alpha=0.12, linewidth=0)
        by_count.plot(line.evaluations, line.regret, color=colour, linewidth=width, label=NAMES[line.method])
    of_each = f"{counted(lines[0].runs, 'run')} of each on {counted(lines[0].tasks, 'task')}"
    by_count.set(yscale="log", xlabel=f"evaluations ({of_each})", ylabel="regret, initial design = 1")
    by_count.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    by_count.yaxis.set_major_formatter("{x:g}")
    by_count.yaxis.set_minor_locator(NullLocator())
    by_count.legend(frameon=False, fontsize=7.5, loc="lower left")
    _draw_seconds(by_time, {q: suggestions(measured, q) for q in (BATCH, 1)}, colours)
    for axes in (by_count, by_time):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, which="major")
    target.parent.mkdir(parents=True, exist_ok=True)
    source = made_of(*sources_of(measured))
    figure.savefig(target, metadata={"Date": None, KEY: source})
    figure.savefig(target.with_suffix(".png"), dpi=120, metadata={"Software": None, KEY: source})
    plt.close(figure)


def sources_of(measured: dict[str, Any]) -> tuple[Path | str, ...]:
    """What the figure is made of.

    Args:
        measured: the sections of `make bench`.

    Returns:
        The runs, and the section that it shows.
    """
    return SOURCE, json.dumps(measured["suggestions"]["rows"])


def _draw_seconds(axes: Any, by_size: dict[int, dict[str, tuple[float, float]]], colours: dict[str, str]) -> None:
    """A line for every method and size of a batch, from the smallest to the largest number of seconds."""
    first, *_ = by_size.values()
    names = sorted(first, key=lambda method: first[method][1], reverse=True)
    for (q, seconds), (offset, marker) in zip(by_size.items(), ((0.16, "o"), (-0.16, "s")), strict=True):
        for place, method in enumerate(names):
            if method in seconds:
                look = {"color": colours[method], "linewidth": 2.5 if method == OURS else 1.6}
                axes.plot(seconds[method], [place + offset] * 2, marker=marker, markersize=4, **look)
        axes.plot([], [], marker=marker, color="#555555", markersize=4, label=f"{q} point{'s' * (q > 1)}")
    axes.set(xscale="log", xlabel="seconds of a suggestion", yticks=range(len(names)))
    axes.set_yticklabels([NAMES[method].replace(", point", ",\npoint") for method in names], fontsize=8)
    axes.legend(frameon=False, fontsize=7.5, loc="upper right")


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


def page_with(text: str, table: pd.DataFrame, measured: dict[str, Any]) -> str:
    """The README with its numbers brought up to date.

    Args:
        text: of the README.
        table: of the cells.
        measured: the sections of `make bench`.

    Returns:
        The new text.
    """
    runs = runs_of(table)
    found = versus(runs[(runs["batch"] == BATCH) & runs["method"].isin(NAMES)])
    text = filled(text, "regret", f"\n\n{table_of(found, suggestions(measured, BATCH))}\n\n")
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
    table = from_bytes(SOURCE.read_bytes(), str(SOURCE))
    text, measured = PAGE.read_text(encoding="utf-8"), json.loads(SPEED.read_text(encoding="utf-8"))
    PAGE.write_text(page_with(text, table, measured), encoding="utf-8")
    draw(lines_of(table), measured, FIGURE)


if __name__ == "__main__":
    main()
