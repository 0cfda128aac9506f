"""How commands speak: results as tables on standard output, everything else in a line on standard error.

The command line and the study make their commands with `App`: an error of a command is one line and an exit code, and
the options that the library names in it are written as the flags of that command.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from compbo.errors import CompboError
from compbo.plugins import load_installed, load_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUN_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes
FROM_THE_USER = (ValueError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, ImportError)
EXPECTED = (CompboError, ValueError, OSError, ImportError)  # their messages say all; any other error is a surprise

Plugin = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Your own parts: own.py or a module (docs/own_parts.md).", show_default=False),
]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """Write a message to stderr, as it is: a line for the person at the terminal, not part of the result."""
    err.print(message, markup=False, soft_wrap=True)


def wide() -> Console:
    """For tables: as wide as the terminal, and through a pipe wide enough for a line each."""
    return out if out.is_terminal else Console(highlight=False, width=200)


def quote(text: str) -> None:
    """Write a text of another program (a traceback) to stderr, as it is."""
    err.print(text.rstrip(), markup=False, soft_wrap=True)


class CommandError(Exception):
    """Something to tell the user, and the exit code.

    Args:
        message: what to tell.
        code: the exit code.
        because: an error of the library that is told before the message.
    """

    def __init__(self, message: str, code: int = RUN_FAILED, *, because: CompboError | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.because = because


class App(typer.Typer):
    """A `typer.Typer` whose commands end as this module says; its options are Typer's."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            cls=Commands,
            no_args_is_help=True,
            rich_markup_mode="rich",
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]},
            **options,
        )

    def command(self, name: str | None = None, **options: Any) -> Callable[..., Any]:
        """A decorator that makes a function a command; the arguments are Typer's."""
        return super().command(name, cls=Command, **options)


class Commands(TyperGroup):
    """A group of commands; what cannot be understood is told in a line, like every other error."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words before the command; without any, show the help."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:  # which is how the tab key asks
            typer.echo(ctx.get_help(), nl=False)  # empty where Rich has already printed it
            raise typer.Exit(BAD_INPUT)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """The options; a switch has no type to show."""
        return _without_types_of_switches(super().get_params(ctx))

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Begin to read the command line."""
        with _usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Read the words after the command, and run it."""
        with _usage_errors():
            return super().invoke(*args, **kwargs)


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except typer.TyperException as error:
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "compbo"
        _say_in_color(f"[bold red]Error:[/] {escape(error.format_message().rstrip('.'))} (see {command} --help).")
        raise typer.Exit(BAD_INPUT) from None


class Command(TyperCommand):
    """A command whose errors are one line and an exit code; with --debug, the trace."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options; a switch has no type to show."""
        return _without_types_of_switches(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Load the plugins that are named, and run the command."""
        try:
            _load_plugins(ctx.params)
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError):  # the last: `| head`, a quiet end
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            _say_in_color(error_line(error, flags(self)))
            raise typer.Exit(exit_code(error)) from None


def _load_plugins(options: dict[str, Any]) -> None:
    """Those that a command with the option `Plugin` is given, and those of installed packages."""
    if "plugin" in options:
        with interrupts_end_at_once():
            load_installed()
            for reference in options["plugin"] or ():
                load_plugin(reference)


def _without_types_of_switches(parameters: list[Any]) -> list[Any]:
    """The same parameters; the help would show `<bool>` beside every switch."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


def _say_in_color(marked: str) -> None:
    """A line with Rich's markup."""
    err.print(marked, soft_wrap=True)


def flags(command: TyperCommand) -> dict[str, str]:
    """The longest flag of every option of a command, by the name that the option has in Python."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in command.params
        if parameter.name is not None and parameter.param_type_name == "option"
    }


def error_line(error: Exception, flag_of: dict[str, str]) -> str:
    """What the error says, in one line; if it is unexpected, also how to see more.

    flag_of: the flag of every option.
    """

    def as_flag(option: str, value: str) -> str:
        return f"{flag_of.get(option, option)} {'' if value == 'True' else value}".rstrip()  # a switch has no value

    if isinstance(error, CommandError):
        before = f"{error.because.text(as_flag).rstrip('.')}. " if error.because is not None else ""
        return ("" if error.code == INTERRUPTED else "[bold red]Error:[/] ") + escape(f"{before}{error}")
    text = " ".join((error.text(as_flag) if isinstance(error, CompboError) else str(error)).split())
    if not isinstance(error, EXPECTED):
        text = f"{type(error).__name__}: {text} (--debug shows where)"
    return f"[bold red]Error:[/] {escape(text)}"


def exit_code(error: Exception) -> int:
    """The exit code of an error: 2 for what the user gave, 1 for what went wrong with it."""
    if isinstance(error, CommandError):
        return error.code
    return BAD_INPUT if isinstance(error, FROM_THE_USER) else RUN_FAILED


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
