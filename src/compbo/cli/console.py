"""How the command line speaks: results as tables on standard output, everything else in a line on standard error."""

from __future__ import annotations

import functools
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compbo.run.loop import Result

RUN_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
SHOWN = 24  # parameters of the best point that are printed
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Click's, which Typer keeps in a place of its own
FLAGS = {  # how the library puts it -> how it is typed
    "by its study name": "with --study-name",
    "another study name": "another --study-name",
    "batch_size (stored": "--batch (stored",
    "acquisition.name (stored": "--acquisition (stored",
    **{f" {name} (stored": f" --{name} (stored" for name in ("seed", "maximizer", "noise")},
}

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Commands(TyperGroup):
    """The commands; what cannot be understood is told in a line, like every other error."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the words before the command."""
        with _usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Read the words after it, and run it."""
        with _usage_errors():
            return super().invoke(*args, **kwargs)


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
            raise
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "compbo"
        text: str = error.format_message()  # type: ignore[attr-defined]
        say(f"[bold red]Error:[/] {escape(text.rstrip('.'))} (see {command} --help).")
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def interrupts_end_at_once() -> Iterator[None]:
    """While modules are imported, before anything is evaluated, Ctrl-C and SIGTERM end the process as it stands.

    An exception would be dropped by Python's import system, or crash a library that is half loaded.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    listening = {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
    for number in listening:
        signal.signal(number, _end_at_once)
    try:
        yield
    finally:
        for number, handler in listening.items():
            if signal.getsignal(number) is _end_at_once:  # the user's module may have set one of its own
                signal.signal(number, handler)


def _end_at_once(_signal: int, _frame: object) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(INTERRUPTED)


class CommandError(Exception):
    """Something to tell the user in one line, and the exit code."""

    def __init__(self, message: str, code: int = RUN_FAILED) -> None:
        super().__init__(message)
        self.code = code


def readable(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are one line and an exit code; with --debug, the trace."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort, BrokenPipeError):  # the last: `| head`, which Typer ends quietly
            raise
        except Exception as error:
            if kwargs.get("debug"):
                raise
            code = error.code if isinstance(error, CommandError) else exit_code(error)
            say(_line(error))
            raise typer.Exit(code) from None

    return wrapped


def exit_code(error: Exception) -> int:
    """2 for what the user gave, 1 for what went wrong with it."""
    from_user = (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, ImportError)
    return BAD_INPUT if isinstance(error, from_user) else RUN_FAILED


def _line(error: Exception) -> str:
    """What the error says; of an unexpected one, also how to see more."""
    from compbo.run.loop import RunError
    from compbo.storage.lease import InUseError

    if isinstance(error, CommandError):
        return ("[bold red]Error:[/] " if error.code == RUN_FAILED else "") + escape(str(error))
    text = " ".join(str(error).split())
    for words, typed in FLAGS.items():
        text = text.replace(words, typed)
    if not isinstance(error, ValueError | OSError | ImportError | RunError | InUseError):
        text = f"{type(error).__name__}: {text} (--debug shows where)"
    return f"[bold red]Error:[/] {escape(text)}"


def say(message: str) -> None:
    """A line for the person at the terminal; not part of the result."""
    err.print(message, soft_wrap=True)


def show_result(result: Result) -> None:
    """Best value, its parameters, how many evaluations."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    failed = sum(record.state == "FAIL" for record in result.records)
    done = sum(record.state != "RUNNING" for record in result.records)
    table.add_row("evaluations", f"{done}" + (f" [red]({failed} failed)[/]" if failed else ""))
    if result.best is not None:
        table.add_row("best value", f"[bold]{result.best.value!r}[/]")
        for name, value in list(result.best.params.items())[:SHOWN]:
            table.add_row(f"  {escape(name)}", escape(str(value) if isinstance(value, str) else repr(value)))
        if len(result.best.params) > SHOWN:
            table.add_row("  …", f"{len(result.best.params) - SHOWN} more parameters")
    if result.telemetry:
        table.add_row("last ask", escape(f"{result.telemetry[-1].verdict} ({result.telemetry[-1].reason})"))
    out.print(table)
