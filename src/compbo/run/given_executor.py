"""Evaluations in an executor that the caller has: threads, processes, a cluster."""

from __future__ import annotations

import logging
import math
import pickle
import time
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.evaluation import Outcome, describe, evaluate
from compbo.run.executors import BrokenWorkersError
from compbo.run.sent_objective import NotLoadedError, SentObjective, evaluate_sent, not_loaded, not_sent, pickled

if TYPE_CHECKING:
    from compbo.evaluation import Objective

log = logging.getLogger(__name__)

ATTEMPTS = 2  # an evaluation whose worker dies is run again; if that one dies too, it has failed

# What pickle raises for an object that it cannot take apart, or put together again. `evaluate` catches every error of
# the objective itself, so where one of these ends a call, the call did not reach a worker.
NOT_SENT = (pickle.PickleError, AttributeError, ImportError, TypeError)


class Attempt(NamedTuple):
    """An evaluation that was given to the executor, for the first or the second time.

    Args:
        number: of the evaluation.
        params: its point.
        tries: 1 or 2.
    """

    number: int
    params: dict[str, Any]
    tries: int = 1


class GivenExecutor:
    """An executor that the caller made and will close.

    The errors of the objective are caught where it runs. Any other error is that of a lost worker: the evaluation is
    given to the executor once more. If the executor itself is broken, the run ends.
    """

    pulse: float = math.inf  # seconds after which `_check` is called while nothing finishes

    def __init__(self, objective: Objective, executor: Executor) -> None:
        self._objective = objective
        self._executor = executor
        self._running: dict[Future[Outcome], Attempt] = {}
        self._sent = SentObjective(pickled(objective)) if isinstance(executor, ProcessPoolExecutor) else None

    @property
    def room(self) -> int:
        """No limit: the executor has a queue of its own."""
        return 1_000_000

    def submit(self, number: int, params: dict[str, Any]) -> None:
        """Submit it to the executor."""
        self._begin(Attempt(number, params))

    def _begin(self, attempt: Attempt) -> None:
        try:
            self._running[self._call(attempt)] = attempt
        except NOT_SENT as error:
            raise not_sent(self._objective, "the executor's workers", error) from error
        except BrokenWorkersError:
            raise
        except RuntimeError as error:  # BrokenExecutor among them
            raise BrokenWorkersError(f"the executor takes no more work ({describe(error)})") from error

    def _call(self, attempt: Attempt) -> Future[Outcome]:
        if self._sent is not None:
            return self._executor.submit(evaluate_sent, self._sent, attempt.params, attempt.number)
        return self._executor.submit(evaluate, self._objective, attempt.params, attempt.number)

    def finished(self, patience: float | None = None) -> list[tuple[int, Outcome]]:
        """Wait for the executor, at most `patience` seconds."""
        end = math.inf if patience is None else time.monotonic() + patience
        while True:
            seconds = min(max(end - time.monotonic(), 0.0), self.pulse)
            timeout = seconds if math.isfinite(seconds) else None
            done, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
            outcomes = self._collect(sorted(done, key=lambda future: self._running[future].number))
            if outcomes or time.monotonic() >= end:
                return outcomes
            self._check()

    def _collect(self, done: list[Future[Outcome]]) -> list[tuple[int, Outcome]]:
        """The outcomes of what has finished; what was lost for the first time begins again."""
        outcomes: list[tuple[int, Outcome]] = []
        for future in done:
            attempt = self._running[future]
            try:
                outcome = self._outcome(future, attempt)
            except BrokenWorkersError:
                if outcomes:  # these first: the broken one is still there for the next call
                    return outcomes
                raise
            del self._running[future]
            if outcome is None:
                self._begin(attempt._replace(tries=attempt.tries + 1))
            else:
                outcomes.append((attempt.number, outcome))
        return outcomes

    def _outcome(self, future: Future[Outcome], attempt: Attempt) -> Outcome | None:
        """What it ended with; None if it is to be run again."""
        if future.cancelled():
            raise BrokenWorkersError(self._why_cancelled())
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, BrokenExecutor):
            raise BrokenWorkersError(f"a worker of the executor died ({describe(error)})") from error
        if isinstance(error, NotLoadedError):
            raise not_loaded("the executor's workers", error) from error
        if isinstance(error, NOT_SENT):
            raise not_sent(self._objective, "the executor's workers", error) from error
        if attempt.tries < ATTEMPTS:
            log.warning("evaluation %d was lost and runs again (%s)", attempt.number, describe(error))
            return None
        return Outcome(None, f"lost {ATTEMPTS} times ({describe(error)})")

    def _check(self) -> None:
        """Raise BrokenWorkersError if there is nothing to wait for any more."""

    def _why_cancelled(self) -> str:
        return "the executor cancelled an evaluation"

    def close(self) -> None:
        """Cancel what has not begun. The executor stays open."""
        for future in self._running:
            future.cancel()
