"""Runs for the tests of the report, filled by hand so that they cost nothing."""

from __future__ import annotations

import math

import optuna
import torch

from compbo.bo.history import History
from compbo.bo.optimizer import Optimizer
from compbo.bo.settings import Settings
from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import Verdict
from compbo.evaluation import told_evaluation
from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space

SCRIPT = "<script>alert(1)</script>"
MESSAGE = f'{SCRIPT} said "no",\nthen & stopped \u2028'


def hostile_space() -> Space:
    """Every kind of parameter, under names that a careless page would run, format or colour."""
    return Space(
        {
            SCRIPT: Float(-5, 5, scale="bilog"),
            "learning rate": Float(1e-5, 0.1, scale="log"),
            "a & b\u2028</script>": Categorical([SCRIPT, "</script>", None, True, "%{x}", "$ink", "x" * 80]),
            "value": Bool(),
            "$blue": Int(1, 10**6, scale="log"),
            "%{y}": Ordinal([1, 2, 5]),
            "n" * 120: Int(0, 1000),
            "share": Float(0.01, 0.99, scale="logit"),
            "fixed": Constant("'\"><img src=x onerror=alert(2)>"),
        }
    )


def hostile_run(evaluations: int = 40) -> Optimizer:
    """A maximisation with failures, pending points, every verdict and telemetry that is not finite."""
    space = hostile_space()
    points = space.sample(evaluations, torch.Generator().manual_seed(0))
    values = [None if i % 7 == 3 else 1.0 + points[i][SCRIPT] ** 2 + i % 5 for i in range(evaluations)]
    messages = [MESSAGE if value is None else "" for value in values]
    told = tuple(told_evaluation(point, None, *each) for point, *each in zip(points, values, messages, strict=True))
    pending = tuple(space.sample(2, torch.Generator().manual_seed(1)))
    nothing = Telemetry(Verdict.DEGRADED, SCRIPT, start_values=(math.nan, -math.inf), end_values=(math.nan, math.inf))
    asks = [*(telemetry(verdict, number) for number, verdict in enumerate(Verdict)), nothing]
    settings = Settings(direction="maximize", batch_size=2, initial_points=4)
    return Optimizer.resume(space, settings, History(told, pending), asks)


def optuna_study(url: str) -> optuna.Study:
    """Conditional parameters; trials pruned with and without a value, failed before and after a parameter, running."""

    def objective(trial: optuna.Trial) -> float:
        if trial.number == 5:
            raise RuntimeError("before any parameter")
        kind = trial.suggest_categorical("kind", ["svm", "forest"])
        rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
        if trial.number == 7:
            raise RuntimeError("in the middle")
        if kind == "svm":
            value = abs(trial.suggest_float("penalty", 0.1, 2.0) - 1.0) + 0.1 * rate
        else:
            value = 0.6 + 0.1 * abs(trial.suggest_int("depth", 1, 12) - 6) + 0.1 * rate
        if trial.number % 10 == 4:
            trial.report(9.0, 0)
            trial.report(3.0 * value, 1)
        if trial.number % 10 in (3, 4):
            raise optuna.TrialPruned
        return 1e6 if trial.number == 11 else value

    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(study_name="others", storage=url, sampler=sampler)
    study.optimize(objective, n_trials=40, catch=(RuntimeError,))
    study.ask()  # running, without a parameter yet
    study.ask().suggest_categorical("kind", ["svm", "forest"])
    study.enqueue_trial({"kind": "svm"})
    return study


def telemetry(verdict: Verdict, number: int) -> Telemetry:
    """An ask as `propose` describes it; the initial design has no acquisition values."""
    if verdict == Verdict.DESIGN:
        return Telemetry(verdict, "point 1 on of the sobol design", points=2, start_seconds=0.01)
    return Telemetry(
        verdict,
        f"{SCRIPT} {'because ' * 20}",
        observations=8 + number,
        points=2,
        acquisition_value=2.0 + number,
        acquisition_error=0.05,
        acquisition_gain=0.5,
        spread=0.1,
        start_values=(1.0, 0.5, math.nan, 1.5),
        end_values=(2.0 + number, 1.5, -math.inf, 1.75),
        gradient_norms=(0.1,) * 4,
        statuses=("done",) * 4,
        winner=0,
        ascent_steps=64,
        fit_seconds=0.2,
        start_seconds=0.1,
        maximise_seconds=0.7,
        maximizer="CAdam-ME",
        acquisition="ucb",
    )


def plain_run(evaluations: int, parameters: int = 1, **settings: object) -> Optimizer:
    """A quadratic of real parameters, minimised."""
    space = Space({f"x{i}": Float(0, 1) for i in range(parameters)})
    optimizer = Optimizer(space, **settings)
    points = space.sample(evaluations, torch.Generator().manual_seed(0))
    optimizer.tell(points, [0.01 + sum((v - 0.3) ** 2 for v in point.values()) for point in points])
    return optimizer


def failed_run() -> Optimizer:
    """Three failures and nothing else."""
    optimizer = plain_run(0)
    points = optimizer.space.sample(3, torch.Generator().manual_seed(0))
    optimizer.tell(points, [None, math.nan, math.inf], [MESSAGE, "", ""])
    return optimizer


def constant_run() -> Optimizer:
    """An objective that always says the same."""
    optimizer = plain_run(0)
    optimizer.tell(optimizer.space.sample(6, torch.Generator().manual_seed(0)), [2.0] * 6)
    return optimizer
