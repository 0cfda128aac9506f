"""A program as the objective: arguments from the point, the value from the last number it prints."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import string
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from compbo.errors import OptionError
from compbo.evaluation import Outcome, as_outcome, last_part

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_MESSAGE = 200  # characters
PATIENCE = 5.0  # seconds for killed processes to be gone

Pieces = list[tuple[str, str | None]]  # of one argument: a text, and the parameter whose value follows it


class Program:
    """`python train.py --lr {lr}` as an objective: cut into arguments as a shell does it, but run without a shell.

    Placeholders are filled after cutting, so that a value is always one argument and no shell code. {{ and
    }} are plain braces. Evaluations may run in several threads.
    """

    def __init__(
        self,
        command: str,
        names: Iterable[str],
        timeout: float | None = None,
        *,
        constants: Iterable[str] = (),
        elsewhere: bool = False,
    ) -> None:
        """Check the command before anything runs.

        Args:
            command: the program and its arguments, with `{name}` where a parameter belongs.
            names: of the parameters; each placeholder must be one of them.
            timeout: seconds after which the program is killed; None: no limit.
            constants: the names whose value never changes; at least one placeholder must be another.
            elsewhere: whether it runs on other machines, which may have programs that this one has not.
        """
        known = list(names)
        self._arguments = _checked_arguments(command, known, set(constants))
        if not elsewhere:
            _check_installed(self._arguments[0])
        used = {name for pieces in self._arguments for _, name in pieces}
        self.unused = [name for name in known if name not in used]
        self._timeout = timeout
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another machine: the command, not what runs here."""
        return {"_arguments": self._arguments, "_timeout": self._timeout, "unused": self.unused}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def arguments(self, params: dict[str, Any]) -> list[str]:
        """The program and its arguments for a point; floats are written so that they read back exactly."""
        return [
            "".join(text if name is None else f"{text}{params[name]}" for text, name in pieces)
            for pieces in self._arguments
        ]

    def __call__(self, params: dict[str, Any]) -> Outcome:
        """Run the program; its last line on standard output that is a number is the value."""
        if self._stopped:
            return Outcome(None, "the run is over")
        # A group of its own: a time limit ends the program with all it started, and Ctrl-C is ours to handle.
        process = subprocess.Popen(
            self.arguments(params),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with self._lock:
            self._running.add(process)
        try:
            output, errors = process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            return Outcome(None, f"stopped: not finished after {self._timeout:g} s")
        except BaseException:
            _end(process)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode != 0:
            return Outcome(None, _exit_message(process.returncode, errors), last_part(errors))
        return _last_number(output, errors)

    def stop(self) -> None:
        """End every program that still runs."""
        self._stopped = True
        with self._lock:
            for process in self._running:
                _kill(process)


def _checked_arguments(command: str, known: list[str], constants: set[str]) -> list[Pieces]:
    """The arguments of a command whose placeholders are known parameters; OptionError for any other command."""
    try:
        arguments = [_pieces(argument) for argument in shlex.split(command)]
    except ValueError as error:
        raise OptionError(
            "command", "{option} {given!r} cannot be read: {reason}.", given=command, reason=error
        ) from error
    if not arguments:
        example = '"python train.py --lr {lr}"'
        raise OptionError("command", "{option} is empty: give a program, for instance {example}.", example=example)
    used = [name for pieces in arguments for _, name in pieces if name is not None]
    for name in used:
        if name not in known:
            raise OptionError(
                "command",
                "{option}: {{{name}}} is not a parameter of the space, which has {known}.",
                name=name,
                known=", ".join(known),
            )
    varied = [name for name in known if name not in constants]
    if constants.issuperset(used):
        raise OptionError(
            "command",
            "{option} has no placeholder of a parameter that varies: use for instance {{{name}}}.",
            name=(varied or known)[0],
        )
    return arguments


def _check_installed(pieces: Pieces) -> None:
    """OptionError if the program, the first argument, is not on this machine; one with a placeholder may be any."""
    program = "".join(text for text, _ in pieces)
    if all(name is None for _, name in pieces) and shutil.which(program) is None:
        raise OptionError("command", "{option}: there is no program {program!r}.", program=program)


def _pieces(argument: str) -> Pieces:
    """The pieces of an argument; any name can stand in braces, {model.lr} and {0} too."""
    pieces: Pieces = []
    for text, name, spec, conversion in string.Formatter().parse(argument):
        if name is not None and not name:
            raise ValueError("{} is empty, name the parameter as in {lr}; {{ and }} are plain braces")
        if spec or conversion:
            raise ValueError(f"{{{name}...}} has a format; only the plain {{{name}}} is possible")
        pieces.append((text, name))
    return pieces


def _end(process: subprocess.Popen[str]) -> None:
    """End the program and all processes of its group, even if the program itself has ended, and close the pipes."""
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a process that left the group may keep the pipes open
        process.communicate(timeout=PATIENCE)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _exit_message(code: int, errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    ended = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
    return f"{ended}: {lines[-1][:LONGEST_MESSAGE]}" if lines else ended


def _last_number(output: str, errors: str) -> Outcome:
    for line in reversed(output.splitlines()):
        with contextlib.suppress(ValueError):
            return as_outcome(float(line))
    return Outcome(None, "printed no line that is a number", last_part(errors or output))
