"""Start worker processes (`worker.py`) and give them cells, on this machine or inside a Dask worker.

Nothing heavy is imported here: a Dask worker stays small. A cell is sent as its definition.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from compbo.study.engine.environment import cell_environment
from compbo.study.engine.messages import Limits, Request, encode_request, read_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

GRACE_SECONDS = 2.0  # for a process that is asked to end
ATTEMPTS = 2  # a worker process that dies under a cell is replaced once


class LauncherClosedError(RuntimeError):
    """The launcher was closed while a cell was running."""


class Launcher:
    """One worker process and, while a cell runs, one process below it; started when first needed.

    Args:
        limits: of every cell.
        plugins: what is loaded before every cell, as `compbo.plugins.named_plugins` gives them.
    """

    def __init__(self, limits: Limits, plugins: Mapping[str, str]) -> None:
        self._limits, self._plugins = limits, plugins
        self._process: subprocess.Popen[bytes] | None = None
        self._busy = threading.Lock()  # held while a cell runs
        self._closed = False

    def run(self, definition: str) -> bytes:
        """Run a cell.

        Args:
            definition: of the cell.

        Returns:
            The file of its row, also if the cell or the worker process fails. LauncherClosedError if it was closed.
        """
        for _ in range(ATTEMPTS):
            with self._busy:
                answer = None if self._closed else self._attempt(definition)
            if self._closed:
                raise LauncherClosedError("closed while a cell was running")
            if answer is not None:
                return answer
        return _lost(definition)

    def _attempt(self, definition: str) -> bytes | None:
        """The answer, or None if the worker process died."""
        if self._process is None or self._process.poll() is not None:
            self._reap()
            self._process = self._start()
        requests, answers = _pipes(self._process)
        try:
            write_frame(requests, encode_request(Request(definition, self._limits, self._plugins)))
            answer = read_frame(answers)
        except (BrokenPipeError, ValueError):  # it has died, or was closed
            answer = None
        if answer is None:
            self._reap()
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        variables = {
            **os.environ,
            **cell_environment(self._limits.threads),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),  # to find what is found here
        }
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "compbo.study.engine.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            start_new_session=True,  # Ctrl-C is the driver's
        )

    def _reap(self) -> None:
        """End the process, if there is one, and forget it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # a request that was not read
                if pipe is not None:
                    pipe.close()

    def close(self) -> None:
        """End the worker process and the cell it runs, from any thread."""
        self._closed = True
        killing = time.monotonic() + GRACE_SECONDS
        while not self._busy.acquire(timeout=0.05):
            process = self._process
            if process is None:
                continue
            if time.monotonic() > killing:
                process.kill()
            elif process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()  # it then ends the cell, with all that the cell started, and itself
        try:
            self._reap()
        finally:
            self._busy.release()

    def __del__(self) -> None:
        self._reap()


def _lost(definition: str) -> bytes:
    from compbo.study.cell import cell_from_json
    from compbo.study.engine.rows import failed_row
    from compbo.study.results import schema

    reason = f"the worker process died {ATTEMPTS} times under this cell"
    return schema.to_bytes(failed_row(cell_from_json(definition), reason))


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the worker process was started without pipes")
    return process.stdin, process.stdout


_of_this_thread = threading.local()


def run_remote(
    definition: str, threads: int, time_limit: float | None, memory_limit: float | None, plugins: dict[str, str]
) -> bytes:
    """Run a cell on a Dask worker, in a process of its own below a worker process that this thread keeps.

    Args:
        definition: of the cell.
        threads: as in `Limits`.
        time_limit: as in `Limits`.
        memory_limit: as in `Limits`.
        plugins: as for `Launcher`.

    Returns:
        The file of its row.
    """
    wanted = Limits(threads, time_limit, memory_limit), plugins
    if getattr(_of_this_thread, "wanted", None) != wanted:
        old = getattr(_of_this_thread, "launcher", None)
        if old is not None:
            old.close()
        _of_this_thread.launcher, _of_this_thread.wanted = Launcher(*wanted), wanted
    launcher: Launcher = _of_this_thread.launcher
    return launcher.run(definition)
