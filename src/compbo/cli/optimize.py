"""`compbo optimize`: from the words of the command line to a run."""

from __future__ import annotations

import logging
import math
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.acquisition.integrands import ACQUISITIONS
from compbo.cli.command import Command
from compbo.cli.console import INTERRUPTED, RUN_FAILED, CommandError, interrupts_end_at_once, say, show_result
from compbo.cli.objective import load_objective
from compbo.files import check_target
from compbo.maximizers import get_entry
from compbo.records import last_failure
from compbo.run import maximize, minimize
from compbo.run.loop import RunError, RunInterrupted, TooManyFailuresError
from compbo.space import Space
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compbo.run.loop import Result

RESCUE = "compbo-run"  # where an interrupted run without a storage is saved


@dataclass(frozen=True)
class Request:
    """What the user typed."""

    objective: str | None
    command: str | None
    space: Path | None
    evaluations: int | None
    maximize: bool
    batch: int | None
    workers: int | None
    asynchronous: bool
    timeout: float | None
    max_failures: int | None
    storage: str | None
    study_name: str
    report: Path | None
    settings: dict[str, Any]


def carry_out(request: Request) -> None:
    """Check everything, run, show the result; an interrupted or failed run ends with the command that resumes it."""
    with interrupts_end_at_once():
        from optuna.storages import InMemoryStorage

    space, evaluations = _required(request)
    _check_options(request)
    storage = request.storage if request.storage is not None else InMemoryStorage()
    search = maximize if request.maximize else minimize
    with _without_the_loops_warning(), _evaluation(request, space) as (objective, how):
        try:
            result = search(
                objective,
                space,
                evaluations=evaluations,
                storage=storage,
                study_name=request.study_name,
                max_failures=request.max_failures,
                asynchronous=request.asynchronous,
                **how,
                **request.settings,
            )
        except RunInterrupted as interrupt:
            kept = _keep(request, storage, interrupt.result)
            raise CommandError(f"Interrupted. {kept}", INTERRUPTED) from interrupt
        except RunError as error:
            higher = " with a higher --max-failures" if isinstance(error, TooManyFailuresError) else ""
            text = str(error).replace(f"max_failures={request.max_failures}", f"--max-failures {request.max_failures}")
            raise CommandError(f"{text.rstrip('.')}. {_keep(request, storage, error.result, higher)}") from error
    show_result(result)
    if request.report is not None:
        result.report(request.report, title=request.objective or request.command or "compbo run")
        say(f"Report: {request.report}")
    if result.best is None:
        raise CommandError(f"Every evaluation failed; the last one: {last_failure(result.records)}", RUN_FAILED)


@contextmanager
def _without_the_loops_warning() -> Iterator[None]:
    """That every evaluation failed is said here, after the table."""
    logger = logging.getLogger("compbo.run.loop")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _required(request: Request) -> tuple[Space, int]:
    if (request.objective is None) == (request.command is None):
        raise ValueError('Give either a function (file.py:function) or --command "program {parameter}".')
    if request.space is None:
        raise ValueError("--space is missing: a TOML file with one table per parameter.")
    if request.space.is_dir():
        raise ValueError(f"--space {request.space} is a folder; name a TOML file.")
    if not request.space.is_file():
        raise ValueError(f"--space {request.space}: there is no such file.")
    if request.evaluations is None:
        raise ValueError("--evaluations is missing: how many times may the objective be evaluated?")
    return Space.from_toml_file(request.space), request.evaluations


def _check_options(request: Request) -> None:
    """The checks that the library makes too, here by the names of the flags."""
    if request.report is not None:
        check_target(request.report)
    if not request.study_name:
        raise ValueError("--study-name is empty: leave it out, or give the run a name.")
    if request.timeout is not None and not 0 < request.timeout < math.inf:
        raise ValueError(f"--timeout must be a positive number of seconds, got {request.timeout:g}.")
    if request.asynchronous and request.workers is None:
        raise ValueError("--async needs --workers: how many evaluations are to be kept running?")
    if request.asynchronous and request.batch not in (None, request.workers):
        raise ValueError(
            f"--async keeps as many evaluations running as --workers says: leave --batch {request.batch} out."
        )
    noise, acquisition = request.settings["noise"], request.settings["acquisition"]
    if noise is not None and not 0 <= noise < math.inf:
        raise ValueError(f"--noise must be a standard deviation >= 0 in the units of the objective, got {noise:g}.")
    if acquisition.lower() not in ACQUISITIONS:
        raise ValueError(f"--acquisition {acquisition} is unknown; choose one of {', '.join(ACQUISITIONS)}.")
    try:
        get_entry(request.settings["maximizer"])
    except KeyError as error:
        raise ValueError(f"--maximizer: {error.args[0]}") from error


@contextmanager
def _evaluation(request: Request, space: Space) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The objective and how to evaluate it; programs are run by threads, functions by processes."""
    if request.command is None:
        workers = 1 if request.workers is None and request.timeout is not None else request.workers
        how = {"batch_size": request.batch, "workers": workers, "timeout": request.timeout}
        with interrupts_end_at_once():
            objective = load_objective(request.objective or "")
        yield objective, how
        return
    command = Command(request.command, space.names, request.timeout)
    if command.unused:
        say(f"Note: --command does not use {', '.join(command.unused)}.")
    if request.workers is None:
        yield command, {"batch_size": request.batch}
        return
    executor = ThreadPoolExecutor(request.workers)
    try:
        batch = request.batch if request.batch is not None else request.workers
        yield command, {"batch_size": batch, "executor": executor}
    finally:
        command.stop()
        executor.shutdown(cancel_futures=True)


def _keep(request: Request, storage: Any, result: Result, how: str = "") -> str:
    """Say where the run is and how to resume it; without a storage, save it first."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    done = sum(record.state != "RUNNING" for record in result.records)
    if done == 0:
        return "Nothing was evaluated yet."
    place = request.storage
    if place is None:
        from compbo.storage import copy_run

        path = next(path for path in _rescue_files() if not path.exists())
        copy_run(storage, request.study_name, path)
        place = str(path)
        words += ["--storage", place]
    are = "is" if done == 1 else "are"
    saved = f"{done} of {counted(request.evaluations or done, 'evaluation')} {are} saved in {place}."
    return f"{saved} Resume{how or ' with'}:\n{shlex.join(words)}"


def _rescue_files() -> Iterator[Path]:
    yield Path(f"{RESCUE}.db")
    number = 2
    while True:
        yield Path(f"{RESCUE}-{number}.db")
        number += 1
