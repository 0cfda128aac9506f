"""Evaluations on a Dask cluster, through the executor of a client.

Dask runs what a dead worker had again on another one, several times. An evaluation that kills its workers would take
them all down, so every attempt leaves its count on the scheduler before it begins, and the third one does not begin.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from typing import TYPE_CHECKING, Any

from compbo.evaluation import Outcome, evaluate
from compbo.run.executors import BrokenWorkersError
from compbo.run.given_executor import ATTEMPTS, GivenExecutor
from compbo.run.sent_objective import SentObjective, pickled

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from compbo.evaluation import Objective
    from compbo.run.given_executor import Attempt

log = logging.getLogger(__name__)


def is_dask(executor: Executor) -> bool:
    """Whether it is what `distributed.Client.get_executor` returns; Dask is not imported to see that."""
    return type(executor).__module__.partition(".")[0] == "distributed"


def evaluate_on_worker(objective: SentObjective, params: dict[str, Any], run: str, number: int, tries: int) -> Outcome:  # noqa: ARG001
    """What a Dask worker does: evaluate, unless the evaluation has already cost two workers.

    Args:
        objective: as bytes; the scheduler, which looks into every call, need not have what it imports.
        params: the point.
        run: a name that no other run has.
        number: of the evaluation.
        tries: of the caller; it is not used, but Dask takes equal calls for the same one.
    """
    from distributed import get_client

    scheduler = get_client()
    begun = scheduler.get_metadata([run, str(number)], default=0)
    if begun >= ATTEMPTS:
        return Outcome(None, f"its worker died, {ATTEMPTS} times")
    scheduler.set_metadata([run, str(number)], begun + 1)
    return evaluate(objective.load(), params)


class DaskExecutor(GivenExecutor):
    """The executor of a Dask client. What a dead worker had runs again; a lost scheduler ends the run."""

    pulse = 2.0

    def __init__(self, objective: Objective, executor: Executor) -> None:
        super().__init__(objective, executor)
        self._client: Any = executor._client  # type: ignore[attr-defined]  # Dask has no public name for it
        self._run = f"compbo-{uuid.uuid4().hex}"
        self._bytes = SentObjective(pickled(objective, by_value=True))
        self._waits_for_workers = False

    def _call(self, attempt: Attempt) -> Future[Outcome]:
        if self._client.status != "running":
            raise BrokenWorkersError(self._why_cancelled())
        arguments = (self._bytes, attempt.params, self._run, attempt.number, attempt.tries)
        return self._executor.submit(evaluate_on_worker, *arguments)

    def _check(self) -> None:
        if self._client.status != "running":
            raise BrokenWorkersError(self._why_cancelled())
        try:
            workers = len(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise BrokenWorkersError(self._why_cancelled()) from error
        if workers == 0 and not self._waits_for_workers:
            log.warning("the Dask cluster has no workers; the run waits until there is one")
        self._waits_for_workers = workers == 0

    def _why_cancelled(self) -> str:
        address = self._client.scheduler.address if self._client.scheduler is not None else ""
        if self._client.status == "running":
            return f"the Dask scheduler at {address} cancelled an evaluation"
        return f"the Dask scheduler at {address} is gone"

    def close(self) -> None:
        """Cancel what has not begun, and take the counts from the scheduler. The executor stays open."""
        super().close()
        if self._client.status == "running":
            with contextlib.suppress(OSError, TimeoutError):  # it is gone now, and the counts with it
                self._client.set_metadata([self._run], {})
