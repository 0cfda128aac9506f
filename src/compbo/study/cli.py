"""`compbo study`: list, run, status, retry, tune. What a command needs is imported when it runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from compbo.study.cell import Cell
    from compbo.study.pools import Pool
    from compbo.study.store import Store

app = typer.Typer(
    name="study",
    help="Thousands of experiments that can be stopped and resumed: the paper's study, or your own.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# After `app`: importing compbo.cli attaches it to the main command.
from compbo.cli.console import INTERRUPTED, CommandError, out, readable, say  # noqa: E402

GRID, KEEP, WHERE = "Which cells", "What to keep of them", "Where they run"  # panels of the help
FAILURES_SHOWN = 20

Preset = Annotated[
    str | None,
    typer.Option("--preset", help="A grid of the package; `compbo study list` names them.", rich_help_panel=GRID),
]
GridFile = Annotated[Path | None, typer.Option("--grid", help="A grid of your own: a TOML file.", rich_help_panel=GRID)]
Repeat = Annotated[int | None, typer.Option(min=1, help="Seeds 0 to N-1 instead of the grid's.", rich_help_panel=GRID)]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="Such tasks only: levy-16, 'rf-*'.", rich_help_panel=KEEP)
]
Dimensions = Annotated[
    list[int] | None, typer.Option("--dimension", help="Such dimensions only.", rich_help_panel=KEEP)
]
Acquisitions = Annotated[
    list[str] | None, typer.Option("--acquisition", help="Such acquisition functions only.", rich_help_panel=KEEP)
]
Optimisers = Annotated[
    list[str] | None,
    typer.Option("--optimiser", "--optimizer", help="Such optimisers only: CAdam, '*-ME'.", rich_help_panel=KEEP),
]
Seeds = Annotated[list[int] | None, typer.Option("--seed", help="Such seeds only.", rich_help_panel=KEEP)]
Results = Annotated[Path, typer.Option("--results", help="The results folder.")]
Workers = Annotated[int, typer.Option(min=1, help="Cells at the same time, each in a process.", rich_help_panel=WHERE)]
Dask = Annotated[
    str | None, typer.Option(help="Scheduler of a Dask cluster instead: tcp://host:8786.", rich_help_panel=WHERE)
]
Threads = Annotated[int, typer.Option(min=1, help="BLAS threads of a cell.", rich_help_panel=WHERE)]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds after which a cell is killed, and failed.", rich_help_panel=WHERE)
]
MemoryLimit = Annotated[float | None, typer.Option(help="The same for its memory, in GB.", rich_help_panel=WHERE)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the whole trace of an error.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON on standard output.")]


def _cells(preset: str | None, grid: Path | None, repeat: int | None, **keep: Any) -> list[Cell]:
    """The cells of a preset or file that pass the filters."""
    from compbo.study.grid import Filter, load_grid, preset_names

    if (preset is None) == (grid is None):
        raise CommandError(f"Give either --preset ({', '.join(preset_names())}) or --grid FILE.toml.", code=2)
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # tasks of your own, module:object
    chosen = load_grid(preset if preset is not None else str(grid))
    if repeat is not None:
        chosen = chosen.with_seeds(range(repeat))
    axes = {axis: tuple(values or ()) for axis, values in keep.items()}
    return Filter(**axes).apply(chosen.cells())


@app.command("list")
@readable
def list_cells(
    preset: Preset = None,
    grid: GridFile = None,
    repeat: Repeat = None,
    task: Tasks = None,
    dimension: Dimensions = None,
    acquisition: Acquisitions = None,
    optimiser: Optimisers = None,
    seed: Seeds = None,
    summary: Annotated[bool, typer.Option("--summary", help="Counts only, not every cell.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Count and name the cells of a grid; without one, list the presets."""
    from compbo.study import counts

    if preset is None and grid is None:
        _list_presets()
        return
    cells = _cells(
        preset, grid, repeat, task=task, dimension=dimension, acquisition=acquisition, optimiser=optimiser, seed=seed
    )
    if as_json:
        rows = [{"cell": cell.hash, "name": cell.name, **cell.to_dict()} for cell in cells]
        typer.echo(json.dumps({"count": len(cells), "cells": [] if summary else rows}))
        return
    _show_counts(counts.summary(cells))
    if preset == "paper":
        say(counts.against_the_paper(cells))
    if not summary:
        for cell in cells:
            typer.echo(f"{cell.hash}  {cell.name}")


