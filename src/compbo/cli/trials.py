"""`compbo ask`, `tell`, `import`, `status`, `forget`, `retry`: a run by hand, one command at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compbo.cli.app import EPILOG, METHOD, WHAT, Debug, Run, StudyName, app
from compbo.cli.completion import acquisitions, maximizers
from compbo.console import BAD_INPUT, CommandError, Plugin, interrupts_end_at_once, say
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.bo.history import History
    from compbo.laboratory.results import Results
    from compbo.laboratory.tell import Told
    from compbo.space import Space
    from compbo.storage import StoredRun

PANEL = "A run by hand, in a laboratory"

SpaceFile = Annotated[
    Path | None, typer.Option("--space", help="Of a new run, the parameters: a TOML file.", rich_help_panel=WHAT)
]
Maximize = Annotated[
    bool | None, typer.Option("--maximize/--minimize", help="Of a new run, the direction.", rich_help_panel=WHAT)
]
Excel = Annotated[bool, typer.Option("--excel", help="CSV with semicolons and decimal commas, as Excel may want it.")]
ValueColumn = Annotated[str | None, typer.Option("--value", help="The column of the value, if not `value`.")]
Sheet = Annotated[Path, typer.Argument(metavar="FILE", help="CSV of any spreadsheet, or JSON lines (.jsonl).")]
Numbers = Annotated[list[int] | None, typer.Argument(metavar="NUMBER", help="Of trials, as `compbo status` shows.")]


@app.command(epilog=EPILOG, rich_help_panel=PANEL)
def ask(
    run: Run,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many points, suggested jointly.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write them to be filled in: a .csv or .jsonl file.")
    ] = None,
    excel: Excel = False,
    space: SpaceFile = None,
    maximize: Maximize = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of a new run; 0.", rich_help_panel=METHOD)] = None,
    acquisition: Annotated[
        str | None,
        typer.Option(
            help="ei, pi, sr, ucb, logei; several, as in ucb,sr, take turns; portfolio: ucb,sr, see docs/choosing.md.",
            rich_help_panel=METHOD,
            autocompletion=acquisitions,
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            help="Transform of the values: auto, none, yeo-johnson, log, log-fitted or evidence.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(
            help="Map of the parameters that is fitted with the model: none or warped.", rich_help_panel=METHOD
        ),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(
            help="Of the model's hyperparameters: shared-choices, paper or dimension-scaled.", rich_help_panel=METHOD
        ),
    ] = None,
    maximizer: Annotated[
        str | None,
        typer.Option(help="A name that `compbo catalogue` lists.", rich_help_panel=METHOD, autocompletion=maximizers),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of the values, if known.", rich_help_panel=METHOD)
    ] = None,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Suggest the next points of a run, which is begun if it is not there.

    [dim]compbo ask run.db --space space.toml -n 4 -o next.csv[/]
    """
    with interrupts_end_at_once():
        from compbo.cli.tables import print_asked
        from compbo.laboratory.ask import ask_points
        from compbo.laboratory.open import find_run
        from compbo.laboratory.sheet import check_sheet_target, sheet_row, write_sheet

    if output is not None:
        check_sheet_target(output)
    elif excel:
        raise CommandError("--excel says how to write --output, which is missing.", BAD_INPUT)
    direction = None if maximize is None else "maximize" if maximize else "minimize"
    model = {"inputs": inputs, "outputs": outputs, "priors": priors, "noise": noise}
    options = {"direction": direction, "seed": seed, "acquisition": acquisition, "maximizer": maximizer, **model}
    asked = ask_points(find_run(run, study_name, _space(space), options, count).open, count)
    print_asked(asked)
    if output is not None:
        predicted: Iterable[Any] = asked.predicted or [None] * len(asked.points)
        pairs = zip(asked.points, predicted, strict=True)
        write_sheet((sheet_row(point.number or 0, point, p) for point, p in pairs), output, excel=excel)
        say(f"Fill in the values: {output}. Then: compbo tell {run} {output}")


