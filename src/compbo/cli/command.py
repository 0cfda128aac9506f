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

from compbo.evaluation import Outcome, as_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 200  # characters of a message
PATIENCE = 5.0  # seconds for killed processes to be gone


class Command:
    """`python train.py --lr {lr}`: cut into arguments like a shell would, but never given to one.

    Placeholders are filled after cutting, so that a value is never taken for two arguments or for shell code. {{ and
    }} are plain braces. Evaluations may run in several threads.
    """

    def __init__(self, template: str, names: Iterable[str], timeout: float | None = None) -> None:
        """names: of the parameters; each placeholder must be one of them."""
        try:
            self._arguments = [_pieces(argument) for argument in shlex.split(template)]
            used = [name for pieces in self._arguments for _, name in pieces if name is not None]
        except ValueError as error:
            raise ValueError(f"--command {template!r} cannot be read: {error}.") from error
        if not self._arguments:
            raise ValueError('--command is empty: give a program, for instance "python train.py --lr {lr}".')
        known = list(names)
        for name in used:
            if name not in known:
                raise ValueError(
                    f"--command: {{{name}}} is not a parameter of the space, which has {', '.join(known)}."
                )
        if not used:
            example = f"{{{known[0]}}}"
            raise ValueError(
                f"--command has no placeholder: the program would never see a parameter, use e.g. {example}."
            )
        program = "".join(text for text, _ in self._arguments[0])
        if all(name is None for _, name in self._arguments[0]) and shutil.which(program) is None:
            raise ValueError(f"--command: there is no program {program!r}.")
        self.unused = [name for name in known if name not in used]
        self._timeout = timeout
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

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
            return Outcome(None, _exit_message(process.returncode, errors))
        return _last_number(output)

    def stop(self) -> None:
        """End every program that still runs."""
        self._stopped = True
        with self._lock:
            for process in self._running:
                _kill(process)


def _pieces(argument: str) -> list[tuple[str, str | None]]:
    """Plain texts, each with the parameter whose value follows it; any name will do, {model.lr} and {0} too."""
    pieces: list[tuple[str, str | None]] = []
    for text, name, spec, conversion in string.Formatter().parse(argument):
        if name is not None and not name:
            raise ValueError("{} is empty, name the parameter as in {lr}; {{ and }} are plain braces")
        if spec or conversion:
            raise ValueError(f"{{{name}...}} has a format; only the plain {{{name}}} is possible")
        pieces.append((text, name))
    return pieces


def _end(process: subprocess.Popen[str]) -> None:
    """Leave nothing running of its group, even if the program itself has ended, and no pipe open."""
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):  # whoever left the group may hold the pipes for ever
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
    return f"{ended}: {lines[-1][:LONGEST]}" if lines else ended


def _last_number(output: str) -> Outcome:
    for line in reversed(output.splitlines()):
        with contextlib.suppress(ValueError):
            return as_outcome(float(line))
    return Outcome(None, "printed no line that is a number")
