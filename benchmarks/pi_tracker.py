"""What the paper's tracker does to PI: `python -m benchmarks.pi_tracker` renews docs/pi_tracker.svg and the tables.

Three surrogates (Levy in 6 and 10 dimensions, Styblinski-Tang in 10), q = 4, 8 restarts, 64 steps, minibatches of 128
columns of a pool of 8192, 16 seeds. Every method has the same data, start points and samples. AdamOS-FSM is CAdam
without its tracker.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.climbs import Hill, surrogate
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.maximizers import make_maximizer
from compbo.types import Draw, Inner

TASKS = {"levy-6": 40, "levy-10": 60, "styblinski-tang-10": 60}  # and how many observations
SEEDS = 16
CONTROL = "AdamOS-FSM"
TRACKED = ("SCGA", "ASCGA", "CAdam", "NASA", "SCSC", "SCSC-Adam")
UPDATES = ("paper", "drawn")
DOCS = Path(__file__).parents[1] / "docs"
COLOURS = {"paper": "#D55E00", "drawn": "#0072B2", "": "#555555"}


class Climb(NamedTuple):
    """One climb: zeta / v and the gradient's norm by step, and the value that the median restart ends at."""

    ratio: list[float]
    gradient: list[float]
    mean: list[float]  # the tracked mean utility as a multiple of the true one; empty where f does not need it
    end: float


