"""The command line. What a command needs is imported when it runs, so that --help answers at once."""

from __future__ import annotations

import importlib
import importlib.util
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compbo.cli.completion import acquisitions, maximizers
from compbo.console import App, Plugin, interrupts_end_at_once, out, say, wide
from compbo.inputs import check_target
from compbo.versions import VERSION
from compbo.words import counted

if TYPE_CHECKING:
    from types import FrameType

EPILOG = "Exit codes: 0 success, 1 the run failed, 2 bad input, 130 interrupted (what was evaluated is saved)."

app = App(
    name="compbo",
    help="Bayesian optimisation: good settings of an expensive black box in few evaluations, many at a time.",
    epilog=EPILOG,
)

WHAT, HOW, KEEP, METHOD = "What to optimise", "How to evaluate", "What to keep", "Method"  # panels of the help

Debug = Annotated[bool, typer.Option("--debug", help="Show the whole trace of an error.")]
StudyName = Annotated[str | None, typer.Option(help="Which run, if the storage holds several.", show_default=False)]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A file (run.db) or a storage URL.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"compbo {VERSION}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    # A scheduler that ends the process with SIGTERM gets the same orderly end as Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@app.command(epilog=EPILOG)
def demo(
    evaluations: Annotated[int, typer.Option(min=16, help="Evaluations of the function.")] = 192,
    seed: Annotated[int, typer.Option(min=0, help="Moves the optimum, and everything random.")] = 0,
    report: Annotated[Path, typer.Option("--report", "-o", help="Where to write the page.")] = Path("report.html"),
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Minimise a function of 16 parameters and compare with random search; about half a minute."""
    from compbo.cli import demo as demonstration

    check_target(report)
    say(
        f"Levy's function in {demonstration.DIMENSIONS} dimensions, its optimum (value 0) moved to a random place; "
        f"{evaluations} evaluations in joint batches of {demonstration.BATCH}."
    )
    outcome = demonstration.run_demo(evaluations, seed=seed)
    out.print(demonstration.regret_table(outcome))
    outcome.result.report(report, title="compbo demo: shifted Levy function")
    say(f"Report: {report}")


@app.command(epilog=EPILOG)
def optimize(
    objective: Annotated[
        str | None,
        typer.Argument(metavar="FILE.py:FUNCTION", help="The function: gets one dictionary, returns a number."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            help='Instead of a function, a program: "python train.py --lr {lr}". The last line it prints that is a '
            "number is the value. No shell is involved.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(help="The parameters: a TOML file.", rich_help_panel=WHAT)] = None,
    evaluations: Annotated[
        int | None, typer.Option("--evaluations", "-n", min=1, help="How many in all.", rich_help_panel=WHAT)
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize/--minimize", help="The direction.", rich_help_panel=WHAT)
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Evaluate in this number of processes.", rich_help_panel=HOW)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Evaluate on this Dask cluster, for instance tcp://host:8786.", rich_help_panel=HOW
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch", min=1, help="Points suggested at a time; by default workers, or 1.", rich_help_panel=HOW
        ),
    ] = None,
    asynchronous: Annotated[
        bool, typer.Option("--async", help="Suggest a point whenever a worker is free.", rich_help_panel=HOW)
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an evaluation is killed.", rich_help_panel=HOW)
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(min=0, help="Stop when more evaluations have failed.", rich_help_panel=HOW)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="First evaluate again what has failed.", rich_help_panel=HOW)
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds after which nothing new is begun.", rich_help_panel=HOW)
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="Stop when a value is as good as this one.", rich_help_panel=HOW)
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="sqlite:///run.db or a file name. The same command resumes.", rich_help_panel=KEEP),
    ] = None,
    study_name: Annotated[str, typer.Option(help="Name of the run in the storage.", rich_help_panel=KEEP)] = "compbo",
    report: Annotated[Path | None, typer.Option(help="Write an HTML page.", rich_help_panel=KEEP)] = None,
    seed: Annotated[int, typer.Option(min=0, help="The only source of randomness.", rich_help_panel=METHOD)] = 0,
    acquisition: Annotated[
        str,
        typer.Option(
            help="ei, pi, sr, ucb, logei; several, as in ucb,sr, take turns; portfolio: ucb,sr, see docs/choosing.md.",
            rich_help_panel=METHOD,
            autocompletion=acquisitions,
        ),
    ] = "portfolio",
    outputs: Annotated[
        str,
        typer.Option(
            help="Transform of the values: auto, none, yeo-johnson, log, log-fitted or evidence.",
            rich_help_panel=METHOD,
        ),
    ] = "auto",
    inputs: Annotated[
        str,
        typer.Option(
            help="Map of the parameters that is fitted with the model: none or warped.", rich_help_panel=METHOD
        ),
    ] = "none",
    priors: Annotated[
        str,
        typer.Option(
            help="Of the model's hyperparameters: shared-choices, paper or dimension-scaled.", rich_help_panel=METHOD
        ),
    ] = "shared-choices",
    maximizer: Annotated[
        str,
        typer.Option(help="A name that `compbo catalogue` lists.", rich_help_panel=METHOD, autocompletion=maximizers),
    ] = "CAdam",
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of the values, if known.", rich_help_panel=METHOD)
    ] = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Optimise a Python function or a program.

    [dim]compbo optimize train.py:loss --space space.toml -n 128 --workers 4[/]

    [dim]compbo optimize --command "python train.py --lr {lr}" --space space.toml -n 128[/]
    """
    with interrupts_end_at_once():
        from compbo.cli.optimize import OptimizeRequest, carry_out

    request = OptimizeRequest(
        objective=objective,
        command=command,
        space=space,
        evaluations=evaluations,
        maximize=maximize,
        batch_size=batch_size,
        workers=workers,
        dask=dask,
        asynchronous=asynchronous,
        timeout=timeout,
        max_failures=max_failures,
        retry_failed=retry_failed,
        time_limit=time_limit,
        target=target,
        storage=storage,
        study_name=study_name,
        report=report,
        seed=seed,
        settings={
            "acquisition": acquisition,
            "maximizer": maximizer,
            "inputs": inputs,
            "outputs": outputs,
            "priors": priors,
            "noise": noise,
        },
    )
    carry_out(request)


@app.command(epilog=EPILOG)
def report(
    run: Run,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Default: RUN with .html.")] = None,
    study_name: StudyName = None,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write a run, finished or not, as one HTML page."""
    from compbo.report import write_report
    from compbo.storage import load_study

    target = output if output is not None else default_output(run, ".html")
    check_target(target)
    study = load_study(run, study_name)
    title = study_name or Path(run).name
    write_report(study.optimizer, target, title=title, facts=study.facts)
    say(f"Report: {target}")


@app.command(epilog=EPILOG)
def export(
    run: Run,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv, .json or .parquet file. Default: RUN with .csv.")
    ] = None,
    study_name: StudyName = None,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write the evaluations as a table: number, state, value, then the parameters."""
    from compbo.records import check_format, write
    from compbo.storage import load_records

    target = output if output is not None else default_output(run, ".csv")
    check_format(target)
    check_target(target)
    records = load_records(run, study_name)
    write(records, target)
    say(f"{counted(len(records), 'evaluation')}: {target}")


@app.command(epilog=EPILOG)
def catalogue(
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
    plugin: Plugin = None,  # noqa: ARG001 - loaded before the command runs
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """List what can maximise an acquisition function, with the default hyperparameters."""
    from rich.table import Table

    from compbo.maximizers import catalogue_markdown, catalogue_rows

    if markdown:
        typer.echo(catalogue_markdown())
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = ("name", "order", "category", "rule", "tracker", "form", "defaults")
    for column in columns:
        table.add_column(column, no_wrap=column != "defaults", overflow="fold")
    for row in catalogue_rows():
        table.add_row(*(row[column] for column in columns))
    wide().print(table)


def default_output(run: str, suffix: str) -> Path:
    """The name of the run's file with another suffix, beside it; of a run in a database server, here."""
    kind, _, rest = run.rpartition("://")
    if kind.startswith("sqlite"):
        run = rest.partition("?")[0].removeprefix("/")  # sqlite:///run.db is here, sqlite:////data/run.db is not
    elif kind:
        run = rest.rpartition("/")[2]
    path = Path(run or "run")
    return path.with_name(path.stem + suffix)


def attach_study() -> None:
    """Add `compbo study ...`, if the study is installed."""
    if importlib.util.find_spec("compbo.study.cli.commands") is not None:
        app.add_typer(importlib.import_module("compbo.study.cli.commands").app, name="study")


attach_study()


def main() -> None:
    """Entry point of the `compbo` command."""
    app()
