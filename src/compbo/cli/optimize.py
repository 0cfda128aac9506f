"""`compbo optimize`: from the words of the command line to a run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from compbo.bo.settings import Settings
from compbo.cli.cluster import check_dask, on_cluster
from compbo.cli.objective import load_objective
from compbo.cli.program import Program
from compbo.cli.resume import how_to_resume
from compbo.console import INTERRUPTED, RUN_FAILED, CommandError, interrupts_end_at_once, out, quote, say
from compbo.errors import OptionError
from compbo.inputs import check_target
from compbo.records import FAIL, RUNNING, last_failure
from compbo.run.complete import complete_run
from compbo.run.plan import RunPlan
from compbo.run.result import AlwaysFailsError, RunError
from compbo.run.stops import Stopped
from compbo.space import Constant, Space

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from compbo.bo.history import Direction
    from compbo.evaluation import Objective
    from compbo.run.result import Result

PARAMETERS_SHOWN = 24  # of the best point


@dataclass(frozen=True)
class OptimizeRequest:
    """What the user typed; the fields have the names of the options in Python, as for `minimize`.

    objective, command: the two ways to name the objective. space: a TOML file. maximize: the direction. dask: the
    address of a scheduler. report: where to write the page.
    """

    objective: str | None
    command: str | None
    space: Path | None
    evaluations: int | None
    maximize: bool
    batch_size: int | None
    workers: int | None
    dask: str | None
    asynchronous: bool
    timeout: float | None
    max_failures: int | None
    retry_failed: bool
    time_limit: float | None
    target: float | None
    storage: str | None
    study_name: str
    report: Path | None
    seed: int
    settings: dict[str, Any]  # the other options of `Settings`


def carry_out(request: OptimizeRequest) -> None:
    """Check a request, run it, show the result; an interrupted or failed run ends with the command that resumes it."""
    with interrupts_end_at_once():
        from optuna.storages import InMemoryStorage

    space, evaluations = _required(request)
    if request.report is not None:
        check_target(request.report)
    if request.dask is not None:
        check_dask(request)
    storage = request.storage if request.storage is not None else InMemoryStorage()
    plan = RunPlan(
        evaluations=evaluations,
        batch_size=request.batch_size,
        workers=1 if request.workers is None and request.timeout is not None else request.workers,
        asynchronous=request.asynchronous and request.dask is None,  # of a cluster, when it is connected
        timeout=request.timeout,
        storage=storage,
        study_name=request.study_name,
        max_failures=request.max_failures,
        retry_failed=request.retry_failed,
        time_limit=request.time_limit,
        target=request.target,
    )
    Settings(seed=request.seed, **request.settings)  # a wrong one is refused before the user's module is loaded
    direction: Direction = "maximize" if request.maximize else "minimize"
    with _objective(request, space, plan) as (objective, plan):
        try:
            result = complete_run(direction, objective, space, plan, request.seed, request.settings)
        except RunError as error:
            if isinstance(error, AlwaysFailsError) and error.traceback:
                quote(error.traceback)
            raise CommandError(how_to_resume(request, storage, error.result, error), because=error) from error
    if result.stopped is Stopped.INTERRUPTED:
        raise CommandError(f"Interrupted. {how_to_resume(request, storage, result)}", INTERRUPTED)
    show_result(result)
    if result.stopped is Stopped.TIME and request.storage is not None:
        say("The same command goes on.")
    if request.report is not None:
        result.report(request.report, title=request.objective or request.command or "compbo run")
        say(f"Report: {request.report}")
    if result.all_failed:
        raise CommandError(f"Every evaluation failed; the last one: {last_failure(result.records)}", RUN_FAILED)


def _required(request: OptimizeRequest) -> tuple[Space, int]:
    """The space and the number of evaluations; OptionError for what is missing."""
    if (request.objective is None) == (request.command is None):
        raise ValueError('Give either a function (file.py:function) or --command "program {parameter}".')
    if request.space is None:
        raise OptionError("space", "{option} is missing: a TOML file with one table per parameter.")
    space = space_of(request.space)
    if request.evaluations is None:
        raise OptionError("evaluations", "{option} is missing: how many times may the objective be evaluated?")
    return space, request.evaluations


def space_of(path: Path) -> Space:
    """The space of a TOML file; OptionError if it is none."""
    if path.is_dir():
        raise OptionError("space", "{option:{path}} is a folder; name a TOML file.", path=path)
    if not path.is_file():
        raise OptionError("space", "{option:{path}}: there is no such file.", path=path)
    return Space.from_toml_file(path)


@contextmanager
def _objective(request: OptimizeRequest, space: Space, plan: RunPlan) -> Iterator[tuple[Objective, RunPlan]]:
    """The objective, and the plan for it: a function is evaluated in processes, a program is one and needs threads."""
    if request.command is None:
        with interrupts_end_at_once():
            objective = load_objective(request.objective or "")
        if request.dask is None:
            yield objective, plan
            return
        with on_cluster(request.dask, plan, asynchronous=request.asynchronous) as plan_there:
            yield objective, plan_there
        return
    constants = [name for name, parameter in space.parameters.items() if isinstance(parameter, Constant)]
    elsewhere = request.dask is not None
    program = Program(request.command, space.names, plan.timeout, constants=constants, elsewhere=elsewhere)
    if program.unused:
        say(f"Note: --command does not use {', '.join(program.unused)}.")
    alone = replace(plan, workers=None, timeout=None, asynchronous=False)  # the program itself keeps the time limit
    if request.dask is not None:
        with on_cluster(request.dask, alone, asynchronous=request.asynchronous) as plan_there:
            yield program, plan_there
        return
    if request.workers is None:
        yield program, alone
        return
    with ThreadPoolExecutor(request.workers) as threads:
        try:
            batch_size = plan.points_per_ask
            yield program, replace(alone, asynchronous=plan.asynchronous, executor=threads, batch_size=batch_size)
        finally:
            program.stop()
            threads.shutdown(cancel_futures=True)


def show_result(result: Result) -> None:
    """Print the best value, its parameters and the number of evaluations."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    failed = sum(record.state == FAIL for record in result.records)
    done = sum(record.state != RUNNING for record in result.records)
    table.add_row("evaluations", f"{done}" + (f" [red]({failed} failed)[/]" if failed else ""))
    if result.best is not None:
        table.add_row("best value", f"[bold]{result.best.value!r}[/]")
        for name, value in list(result.best.params.items())[:PARAMETERS_SHOWN]:
            table.add_row(f"  {escape(name)}", escape(str(value) if isinstance(value, str) else repr(value)))
        if len(result.best.params) > PARAMETERS_SHOWN:
            table.add_row("  …", f"{len(result.best.params) - PARAMETERS_SHOWN} more parameters")
    if result.stopped is not None:
        table.add_row("stopped", str(result.stopped))
    if result.telemetry:
        table.add_row("last ask", escape(f"{result.telemetry[-1].verdict} ({result.telemetry[-1].reason})"))
    out.print(table)