class Watched(AcquisitionOracle):
    """Notes what a tracker makes of the columns it was given: medians over columns and restarts, step by step."""

    def begin(self) -> Watched:
        self.ratio: list[float] = []
        self.gradient: list[float] = []
        self.mean: list[float] = []
        return self

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        inner = super().inner(x, draw, gradient_rows)
        if gradient_rows:
            self._v = inner.v[:gradient_rows]
        return inner._replace(pullback=self._noted(inner.pullback))

    def _noted(self, pullback: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def noted(c: Tensor) -> Tensor:
            gradient = pullback(c)
            self.gradient.append(float(torch.linalg.vector_norm(gradient, dim=(1, 2)).median()))
            return gradient

        return noted

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        self.ratio.append(float((zeta / self._v).median()))
        if mean_utility is not None:
            self.mean.append(float((mean_utility / self.utility(self._v).mean(-1)).median()))
        return super().outer_gradient(zeta, mean_utility)


def climb(hill: Hill, method: str, update: str) -> Climb:
    maximizer = make_maximizer(method, **({"zeta_update": update} if update else {}))
    plain = hill.oracle(maximizer.form)
    oracle = Watched(plain.acquisition, plain.posterior, plain.samples, plain.best).begin()
    trace = hill.climb(maximizer, oracle)
    return Climb(oracle.ratio, oracle.gradient, oracle.mean, float(hill.values(trace.final).median()))


Climbs = dict[tuple[str, str, str], list[Climb]]  # task, method, update -> one per seed


def measure(acquisition: str, tasks: dict[str, int] = TASKS, seeds: int = SEEDS) -> Climbs:
    """Every method on every task, seed after seed."""
    methods = [(CONTROL, ""), *((name, update) for name in TRACKED for update in UPDATES)]
    found: Climbs = {}
    for task, n in tasks.items():
        for seed in range(seeds):
            hill = Hill(surrogate(task, n, seed), acquisition, seed)
            for method, update in methods:
                found.setdefault((task, method, update), []).append(climb(hill, method, update))
        print(f"{acquisition} {task}: {seeds} seeds of {len(methods)} methods", file=sys.stderr, flush=True)
    return found


def quartiles(climbs: list[Climb]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles([c.end for c in climbs], n=4)
    return low, middle, high


def table(climbs: Climbs, tasks: dict[str, int] = TASKS) -> str:
    """zeta / v and the last gradient's norm on the first task, and what was reached on all of them."""
    head = ["method", "zeta update", "zeta / v", "last gradient", *tasks]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    first = next(iter(tasks))
    for method, update in dict.fromkeys(key[1:] for key in climbs):
        runs = climbs[first, method, update]
        ratio = statistics.median(statistics.median(run.ratio[8:]) for run in runs)
        gradient = statistics.median(run.gradient[-1] for run in runs)
        reached = [_cell(quartiles(climbs[task, method, update])) for task in tasks]
        lines.append(f"| {' | '.join([method, update or '-', f'{ratio:.1f}', f'{gradient:.1g}', *reached])} |")
    return "\n".join(lines)


def _cell(numbers: tuple[float, float, float]) -> str:
    low, middle, high = numbers
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def mean_table(climbs: Climbs, tasks: dict[str, int] = TASKS) -> str:
    """LogEI: the tracked expectation as a multiple of the true one, the last gradient, and what was reached."""
    head = ["method", "zeta update", "tracked / true mean", "last gradient", *tasks]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for method, update in dict.fromkeys(key[1:] for key in climbs):
        runs = [run for task in tasks for run in climbs[task, method, update]]
        mean = f"{statistics.median(statistics.median(run.mean[8:]) for run in runs):.2f}" if update else "-"
        gradient = statistics.median(statistics.median(run.gradient[-16:]) for run in runs)
        reached = [_cell(quartiles(climbs[task, method, update])) for task in tasks]
        lines.append(f"| {' | '.join([method, update or '-', mean, f'{gradient:.2f}', *reached])} |")
    return "\n".join(lines)


def draw(climbs: Climbs, path: Path, tasks: dict[str, int] = TASKS) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "compbo", "font.size": 9}):
        figure, (ratio, gradient, reached) = plt.subplots(
            1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 1.5]
        )
        first = next(iter(tasks))
        _lines(ratio, climbs, first, "ratio", "zeta / v of CAdam")
        _lines(gradient, climbs, first, "gradient", "norm of the gradient")
        ratio.set_yscale("log")
        gradient.set_yscale("symlog", linthresh=1e-6)
        gradient.set_ylim(bottom=0)
        ratio.legend(frameon=False)
        _dots(reached, climbs, tasks)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _lines(axes: Any, climbs: Climbs, task: str, what: str, label: str) -> None:
    names = {"paper": "the paper's recursion", "drawn": "drawn columns alone", "": "no tracker (AdamOS)"}
    for update, name in names.items():
        runs = climbs[task, "CAdam" if update else CONTROL, update]
        steps = zip(*(getattr(run, what) for run in runs), strict=True)
        axes.plot([statistics.median(step) for step in steps], color=COLOURS[update], label=name)
    axes.set_xlabel(f"step ({task})")
    axes.set_title(label, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _dots(axes: Any, climbs: Climbs, tasks: dict[str, int]) -> None:
    methods = [CONTROL, "SCGA", "ASCGA", "CAdam", "NASA"]
    for place, (task, method) in enumerate((task, method) for task in tasks for method in methods):
        for update in ("",) if method == CONTROL else UPDATES:
            low, middle, high = quartiles(climbs[task, method, update])
            x = place + place // len(methods) + {"paper": -0.15, "drawn": 0.15, "": 0.0}[update]
            axes.errorbar(x, middle, [[middle - low], [high - middle]], fmt="o", ms=4, lw=1.2, color=COLOURS[update])
    ticks = [i + i // len(methods) for i in range(len(methods) * len(tasks))]
    axes.set_xticks(ticks, [name.removesuffix("-FSM") for name in methods] * len(tasks), rotation=60, fontsize=7)
    for number, task in enumerate(tasks):
        axes.text(number * (len(methods) + 1) + 2, 1.02, task, ha="center", fontsize=8)
    axes.set_ylim(0, 1.1)
    axes.set_title("PI reached: median and quartiles of the seeds", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def write_table(name: str, rows: str) -> None:
    """Put a table between its marks in the page."""
    page = DOCS / "pi_tracker.md"
    before, begin, rest = page.read_text().partition(f"<!-- {name}:begin -->")
    _, end, after = rest.partition(f"<!-- {name}:end -->")
    page.write_text(f"{before}{begin}\n{rows}\n{end}{after}")


def main() -> None:
    climbs = measure("pi")
    draw(climbs, DOCS / "pi_tracker.svg")
    write_table("pi", table(climbs))
    write_table("logei", mean_table(measure("logei")))


if __name__ == "__main__":
    main()
