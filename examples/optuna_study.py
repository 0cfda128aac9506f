"""An Optuna study with compbo's sampler, and a page of verdicts in optuna-dashboard.

Look at: whether the acquisition functions were really maximised. `pip install "compbo[dashboard]"`, run this, then
`optuna-dashboard sqlite:///optuna_study.db` and open the address it prints; the figure is on the page of the study.
"""

import importlib.util

import optuna

from compbo.integrations.optuna import CompBOSampler, save_verdict_plot, telemetry


def objective(trial):
    x = trial.suggest_float("x", -5, 10)
    y = trial.suggest_float("y", 0, 15)
    steps = trial.suggest_int("steps", 1, 8)
    return (y - 0.13 * x**2 + 1.6 * x - 6) ** 2 + (steps - 3) ** 2


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name="example",
        storage="sqlite:///optuna_study.db",
        sampler=CompBOSampler(seed=0),  # the one line that is compbo's
        load_if_exists=True,
    )
    study.optimize(objective, n_trials=24)
    print("best:", study.best_params, study.best_value)
    for number, entry in list(telemetry(study).items())[-3:]:
        print(f"trial {number}: {entry.verdict} ({entry.reason})")
    if importlib.util.find_spec("optuna_dashboard") is None:
        print('For the dashboard: pip install "compbo[dashboard]", and run this again.')
    else:
        save_verdict_plot(study)
        print("Open it with: optuna-dashboard sqlite:///optuna_study.db")
