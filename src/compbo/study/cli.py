"""`compbo study`: list, run, status, retry, tune, and the outputs. What a command needs is imported when it runs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compbo.study.options import AsJson, Debug, Methods, Place, Results, Selection, find_tasks_here, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
from compbo.study.outputs.commands import register as register_outputs  # noqa: E402
from compbo.words import counted  # noqa: E402

FAILURES_SHOWN = 20


@app.callback()
def _every_command() -> None:
    find_tasks_here()


@app.command("list")
@spread
@readable
def list_cells(
    selection: Selection,
    summary: Annotated[bool, typer.Option("--summary", help="Counts only, not every cell.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Count and name the cells of a grid; without one, list the presets."""
    from compbo.study import counts

    if not (selection.given or selection.filtered or summary):
        _list_presets(as_json=as_json)
        return
    cells = selection.cells()
    if as_json:
        rows = [{"cell": cell.hash, "name": cell.name, **cell.to_dict()} for cell in cells]
        typer.echo(json.dumps({"count": len(cells), "cells": [] if summary else rows}))
        return
    _show_counts(counts.summary(cells))
    if selection.preset == "paper":
        say(counts.against_the_paper(cells))
    if not summary:
        for cell in cells:
            typer.echo(f"{cell.hash}  {cell.name}")


def _list_presets(*, as_json: bool) -> None:
    from rich.table import Table

    from compbo.study.gridfile import load_grid, preset_names

    presets = {name: load_grid(name).about for name in preset_names()}
    if as_json:
        typer.echo(json.dumps({"presets": presets}))
        return
    table = Table("preset", "what it is", box=None, pad_edge=False, header_style="bold")
    for name, about in presets.items():
        table.add_row(name, about)
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
@spread
@readable
def run(
    selection: Selection,
    place: Place,
    results: Results = Path("results"),
    tuned: Annotated[bool, typer.Option("--tuned", help="With what `compbo study tune` found.")] = False,
    held_out: Annotated[bool, typer.Option("--held-out", help="... and `tune --held-out`: on other tasks.")] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Run the cells that are not in the results folder yet. The same command goes on after any interruption."""
    from compbo.study.store import Store
    from compbo.study.tuned import apply_tuned

    if held_out and not tuned:
        raise ValueError("--held-out says which tuning is meant; give --tuned as well.")
    cells, store = selection.cells(), Store(results)
    if tuned:
        cells = apply_tuned(cells, store, held_out=held_out)
    _run(cells, store, place.pool_maker(), retry=False)


@app.command()
@spread
@readable
def retry(place: Place, results: Results = Path("results"), debug: Debug = False) -> None:  # noqa: ARG001
    """Run the failed cells of a results folder again, perhaps with other limits."""
    from compbo.study.status import study_status

    store = _existing(results)
    failed = [known.cell for known in study_status(store).failed]
    if not failed:
        say(f"No cell of {results} has failed.")
        return
    _run(failed, store, place.pool_maker(), retry=True)


def _run(cells: list[Cell], store: Store, make_pool: Callable[[], Pool], *, retry: bool) -> None:
    from compbo.study.run import run_study

    say(f"{counted(len(cells), 'cell')}, results in {store.folder}")
    with _stopped_in_words(store):
        done = run_study(cells, store, make_pool, retry=retry)
    say(f"{done.there_before} were there, {done.run} were run{_failures(done.failed)}.")
    if done.failed:
        say(f"Why: compbo study status --results {store.folder}; again: compbo study retry --results {store.folder}")


def _failures(count: int) -> str:
    return f", {count} failed" if count else ""


@contextmanager
def _stopped_in_words(store: Store) -> Iterator[None]:
    """Say how to go on after Ctrl-C, or after the workers have gone."""
    from compbo.study.pools import PoolError

    try:
        yield
    except KeyboardInterrupt:
        say(f"Interrupted. What was finished is in {store.folder}; the same command goes on with the rest.")
        raise typer.Exit(INTERRUPTED) from None
    except PoolError as error:
        raise CommandError(str(error)) from error


def _existing(results: Path) -> Store:
    from compbo.study.store import Store

    if not (results / "cells").is_dir():
        raise CommandError(f"{results} is not a results folder; name one with --results.", code=2)
    return Store(results)


@app.command()
@spread
@readable
def status(
    selection: Selection,
    results: Results = Path("results"),
    workers: Annotated[int, typer.Option(min=1, help="To work out the time left.")] = 1,
    as_json: AsJson = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Tell what is done, failed and left, and how long the rest takes; of a grid, or of all that was asked for."""
    from compbo.study.status import study_status

    store = _existing(results)
    if selection.repeat is not None and not selection.given:
        raise ValueError("--repeat is about a grid; give --preset or --grid as well.")
    found = study_status(store, selection.cells()) if selection.given else study_status(store, keep=selection.keep)
    _show_status(found, workers, as_json=as_json)


def _show_status(found: Any, workers: int, *, as_json: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    from compbo.study.status import in_words

    left, tuning_left = (None if s is None else s / workers for s in (found.seconds_left, found.tuning.seconds_left))
    with_workers = f"with {counted(workers, 'worker')}"
    if as_json:
        failures = [{"cell": k.cell.hash, "name": k.cell.name, "error": k.error} for k in found.failed]
        counts = {"total": found.total, "done": len(found.done), "failed": len(found.failed), "left": len(found.left)}
        seconds = {"seconds_spent": found.seconds_spent, "seconds_left": left}
        tuning = {**found.tuning._asdict(), "seconds_left": tuning_left}
        damaged = {str(path): reason for path, reason in found.damaged.items()}
        more = {"owner": found.owner, "tuning": tuning, "damaged": damaged, "failures": failures}
        typer.echo(json.dumps({**counts, **seconds, **more}))
        return
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("done", f"{len(found.done)} of {found.total}")
    table.add_row("failed", f"[red]{len(found.failed)}[/]" if found.failed else "0")
    table.add_row("left", str(len(found.left)))
    table.add_row("time of the cells so far", in_words(found.seconds_spent))
    if found.left:
        table.add_row(f"time left {with_workers}", in_words(left))
    if found.tuning.problems:
        tuning = found.tuning
        table.add_row("tuned", f"{tuning.tuned} of {counted(tuning.problems, 'problem')}")
        table.add_row("configurations judged", f"{tuning.judged} of {tuning.configurations}")
        if tuning.judged < tuning.configurations:
            table.add_row(f"time of tuning left {with_workers}", in_words(tuning_left))
    table.add_row("running now", escape(found.owner) if found.owner else "no")
    out.print(table)
    for path, reason in found.damaged.items():
        out.print(f"[red]damaged[/] {escape(str(path))}: {escape(reason)}; the next run sets it aside", soft_wrap=True)
    for known in found.failed[:FAILURES_SHOWN]:
        out.print(f"[red]failed[/] {escape(known.cell.name)}: {escape(known.error)}", soft_wrap=True)
    if len(found.failed) > FAILURES_SHOWN:
        out.print(f"... and {len(found.failed) - FAILURES_SHOWN} more (--json lists all)")


@app.command()
@spread
@readable
def tune(
    methods: Methods,
    place: Place,
    results: Results = Path("results"),
    configurations: Annotated[int, typer.Option(min=1, help="Per task, acquisition and optimiser.")] = 33,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Judge on other tasks than the one it is for (docs/study.md).")
    ] = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Tune every optimiser's hyperparameters, as the paper does, for `run --tuned`. The same command goes on."""
    from compbo.study.store import Store
    from compbo.study.tuning import tune_study

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
