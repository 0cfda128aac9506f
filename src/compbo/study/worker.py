"""The process that forks: everything is imported once, then every cell runs in a process of its own.

Started by `launcher.Launcher`, it reads requests from standard input and answers each with one row of the results
table. It watches the cell: time limit, memory limit, sudden death; and it ends, with the cell, when its own parent is
gone. A forked process has the same state whatever ran before, so a cell does not depend on its predecessors.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import os
import selectors
import signal
import struct
import sys
import tempfile
import time
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
_PRELOADED = (
    "compbo.study.experiment",
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
    from compbo.study import environment, schema

    environment.versions()
    environment.machine()
    schema.to_bytes({})


def _waits_for(requests: IO[bytes]) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        return bool(selector.select(IDLE_SECONDS))


def _preload_for(cell: Cell) -> None:
    """Import what the cell will, so that the next cell of its sort finds it; failures are the cell's to report."""
    from compbo.study.methods import KINDS
    from compbo.study.tasks.tuning import parse_tuning

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
        status = _end(pid, killed=bool(reason))
        if not reason and status == 0 and received:
            return received
        words.seek(max(0, words.seek(0, os.SEEK_END) - STDERR_KEPT))
        said = words.read().decode(errors="replace")
    return _failure_row(cell, reason or _cause(status), said, started, time.monotonic() - clock)


def _watch(pid: int, reader: int, limits: Limits, clock: float) -> tuple[bytes, str]:
    """What the child sends until it closes its pipe, and why it is to be killed (or nothing)."""
    chunks: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(POLL_SECONDS):
                if key.fd == 0:  # no request comes while one is worked on: the parent is gone
                    _end(pid, killed=True)
                    os._exit(1)
                chunk = os.read(reader, 1 << 20)
                if not chunk:
                    return b"".join(chunks), ""
                chunks.append(chunk)
            reason = _exceeded(pid, limits, time.monotonic() - clock)
            if reason:
                return b"", reason


def _exceeded(pid: int, limits: Limits, seconds: float) -> str:
    if limits.seconds is not None and seconds > limits.seconds:
        return f"time limit: {seconds:.1f} s used, {limits.seconds:g} s allowed"
    if limits.memory is not None:
        used = _resident(pid)
        if used > limits.memory:
            return f"memory limit: {used / 2**20:.0f} MB used, {limits.memory / 2**20:.0f} MB allowed"
    return ""


def _resident(pid: int) -> int:
    """Resident memory of the process and of its children, if it has any."""
    psutil = load_optional("psutil", "study")
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        return int(sum(member.memory_info().rss for member in family))
    except psutil.Error:
        return 0


def _end(pid: int, *, killed: bool) -> int:
    """Wait for the child, killed first with everything it started; its exit status as os.waitpid gives it."""
    if killed:
        for kill in (os.killpg, os.kill):
            try:
                kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    return os.waitpid(pid, 0)[1]


def _cause(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the process of the cell was killed by signal {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process of the cell ended with exit code {os.waitstatus_to_exitcode(status)} and no result"


def _failure_row(cell: Cell, error: str, said: str, started: datetime, seconds: float) -> bytes:
    from compbo.study import experiment, schema

    outcome = experiment.failure(error, f"{error}\nLast words on stderr:\n{said}" if said else error)
    return schema.to_bytes(
        {**experiment.identity(cell), **outcome, **experiment.circumstances(started, seconds), "cpu_seconds": None}
    )


def _run_in_child(cell: Cell, limits: Limits, writer: int, words: int) -> None:
    """The cell's own process: a group of its own, silent, dying with its parent. Never returns."""
    code = 1
    try:
        os.setsid()
        _die_with_parent()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(words, 1)
        os.dup2(words, 2)
        faulthandler.enable(file=2)
        import torch

        from compbo.study import experiment, schema

        torch.set_num_threads(limits.threads)
        data = schema.to_bytes(experiment.run_cell(cell))
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())  # into the last words, which the parent reads
        raise
    finally:
        os._exit(code)


def _die_with_parent() -> None:
    """Linux: be killed when the forking process is, even by SIGKILL."""
    set_parent_death_signal = 1
    try:
        prctl: Any = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return
    prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    serve()
