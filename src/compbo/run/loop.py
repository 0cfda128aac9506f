"""The loop of a run: ask, store, evaluate, store, tell; and what is left of it in the end."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compbo.bo.history import best_evaluation
from compbo.bo.optimizer import Optimizer
from compbo.checks import whole_number
from compbo.records import COMPLETE, FAIL, RUNNING, Record, last_failure, to_frame
from compbo.run.executors import BrokenWorkersError, Foreign, InProcess, Workers
from compbo.words import counted

if TYPE_CHECKING:
    import os
    import threading
    from collections.abc import Callable

    import pandas as pd

    from compbo.bo.telemetry import Telemetry
    from compbo.evaluation import Evaluation, Objective, Outcome
    from compbo.run.executors import Evaluator
    from compbo.run.progress import Progress
    from compbo.storage import StoredRun

log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Result:
    """What a run found."""

    optimizer: Optimizer
    records: tuple[Record, ...]

    @property
    def best(self) -> Record | None:
        """The best evaluation, the first asked for among equals; None if all failed."""
        return best_evaluation(self.records, self.optimizer.settings.direction)

    @property
    def best_params(self) -> dict[str, Any] | None:
        """The parameters of the best evaluation; None if all failed."""
        return None if self.best is None else self.best.params

    @property
    def best_value(self) -> float | None:
        """The value of the best evaluation; None if all failed."""
        return None if self.best is None else self.best.value

    @property
    def history(self) -> pd.DataFrame:
        """One row per evaluation: number, state, value, the parameters, message."""
        return to_frame(self.records, self.optimizer.space.names)

    @property
    def telemetry(self) -> list[Telemetry]:
        """What every ask looked like, its verdict first of all."""
        return self.optimizer.telemetry

    def report(self, path: str | os.PathLike[str], title: str = "compbo run") -> None:
        """Write the run as one HTML page."""
        from compbo.report import write_report

        write_report(self.optimizer, path, title=title)

    def __repr__(self) -> str:
        failed = sum(record.state == FAIL for record in self.records)
        return (
            f"Result(best_value={self.best_value!r}, best_params={self.best_params!r}, "
            f"evaluations={len(self.records)}, failed={failed})"
        )


class RunError(RuntimeError):
    """The run could not go on. What was evaluated is stored, and in `result`."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class TooManyFailuresError(RunError):
    """More evaluations failed than `max_failures` allows."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C. What was evaluated is stored, and in `result`."""

    def __init__(self, result: Result) -> None:
        super().__init__("the run was interrupted")
        self.result = result


@dataclass(frozen=True)
class Plan:
    """How a run is carried out: what may differ when it is resumed."""

    evaluations: int
    executor: Executor | None = None
    workers: int | None = None
    asynchronous: bool = False
    timeout: float | None = None
    max_failures: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be carried out, before anything is evaluated."""
        object.__setattr__(self, "evaluations", whole_number("evaluations", self.evaluations))
        if self.workers is not None:
            object.__setattr__(self, "workers", whole_number("workers", self.workers))
        if self.max_failures is not None:
            object.__setattr__(self, "max_failures", whole_number("max_failures", self.max_failures, 0))
        if self.executor is not None and self.workers is not None:
            raise ValueError("Pass executor or workers, not both: workers makes a process pool of its own.")
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise ValueError(
                f"executor must be a concurrent.futures.Executor, got {type(self.executor).__name__} "
                "(of a Dask client, pass client.get_executor())."
            )
        if self.asynchronous and self.executor is None and self.workers is None:
            raise ValueError("asynchronous needs workers or an executor to evaluate on.")
        if self.timeout is not None and self.workers is None:
            raise ValueError("timeout needs workers: only an evaluation in a process of its own can be stopped.")
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ValueError(f"timeout must be a positive number of seconds, got {self.timeout}.")

    def evaluator(self, objective: Objective) -> Evaluator:
        """Where evaluations run."""
        if self.executor is not None:
            return Foreign(objective, self.executor)
        if self.workers is not None:
            return Workers(objective, self.workers, self.timeout)
        return InProcess(objective)


class Run:
    """The state of a run: numbers of the evaluations that wait, that run, and the records of all."""

    def __init__(
        self,
        optimizer: Optimizer,
        plan: Plan,
        evaluator: Evaluator,
        store: StoredRun,
        progress: Progress,
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
                raise RunError(f"The run stopped: {error}. What was evaluated is kept.", self.result) from error
            raise
        finally:
            self.evaluator.close()
            self.progress.close()
            self.store.close()
        if self.finished and self.result.best is None:
            message = last_failure(self.records.values())
            log.warning("Every evaluation failed, so there is no best value; the last one: %s", message)
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
        stored = self.store.contents()
        space, settings = self.optimizer.space, self.optimizer.settings
        self.optimizer = Optimizer.resume(space, settings, stored.history, stored.telemetry)
        self.records = {record.number: record for record in stored.records}
        self.waiting.extend(record.number for record in stored.records if record.state == RUNNING)
        self.progress.start(stored.records, self._best_value())
        self._check_failures()

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
        for number, point in zip(self.store.add(points, self.optimizer.telemetry[-1]), points, strict=True):
            self.records[number] = Record(number, RUNNING, None, point)
            self.waiting.append(number)
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
        state = FAIL if outcome.value is None else COMPLETE
        record = self.records[number]._replace(state=state, value=outcome.value, message=outcome.message)
        self.records[number] = record
        self.optimizer.tell([record.params], [record.value], [record.message])
        self.progress.evaluated(record, self._best_value())
        if self.callback is not None:
            self.callback(self.optimizer)

    def _best_value(self) -> float | None:
        best: Evaluation | None = self.optimizer.best
        return None if best is None else best.value

    def _check_failures(self) -> None:
        limit = self.plan.max_failures
        failed = sum(record.state == FAIL for record in self.records.values())
        if limit is not None and failed > limit:
            raise TooManyFailuresError(
                f"{counted(failed, 'evaluation')} failed, more than max_failures={limit}; the last one: "
                f"{last_failure(self.records.values())}",
                self.result,
            )
