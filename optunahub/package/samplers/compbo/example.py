"""Minimise a quadratic over mixed parameters, four trials planned together."""

import optuna
import optunahub

module = optunahub.load_module(package="samplers/compbo")


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -10, 10)
    n = trial.suggest_int("n", 1, 100, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    return (x - 2) ** 2 + abs(n - 10) + (kind == "a")


study = optuna.create_study(sampler=module.CompBOSampler(seed=0, batch_size=4))
study.optimize(objective, n_trials=40)
print(study.best_trial.params)
