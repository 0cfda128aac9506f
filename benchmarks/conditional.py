"""Optuna's samplers on objectives with conditional parameters: results/conditional.csv, the table of docs/optuna.md.

python -m benchmarks.conditional          what the table is made of; what the file holds is not run again
python -m benchmarks.conditional --page   the table alone
"""

from __future__ import annotations

import argparse
import csv
import math
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchmarks.readme import filled
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from optuna import Trial
    from optuna.samplers import BaseSampler

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "conditional.csv"
PAGE = ROOT / "docs" / "optuna.md"
MARK = "conditional"
TRIALS, SEEDS = 60, 5
COLUMNS = ("objective", "sampler", "seed", "best")


def models(trial: Trial) -> float:
    """Three models with parameters of their own; a network of two layers has one more. The smallest loss is 0."""
    kind = trial.suggest_categorical("model", ["svm", "forest", "network"])
    if kind == "svm":
        c, gamma = trial.suggest_float("C", 1e-3, 1e3, log=True), trial.suggest_float("gamma", 1e-4, 10.0, log=True)
        return (math.log10(c) - 1) ** 2 / 10 + (math.log10(gamma) + 2) ** 2 / 10 + 0.3
    if kind == "forest":
        depth, share = trial.suggest_int("depth", 1, 20), trial.suggest_float("share", 0.1, 1.0)
        return (depth - 12) ** 2 / 150 + (share - 0.4) ** 2 + 0.15
    layers = trial.suggest_int("layers", 1, 3)
    loss = (math.log10(trial.suggest_float("lr", 1e-5, 0.1, log=True)) + 3) ** 2 / 6 + 0.2 * (layers != 2)
    return loss + 2 * (trial.suggest_float("dropout", 0.0, 0.8) - 0.3) ** 2 if layers > 1 else loss


def layers(trial: Trial) -> float:
    """One to five layers, each with a width of its own; four are best. The smallest loss is 0."""
    count = trial.suggest_int("layers", 1, 5)
    rate = trial.suggest_float("lr", 1e-5, 0.1, log=True)
    widths = [trial.suggest_int(f"width{i}", 8, 512, log=True) for i in range(count)]
    off = sum((math.log2(width / 2 ** (8 - i))) ** 2 for i, width in enumerate(widths)) / (20 * count)
    return (math.log10(rate) + 2.5) ** 2 / 8 + off + 0.1 * abs(count - 4)


def steps(trial: Trial) -> float:
    """Two optimisers that share a weight decay, one with a schedule that may be left out. The smallest loss is 0."""
    decay = trial.suggest_float("decay", 1e-6, 1e-1, log=True)
    loss = (math.log10(decay) + 4) ** 2 / 12
    if trial.suggest_categorical("optimiser", ["sgd", "adam"]) == "adam":
        rate, beta = trial.suggest_float("lr_adam", 1e-5, 0.1, log=True), trial.suggest_float("beta1", 0.5, 0.999)
        return loss + (math.log10(rate) + 3) ** 2 / 6 + (beta - 0.9) ** 2 * 2 + 0.05
    rate, momentum = trial.suggest_float("lr_sgd", 1e-4, 1.0, log=True), trial.suggest_float("momentum", 0.0, 0.99)
    loss += (math.log10(rate) + 1) ** 2 / 6 + (momentum - 0.8) ** 2
    if trial.suggest_categorical("schedule", [True, False]):
        return loss + (trial.suggest_float("warm_up", 0.0, 0.5) - 0.1) ** 2 * 4
    return loss + 0.1


@cache
def _diabetes() -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import load_diabetes
    from sklearn.preprocessing import StandardScaler

    x, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(x), (y - y.mean()) / y.std()


def regression(trial: Trial) -> float:
    """Support vector regression on the diabetes data, mean squared error of three folds, in units of the variance."""
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVR

    kernel = trial.suggest_categorical("kernel", ["linear", "rbf", "poly"])
    options: dict[str, Any] = {
        "C": trial.suggest_float("C", 1e-3, 100.0, log=True),
        "epsilon": trial.suggest_float("epsilon", 1e-3, 1.0, log=True),
    }
    if kernel != "linear":
        options["gamma"] = trial.suggest_float("gamma", 1e-4, 1.0, log=True)
    if kernel == "poly":
        options["degree"] = trial.suggest_int("degree", 2, 4)
        options["coef0"] = trial.suggest_float("coef0", 0.0, 2.0)
    model = SVR(kernel=kernel, max_iter=20_000, **options)
    return -float(cross_val_score(model, *_diabetes(), cv=3, scoring="neg_mean_squared_error").mean())


OBJECTIVES: dict[str, Callable[[Trial], float]] = {
    "three models": models,
    "layers": layers,
    "two optimisers": steps,
    "SVR on diabetes": regression,
}


def _samplers() -> dict[str, Callable[[int], BaseSampler]]:
    """Of every method, what makes its sampler for a seed."""
    from optuna.samplers import GPSampler, RandomSampler, TPESampler

    from compbo.integrations.optuna import CompBOSampler

    return {
        "compbo": lambda seed: CompBOSampler(seed=seed),
        "TPE": lambda seed: TPESampler(seed=seed),
        "TPE, multivariate, groups": lambda seed: TPESampler(seed=seed, multivariate=True, group=True),
        "Optuna's GP": lambda seed: GPSampler(seed=seed),
        "random": lambda seed: RandomSampler(seed=seed),
    }


def measure() -> None:
    """Run what the file does not hold yet, and write it row by row."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore")  # multivariate TPE is experimental; a support vector machine may end early
    there = set() if not RESULTS.exists() else {tuple(row[:3]) for row in csv.reader(RESULTS.open(encoding="utf-8"))}
    with RESULTS.open("a", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if not there:
            rows.writerow(COLUMNS)
        for seed in range(SEEDS):
            for name, objective in OBJECTIVES.items():
                for method, make in _samplers().items():
                    if (name, method, str(seed)) not in there:
                        study = optuna.create_study(sampler=make(seed))
                        study.optimize(objective, n_trials=TRIALS)
                        rows.writerow((name, method, seed, repr(study.best_value)))
                        file.flush()


def table_of(runs: pd.DataFrame) -> str:
    """The median of the last best loss over the seeds, in Markdown.

    Args:
        runs: the rows of the file.

    Returns:
        A row for every sampler, in brackets its best and its worst seed.
    """
    objectives = [name for name in OBJECTIVES if name in set(runs["objective"])]
    lines = [f"| sampler | {' | '.join(objectives)} |", "|---" * (len(objectives) + 1) + "|"]
    for method in dict.fromkeys(runs["sampler"]):
        cells = []
        for name in objectives:
            last = runs[(runs["sampler"] == method) & (runs["objective"] == name)]["best"]
            cells.append(f"{last.median():.3g} [{last.min():.3g}, {last.max():.3g}]")
        lines.append(f"| {f'**{method}**' if method == 'compbo' else method} | {' | '.join(cells)} |")
    seeds = counted(runs["seed"].nunique(), "seed")
    return "\n".join([*lines, "", f"The last best loss after {TRIALS} trials: the median of {seeds} [best, worst]."])


def page(text: str) -> str:
    """The page of Optuna with its table brought up to date.

    Args:
        text: of the page.

    Returns:
        The new text.
    """
    return filled(text, MARK, f"\n\n{table_of(pd.read_csv(RESULTS))}\n\n")


def main() -> None:
    """Read the command line; measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conditional", description=__doc__.splitlines()[0])
    parser.add_argument("--page", action="store_true", help="write the table alone")
    if not parser.parse_args().page:
        measure()
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
