"""`minimize` and `maximize`: ask, evaluate (in parallel if wished), store, tell, until the evaluations are used up."""

from __future__ import annotations

import logging
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from compbo.bo.optimizer import Optimizer
from compbo.bo.settings import Settings
from compbo.run.interrupts import remembered_interrupts
from compbo.run.loop import Plan, Result, Run
from compbo.run.progress import Progress
from compbo.space import Space
from compbo.storage import StoredRun

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from optuna.storages import BaseStorage

    from compbo.evaluation import Objective

    Storage = str | os.PathLike[str] | BaseStorage

log = logging.getLogger(__name__)


def minimize(
    objective: Objective,
    space: Space | Mapping[str, Any],
    *,
    evaluations: int,
    batch_size: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    workers: int | None = None,
    asynchronous: bool = False,
    timeout: float | None = None,
    storage: Storage | None = None,
    study_name: str = "compbo",
    max_failures: int | None = None,
    progress: bool | None = None,
    callback: Callable[[Optimizer], None] | None = None,
    **settings: Any,
) -> Result:
    """Minimise an expensive function.

    Args:
        objective: gets one dictionary of parameters and returns a number (or an array or tensor of one element). An
            exception, None, NaN or infinity is a failed evaluation: recorded with its message, avoided from then on,
            and no reason to stop. If all fail, the best value is None and a warning is logged.
        space: a `Space`, or a mapping of names to parameters.
        evaluations: how many in all, failed and resumed ones included.
        batch_size: points suggested jointly; all are evaluated before the next batch. Default: `workers`, or 1. The
            last batch is as large as what is left. With `asynchronous`, the number of evaluations kept running.
        seed: the only source of randomness.
        executor: where to evaluate: any `concurrent.futures.Executor`, for instance a thread pool, or a Dask client's
            `get_executor()`. It stays open.
        workers: instead of an executor, so many processes of our own. A process that dies is a failed evaluation.
        asynchronous: every finished evaluation makes room for a new one, suggested in view of those still running.
        timeout: seconds after which an evaluation is killed and has failed; needs `workers`.
        storage: an Optuna storage URL ("sqlite:///run.db"), file name or object. Every evaluation is committed before
            the next step; the same call again resumes, and suggests what an uninterrupted run would have.
        study_name: the name of the run in the storage.
        max_failures: raise TooManyFailuresError when more evaluations than this have failed.
        progress: show a progress bar; None: only if stderr is a terminal.
        callback: called with the optimizer after every evaluation.
        settings: every other option of `Optimizer`: acquisition, maximizer, hyperparameters, noise, priors, kernel,
            initial_design, initial_points, starts, budget, minibatch.
    """
    return _run("minimize", **locals())


def maximize(
    objective: Objective,
    space: Space | Mapping[str, Any],
    *,
    evaluations: int,
    batch_size: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    workers: int | None = None,
    asynchronous: bool = False,
    timeout: float | None = None,
    storage: Storage | None = None,
    study_name: str = "compbo",
    max_failures: int | None = None,
    progress: bool | None = None,
    callback: Callable[[Optimizer], None] | None = None,
    **settings: Any,
) -> Result:
    """Maximise an expensive function; the arguments are those of `minimize`."""
    return _run("maximize", **locals())


def _run(
    direction: str,
    objective: Objective,
    space: Space | Mapping[str, Any],
    *,
    batch_size: int | None,
    seed: int,
    storage: Storage | None,
    study_name: str,
    progress: bool | None,
    callback: Callable[[Optimizer], None] | None,
    settings: dict[str, Any],
    **how: Any,
) -> Result:
    if not callable(objective):
        raise ValueError(f"The objective must be a function of one dictionary, got {type(objective).__name__}.")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of the optimizer, got {type(callback).__name__}.")
    _check_names(direction, settings)
    plan = Plan(**how)
    if plan.asynchronous and plan.workers is not None and batch_size not in (None, plan.workers):
        raise ValueError(
            f"asynchronous with workers={plan.workers} keeps {plan.workers} evaluations running: "
            f"leave batch_size out (got {batch_size})."
        )
    if plan.executor is not None and batch_size is None:
        log.warning("executor without batch_size evaluates one point at a time; say how many, e.g. batch_size=8")
    space = space if isinstance(space, Space) else Space(space)
    size = batch_size if batch_size is not None else (plan.workers or 1)
    optimizer = Optimizer(space, direction=direction, batch_size=size, seed=seed, **settings)
    evaluator = plan.evaluator(objective)
    with remembered_interrupts() as interrupted:
        try:
            store = StoredRun.open(storage, study_name, space, optimizer.settings)
        except BaseException as error:
            evaluator.close()
            if interrupted.is_set():
                raise KeyboardInterrupt from error
            raise
        shown = Progress(plan.evaluations, show=progress)
        return Run(optimizer, plan, evaluator, store, shown, callback, interrupted).complete()


def _check_names(caller: str, settings: dict[str, Any]) -> None:
    own = {"batch_size", "direction", "seed"}
    known = sorted({f.name for f in fields(Settings)} - own)
    for name in settings:
        if name == "direction":
            raise ValueError("direction is not an option here: call compbo.minimize or compbo.maximize.")
        if name not in known:
            arguments = sorted(set(minimize.__annotations__) - {"objective", "space", "settings", "return"})
            raise ValueError(
                f"{caller}: {name!r} is not an option; there are {', '.join(sorted({*arguments, *known}))}."
            )
