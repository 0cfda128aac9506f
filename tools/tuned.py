"""Default against tuned hyperparameters, a fair control of docs/reproduction.md: `python -m tools.tuned [FOLDER]`.

Every optimiser is tuned for every function as `compbo study tune` does it, twice: with another seed on the function
itself, and in 16 dimensions also on the four other functions with their optima moved (`--held-out`). Then the default
and the tuned settings run with fresh seeds: results/tuned.csv has the normalised final regrets.

FOLDER (default: tuned-runs) keeps the cells: the same command goes on where it was stopped. What is in the table is not
measured again.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.flattery import GRID as LIGHT
from benchmarks.flattery import make_pool

from compbo.study.engine.driver import run_study
from compbo.study.grid import Grid
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
    from compbo.study.outputs.statistics.bootstrap import Estimate

TABLE = Path(__file__).parents[1] / "results" / "tuned.csv"
SEEDS = range(5)
FUNCTIONS = ("dixon-price", "powell", "levy", "ackley", "styblinski-tang")
WAYS = {"other_seed": "another seed", "other_tasks": "other functions"}  # columns, and what was tuned with


def light_grid(dimension: int, *optimisers: str) -> Grid:
    """The light cells of benchmarks/flattery.py on the five functions.

    Args:
        dimension: of the functions.
        optimisers: that are tuned.

    Returns:
        A grid with fresh seeds.
    """
    block = replace(
        LIGHT.blocks[0],
        tasks=tuple(f"{function}-{dimension}" for function in FUNCTIONS),
        optimisers=optimisers,
        seeds=tuple(SEEDS),
    )
    return Grid("tuned", "The light cells of benchmarks/flattery.py, five functions.", (block,))


class Tuning(NamedTuple):
    """What is tuned, and in which ways."""

    grid: Grid
    ways: tuple[str, ...]


TUNINGS = (
    Tuning(light_grid(16, "Adam-ERM", "CAdam"), ("other_seed", "other_tasks")),
    Tuning(light_grid(60, "Adam-ERM", "SCGA", "CAdam", "NASA"), ("other_seed",)),
)
HOW = f"""\
Hyperparameters, in smaller runs (q = 8, 16 steps, 256 raw batches, 8 restarts, 32 steps of the optimiser, UCB): the
best of {CONFIGURATIONS} configurations against those of the catalogue, with fresh seeds. It was chosen with another
seed on the function itself, as in the paper, or on the four other functions with their optima moved."""
HEAD = """\
| dimensions | optimiser | tuned with | tuned minus default in final regret | on | verdict on the tuned |
|---|---|---|---|---|---|"""
AGAINST = "Adam-ERM"  # what the compositional optimisers are compared with
HOW_AGAINST = f"""\
The same runs, compositional optimisers against {AGAINST}: both with the numbers of the catalogue, and both tuned with
another seed of the function. Two of those that do not move in 60 dimensions are among them: is it for their numbers?"""
HEAD_AGAINST = """\
| dimensions | compared | default | verdict on the first | both tuned | verdict on the first |
|---|---|---|---|---|---|"""


class Outcome(NamedTuple):
    """Normalised final regrets of an optimiser on a task with a seed: the default, and those tuned in either way."""

    task: str
    optimiser: str
    seed: int
    default: float
    other_seed: float
    other_tasks: float = math.nan  # not tuned so

    @property
    def dimension(self) -> int:
        """Of the task."""
        return int(self.task.rpartition("-")[2])


def measure(folder: Path, tuning: Tuning, configurations: int = CONFIGURATIONS) -> list[Outcome]:
    """Tune, run and compare.

    Args:
        folder: for the cells.
        tuning: what is compared; the first seed of its grid is the one that is tuned for.
        configurations: that are tried.

    Returns:
        One for every cell of the grid.
    """
    cells, first = tuning.grid.cells(), min(tuning.grid.blocks[0].seeds)
    tuned_for = [cell for cell in cells if cell.seed == first]
    regrets = {"default": _regrets(cells, Store(folder / "default"))}
    for way in tuning.ways:
        store, held_out = Store(folder / way.replace("_", "-")), way == "other_tasks"
        tune_study(tuned_for, store, make_pool, configurations=configurations, held_out=held_out)
        regrets[way] = _regrets(apply_tuned(cells, store, held_out=held_out), store)
    keys = [(cell.task, cell.method.optimiser, cell.seed) for cell in cells]
    return [Outcome(*key, **{column: found[key] for column, found in regrets.items()}) for key in keys]


def _regrets(cells: list[Cell], store: Store) -> dict[tuple[str, str, int], float]:
    run_study(cells, store, make_pool)
    table = with_final_scores(load(store.folder, cells=cells))
    columns = (table[name] for name in ("task", "optimiser", "seed", "nfr"))
    return {(str(task), str(name), int(seed)): float(nfr) for task, name, seed, nfr in zip(*columns, strict=True)}


def write_csv(outcomes: Sequence[Outcome], path: Path = TABLE) -> None:
    """A line for each of the outcomes; empty where nothing was tuned so."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Outcome._fields)
        for one in outcomes:
            writer.writerow((*one[:3], *("" if math.isnan(regret) else f"{regret:.4f}" for regret in one[3:])))


