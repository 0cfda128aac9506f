"""`minimize` and `maximize`: ask, evaluate (in parallel if wished), store, tell, until the evaluations are used up."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any, Unpack

from compbo.bo.optimizer import Optimizer
from compbo.errors import OptionError
from compbo.records import last_failure
from compbo.run.interrupts import remembered_interrupts
from compbo.run.loop import Run
from compbo.run.options import SuggestionOptions
from compbo.run.plan import RunPlan
from compbo.run.progress import RunProgress
from compbo.space import Space
from compbo.storage import StoredRun
from compbo.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from compbo.evaluation import Objective
    from compbo.run.plan import Storage
    from compbo.run.result import Result

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
    **settings: Unpack[SuggestionOptions],
) -> Result:
    """Minimise an expensive function.

    Args:
        objective: gets one dictionary of parameters and returns a number (or an array or tensor of one element). An
            exception, None, NaN or infinity is a failed evaluation: it is recorded with its message and avoided from
            then on, and the run goes on. If all fail, the best value is None and a warning is logged.
        space: a `Space`, or a mapping of names to parameters.
        evaluations: how many in all, failed and resumed ones included.
        batch_size: points suggested jointly; all are evaluated before the next batch. Default: `workers`, or 1. The
            last batch is as large as what is left. With `asynchronous`, the number of evaluations kept running.
        seed: the only source of randomness.
        executor: where to evaluate: any `concurrent.futures.Executor`, for instance a thread pool, or a Dask client's
            `get_executor()`. It stays open.
        workers: instead of an executor, this number of processes. A process that dies is a failed evaluation.
        asynchronous: every finished evaluation makes room for a new one, suggested in view of those still running.
        timeout: seconds after which an evaluation is killed and has failed; needs `workers`.
        storage: an Optuna storage URL ("sqlite:///run.db"), file name or object. Every evaluation is committed before
            the next step; the same call again resumes, and suggests what an uninterrupted run would have.
        study_name: the name of the run in the storage.
        max_failures: stop with `TooManyFailuresError` when more evaluations than this have failed.
        progress: show a progress bar; None: only if stderr is a terminal.
        callback: called with the optimizer after every evaluation.
        settings: every other option of `Settings`: acquisition, maximizer, hyperparameters, noise, priors, kernel,
            outputs, initial_design, initial_points, starts, budget, minibatch.

    Returns:
        A `Result`: the best point and value, all evaluations as a table, the telemetry of every ask, a report.

    Raises:
        OptionError: a ValueError that names the option, before anything is evaluated.
        RunError: the run could not go on; what was evaluated is in its `result`.
        RunInterrupted: a KeyboardInterrupt with the same `result`.

    >>> import compbo
    >>> result = compbo.minimize(lambda p: (p["x"] - 1) ** 2, {"x": compbo.Float(-5, 5)}, evaluations=12, seed=0)
    >>> len(result.records), abs(result.best_params["x"] - 1) < 0.5
    (12, True)
    """
    plan = RunPlan(
        evaluations=evaluations,
        batch_size=batch_size,
        executor=executor,
        workers=workers,
        asynchronous=asynchronous,
        timeout=timeout,
        storage=storage,
        study_name=study_name,
        max_failures=max_failures,
        progress=progress,
        callback=callback,
    )
    return _with_warning(complete_run("minimize", objective, space, plan, seed, settings))


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
    **settings: Unpack[SuggestionOptions],
) -> Result:
    """Maximise an expensive function; arguments, result and errors are as for `minimize`.

    >>> import compbo
    >>> result = compbo.maximize(lambda p: -p["n"], {"n": compbo.Int(1, 4)}, evaluations=4, seed=0)
    >>> result.best_params, result.best_value
    ({'n': 1}, -1.0)
    """
    plan = RunPlan(
        evaluations=evaluations,
        batch_size=batch_size,
        executor=executor,
        workers=workers,
        asynchronous=asynchronous,
        timeout=timeout,
        storage=storage,
        study_name=study_name,
        max_failures=max_failures,
        progress=progress,
        callback=callback,
    )
    return _with_warning(complete_run("maximize", objective, space, plan, seed, settings))


def complete_run(
    direction: str,
    objective: Objective,
    space: Space | Mapping[str, Any],
    plan: RunPlan,
    seed: int,
    settings: Mapping[str, Any],
) -> Result:
    """The result of a plan: `minimize` and `maximize` without their warning; the command line has a warning of its own.

    Args:
        direction: "minimize" or "maximize".
        objective: as for `minimize`.
        space: as for `minimize`.
        plan: how the run is carried out.
        seed: the only source of randomness.
        settings: the other options of `Settings`.

    Returns:
        What the run found.
    """
    if not callable(objective):
        raise ValueError(f"The objective must be a function of one dictionary, got {type(objective).__name__}.")
    _check_names(direction, settings)
    if plan.executor is not None and plan.batch_size is None:
        log.warning("executor without batch_size evaluates one point at a time; say how many, e.g. batch_size=8")
    space = space if isinstance(space, Space) else Space(space)
    optimizer = Optimizer(space, direction=direction, batch_size=plan.points_per_ask, seed=seed, **settings)
    evaluator = plan.evaluator(objective)
    with remembered_interrupts() as interrupted:
        try:
            store = StoredRun.open(plan.storage, plan.study_name, space, optimizer.settings)
        except BaseException as error:
            evaluator.close()
            if interrupted.is_set():
                raise KeyboardInterrupt from error
            raise
        progress = RunProgress(plan.evaluations, show=plan.progress)
        return Run(optimizer, plan, evaluator, store, progress, plan.callback, interrupted).complete()


def _with_warning(result: Result) -> Result:
    """The result; if there is no value in it, a line in the log says so."""
    if result.records and result.best is None:
        log.warning(
            "Every evaluation failed, so there is no best value; the last one: %s", last_failure(result.records)
        )
    return result


def _check_names(caller: str, settings: Iterable[str]) -> None:
    """OptionError for a keyword that neither the run nor the method knows."""
    for name in settings:
        if name == "direction":
            raise OptionError(name, "{option} is not an option here: call compbo.minimize or compbo.maximize.")
        if name not in SuggestionOptions.__annotations__:
            own = [p.name for p in inspect.signature(minimize).parameters.values() if p.kind is p.KEYWORD_ONLY]
            known = sorted([*own, *SuggestionOptions.__annotations__])
            raise OptionError(
                name,
                "{caller}: {name!r} is not an option; {hint} {known}.",
                caller=caller,
                name=name,
                hint=f"{near} There are" if (near := did_you_mean(name, known)) else "there are",
                known=", ".join(known),
            )
