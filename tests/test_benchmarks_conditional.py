"""The objectives with conditional parameters, and the table made of their runs."""

from __future__ import annotations

from typing import Any

import optuna
import pandas as pd
import pytest
from benchmarks import conditional


@pytest.mark.parametrize(
    ("name", "params", "least"),
    [
        ("three models", {"model": "network", "layers": 2, "lr": 1e-3, "dropout": 0.3}, 0.0),
        ("three models", {"model": "forest", "depth": 12, "share": 0.4}, 0.15),
        ("three models", {"model": "svm", "C": 10.0, "gamma": 1e-2}, 0.3),
        ("layers", {"layers": 4, "lr": 10**-2.5, "width0": 256, "width1": 128, "width2": 64, "width3": 32}, 0.0),
        (
            "two optimisers",
            {"decay": 1e-4, "optimiser": "sgd", "lr_sgd": 0.1, "momentum": 0.8, "schedule": True, "warm_up": 0.1},
            0.0,
        ),
        ("two optimisers", {"decay": 1e-4, "optimiser": "adam", "lr_adam": 1e-3, "beta1": 0.9}, 0.05),
    ],
)
def test_the_best_of_every_branch_is_known(name: str, params: dict[str, Any], least: float) -> None:
    trial = optuna.trial.FixedTrial(params)
    assert conditional.OBJECTIVES[name](trial) == pytest.approx(least, abs=1e-12)
    assert trial.params == params, "no other parameter is asked for"


@pytest.mark.touches_global_rng  # scikit-learn's SVR
def test_a_kernel_has_parameters_of_its_own() -> None:
    shared = {"C": 1.0, "epsilon": 0.1}
    linear = conditional.regression(optuna.trial.FixedTrial({"kernel": "linear", **shared}))
    rbf = conditional.regression(optuna.trial.FixedTrial({"kernel": "rbf", **shared, "gamma": 1e-2}))
    assert 0.4 < rbf < 1.0
    assert 0.4 < linear < 1.0


def test_the_page_of_optuna_has_the_committed_runs() -> None:
    text = conditional.PAGE.read_text(encoding="utf-8")
    assert conditional.page(text) == text, "run: make results"
    runs = pd.read_csv(conditional.RESULTS)
    assert not runs.duplicated(["objective", "sampler", "seed"]).any()


def test_the_median_of_the_seeds_is_shown_with_the_best_and_the_worst() -> None:
    runs = pd.DataFrame(
        [("layers", method, seed, best) for method, bests in {"compbo": (0.5, 0.1, 0.3), "TPE": (1.0, 2.0, 4.0)}.items()
         for seed, best in enumerate(bests)],
        columns=list(conditional.COLUMNS),
    )  # fmt: skip
    lines = conditional.table_of(runs).splitlines()
    assert lines[:4] == [
        "| sampler | layers |",
        "|---|---|",
        "| **compbo** | 0.3 [0.1, 0.5] |",
        "| TPE | 2 [1, 4] |",
    ]
    assert lines[-1].endswith("the median of 3 seeds [best, worst].")
