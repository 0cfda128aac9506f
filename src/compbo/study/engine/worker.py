"""The process that forks: everything is imported once, then every cell runs in a process of its own.

Started by `launcher.Launcher`, it reads requests from standard input and answers each with one row of the results
table. It watches the cell: time limit, memory limit, sudden death; and it ends, with the cell, when its own parent is
gone. A forked process has the same state whatever ran before, so a cell does not depend on its predecessors.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import io
import json
import os
import selectors
import signal
import struct
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

from compbo.extras import load_optional

if TYPE_CHECKING:
    from compbo.study.cell import Cell

POLL_SECONDS = 0.1
IDLE_SECONDS = 900.0  # without a request for so long, the process ends; the next request starts another
STDERR_KEPT = 4000  # characters of a dead process's last words
_HEADER = struct.Struct(">Q")
_DIE_WITH_PARENT, _ADOPT_ORPHANS = 1, 36  # options of prctl(2): PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
_PRELOADED = (
    "compbo.study.engine.experiment",
    "compbo.optimizer",
    "botorch.optim",
    "botorch.test_functions",
    "psutil",
    "scipy.linalg",
    "scipy.optimize",
)
_SKLEARN = (
    "sklearn.calibration",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.model_selection",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.svm",
)


@dataclass(frozen=True)
class Limits:
    """What a cell may use. seconds and memory (bytes) None: as much as there is."""

    threads: int = 1
    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that nothing fits in."""
        for name in ("threads", "seconds", "memory"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"Limits: {name} must be positive, got {value}.")


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Length, then data."""
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next message, or None where the stream ends."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (length,) = _HEADER.unpack(header)
    data = stream.read(length)
    return data if len(data) == length else None


def encode_request(definition: str, limits: Limits) -> bytes:
    """A cell and its limits for the worker process."""
    return json.dumps({"cell": definition, "limits": asdict(limits)}).encode()


def serve() -> None:
    """Answer requests until standard input ends or nothing has come for a long time."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    requests = os.fdopen(0, "rb", buffering=0, closefd=False)
    _process_option(_ADOPT_ORPHANS, 1)
    _warm_up()
    from compbo.study.cell import cell_from_json

    while _waits_for(requests) and (message := read_frame(requests)) is not None:
        request = json.loads(message)
        cell = cell_from_json(request["cell"])
        _preload_for(cell)
        write_frame(answers, _supervise(cell, Limits(**request["limits"])))


def _warm_up() -> None:
    """Do once what every cell would do: imports, the names of things, PyArrow's first file. Nothing is computed."""
    for module in _PRELOADED:
        importlib.import_module(module)
    from compbo.study.engine import environment
    from compbo.study.results import schema

    environment.versions()
    environment.machine()
    schema.to_bytes({})


def _waits_for(requests: IO[bytes]) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        return bool(selector.select(IDLE_SECONDS))


def _preload_for(cell: Cell) -> None:
    """Import what the cell will, so that the next cell of its sort finds it; failures are the cell's to report."""
    from compbo.study.methods.registry import KINDS
    from compbo.study.tasks.bayesmark.task import parse_tuning

    modules = KINDS[cell.method.kind].modules if cell.method.kind in KINDS else ()
    if ":" not in cell.task and parse_tuning(cell.task) is not None:
        modules += _SKLEARN
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            return


def _supervise(cell: Cell, limits: Limits) -> bytes:
    """Fork, watch, and return the row: the cell's own, or one that says how its process ended."""
    started, clock = datetime.now(UTC), time.monotonic()
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as words:
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _run_in_child(cell, limits, writer, words.fileno())
        os.close(writer)
        try:
            received, reason = _watch(pid, reader, limits, clock)
        finally:
            os.close(reader)
        status = _end(pid)
        if received and not reason:
            return received
        words.seek(max(0, words.seek(0, os.SEEK_END) - STDERR_KEPT))
        said = words.read().decode(errors="replace")
    return _failure_row(cell, reason or _cause(status, said), said, started, time.monotonic() - clock)


def _watch(pid: int, reader: int, limits: Limits, clock: float) -> tuple[bytes, str]:
    """The row that the child sends, or nothing if it ends without one, and why it is to be killed (or nothing)."""
    received = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            dead = _has_ended(pid)  # asked before its last words are read
            for key, _ in selector.select(0 if dead else POLL_SECONDS):
                if key.fd == 0:  # no request comes while one is worked on: the parent is gone
                    _end(pid)
                    os._exit(1)
                chunk = os.read(reader, 1 << 20)
                received += chunk
                if chunk:
                    dead = False  # there may be more
                else:
                    selector.unregister(reader)
            if (row := read_frame(io.BytesIO(received))) is not None:
                return row, ""
            if dead:  # its end of the pipe may be held open by a process that it has started
                return b"", ""
            reason = _exceeded(limits, time.monotonic() - clock)
            if reason:
                return b"", reason


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _exceeded(limits: Limits, seconds: float) -> str:
    if limits.seconds is not None and seconds > limits.seconds:
        return f"time limit: {seconds:.1f} s used, {limits.seconds:g} s allowed"
    if limits.memory is not None:
        used = _resident()
        if used > limits.memory:
            return f"memory limit: {used / 2**20:.0f} MB used, {limits.memory / 2**20:.0f} MB allowed"
    return ""


def _family() -> list[Any]:
    """The process of the cell and every process that came from it."""
    found: list[Any] = load_optional("psutil", "study").Process().children(recursive=True)
    return found


def _resident() -> int:
    """Resident memory of the cell and of what it has started."""
    total = 0
    for member in _family():
        with suppress(load_optional("psutil", "study").Error):  # it has just ended
            total += int(member.memory_info().rss)
    return total


def _end(pid: int) -> int:
    """End the cell with everything it started; the exit status of its own process as os.waitpid gives it."""
    if not _has_ended(pid):
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    while family := _family():
        for member in family:
            with suppress(ProcessLookupError):
                os.kill(member.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
    return status


def _cause(status: int, said: str) -> str:
    if os.WIFSIGNALED(status):
        return f"the process of the cell was killed by signal {signal.Signals(os.WTERMSIG(status)).name}"
    last = f": {said.splitlines()[-1]}" if said.strip() else ""
    return f"the process of the cell ended with exit code {os.waitstatus_to_exitcode(status)} and no result{last}"


def _failure_row(cell: Cell, error: str, said: str, started: datetime, seconds: float) -> bytes:
    from compbo.study.engine import experiment
    from compbo.study.results import schema

    outcome = experiment.failure(error, f"{error}\nLast words on stderr:\n{said}" if said else error)
    return schema.to_bytes(
        {**experiment.identity(cell), **outcome, **experiment.circumstances(started, seconds), "cpu_seconds": None}
    )


def _run_in_child(cell: Cell, limits: Limits, writer: int, words: int) -> None:
    """The cell's own process: a session of its own, silent, dying with its parent. Never returns."""
    code = 1
    try:
        os.setsid()
        _process_option(_DIE_WITH_PARENT, signal.SIGKILL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(words, 1)
        os.dup2(words, 2)
        faulthandler.enable(file=2)
        import torch

        from compbo.study.engine import experiment
        from compbo.study.results import schema

        torch.set_num_threads(limits.threads)
        data = schema.to_bytes(experiment.run_cell(cell))
        with os.fdopen(writer, "wb") as pipe:
            write_frame(pipe, data)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())  # into the last words, which the parent reads
        raise
    finally:
        os._exit(code)


def _process_option(option: int, value: int) -> None:
    """Linux: prctl(2); elsewhere nothing."""
    try:
        prctl: Any = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return
    prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    serve()
