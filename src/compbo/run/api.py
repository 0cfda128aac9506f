"""`minimize` and `maximize`: ask, evaluate (in parallel if wished), store, tell, until the evaluations are used up."""

from __future__ import annotations

import inspect
import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Never

from compbo.bo.settings import BUDGET, STARTS, refuse_unknown
from compbo.errors import OptionError
from compbo.records import last_failure
from compbo.run.complete import complete_run
from compbo.run.plan import RunPlan
from compbo.run.stops import Stopped, say_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.portfolio import Portfolio
    from compbo.bo.optimizer import Optimizer
    from compbo.bo.starts import StartPolicy
    from compbo.evaluation import Objective
    from compbo.maximizers import Maximizer
    from compbo.run.plan import Storage
    from compbo.run.result import Result
    from compbo.space import Space
    from compbo.types import Budget

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
    retry_failed: bool = False,
    time_limit: float | None = None,
    target: float | None = None,
    progress: bool | None = None,
    callback: Callable[[Optimizer], object] | None = None,
    acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition] = "portfolio",
    maximizer: str | Maximizer | Callable[..., Any] = "CAdam",
    hyperparameters: Mapping[str, Any] = MappingProxyType({}),
    kernel: str = "matern52",
    priors: str = "shared-choices",
    outputs: str = "auto",
    inputs: str = "none",
    noise: float | None = None,
    model_points: int | None = 1280,
    initial_design: Literal["sobol", "uniform"] = "sobol",
    initial_points: int | None = None,
    starts: StartPolicy = STARTS,
    budget: Budget = BUDGET,
    minibatch: int = 128,
    **unknown: Never,
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
            `get_executor()`. It stays open. An evaluation whose worker is lost runs once more, and has then failed.
        workers: instead of an executor, this number of processes. A process that dies is a failed evaluation. The
            objective may be a lambda, or defined in the cell of a notebook.
        asynchronous: every finished evaluation makes room for a new one, suggested in view of those still running.
        timeout: seconds after which an evaluation is killed and has failed; needs `workers`.
        storage: an Optuna storage URL ("sqlite:///run.db"), file name or object. Every evaluation is committed before
            the next step; the same call again resumes, and suggests what an uninterrupted run would have.
        study_name: the name of the run in the storage.
        max_failures: stop with `TooManyFailuresError` when more evaluations than this have failed. None: stop with
            `AlwaysFailsError` if the whole initial design, or the first 5, fail with the same error.
        retry_failed: of a stored run that is resumed, first evaluate again what has failed.
        time_limit: seconds of this call after which nothing new is begun; what runs in worker processes is stopped,
            and evaluated again on resuming. An evaluation in this process, or an ask, is not cut short.
        target: stop when a value is as good as this one.
        progress: show a progress bar; None: only if stderr is a terminal, or in a notebook.
        callback: called with the optimizer after every evaluation; it stops the run by returning `compbo.STOP`.
        acquisition: a name (ei, pi, sr, ucb, logei), a value such as `UCB(beta=0.5)`, a list of them that take turns
            from ask to ask, or "portfolio": UCB and SR in turn, with a larger beta for a single point among choices
            with nothing pending.
        maximizer: a name of the catalogue, a `Maximizer`, or a function with a `form` (docs/own_parts.md).
        hyperparameters: of the maximizer, where it is given by its name; the others keep their defaults.
        kernel: of the Gaussian process, "matern52", "se", "linear" or "cosine".
        priors: of its hyperparameters, "shared-choices", "paper" or "dimension-scaled".
        outputs: monotone transform of the values before the fit: "auto", "none", "yeo-johnson", "log", "log-fitted"
            or "evidence", which is "auto".
        inputs: "warped" for a monotone map of every parameter that is fitted with the model, or "none".
        noise: standard deviation of the values in the units of the objective, 0 for none; None to learn it.
        model_points: observations that the model rests on, where there are more; None: all.
        initial_design: "sobol" or "uniform".
        initial_points: before the first suggestion of a model; None: two per dimension, from 2 to 16, at least a batch.
        starts: raw batches and restarts of a maximisation.
        budget: steps, seconds and memory of a maximisation.
        minibatch: samples K of one step.
        unknown: an option that does not exist is refused with the names of those that do.

    Returns:
        A `Result`: the best point and value, all evaluations as a table, the telemetry of every ask, a report, and why
        the run ended (`result.stopped`). Ctrl-C ends it too, with a warning in the log that says how to resume.

    Raises:
        OptionError: a ValueError that names the option, before anything is evaluated.
        RunError: the run could not go on; what was evaluated is in its `result`.

    >>> import compbo
    >>> result = compbo.minimize(lambda p: (p["x"] - 1) ** 2, {"x": compbo.Float(-5, 5)}, evaluations=12, seed=0)
    >>> len(result.records), abs(result.best_params["x"] - 1) < 0.5
    (12, True)
    """
    _check_names("minimize", unknown)
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
        retry_failed=retry_failed,
        time_limit=time_limit,
        target=target,
        progress=progress,
        callback=callback,
    )
    settings: dict[str, Any] = {
        "acquisition": acquisition,
        "maximizer": maximizer,
        "hyperparameters": hyperparameters,
        "kernel": kernel,
        "priors": priors,
        "outputs": outputs,
        "inputs": inputs,
        "noise": noise,
        "model_points": model_points,
        "initial_design": initial_design,
        "initial_points": initial_points,
        "starts": starts,
        "budget": budget,
        "minibatch": minibatch,
    }
    return _with_warning(complete_run("minimize", objective, space, plan, seed, settings), plan)


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
    retry_failed: bool = False,
    time_limit: float | None = None,
    target: float | None = None,
    progress: bool | None = None,
    callback: Callable[[Optimizer], object] | None = None,
    acquisition: str | Acquisition | Portfolio | Sequence[str | Acquisition] = "portfolio",
    maximizer: str | Maximizer | Callable[..., Any] = "CAdam",
    hyperparameters: Mapping[str, Any] = MappingProxyType({}),
    kernel: str = "matern52",
    priors: str = "shared-choices",
    outputs: str = "auto",
    inputs: str = "none",
    noise: float | None = None,
    model_points: int | None = 1280,
    initial_design: Literal["sobol", "uniform"] = "sobol",
    initial_points: int | None = None,
    starts: StartPolicy = STARTS,
    budget: Budget = BUDGET,
    minibatch: int = 128,
    **unknown: Never,
) -> Result:
    """Maximise an expensive function; arguments, result and errors are as for `minimize`.

    >>> import compbo
    >>> result = compbo.maximize(lambda p: -p["n"], {"n": compbo.Int(1, 4)}, evaluations=4, seed=0)
    >>> result.best_params, result.best_value
    ({'n': 1}, -1.0)
    """
    _check_names("maximize", unknown)
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
        retry_failed=retry_failed,
        time_limit=time_limit,
        target=target,
        progress=progress,
        callback=callback,
    )
    settings: dict[str, Any] = {
        "acquisition": acquisition,
        "maximizer": maximizer,
        "hyperparameters": hyperparameters,
        "kernel": kernel,
        "priors": priors,
        "outputs": outputs,
        "inputs": inputs,
        "noise": noise,
        "model_points": model_points,
        "initial_design": initial_design,
        "initial_points": initial_points,
        "starts": starts,
        "budget": budget,
        "minibatch": minibatch,
    }
    return _with_warning(complete_run("maximize", objective, space, plan, seed, settings), plan)


def _with_warning(result: Result, plan: RunPlan) -> Result:
    """The result; if it was interrupted, or there is no value in it, a line in the log says so."""
    if result.stopped is Stopped.INTERRUPTED:
        say_interrupted(result, plan)
    elif result.all_failed:
        log.warning(
            "Every evaluation failed, so there is no best value; the last one: %s", last_failure(result.records)
        )
    return result


def _check_names(caller: str, unknown: Iterable[str]) -> None:
    """OptionError for a keyword that does not exist."""
    if "direction" in unknown:
        raise OptionError("direction", "{option} is not an option here: call compbo.minimize or compbo.maximize.")
    parameters = inspect.signature(minimize).parameters.values()
    refuse_unknown(caller, unknown, (p.name for p in parameters if p.kind is p.KEYWORD_ONLY))
