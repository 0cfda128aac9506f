"""How a run is carried out: how many evaluations, where they run, where they are kept."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compbo.errors import OptionError
from compbo.inputs import positive_seconds, real, whole_number
from compbo.run.dask_executor import DaskExecutor, is_dask
from compbo.run.executors import InProcess, WorkerProcesses
from compbo.run.given_executor import GivenExecutor

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from optuna.storages import BaseStorage

    from compbo.bo.optimizer import Optimizer
    from compbo.evaluation import Objective
    from compbo.run.executors import Evaluator

    Storage = str | os.PathLike[str] | BaseStorage


@dataclass(frozen=True)
class RunPlan:
    """The options of `minimize` and `maximize` that do not change a suggestion, checked, and the size of a batch.

    The fields are as for `minimize`.
    """

    evaluations: int
    batch_size: int | None = None
    executor: Executor | None = None
    workers: int | None = None
    asynchronous: bool = False
    timeout: float | None = None
    storage: Storage | None = None
    study_name: str = "compbo"
    max_failures: int | None = None
    retry_failed: bool = False
    time_limit: float | None = None
    target: float | None = None
    progress: bool | None = None
    callback: Callable[[Optimizer], object] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be carried out, before anything is evaluated."""
        for name, least in (("evaluations", 1), ("batch_size", 1), ("workers", 1), ("max_failures", 0)):
            value = getattr(self, name)
            if value is not None or name == "evaluations":
                object.__setattr__(self, name, whole_number(name, value, least))
        self._check_executor()
        self._check_asynchronous()
        for name in ("timeout", "time_limit"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive_seconds(name, getattr(self, name)))
        if self.target is not None:
            if not math.isfinite(real(self.target)):
                raise OptionError("target", "{option} must be a finite number, got {given!r}.", given=self.target)
            object.__setattr__(self, "target", real(self.target))
        if self.timeout is not None and self.workers is None:
            raise OptionError(
                "timeout", "{option} needs {workers}: only an evaluation in a process of its own can be stopped."
            )
        if not isinstance(self.study_name, str) or not self.study_name:
            raise OptionError("study_name", "{option} is empty: leave it out, or give the run a name.")
        if self.callback is not None and not callable(self.callback):
            raise OptionError(
                "callback", "{option} must be a function of the optimizer, got {given!r}.", given=self.callback
            )

    def _check_executor(self) -> None:
        if self.executor is None:
            return
        if self.workers is not None:
            raise OptionError("executor", "Pass {option} or {workers}, not both: {workers} makes processes of its own.")
        if not isinstance(self.executor, Executor):
            raise OptionError(
                "executor",
                "{option} must be a concurrent.futures.Executor, got {kind} (of a Dask client, pass "
                "client.get_executor()).",
                kind=type(self.executor).__name__,
            )

    def _check_asynchronous(self) -> None:
        if not self.asynchronous or self.executor is not None:
            return
        if self.workers is None:
            raise OptionError(
                "asynchronous",
                "{option} needs {workers}: how many evaluations are to be kept running?",
                note="An executor will do as well, with batch_size.",
            )
        if self.batch_size not in (None, self.workers):
            raise OptionError(
                "batch_size",
                "{asynchronous} with {workers:{count}} keeps {count} evaluations running: leave {option:{given}} out.",
                count=self.workers,
                given=self.batch_size,
            )

    @property
    def points_per_ask(self) -> int:
        """How many points are suggested together: `batch_size`, or else one per worker."""
        return self.batch_size or self.workers or 1

    def evaluator(self, objective: Objective) -> Evaluator:
        """What evaluates the objective."""
        if self.executor is not None:
            kind = DaskExecutor if is_dask(self.executor) else GivenExecutor
            return kind(objective, self.executor)
        if self.workers is not None:
            return WorkerProcesses(objective, self.workers, self.timeout)
        return InProcess(objective)
