"""The contract of Bayesmark's `run_study`: exactly n suggestions inside the ranges, whatever is observed."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import compbo
from compbo.integrations.bayesmark import CompBO

# What Bayesmark passes for its multilayer perceptron and forest, with the kinds that those lack.
API_CONFIG: dict[str, dict[str, Any]] = {
    "hidden_layer_sizes": {"type": "int", "space": "linear", "range": (50, 200)},
    "alpha": {"type": "real", "space": "log", "range": (1e-5, 1e1)},
    "tol": {"type": "real", "space": "log", "range": (1e-5, 1e-1)},
    "beta_1": {"type": "real", "space": "logit", "range": (0.5, 0.99)},
    "shift": {"type": "real", "space": "bilog", "range": (-100.0, 100.0)},
    "batch_size": {"type": "int", "values": [16, 64, 256]},
    "early_stopping": {"type": "bool"},
    "activation": {"type": "cat", "values": ["relu", "tanh"]},
    "size": {"type": "ordinal", "values": ["s", "m", "l"]},
}
make = partial(
    CompBO,
    seed=0,
    starts=compbo.StartPolicy(16, 4),
    budget=compbo.Budget(4),
    minibatch=16,
    initial_points=6,
)


def check(point: dict[str, Any]) -> None:
    """What Bayesmark's own validation of suggestions asks for."""
    assert point.keys() == API_CONFIG.keys()
    for name, config in API_CONFIG.items():
        value = point[name]
        if config["type"] == "bool":
            assert isinstance(value, bool)
        elif "values" in config:
            assert value in config["values"]
        else:
            low, high = config["range"]
            assert low <= value <= high
            assert isinstance(value, int if config["type"] == "int" else float)


def evaluate(point: dict[str, Any]) -> float:
    return math.log10(point["alpha"]) ** 2 + point["hidden_layer_sizes"] / 100 + (point["activation"] == "tanh")


@pytest.mark.parametrize("n", [1, 4])
def test_a_study(n: int) -> None:
    optimizer = make(API_CONFIG)
    assert optimizer.get_version() == CompBO.get_version() == compbo.__version__
    for i in range(4):
        points = optimizer.suggest(n)
        assert len(points) == n
        for point in points:
            check(point)
        values = [evaluate(point) for point in points]
        if i == 1:
            values[0] = math.inf  # a crash in the objective
        optimizer.observe(points, np.array(values))
    assert len(optimizer.optimizer.evaluations) == 4 * n
    assert optimizer.optimizer.pending == []
    assert sum(e.failed for e in optimizer.optimizer.evaluations) == 1


def test_points_that_were_not_suggested() -> None:
    """Bayesmark falls back to random points if `suggest` raises, and observes those."""
    optimizer = make(API_CONFIG)
    (point,) = make(API_CONFIG, seed=5).suggest()
    stranger = {name: np.float64(value) if isinstance(value, float) else value for name, value in point.items()}
    optimizer.observe([stranger], [1.5])
    assert optimizer.optimizer.best.value == 1.5


def test_seeds() -> None:
    assert make(API_CONFIG).suggest(3) == make(API_CONFIG).suggest(3)
    assert make(API_CONFIG, seed=None).suggest(3) != make(API_CONFIG, seed=None).suggest(3)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="Bayesmark minimises"):
        CompBO(API_CONFIG, direction="maximize")
    with pytest.raises(ValueError, match="'acquisitions' is not an option"):
        CompBO(API_CONFIG, acquisitions="ei")
    with pytest.raises(ValueError, match='Parameter "x": unknown type'):
        CompBO({"x": {"type": "float", "range": (0, 1)}})
