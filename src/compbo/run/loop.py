"""The loop of a run: ask, store, evaluate, store, tell."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from compbo.bo.optimizer import Optimizer
from compbo.records import COMPLETE, FAIL, RUNNING, Record
from compbo.run.executors import BrokenWorkersError
from compbo.run.failures import check_failures
from compbo.run.result import Result, RunError, RunInterrupted

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from compbo.evaluation import Evaluation, Outcome
    from compbo.run.executors import Evaluator
    from compbo.run.plan import RunPlan
    from compbo.run.progress import RunProgress
    from compbo.storage import StoredRun


class Run:
    """The state of a run: numbers of the evaluations that wait, that run, and the records of all.

    plan, store, progress, callback: how it is carried out, where it is stored, what is shown, what is called after
    every evaluation. interrupted: set by Ctrl-C.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        plan: RunPlan,
        evaluator: Evaluator,
        store: StoredRun,
        progress: RunProgress,
        callback: Callable[[Optimizer], None] | None,
        interrupted: threading.Event,
    ) -> None:
        self.optimizer, self.plan, self.evaluator, self.store = optimizer, plan, evaluator, store
        self.progress, self.callback = progress, callback
        self._interrupted = interrupted
        self.records: dict[int, Record] = {}
        self.waiting: deque[int] = deque()
        self.running: set[int] = set()

    @property
    def result(self) -> Result:
        """What there is so far."""
        return Result(self.optimizer, tuple(self.records[number] for number in sorted(self.records)))

    @property
    def finished(self) -> int:
        """How many evaluations have ended."""
        return len(self.records) - len(self.waiting) - len(self.running)

    def complete(self) -> Result:
        """Resume or begin, and go on to the end."""
        try:
            self._go_on()
        except KeyboardInterrupt as interrupt:
            raise self._stopped() from interrupt
        except Exception as error:
            if self._interrupted.is_set():  # some libraries turn an interrupt into an error of their own
                raise self._stopped() from error
            if isinstance(error, BrokenWorkersError):
                raise RunError(
                    "The run stopped: {reason}. What was evaluated is kept.", self.result, reason=error
                ) from error
            raise
        finally:
            self.evaluator.close()
            self.progress.close()
            self.store.close()
        return self.result

    def _go_on(self) -> None:
        self._resume()
        while not self._interrupted.is_set() and self._step():
            pass
        if self._interrupted.is_set():
            raise KeyboardInterrupt

    def _stopped(self) -> RunInterrupted:
        self._interrupted.set()
        self._collect(block=False)  # what finished during the last ask
        return RunInterrupted(self.result)

    def _resume(self) -> None:
        if self.plan.retry_failed:
            self.store.retry()
        self._read()
        self.waiting.extend(record.number for record in self.records.values() if record.state == RUNNING)
        self.progress.start(list(self.records.values()), self._best_value())
        self._check_failures()

    def _read(self) -> None:
        """Take everything from the storage."""
        stored = self.store.contents()
        space, settings = self.optimizer.space, self.optimizer.settings
        self.optimizer = Optimizer.resume(space, settings, stored.history, stored.telemetry)
        self.records = {record.number: record for record in stored.records}

    def _step(self) -> bool:
        """Ask if it is time, submit what fits, record what has finished; whether there is more to do."""
        self._refill()
        while self.waiting and self.evaluator.room > 0 and self.finished + len(self.running) < self.plan.evaluations:
            number = self.waiting.popleft()
            self.running.add(number)
            self.evaluator.submit(number, self.records[number].params)
        if not self.running:
            return False
        self._collect(block=True)
        return True

    def _refill(self) -> None:
        batch = self.optimizer.settings.batch_size
        if self.plan.asynchronous:
            while len(self.waiting) + len(self.running) < batch and len(self.records) < self.plan.evaluations:
                self._ask(1)
        elif not self.waiting and not self.running and len(self.records) < self.plan.evaluations:
            self._ask(min(batch, self.plan.evaluations - len(self.records)))

    def _ask(self, count: int) -> None:
        started = time.perf_counter()
        points = self.optimizer.ask(count)
        seconds = time.perf_counter() - started
        numbers = self.store.add(points, self.optimizer.telemetry[-1])
        if numbers == [point.number for point in points]:
            for number, point in zip(numbers, points, strict=True):
                self.records[number] = Record(number, RUNNING, None, dict(point), asked=_now())
        else:  # another program has added trials to the study
            self._read()
        self.waiting.extend(numbers)
        self.progress.asked(self.optimizer.telemetry[-1], seconds)

    def _collect(self, *, block: bool) -> None:
        for number, outcome in self.evaluator.finished(block=block):
            if outcome.value is not None or not self._interrupted.is_set():
                self._finish(number, outcome)  # a failure may be the interrupt's doing: evaluated again on resuming
        self._check_failures()

    def _finish(self, number: int, outcome: Outcome) -> None:
        """Store first: what is not stored has not happened."""
        self.store.finish(number, outcome)
        self.running.discard(number)
        record = replace(
            self.records[number],
            state=FAIL if outcome.value is None else COMPLETE,
            value=outcome.value,
            message=outcome.message,
            traceback=outcome.traceback,
            ended=_now(),
            seconds=outcome.seconds,
        )
        self.records[number] = record
        self.optimizer.tell([number], [record.value], [record.message])
        self.progress.evaluated(record, self._best_value())
        if self.callback is not None:
            self.callback(self.optimizer)

    def _best_value(self) -> float | None:
        best: Evaluation | None = self.optimizer.best
        return None if best is None else best.value

    def _check_failures(self) -> None:
        check_failures(self.result, self.plan)


def _now() -> str:
    return datetime.now().isoformat(timespec="seconds")
