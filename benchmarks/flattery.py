"""How much the best of 33 runs flatters: `python -m benchmarks.flattery [FOLDER]`, into benchmarks/flattery.csv.

Every optimiser is tuned as `compbo study tune` does it, three times, each time with another seed. The best of the 33
configurations has two numbers: the final regret of the run that chose it, which is what a study reports that tunes on
its reported runs, and the mean final regret of the same configuration with ten fresh seeds. Beside them: the default
settings with 33 seeds, their mean and the best of them, which is luck alone.

About 40 minutes of one core. FOLDER (default: flattery-results) keeps the cells: the same command goes on.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

from compbo.study.cell import Cell, InnerSpec
from compbo.study.engine.driver import run_study
from compbo.study.engine.messages import Limits
from compbo.study.engine.pools import LocalPool
from compbo.study.grid import Block, Grid
from compbo.study.results import Store, load
from compbo.study.results.scores import with_final_scores
from compbo.study.tuner.tune import CONFIGURATIONS, tune_study
from compbo.study.tuner.tuned_file import apply_tuned, is_tunable

TABLE = Path(__file__).parent / "flattery.csv"
COLUMNS = ("task", "optimiser", "tuning", "best_of_33", "same_configuration", "default", "default_best_of_33")
TUNINGS, FRESH_SEEDS, WORKERS = 3, 10, 2
GRID = Grid(
    "flattery",
    "A small version of the paper's 16D study: q = 8, 16 steps, a lighter maximisation.",
    (
        Block(
            tasks=("levy-16", "ackley-16"),
            optimisers=("SGA-ERM", "RMSprop-ERM", "Adam-ERM", "L-BFGS-B", "CAdam"),
            acquisitions=("ucb",),
            batch=8,
            steps=16,
            inner=InnerSpec(raw_batches=256, restarts=8, steps=32, minibatch=64),
        ),
    ),
)


def make_pool() -> LocalPool:
    return LocalPool(WORKERS, Limits())


def mean_and_best(cells: list[Cell], store: Store) -> dict[tuple[str, str], tuple[float, float]]:
    """Run the cells; mean and smallest normalised final regret by task and optimiser."""
    run_study(cells, store, make_pool)
    table = with_final_scores(load(store.folder, cells=cells))
    groups = table.groupby(["task", "optimiser"])["nfr"]
    return {(str(task), str(optimiser)): (fmean(nfr), min(nfr)) for (task, optimiser), nfr in groups}


def tuned_once(folder: Path, number: int) -> dict[tuple[str, str], tuple[float, float]]:
    """Tune with one seed: what the best of 33 runs reached, and what its configuration reaches with fresh seeds."""
    store = Store(folder / f"tuning-{number}")
    tunable = [cell for cell in GRID.with_seeds([number]).cells() if is_tunable(cell)]
    path = tune_study(tunable, store, make_pool, configurations=CONFIGURATIONS).path
    chosen = {
        (entry["task"], entry["maximizer"]): 10.0 ** entry["objective"]
        for entry in json.loads(path.read_text(encoding="utf-8"))["entries"]
    }
    fresh = [cell for cell in GRID.with_seeds(range(FRESH_SEEDS)).cells() if is_tunable(cell)]
    again = mean_and_best(apply_tuned(fresh, store), store)
    return {key: (chosen[key], again[key][0]) for key in chosen}


def measure(folder: Path) -> list[dict[str, Any]]:
    """A row per task, optimiser and tuning; an optimiser without hyperparameters to tune has one row."""
    default = mean_and_best(GRID.with_seeds(range(CONFIGURATIONS)).cells(), Store(folder / "default"))
    tunings = [tuned_once(folder, number) for number in range(TUNINGS)]
    rows: list[dict[str, Any]] = []
    for key, (mean, best) in default.items():
        common = {"task": key[0], "optimiser": key[1], "default": mean, "default_best_of_33": best}
        rows += [
            {**common, "tuning": number, "best_of_33": tuning[key][0], "same_configuration": tuning[key][1]}
            for number, tuning in enumerate(tunings)
            if key in tuning
        ] or [common]
    return rows


def main(folder: Path) -> None:
    rows = measure(folder)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: f"{value:.4f}" if isinstance(value, float) else value for name, value in row.items()} for row in rows
        )
    print(TABLE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "flattery-results"))
