"""Run the league: `make league`, or python -m benchmarks.league core --results league-runs --workers 2.

Ctrl-C at any moment; the same command goes on. Then `--export` writes results/league.parquet, `make results` the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from compbo.errors import CompboError
from compbo.plugins import load_plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compbo.study.cell import Cell

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PARTS = ("core", "all")
# The fast ones first: a league that is stopped early has them on all tasks of its seeds.
STAGES = (
    ("compbo", "random-search", "pycma", "optuna-tpe"),
    ("turbo",),
    ("botorch-qlogei", "botorch-qlogei-sequential"),
    ("hebo", "smac", "optuna-gp"),
)


def stage_of(cell: Cell) -> int:
    """The place of a cell's method among `STAGES`."""
    return next(i for i, names in enumerate(STAGES) if cell.method.optimiser in names)


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """Seed after seed, within a seed the fast methods first; otherwise as in the grid."""
    return sorted(cells, key=lambda cell: (cell.seed, stage_of(cell)))


def league_cells(part: str) -> list[Cell]:
    """The cells of a part of the league, in the order in which they are run: those of the core first."""
    from compbo.study.grid import load_grid

    core, everything = (in_order(load_grid(str(HERE / f"{name}.toml")).cells()) for name in PARTS)
    if part == "core":
        return core
    first = {cell.hash for cell in core}
    return core + [cell for cell in everything if cell.hash not in first]


def export(folders: Sequence[Path], known: Sequence[Path], to: Path) -> None:
    """The cells of the whole league that are in results folders or known, as one compact file without the points.

    folders: where a cell is in several of them, the last one counts; before all of what is known.
    """
    from compbo.study.outputs.compact import to_bytes
    from compbo.study.outputs.several import merged
    from compbo.study.outputs.source import read_results, select

    wanted = league_cells("all")
    tables = [read_results(folder) for folder in reversed(folders)] + [read_results(file, "known") for file in known]
    table = select(merged(tables), wanted)
    to.write_bytes(to_bytes(table))
    print(f"{len(table)} of {len(wanted)} cells written to {to}")


def main() -> None:
    """Read the command line and run, or export."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.league", description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=PARTS, default="core")
    parser.add_argument("--results", type=Path, action="append", help="folder; several with --export: the last counts")
    parser.add_argument(
        "--known", type=Path, action="append", default=[], help="compact file or folder; what is done in it is not run"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--method", action="append", default=[], help="only these methods")
    parser.add_argument("--task", action="append", default=[], help="only these tasks, also patterns: levy-*")
    parser.add_argument("--seed", action="append", default=[], type=int, help="only these seeds")
    parser.add_argument("--batch", action="append", default=[], type=int, help="only batches of these sizes: 1, 8, 16")
    parser.add_argument("--retry", action="store_true", help="run the cells that have failed again")
    parser.add_argument("--export", action="store_true", help="write results/league.parquet instead of running")
    given = parser.parse_args()
    from compbo.study.grid import Filter

    folders = given.results or [Path("league-runs")]
    load_plugin("benchmarks.league.plugin")
    if len(folders) > 1 and not given.export:
        parser.error("cells are run into one results folder; give --results once.")
    if given.export and (given.method or given.task or given.seed or given.batch or given.retry):
        parser.error("--export writes the whole league; leave --method, --task, --seed, --batch and --retry out.")
    try:
        if given.export:
            export(folders, given.known, ROOT / "results" / "league.parquet")
        else:
            try:
                wanted = Filter(task=tuple(given.task), optimiser=tuple(given.method), seed=tuple(given.seed))
                cells = of_batches(given.part, wanted.apply(league_cells(given.part)), given.batch)
            except ValueError as error:  # a name or number that fits no cell
                parser.error(str(error))
            run(cells, folders[0], given.known, given.workers, retry=given.retry)
    except KeyboardInterrupt:
        sys.exit(f"Interrupted. What was finished is in {folders[0]}; the same command goes on with the rest.")
    except CompboError as error:
        sys.exit(str(error))


def of_batches(part: str, cells: Sequence[Cell], sizes: Sequence[int]) -> list[Cell]:
    """The cells with batches of these sizes, all of them if no size is given; ValueError if a size fits no cell."""
    there = sorted({cell.batch for cell in cells})
    if unknown := [str(size) for size in sizes if size not in there]:
        raise ValueError(
            f"--batch {unknown[0]}: no such cell in {part}, where batches have {', '.join(map(str, there))} points; "
            f"the parts are {', '.join(PARTS)}."
        )
    return [cell for cell in cells if not sizes or cell.batch in sizes]


def run(cells: Sequence[Cell], folder: Path, known: Sequence[Path], workers: int, *, retry: bool) -> None:
    """Run the cells that are neither in the folder nor known."""
    from compbo.study.engine.driver import run_study
    from compbo.study.engine.messages import Limits
    from compbo.study.engine.pools import LocalPool
    from compbo.study.outputs.several import known_cells
    from compbo.study.results import Store

    print(f"{len(cells)} cells, results in {folder}", flush=True)
    elsewhere = known_cells(known)
    done = run_study(cells, Store(folder), lambda: LocalPool(workers, Limits()), known=elsewhere, retry=retry)
    print(f"{done.there_before} were there, {done.run} were run, {done.failed} failed.")


if __name__ == "__main__":
    main()
