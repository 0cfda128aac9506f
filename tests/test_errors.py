"""Errors as data: one message, written for Python and for the command line."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from concurrent.futures import Executor, Future
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

import compbo
from compbo.bo.settings import Settings
from compbo.cli import app
from compbo.console import BAD_INPUT, INTERRUPTED, RUN_FAILED, CommandError, error_line, exit_code, flags
from compbo.dask_client import check_address
from compbo.errors import CompboError, InUseError, OptionError
from compbo.plugins import HOW_TO_ADD
from compbo.run.plan import RunPlan
from compbo.run.result import TooManyFailuresError
from compbo.study.cli.options import WorkerOptions
from compbo.study.engine.messages import Limits
from compbo.study.results import Store
from compbo.study.tuner.judges import held_out_tasks
from compbo.study.tuner.tuned_file import apply_tuned
from objectives import bowl
from study_helpers import compbo_cell

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = Path(__file__).parents[1] / "src" / "compbo"
PLANE = {"x": compbo.Float(-5, 5), "y": compbo.Float(-5, 5)}
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
FLAGS = flags(COMMANDS["optimize"])
STUDY_FLAGS = {name: flags(command) for name, command in COMMANDS["study"].commands.items()}


def caught(call: Callable[[], object]) -> OptionError:
    with pytest.raises(OptionError) as error:
        call()
    return error.value


@pytest.mark.parametrize(
    ("call", "option", "in_python", "typed"),
    [
        (
            lambda: RunPlan(evaluations=3, batch_size=0),
            "batch_size",
            "batch_size must be a whole number >= 1, got 0.",
            "--batch must be a whole number >= 1, got 0.",
        ),
        (
            lambda: RunPlan(evaluations=3, asynchronous=True, workers=2, batch_size=8),
            "batch_size",
            "asynchronous with workers=2 keeps 2 evaluations running: leave batch_size=8 out.",
            "--async with --workers 2 keeps 2 evaluations running: leave --batch 8 out.",
        ),
        (
            lambda: Settings(acquisition="best"),
            "acquisition",
            "acquisition 'best' is unknown; choose one of ei, pi, sr, ucb, logei. " + HOW_TO_ADD,
            "--acquisition 'best' is unknown; choose one of ei, pi, sr, ucb, logei. " + HOW_TO_ADD,
        ),
        (
            lambda: Settings(noise=-1),
            "noise",
            "noise must be a standard deviation >= 0 in the units of the objective, got -1.",
            "--noise must be a standard deviation >= 0 in the units of the objective, got -1.",
        ),
        (
            lambda: RunPlan(evaluations=3, study_name=""),
            "study_name",
            "study_name is empty: leave it out, or give the run a name.",
            "--study-name is empty: leave it out, or give the run a name.",
        ),
        (
            lambda: Settings(minibatch=0),  # there is no flag for it
            "minibatch",
            "minibatch must be a whole number >= 1, got 0.",
            "minibatch must be a whole number >= 1, got 0.",
        ),
    ],
)
def test_an_option_is_written_as_the_reader_types_it(
    call: Callable[[], object], option: str, in_python: str, typed: str
) -> None:
    error = caught(call)
    assert isinstance(error, ValueError)
    assert (error.option, str(error)) == (option, in_python)
    assert error_line(error, FLAGS) == f"[bold red]Error:[/] {typed}"
    assert exit_code(error) == BAD_INPUT


@pytest.mark.parametrize(
    ("command", "call", "in_python", "typed"),
    [
        (
            "run",
            lambda: check_address("nonsense"),
            "dask=nonsense: give the scheduler as its log names it, for instance tcp://host:8786.",
            "--dask nonsense: give the scheduler as its log names it, for instance tcp://host:8786.",
        ),
        (
            "retry",
            lambda: Limits(time_limit=-1.0),
            "time_limit must be a positive number, got -1.0.",
            "--time-limit must be a positive number, got -1.0.",
        ),
        (
            "tune",
            lambda: held_out_tasks("mine:task"),
            "Task mine:task: no held-out tasks are known for a task of your own; tune without held_out.",
            "Task mine:task: no held-out tasks are known for a task of your own; tune without --held-out.",
        ),
        (
            "run",
            lambda: apply_tuned([compbo_cell()], Store("r"), held_out=True),
            (
                "r/tuned-held-out.json has nothing for ackley-4/ucb/CAdam/seed0; "
                "run `compbo study tune` with held_out for this grid first."
            ),
            (
                "r/tuned-held-out.json has nothing for ackley-4/ucb/CAdam/seed0; "
                "run `compbo study tune` with --held-out for this grid first."
            ),
        ),
        (
            "run",
            lambda: WorkerOptions(workers=2, dask="tcp://host:1").pool_maker(),
            "Give either workers or dask: a cluster has the workers that were started for it.",
            "Give either --workers or --dask: a cluster has the workers that were started for it.",
        ),
    ],
)
def test_an_option_of_the_study_is_written_as_the_reader_types_it(
    command: str, call: Callable[[], object], in_python: str, typed: str
) -> None:
    error = caught(call)
    assert error.option in STUDY_FLAGS[command]
    assert str(error) == in_python
    assert error_line(error, STUDY_FLAGS[command]) == f"[bold red]Error:[/] {typed}"
    assert exit_code(error) == BAD_INPUT


def test_a_limit_is_written_with_its_value() -> None:
    def fails(p: dict[str, Any]) -> float:
        raise OSError("no {disk}")

    with pytest.raises(TooManyFailuresError) as error:
        compbo.minimize(fails, PLANE, evaluations=3, max_failures=0)
    assert str(error.value) == "1 evaluation failed, more than max_failures=0; the last one: OSError: no {disk}"
    told = error_line(CommandError("It is saved.", because=error.value), FLAGS)
    assert "1 evaluation failed, more than --max-failures 0; the last one: OSError: no {disk}. It is saved." in told


def test_braces_of_the_user_are_left_alone() -> None:
    error = OptionError("command", "{option} {given!r} and {{}} in {path}.", given="{lr}", path="/tmp/{0}/{")
    assert str(error) == "command '{lr}' and {} in /tmp/{0}/{."


@pytest.mark.parametrize(
    "error",
    [
        CompboError("more than {max_failures:{limit}}", limit=3),
        OptionError("workers", "{option} needs {executor}, got {given!r}.", given="{x}", note="Or leave it out."),
        InUseError("{folder} is in use", folder="results"),
    ],
)
def test_an_error_survives_the_way_from_another_process(error: CompboError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_what_only_python_can_do_is_a_note() -> None:
    error = caught(lambda: RunPlan(evaluations=3, asynchronous=True))
    assert "executor" in error.__notes__[0]
    assert "executor" not in error_line(error, FLAGS)


def test_every_option_of_the_library_that_a_command_has_is_called_as_in_python() -> None:
    """So that the table of flags can be made from the commands."""
    library = {field.name for cls in (RunPlan, Settings) for field in fields(cls)}
    own = {"objective", "command", "space", "maximize", "dask", "report", "plugin", "debug"}
    assert set(FLAGS) - own <= library
    assert {field.name for field in fields(RunPlan)} - set(FLAGS) == {"executor", "progress", "callback"}
    assert (FLAGS["batch_size"], FLAGS["asynchronous"], FLAGS["evaluations"]) == ("--batch", "--async", "--evaluations")


def test_the_keywords_of_minimize_are_the_fields_of_the_settings() -> None:
    """With the same types, word by word, so that every editor completes them."""
    shown = inspect.signature(compbo.minimize).parameters
    own = {"batch_size", "direction"}  # None: one per worker; said by the function itself
    for field in fields(Settings):
        if field.name not in own:
            assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY
            assert shown[field.name].annotation == field.type
            assert field.name == "hyperparameters" or shown[field.name].default == field.default
    for field in fields(RunPlan):
        assert (shown[field.name].annotation, field.name) == (field.type, field.name)
    known = {field.name for cls in (RunPlan, Settings) for field in fields(cls)}
    assert set(shown) - known == {"objective", "space", "unknown"}


def test_no_error_of_the_library_names_a_flag() -> None:
    of_commands = {"cli", "console.py", "maximizers/__main__.py"}
    found = []
    for path in SOURCES.rglob("*.py"):
        if of_commands & {path.relative_to(SOURCES).parts[0], path.relative_to(SOURCES).as_posix()}:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise):
                texts = [str(c.value) for c in ast.walk(node) if isinstance(c, ast.Constant)]
                found += [f"{path.name}:{node.lineno}" for text in texts if re.search(r"(^|\W)--[a-z]", text)]
    assert found == []


def test_no_message_is_searched_or_rewritten() -> None:
    """What an error is about is in its type and attributes; its text is for people."""
    inspects = re.compile(r"""in str\(\w*error\)|str\(\w*error\)\.(replace|startswith)|__mro__|locals\(\)""")
    rooms = [SOURCES / name for name in ("console.py", "errors.py", "inputs.py", "evaluation.py")]
    rooms += [path for room in ("cli", "run", "space", "integrations") for path in (SOURCES / room).rglob("*.py")]
    assert [str(path) for path in rooms if inspects.search(path.read_text(encoding="utf-8"))] == []


# -- what ends a command ----------------------------------------------------------------------------------------------


def test_lines_and_exit_codes() -> None:
    cases: list[tuple[Exception, int, str]] = [
        (CommandError("The run [a] failed."), RUN_FAILED, r"[bold red]Error:[/] The run \[a] failed."),
        (CommandError("Interrupted.", INTERRUPTED), INTERRUPTED, "Interrupted."),
        (ValueError("two\nlines"), BAD_INPUT, "[bold red]Error:[/] two lines"),
        (FileNotFoundError(2, "there is no file"), BAD_INPUT, "[bold red]Error:[/] [Errno 2] there is no file"),
        (InUseError("give {study_name}"), RUN_FAILED, "[bold red]Error:[/] give --study-name"),
        (KeyError("x"), RUN_FAILED, "[bold red]Error:[/] KeyError: 'x' (--debug shows where)"),
    ]
    for error, code, line in cases:
        assert (exit_code(error), error_line(error, FLAGS)) == (code, line)


# -- what an executor cannot send -------------------------------------------------------------------------------------


class Failing(Executor):
    """An executor of somebody else's, whose calls end with an error that the objective did not raise."""

    def __init__(self, error: Exception, *, at_once: bool = False) -> None:
        self._error, self._at_once = error, at_once

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        if self._at_once:
            raise self._error
        future: Future[Any] = Future()
        future.set_exception(self._error)
        return future


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        pickle.PicklingError("not me"),
        AttributeError("Can't get local object 'f'"),
        TypeError("cannot serialise a lock"),
        ModuleNotFoundError("No module named 'mine'"),
    ],
)
def test_an_objective_that_cannot_be_sent_is_refused_whatever_the_words(error: Exception, at_once: bool) -> None:
    with pytest.raises(ValueError, match=r"bowl cannot be sent to the executor's workers .*ThreadPoolExecutor"):
        compbo.minimize(bowl, PLANE, evaluations=2, batch_size=1, executor=Failing(error, at_once=at_once))


def test_another_error_of_an_executor_is_a_lost_evaluation() -> None:
    """Its words do not matter: this one speaks of pickle."""
    executor = Failing(OSError("the pickle jar is lost"))
    result = compbo.minimize(bowl, PLANE, evaluations=1, batch_size=1, executor=executor)
    assert result.records[0].message == "lost 2 times (OSError: the pickle jar is lost)"
