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
from compbo.run.result import Result, RunError
from compbo.run.stops import STOP, Stopped

if TYPE_CHECKING:
    import threading

    from compbo.evaluation import Evaluation, Outcome
    from compbo.run.executors import Evaluator
    from compbo.run.plan import RunPlan
    from compbo.run.progress import RunProgress
    from compbo.run.stops import StopRules
    from compbo.storage import StoredRun


class Run:
    """The state of a run: numbers of the evaluations that wait, that run, and the records of all.

    plan, store, progress, stops: how it is carried out, where it is stored, what is shown, when it ends early.
    interrupted: set by Ctrl-C.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        plan: RunPlan,
        evaluator: Evaluator,
        store: StoredRun,
        progress: RunProgress,
        stops: StopRules,
        interrupted: threading.Event,
    ) -> None:
        self.optimizer, self.plan, self.evaluator, self.store = optimizer, plan, evaluator, store
        self.progress, self.stops = progress, stops
        self._interrupted = interrupted
        self._stopped: Stopped | None = None
        self.records: dict[int, Record] = {}
        self.waiting: deque[int] = deque()
        self.running: set[int] = set()

    @property
    def result(self) -> Result:
        """What there is so far."""
        records = tuple(self.records[number] for number in sorted(self.records))
        return Result(self.optimizer, records, self._stopped)

    @property
    def finished(self) -> int:
        """How many evaluations have ended."""
        return len(self.records) - len(self.waiting) - len(self.running)

    def complete(self) -> Result:
        """Resume or begin, and go on to the end: until the evaluations are used up, or a rule or Ctrl-C stops it."""
        try:
            self._go_on()
        except KeyboardInterrupt:
            self._end_interrupted()
        except Exception as error:
            if self._interrupted.is_set():  # some libraries turn an interrupt into an error of their own
                self._end_interrupted()
            elif isinstance(error, BrokenWorkersError):
                raise RunError(
                    "The run stopped: {reason}. What was evaluated is kept.", self.result, reason=error
                ) from error
            else:
                raise
        finally:
            self.evaluator.close()
            self.progress.close()
            self.store.close()
        return self.result

    def _go_on(self) -> None:
        self._resume()
        while not self._interrupted.is_set() and not self._must_stop():
            self._step()
        if self._interrupted.is_set():
            raise KeyboardInterrupt
        self._collect(0.0)  # what finished meanwhile

    def _must_stop(self) -> bool:
        if self._stopped is None:
            self._stopped = self.stops.reason(self._best_value())
        return self._stopped is not None

    def _end_interrupted(self) -> None:
        self._interrupted.set()
        self._collect(0.0)  # what finished during the last ask
        self._stopped = Stopped.INTERRUPTED

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

    def _step(self) -> None:
        """Ask if it is time, submit what fits, record what has finished."""
        self._refill()
        if self._must_stop():  # the ask took the rest of the time; its points are stored, and evaluated on resuming
            return
        while self.waiting and self.evaluator.room > 0 and self.finished + len(self.running) < self.plan.evaluations:
            number = self.waiting.popleft()
            self.running.add(number)
            self.evaluator.submit(number, self.records[number].params)
        if self.running:
            self._collect(self.stops.seconds_left)
        else:
            self._stopped = Stopped.EVALUATIONS

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

    def _collect(self, patience: float | None) -> None:
        for number, outcome in self.evaluator.finished(patience):
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
        if self.plan.callback is not None and self.plan.callback(self.optimizer) is STOP:
            self._stopped = self._stopped or Stopped.CALLBACK

    def _best_value(self) -> float | None:
        best: Evaluation | None = self.optimizer.best
        return None if best is None else best.value

    def _check_failures(self) -> None:
        check_failures(self.result, self.plan)


def _now() -> str:
    return datetime.now().isoformat(timespec="seconds")
