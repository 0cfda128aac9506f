"""Where evaluations run: in this process or in worker processes; `given_executor` has the executors of the caller."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import time
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from compbo.evaluation import Outcome, describe, evaluate
from compbo.run import worker_process
from compbo.run.sent_objective import not_loaded, pickled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.evaluation import Objective


class Evaluator(Protocol):
    """What runs evaluations; each has a number that the caller chose."""

    @property
    def room(self) -> int:
        """How many more evaluations can be submitted now."""
        ...

    def submit(self, number: int, params: dict[str, Any]) -> None:
        """Begin evaluation `number`."""
        ...

    def finished(self, patience: float | None = None) -> list[tuple[int, Outcome]]:
        """Number and outcome of what has finished since the last call; wait until something has.

        patience: seconds after which to wait no longer; None: without end.
        """
        ...

    def close(self) -> None:
        """Stop; the result of what still runs is not waited for."""
        ...


class InProcess:
    """One evaluation after the other, in the calling thread."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._waiting: list[tuple[int, dict[str, Any]]] = []

    @property
    def room(self) -> int:
        """One at a time: each is stored before the next begins."""
        return 1 - len(self._waiting)

    def submit(self, number: int, params: dict[str, Any]) -> None:
        """Keep it until `finished` is called."""
        self._waiting.append((number, params))

    def finished(self, patience: float | None = None) -> list[tuple[int, Outcome]]:
        """Evaluate, unless there is no time at all; what has begun cannot be stopped."""
        if patience == 0.0:
            return []
        number, params = self._waiting.pop()
        return [(number, evaluate(self._objective, params, number))]

    def close(self) -> None:
        """Nothing is open."""


class BrokenWorkersError(RuntimeError):
    """The executor died and cannot evaluate any more."""


@dataclass
class _Slot:
    """A pool of one process: a process that dies, or is killed at its time limit, costs one evaluation only."""

    pool: ProcessPoolExecutor
    pid: int
    number: int = -1
    deadline: float | None = None
    late: bool = False

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


class WorkerProcesses:
    """`count` worker processes that belong to the run, started afresh (spawn).

    timeout: seconds after which an evaluation is killed; None: no limit.

    One that dies is replaced, and its evaluation has failed.
    """

    def __init__(self, objective: Objective, count: int, timeout: float | None = None) -> None:
        self._payload = pickled(objective)
        self._timeout = timeout
        self._count = count
        self._idle: list[_Slot] = []
        self._running: dict[Future[Outcome], _Slot] = {}
        self._start(count)

    def _start(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        pools = [ProcessPoolExecutor(1, context, initializer=worker_process.start) for _ in range(count)]
        for pool, future in [(pool, pool.submit(worker_process.install, self._payload)) for pool in pools]:
            try:
                pid, problem = future.result()
            except BrokenExecutor as error:
                raise BrokenWorkersError(
                    "the worker processes did not start; in a script, call compbo under "
                    'if __name__ == "__main__": (their own messages are above)'
                ) from error
            self._idle.append(_Slot(pool, pid))
            if problem:
                self.close()
                raise not_loaded("a worker process", problem)

    @property
    def room(self) -> int:
        """One evaluation per process."""
        return self._count - len(self._running)

    def submit(self, number: int, params: dict[str, Any]) -> None:
        """Give it to an idle process; start one in the place of one that died."""
        if not self._idle:
            self._start(1)
        slot = self._idle.pop()
        slot.number, slot.late = number, False
        slot.deadline = None if self._timeout is None else time.monotonic() + self._timeout
        self._running[slot.pool.submit(worker_process.evaluate_installed, params)] = slot

    def finished(self, patience: float | None = None) -> list[tuple[int, Outcome]]:
        """Wait for a result, a death or a deadline."""
        end = math.inf if patience is None else time.monotonic() + patience
        while True:
            done, _ = wait(self._running, timeout=self._seconds_until(end), return_when=FIRST_COMPLETED)
            if done or time.monotonic() >= end:
                return sorted(self._collect(future) for future in done)
            for slot in self._running.values():
                if slot.deadline is not None and time.monotonic() >= slot.deadline:
                    slot.late, slot.deadline = True, None
                    slot.kill()

    def _seconds_until(self, end: float) -> float | None:
        """To the first of the deadlines and `end`; None if there is neither."""
        first = min([end, *(slot.deadline for slot in self._running.values() if slot.deadline is not None)])
        return max(first - time.monotonic(), 0.0) if math.isfinite(first) else None

    def _collect(self, future: Future[Outcome]) -> tuple[int, Outcome]:
        slot = self._running.pop(future)
        error = future.exception()
        if error is None:
            self._idle.append(slot)
            return slot.number, future.result()
        slot.kill()
        slot.pool.shutdown(wait=True, cancel_futures=True)
        if slot.late:
            return slot.number, Outcome(None, f"stopped: not finished after {self._timeout:g} s")
        return slot.number, Outcome(None, f"the worker process died ({describe(error)})")

    def close(self) -> None:
        """End the processes; busy ones are killed."""
        for slot in self._running.values():
            slot.kill()
        _shut([*self._idle, *self._running.values()])
        self._idle, self._running = [], {}


def _shut(slots: Iterable[_Slot]) -> None:
    for slot in slots:
        slot.pool.shutdown(wait=True, cancel_futures=True)
