"""One cell in a process of its own, forked and watched: time limit, memory limit, sudden death.

Every forked process begins in the same state: a cell does not depend on the cells that ran before it.
"""

from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import selectors
import signal
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from compbo.extras import load_optional
from compbo.study.engine.messages import read_frame, write_frame
from compbo.study.engine.rows import Timing, failed_row
from compbo.study.results import schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.study.cell import Cell
    from compbo.study.engine.messages import Limits

POLL_SECONDS = 0.1
STDERR_KEPT = 4000  # characters of what a dead process wrote last
_DIE_WITH_PARENT, _ADOPT_ORPHANS = 1, 36  # options of prctl(2): PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER


def adopt_orphans() -> None:
    """Become the parent of processes whose parent ends: what a cell leaves running is found and ended (Linux)."""
    _process_option(_ADOPT_ORPHANS, 1)


def supervise(cell: Cell, limits: Limits, plugins: Mapping[str, str]) -> bytes:
    """Run a cell in a forked process.

    Args:
        cell: the experiment.
        limits: what it may use.
        plugins: what the forked process loads before the cell, as `compbo.plugins.named_plugins` gives them.

    Returns:
        The file of its row: the cell's own, or one that says how its process ended.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as words:
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _run_in_child(cell, limits, plugins, writer, words.fileno())
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
    error = reason or _cause(status, said)
    trace = f"{error}\nLast words on stderr:\n{said}" if said else error
    return schema.to_bytes(failed_row(cell, error, trace, Timing(started, time.monotonic() - clock)))


def _watch(pid: int, reader: int, limits: Limits, clock: float) -> tuple[bytes, str]:
    """What the child sends, empty if it ends without a row; and the reason to kill it, empty if there is none."""
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
    if limits.time_limit is not None and seconds > limits.time_limit:
        return f"time limit: {seconds:.1f} s used, {limits.time_limit:g} s allowed"
    if limits.memory_limit is not None:
        used = _resident() / 2**30
        if used > limits.memory_limit:
            return f"memory limit: {used:.3g} GB used, {limits.memory_limit:.3g} GB allowed"
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


def _run_in_child(cell: Cell, limits: Limits, plugins: Mapping[str, str], writer: int, words: int) -> None:
    """Be the process of the cell: a session of its own, silent, ended with its parent. It does not return."""
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

        from compbo.study.engine.experiment import run_cell

        torch.set_num_threads(limits.threads)
        data = schema.to_bytes(run_cell(cell, plugins))
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
