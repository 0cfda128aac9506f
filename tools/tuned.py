"""Default against tuned hyperparameters, a fair control of docs/reproduction.md: `python -m tools.tuned [FOLDER]`.

Every optimiser is tuned for every function as `compbo study tune` does it, twice: with another seed on the function
itself, and on the four other functions with their optima moved (`--held-out`). Then the default and both tuned settings
run with fresh seeds: results/tuned.csv has the normalised final regrets.

FOLDER (default: tuned-runs) keeps the cells: the same command goes on where it was stopped.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.flattery import GRID as LIGHT
from benchmarks.flattery import make_pool

from compbo.study.engine.driver import run_study
from compbo.study.grid import Block, Grid
from compbo.study.outputs.page.answer import MARGIN, decide
from compbo.study.outputs.phrases import with_interval
from compbo.study.outputs.statistics.student import mean_over_tasks
from compbo.study.results import Store, load
from compbo.study.results.scores import with_final_scores
from compbo.study.tuner.tune import CONFIGURATIONS, tune_study
from compbo.study.tuner.tuned_file import apply_tuned
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell

TABLE = Path(__file__).parents[1] / "results" / "tuned.csv"
SEEDS = range(5)
GRID = Grid(
    "tuned",
    "The light cells of benchmarks/flattery.py, five functions in 16 dimensions.",
    (
        Block(
            tasks=("dixon-price-16", "powell-16", "levy-16", "ackley-16", "styblinski-tang-16"),
            optimisers=("Adam-ERM", "CAdam"),
            acquisitions=("ucb",),
            batch=LIGHT.blocks[0].batch,
            steps=LIGHT.blocks[0].steps,
            inner=LIGHT.blocks[0].inner,
            seeds=tuple(SEEDS),
        ),
    ),
)
HOW = f"""\
Hyperparameters, in smaller runs (q = 8, 16 steps, 256 raw batches, 8 restarts, 32 steps of the optimiser, UCB): the
best of {CONFIGURATIONS} configurations against those of the catalogue, with fresh seeds. It was chosen with another
seed on the function itself, or on the four other functions with their optima moved."""
HEAD = """\
| optimiser | tuned with | tuned minus default in final regret | on | verdict on the tuned |
|---|---|---|---|---|"""


class Outcome(NamedTuple):
    """Normalised final regrets of an optimiser on a task with a seed: the default, and the two that were tuned."""

    task: str
    optimiser: str
    seed: int
    default: float
    other_seed: float
    other_tasks: float


def measure(folder: Path, grid: Grid = GRID, configurations: int = CONFIGURATIONS) -> list[Outcome]:
    """Tune, run and compare.

    Args:
        folder: for the cells.
        grid: of what is compared; its first seed is the one that is tuned for.
        configurations: that are tried.

    Returns:
        One for every cell of the grid.
    """
    cells, first = grid.cells(), min(grid.blocks[0].seeds)
    tuned_for = [cell for cell in cells if cell.seed == first]
    regrets = [_regrets(cells, Store(folder / "default"))]
    for name, held_out in (("other-seed", False), ("other-tasks", True)):
        store = Store(folder / name)
        tune_study(tuned_for, store, make_pool, configurations=configurations, held_out=held_out)
        regrets.append(_regrets(apply_tuned(cells, store, held_out=held_out), store))
    keys = [(cell.task, cell.method.optimiser, cell.seed) for cell in cells]
    return [Outcome(*key, *(found[key] for found in regrets)) for key in keys]


def _regrets(cells: list[Cell], store: Store) -> dict[tuple[str, str, int], float]:
    run_study(cells, store, make_pool)
    table = with_final_scores(load(store.folder, cells=cells))
    columns = (table[name] for name in ("task", "optimiser", "seed", "nfr"))
    return {(str(task), str(name), int(seed)): float(nfr) for task, name, seed, nfr in zip(*columns, strict=True)}


def write_csv(outcomes: Sequence[Outcome], path: Path = TABLE) -> None:
    """A line for each of the outcomes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Outcome._fields)
        writer.writerows((*one[:3], *(f"{regret:.4f}" for regret in one[3:])) for one in outcomes)


def read_csv(path: Path = TABLE) -> list[Outcome]:
    """What `write_csv` wrote; nothing if it was not measured yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        Outcome(row["task"], row["optimiser"], int(row["seed"]), *(float(row[name]) for name in Outcome._fields[3:]))
        for row in rows
    ]


def section(outcomes: Sequence[Outcome]) -> list[str]:
    """The part of the controls on tuned hyperparameters.

    Args:
        outcomes: none if it was not measured.

    Returns:
        Paragraphs and a table in Markdown.
    """
    if not outcomes:
        return []
    lines = [HEAD]
    for name in dict.fromkeys(one.optimiser for one in outcomes):
        rows = [one for one in outcomes if one.optimiser == name]
        for words, column in (("another seed", "other_seed"), ("other functions", "other_tasks")):
            found = mean_over_tasks([getattr(one, column) - one.default for one in rows], [one.task for one in rows])
            on = f"{counted(found.tasks, 'task')}, {counted(found.runs, 'run')}"
            said = decide(found, "better", "worse", MARGIN)
            lines.append(f"| {name} | {words} | {with_interval(found, 3)} | {on} | {said} |")
    return [HOW, "\n".join(lines)]


if __name__ == "__main__":
    write_csv(measure(Path(sys.argv[1] if len(sys.argv) > 1 else "tuned-runs")))