def read_csv(path: Path = TABLE) -> list[Outcome]:
    """What `write_csv` wrote; nothing if it was not measured yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        Outcome(
            row["task"],
            row["optimiser"],
            int(row["seed"]),
            *(float(row[name] or "nan") for name in Outcome._fields[3:]),
        )
        for row in rows
    ]


def section(outcomes: Sequence[Outcome]) -> list[str]:
    """The part of the controls on tuned hyperparameters.

    Args:
        outcomes: none if it was not measured.

    Returns:
        Paragraphs and tables in Markdown.
    """
    if not outcomes:
        return []
    lines, against = [HEAD], [HEAD_AGAINST]
    groups = dict.fromkeys((one.dimension, one.optimiser) for one in outcomes)
    for dimension, name in groups:
        rows = [one for one in outcomes if (one.dimension, one.optimiser) == (dimension, name)]
        for column, words in WAYS.items():
            found = mean_over_tasks([getattr(one, column) - one.default for one in rows], [one.task for one in rows])
            if found.runs:
                on = f"{counted(found.tasks, 'task')}, {counted(found.runs, 'run')}"
                lines.append(
                    f"| {dimension} | {name} | {words} | {with_interval(found, 3)} | {on} | {_judged(found)} |"
                )
    others = {(one.task, one.seed): one for one in outcomes if one.optimiser == AGAINST}
    for dimension, name in groups:
        pairs = [
            (one, others[one.task, one.seed])
            for one in outcomes
            if (one.dimension, one.optimiser) == (dimension, name) and (one.task, one.seed) in others
        ]
        if name != AGAINST and pairs:
            cells = [str(dimension), f"{name} minus {AGAINST}"]
            for column in ("default", "other_seed"):
                differences = [getattr(one, column) - getattr(other, column) for one, other in pairs]
                found = mean_over_tasks(differences, [one.task for one, _ in pairs])
                cells += [with_interval(found, 3), _judged(found)]
            against.append(f"| {' | '.join(cells)} |")
    return [HOW, "\n".join(lines), HOW_AGAINST, "\n".join(against)]


def _judged(found: Estimate) -> str:
    return decide(found, "better", "worse", MARGIN)


def known(tuning: Tuning, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """What was measured of a tuning before; nothing if a part of it is missing."""
    wanted = {(cell.task, cell.method.optimiser, cell.seed) for cell in tuning.grid.cells()}
    there = [
        one for one in outcomes if one[:3] in wanted and not any(math.isnan(getattr(one, way)) for way in tuning.ways)
    ]
    return there if len(there) == len(wanted) else []


def main(folder: Path, path: Path = TABLE) -> None:
    """Measure what the table does not have yet, and write it."""
    before = read_csv(path)
    write_csv([one for tuning in TUNINGS for one in known(tuning, before) or measure(folder, tuning)], path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tuned-runs"))
