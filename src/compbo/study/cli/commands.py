"""`compbo study`: list, run, status, retry, tune, and the outputs. What a command needs is imported when it runs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compbo.console import INTERRUPTED, App, CommandError, Plugin, say
from compbo.errors import OptionError
from compbo.study.cli.options import (
    AsJson,
    CellOptions,
    Debug,
    Known,
    MethodOptions,
    Results,
    WorkerOptions,
    find_tasks_here,
    one_option_per_field,
)
from compbo.study.cli.outputs import register_outputs
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compbo.study.cell import Cell
    from compbo.study.engine.pools import Pool
    from compbo.study.results import Store

app = App(
    name="study", help="Thousands of experiments that can be stopped and resumed: the paper's study, or your own."
)


@app.callback()
def _every_command() -> None:
    find_tasks_here()


@app.command("list")
@one_option_per_field
def list_cells(
    selection: CellOptions,
    summary: Annotated[bool, typer.Option("--summary", help="Counts only, not every cell.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Count and name the cells of a grid; without one, list the presets."""
    from compbo.study.cli import display
    from compbo.study.grid import load_grid, preset_names
    from compbo.study.grid.captions import CAPTIONS, about_captions, count_captions
    from compbo.study.grid.counts import count_cells

    if not (selection.given or selection.filtered or summary):
        presets = {name: load_grid(name).about for name in preset_names()}
        if as_json:
            typer.echo(json.dumps({"presets": presets}))
        else:
            display.print_presets(presets)
        return
    cells = selection.cells()
    if as_json:
        typer.echo(display.cells_as_json(cells, summary=summary))
        return
    display.print_counts(count_cells(cells))
    if selection.preset in CAPTIONS and not selection.filtered:
        display.print_captions(count_captions(selection.preset, cells))
        say(about_captions(selection.preset, cells))
    if not summary:
        for cell in cells:
            typer.echo(f"{cell.hash}  {cell.name}")


@app.command("run")
@one_option_per_field
def run_cells(
    selection: CellOptions,
    place: WorkerOptions,
    results: Results = Path("results"),
    known: Known = None,
    tuned: Annotated[bool, typer.Option("--tuned", help="With what `compbo study tune` found.")] = False,
    held_out: Annotated[bool, typer.Option("--held-out", help="... and `tune --held-out`: on other tasks.")] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run the cells that are not in the results folder yet. The same command goes on after any interruption."""
    from compbo.study.results import Store
    from compbo.study.tuner.tuned_file import apply_tuned

    if held_out and not tuned:
        raise OptionError("held_out", "{option} says which tuning is meant; give {tuned} as well.")
    cells, store = selection.cells(), Store(results)
    if tuned:
        cells = apply_tuned(cells, store, held_out=held_out)
    _run(cells, store, place.pool_maker(), known=known)


@app.command("retry")
@one_option_per_field
def retry_failed(
    place: WorkerOptions,
    results: Results = Path("results"),
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run the failed cells of a results folder again, perhaps with other limits."""
    from compbo.study.engine.status import study_status

    store = _existing(results)
    failed = [stored.cell for stored in study_status(store).failed]
    if not failed:
        say(f"No cell of {results} has failed.")
        return
    _run(failed, store, place.pool_maker(), retry=True)


def _run(
    cells: list[Cell],
    store: Store,
    make_pool: Callable[[], Pool],
    *,
    known: list[Path] | None = None,
    retry: bool = False,
) -> None:
    from compbo.study.engine.driver import run_study
    from compbo.study.outputs.several import known_cells

    elsewhere = known_cells(known or ())
    say(f"{counted(len(cells), 'cell')}, results in {store.folder}")
    if known:
        done_there = len({cell.hash for cell in cells} & elsewhere.keys())
        say(f"{done_there} of them {'is' if done_there == 1 else 'are'} done in {', '.join(map(str, known))}")
    with _stopped_in_words(store):
        done = run_study(cells, store, make_pool, known=elsewhere, retry=retry)
    say(f"{done.there_before} were there, {done.run} were run{_failures(done.failed)}.")
    if done.failed:
        say(f"Why: compbo study status --results {store.folder}; again: compbo study retry --results {store.folder}")


def _failures(count: int) -> str:
    return f", {count} failed" if count else ""


@contextmanager
def _stopped_in_words(store: Store) -> Iterator[None]:
    """Say how to go on after Ctrl-C, or after the workers have gone."""
    from compbo.study.engine.pools import PoolError

    try:
        yield
    except KeyboardInterrupt:
        say(f"Interrupted. What was finished is in {store.folder}; the same command goes on with the rest.")
        raise typer.Exit(INTERRUPTED) from None
    except PoolError as error:
        raise CommandError(str(error)) from error


def _existing(results: Path) -> Store:
    from compbo.study.results import Store

    if not (results / "cells").is_dir():
        raise OptionError("results", "{option:{folder}} is not a results folder; name one.", folder=results)
    return Store(results)


@app.command("status")
@one_option_per_field
def show_status(
    selection: CellOptions,
    results: Results = Path("results"),
    known: Known = None,
    workers: Annotated[int, typer.Option(min=1, help="To work out the time left.")] = 1,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Tell what is done, failed and left, and how long the rest takes; of a grid, or of all that was asked for."""
    from compbo.study.cli import display
    from compbo.study.outputs.several import known_cells
    from compbo.study.tuner.status import study_and_tuning_status

    store = _existing(results)
    if selection.repeat is not None and not selection.given:
        raise OptionError("repeat", "{option} is about a grid; give {preset} or {grid} as well.")
    cells = selection.cells() if selection.given else None
    study, tuning = study_and_tuning_status(store, cells, selection.keep, known_cells(known or ()))
    if as_json:
        typer.echo(display.status_as_json(study, tuning, workers))
    else:
        display.print_status(study, tuning, workers)


@app.command("tune")
@one_option_per_field
def tune_hyperparameters(
    methods: MethodOptions,
    place: WorkerOptions,
    results: Results = Path("results"),
    configurations: Annotated[int, typer.Option(min=1, help="Per task, acquisition and optimiser.")] = 33,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Judge on other tasks than the one it is for (docs/study.md).")
    ] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Tune every optimiser's hyperparameters for `run --tuned`, with seeds of its own. The same command goes on."""
    from compbo.study.results import Store
    from compbo.study.tuner.tune import tune_study

    cells, store, make_pool = methods.cells(), Store(results), place.pool_maker()
    say(f"Tuning for {counted(len(cells), 'cell')}, results in {store.folder}")
    with _stopped_in_words(store):
        done = tune_study(cells, store, make_pool, configurations=configurations, held_out=held_out)
    say(f"{counted(done.problems, 'problem')} tuned, {counted(done.run, 'cell')} run{_failures(done.failed)}.")
    if done.unsolved:
        first = "/".join(done.unsolved[0])
        say(f"{len(done.unsolved)} are not: every configuration failed ({first}, ...); compbo study status says why.")
    say(f"Wrote {done.path}; use it: run --tuned{' --held-out' * held_out}")


register_outputs(app)