@app.command(epilog=EPILOG, rich_help_panel=PANEL)
def tell(
    run: Run,
    file: Sheet,
    value: ValueColumn = None,
    replace: Annotated[bool, typer.Option("--replace", help="Correct what was told with another value.")] = False,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Take the results of points that were asked for, all that a file has or none.

    A row is found by its number, or by its parameters; a parameter that was set a little differently is told as it was
    set. A row without a value is left out; one that failed has the word failed as its value, or a yes in the column
    `failed`. A column `error` is the standard deviation of the value, a column `comment` is kept.

    [dim]compbo tell run.db next.csv[/]
    """
    with interrupts_end_at_once():
        from compbo.cli.tables import nothing_taken, print_taken
        from compbo.laboratory.open import with_run
        from compbo.laboratory.results import SheetError, results_of
        from compbo.laboratory.sheet import read_sheet
        from compbo.laboratory.tell import tell_results
        from compbo.storage import StoredRun

    sheet = read_sheet(file)

    def take(stored: StoredRun) -> tuple[Told, Results]:
        results = results_of(stored.space, sheet, value)
        return tell_results(stored, results, file, replace=replace), results

    try:
        told, results = with_run(lambda: StoredRun.reopen(run, study_name, brief=True), take)
    except SheetError as error:
        raise nothing_taken(error) from error
    print_taken(told, results, file)


@app.command("import", epilog=EPILOG, rich_help_panel=PANEL)
def import_(
    run: Run,
    file: Sheet,
    value: ValueColumn = None,
    space: SpaceFile = None,
    maximize: Maximize = None,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Take what was measured before, all that a file has or none. What the run has already is left out.

    [dim]compbo import run.db old.csv --space space.toml[/]
    """
    with interrupts_end_at_once():
        from compbo.cli.tables import nothing_taken, print_taken
        from compbo.laboratory.open import find_run, with_run
        from compbo.laboratory.results import SheetError, results_of
        from compbo.laboratory.sheet import read_sheet
        from compbo.laboratory.tell import evaluations_of, import_evaluations

    sheet = read_sheet(file)
    options = {} if maximize is None else {"direction": "maximize" if maximize else "minimize"}
    place = find_run(run, study_name, _space(space), options)
    results = results_of(place.space, sheet, value)
    try:
        evaluations = evaluations_of(place.space, results, file)
    except SheetError as error:
        raise nothing_taken(error) from error
    told = with_run(place.open, lambda stored: import_evaluations(stored, evaluations))
    print_taken(told, results, file)


@app.command(epilog=EPILOG, rich_help_panel=PANEL)
def status(
    run: Run,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the pending points to be filled in.")
    ] = None,
    excel: Excel = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON on standard output.")] = False,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Show what was told, what is pending, the best so far, and how the last failure looked."""
    from compbo.cli.tables import print_status, status_as_json
    from compbo.laboratory.sheet import check_sheet_target, sheet_row, write_sheet
    from compbo.storage import load_run

    if output is not None:
        check_sheet_target(output)
    elif excel:
        raise CommandError("--excel says how to write --output, which is missing.", BAD_INPUT)
    optimizer, records = load_run(run, study_name)
    if as_json:
        typer.echo(status_as_json(optimizer, records))
    else:
        print_status(optimizer, records)
    if output is not None:
        pending = optimizer.pending
        write_sheet((sheet_row(point.number or 0, point) for point in pending), output, excel=excel)
        say(f"{counted(len(pending), 'pending point')}: {output}")


@app.command(epilog=EPILOG, rich_help_panel=PANEL)
def forget(
    run: Run,
    numbers: Numbers = None,
    every: Annotated[bool, typer.Option("--all", help="All that are pending.")] = False,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Withdraw pending points that will never be evaluated."""
    from compbo.bo.tell import pending_numbers
    from compbo.cli.tables import listed
    from compbo.laboratory.open import with_run
    from compbo.storage import StoredRun

    if bool(numbers) == every:
        raise CommandError("Give the numbers of pending points, or --all.", BAD_INPUT)

    def forget_in(stored: StoredRun) -> list[int]:
        history = stored.contents().history
        named = [point.number or 0 for point in history.pending] if every else numbers
        found = pending_numbers(stored.space, history, named)
        stored.forget(found)
        return found

    gone = with_run(lambda: StoredRun.reopen(run, study_name, brief=True), forget_in)
    say(f"{counted(len(gone), 'point')} forgotten: {listed(gone)}." if gone else "Nothing is pending.")


@app.command(epilog=EPILOG, rich_help_panel=PANEL)
def retry(
    run: Run,
    numbers: Numbers = None,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Ask again for points whose evaluation failed, all of them or those of the numbers given."""
    from compbo.cli.tables import print_points
    from compbo.laboratory.open import with_run
    from compbo.laboratory.retry import retry_failed
    from compbo.storage import StoredRun

    def retry_in(stored: StoredRun) -> tuple[dict[int, int], History]:
        return retry_failed(stored, numbers), stored.contents().history

    again, history = with_run(lambda: StoredRun.reopen(run, study_name, brief=True), retry_in)
    if not again:
        say("Nothing has failed.")
        return
    print_points([p for p in history.pending if p.number in again.values()], {"in the place of": list(again)})
    say(f"{counted(len(again), 'point')} pending again. If the run is one of compbo optimize, resume it; else tell.")


def _space(path: Path | None) -> Space | None:
    from compbo.cli.optimize import space_of

    return None if path is None else space_of(path)