def _list_presets() -> None:
    from rich.table import Table

    from compbo.study.grid import load_grid, preset_names

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("preset", "what it is"):
        table.add_column(column)
    for name in preset_names():
        table.add_row(name, load_grid(name).about)
    out.print(table)


def _show_counts(rows: list[Any]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "tasks", "acquisitions", "optimisers", "seeds", "cells"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(str(entry) for entry in row))
    table.add_row("[bold]in all[/]", "", "", "", "", f"[bold]{sum(row.cells for row in rows)}[/]")
    out.print(table)


@app.command()
@readable
def run(
    preset: Preset = None,
    grid: GridFile = None,
    repeat: Repeat = None,
    task: Tasks = None,
    dimension: Dimensions = None,
    acquisition: Acquisitions = None,
    optimiser: Optimisers = None,
    seed: Seeds = None,
    results: Results = Path("results"),
    tuned: Annotated[bool, typer.Option("--tuned", help="With what `compbo study tune` found.")] = False,
    workers: Workers = 1,
    dask: Dask = None,
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run the cells that are not in the results folder yet. The same command goes on after any interruption."""
    from compbo.study.store import Store
    from compbo.study.tuned import apply_tuned

    cells = _cells(
        preset, grid, repeat, task=task, dimension=dimension, acquisition=acquisition, optimiser=optimiser, seed=seed
    )
    store = Store(results)
    if tuned:
        cells = apply_tuned(cells, store)
    _run(cells, store, _pool(workers, dask, threads, time_limit, memory_limit), retry=False)


@app.command()
@readable
def retry(
    results: Results = Path("results"),
    workers: Workers = 1,
    dask: Dask = None,
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run the failed cells of a results folder again, perhaps with other limits."""
    from compbo.study.status import study_status

    store = _existing(results)
    failed = [known.cell for known in study_status(store).failed]
    if not failed:
        say(f"No cell of {results} has failed.")
        return
    _run(failed, store, _pool(workers, dask, threads, time_limit, memory_limit), retry=True)


def _pool(
    workers: int, dask: str | None, threads: int, time_limit: float | None, memory_limit: float | None
) -> Callable[[], Pool]:
    from compbo.study.run import pool_maker
    from compbo.study.worker import Limits

    memory = None if memory_limit is None else int(memory_limit * 2**30)
    return pool_maker(workers, dask, Limits(threads, time_limit, memory))


def _run(cells: list[Cell], store: Store, make_pool: Callable[[], Pool], *, retry: bool) -> None:
    from compbo.study.pools import PoolError
    from compbo.study.run import run_study

    say(f"{len(cells)} cells, results in {store.folder}")
    try:
        done = run_study(cells, store, make_pool, retry=retry)
    except KeyboardInterrupt:
        _interrupted(store)
    except PoolError as error:
        raise CommandError(str(error)) from error
    say(
        f"{done.there_before} were there, {done.run} have run"
        + (f", {done.failed} failed" if done.failed else "")
        + "."
    )
    if done.failed:
        say(f"Why: compbo study status --results {store.folder}; again: compbo study retry --results {store.folder}")


def _interrupted(store: Store) -> NoReturn:
    say(f"Interrupted. What was finished is in {store.folder}; the same command goes on with the rest.")
    raise typer.Exit(INTERRUPTED) from None


def _existing(results: Path) -> Store:
    from compbo.study.store import Store

    if not (results / "cells").is_dir():
        raise CommandError(f"{results} is not a results folder; name one with --results.", code=2)
    return Store(results)


@app.command()
@readable
def status(
    results: Results = Path("results"),
    preset: Preset = None,
    grid: GridFile = None,
    repeat: Repeat = None,
    task: Tasks = None,
    dimension: Dimensions = None,
    acquisition: Acquisitions = None,
    optimiser: Optimisers = None,
    seed: Seeds = None,
    workers: Annotated[int, typer.Option(min=1, help="To work out the time left.")] = 1,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Tell what is done, failed and left, and how long the rest takes; of a grid, or of all that was asked for."""
    from compbo.study.status import study_status

    store = _existing(results)
    cells = None
    if preset is not None or grid is not None:
        cells = _cells(
            preset,
            grid,
            repeat,
            task=task,
            dimension=dimension,
            acquisition=acquisition,
            optimiser=optimiser,
            seed=seed,
        )
    _show_status(study_status(store, cells), workers, as_json=as_json)


def _show_status(found: Any, workers: int, *, as_json: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from compbo.study.status import in_words

    left = None if found.seconds_left is None else found.seconds_left / workers
    if as_json:
        failures = [{"cell": k.cell.hash, "name": k.cell.name, "error": k.error} for k in found.failed]
        counts = {"total": found.total, "done": len(found.done), "failed": len(found.failed), "left": len(found.left)}
        seconds = {"seconds_spent": found.seconds_spent, "seconds_left": left}
        damaged = {str(path): reason for path, reason in found.damaged.items()}
        typer.echo(json.dumps({**counts, **seconds, "owner": found.owner, "damaged": damaged, "failures": failures}))
        return
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("done", f"{len(found.done)} of {found.total}")
    table.add_row("failed", f"[red]{len(found.failed)}[/]" if found.failed else "0")
    table.add_row("left", str(len(found.left)))
    table.add_row("time of the cells so far", in_words(found.seconds_spent))
    if found.left:
        table.add_row(f"time left with {workers} worker" + ("s" if workers > 1 else ""), in_words(left))
    table.add_row("running now", escape(found.owner) if found.owner else "no")
    out.print(table)
    for path, reason in found.damaged.items():
        out.print(f"[red]damaged[/] {escape(str(path))}: {escape(reason)}; the next run sets it aside", soft_wrap=True)
    for known in found.failed[:FAILURES_SHOWN]:
        out.print(f"[red]failed[/] {escape(known.cell.name)}: {escape(known.error)}", soft_wrap=True)
    if len(found.failed) > FAILURES_SHOWN:
        out.print(f"... and {len(found.failed) - FAILURES_SHOWN} more (--json lists all)")


@app.command()
@readable
def tune(
    preset: Preset = None,
    grid: GridFile = None,
    task: Tasks = None,
    dimension: Dimensions = None,
    acquisition: Acquisitions = None,
    optimiser: Optimisers = None,
    results: Results = Path("results"),
    configurations: Annotated[int, typer.Option(min=1, help="Per task, acquisition and optimiser.")] = 33,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Judge on other tasks than the one it is for (docs/study.md).")
    ] = False,
    workers: Workers = 1,
    dask: Dask = None,
    threads: Threads = 1,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Tune every optimiser's hyperparameters, as the paper does; writes RESULTS/tuned.json for `run --tuned`."""
    from compbo.study.pools import PoolError
    from compbo.study.store import Store
    from compbo.study.tuning import tune_study

    cells = _cells(preset, grid, None, task=task, dimension=dimension, acquisition=acquisition, optimiser=optimiser)
    store = Store(results)
    make_pool = _pool(workers, dask, threads, time_limit, memory_limit)
    try:
        done = tune_study(cells, store, make_pool, configurations=configurations, held_out=held_out)
    except KeyboardInterrupt:
        _interrupted(store)
    except PoolError as error:
        raise CommandError(str(error)) from error
    failed = f", {done.failed} failed" if done.failed else ""
    say(f"{done.problems} problems tuned, {done.run} cells have run{failed}. Wrote {done.path}; use it: run --tuned")
