"""A suggestion is a pure function; what it suggests for a few histories is recorded, so that a change is intended.

COMPBO_RECORD_SUGGESTIONS=1 python -m pytest tests/test_suggest.py records them anew.
"""

from __future__ import annotations

import copy
import doctest
import importlib
import json
import math
import os
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import compbo.bo
from compbo import Bool, Budget, Categorical, Evaluation, Float, Int, Settings, Space, StartPolicy
from compbo.backend import SINGLE, TORCH, prescribed_backend
from compbo.baselines.bohb import BOHBModel
from compbo.baselines.random import RandomSearch
from compbo.baselines.thompson import ThompsonSampling
from compbo.bo.history import History
from compbo.bo.model import noise_variance
from compbo.bo.suggest import Suggestion, suggest
from compbo.bo.tell import told_evaluations
from compbo.maximizers import make_maximizer
from compbo.surrogate.gp import NOISELESS
from compbo.surrogate.outputs import Identity
from objectives import bowl, mixed

FILE = Path(__file__).parent / "data" / "suggestions.json"
PLANE = Space({"x": Float(-5, 5), "y": Float(-5, 5)})
MIXED = Space({
    "lr": Float(1e-5, 1e-1, scale="log"),
    "depth": Int(1, 15),
    "kind": Categorical(["a", "b", "c"]),
    "flag": Bool(),
})  # fmt: skip
FEW = Space({"k": Int(1, 3), "c": Categorical(["a", "b"])})
GRID = Space({"a": Int(0, 100), "b": Int(0, 100)})


def cheap(**options: Any) -> Settings:
    paper = {"acquisition": "ucb", "outputs": "none"}  # the method of the paper
    return Settings(
        **{"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8), **paper, **options}
    )


def history_of(space: Space, f: Any, size: int = 12, *, failures: int = 0, pending: int = 0, **more: Any) -> History:
    """Uniform points; every `failures`-th one has failed, the last `pending` ones are pending."""
    points = space.sample(size + pending, torch.Generator().manual_seed(0))
    failed = [bool(failures) and i % failures == 1 for i in range(size)]
    told = (Evaluation(p, None if bad else float(f(p))) for p, bad in zip(points, failed, strict=False))
    return History(tuple(told), tuple(points[size:]), **more)


def hill(p: dict[str, Any]) -> float:
    """The best is 50, 50, the second 51, 50: no two points around it are equally good."""
    return float((p["a"] - 50.3) ** 2 + (p["b"] - 50.2) ** 2)


def whole(space: Space, but: int = 0) -> History:
    points = list(space.grid())
    return History(tuple(Evaluation(p, float(i % 4)) for i, p in enumerate(points[: len(points) - but])))


MEASURED = history_of(PLANE, bowl)
FAILED = history_of(MIXED, mixed, failures=4)
PENDING = history_of(PLANE, bowl, 10, pending=3)
LEVELS = (0, 25, 45, 50, 55, 75, 100)
AGAIN = History(tuple(Evaluation({"a": a, "b": b}, hill({"a": a, "b": b})) for a in LEVELS for b in LEVELS))

# Space, settings, history and number of points.
CASES: dict[str, tuple[Space, Settings, History, int]] = {
    "initial design": (MIXED, cheap(seed=1), history_of(MIXED, mixed, 2), 3),
    "uniform design": (PLANE, cheap(initial_design="uniform"), History(), 2),
    "design in its sequence": (FEW, cheap(initial_points=9), history_of(FEW, len, 4, repeats_allowed=True), 4),
    "everything failed": (FEW, cheap(), history_of(FEW, len, 3, failures=1), 2),
    "minimised": (PLANE, cheap(), MEASURED, 2),
    "maximised": (PLANE, cheap(direction="maximize", seed=2), MEASURED, 2),
    "declared noise": (PLANE, cheap(noise=0.5), MEASURED, 2),
    "no noise": (PLANE, cheap(noise=0.0, kernel="se", priors="dimension-scaled"), MEASURED, 1),
    "mixed with failures": (MIXED, cheap(), FAILED, 3),
    "mixed, levels not searched": (MIXED, cheap(starts=StartPolicy(64, 4, levels=False)), FAILED, 3),
    "pending points": (PLANE, cheap(acquisition="ei"), PENDING, 2),
    "hyperparameters": (PLANE, cheap(maximizer="Adam-ERM", hyperparameters={"lr": 0.25}), MEASURED, 1),
    "fixed sample": (PLANE, cheap(maximizer="L-BFGS-B", acquisition="logei"), MEASURED, 2),
    "pool": (PLANE, cheap(maximizer="CAdam", acquisition="sr"), MEASURED, 2),
    "race": (PLANE, cheap(starts=StartPolicy(raw_batches=64, restarts=8, race=True)), MEASURED, 2),
    "polish": (PLANE, cheap(starts=StartPolicy(raw_batches=64, restarts=8, race=True, polish=True)), MEASURED, 2),
    "one point left": (FEW, cheap(), whole(FEW, but=1), 1),
    "used up": (FEW, cheap(), whole(FEW), 2),
    "used up, with noise": (FEW, cheap(noise=1.0), whole(FEW), 2),
    "repeated point replaced": (GRID, cheap(acquisition="sr", maximizer="L-BFGS-B", initial_points=2), AGAIN, 1),
    "repeats allowed": (FEW, cheap(), History(whole(FEW).evaluations, (), repeats_allowed=True), 2),
}
BASELINES = {
    "random search": RandomSearch(MIXED, 4),
    "bohb": BOHBModel(MIXED, 4),
    **{
        f"thompson {flavour}": ThompsonSampling(MIXED, 4, flavour=flavour, candidates=32, features=16, steps=4)
        for flavour in ("function", "weight", "decoupled")
    },
}


def suggested(name: str) -> list[dict[str, Any]]:
    if name in BASELINES:
        return BASELINES[name].suggest(history_of(MIXED, mixed, 24, failures=5, pending=2), 3)
    return suggest(*CASES[name]).points


def recorded(name: str) -> list[dict[str, Any]]:
    """Made in double precision: in single, another processor's rounding moves points by up to a thousandth."""
    points: list[dict[str, Any]] = json.loads(FILE.read_text())[name]
    return points


@pytest.mark.skipif("COMPBO_RECORD_SUGGESTIONS" not in os.environ, reason="only to record the suggestions anew")
def test_record() -> None:
    with prescribed_backend(TORCH):
        found = {name: suggested(name) for name in (*CASES, *BASELINES)}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


@pytest.mark.parametrize("name", [*CASES, *BASELINES])
def test_the_suggestion_is_the_recorded_one(name: str) -> None:
    """Up to what another processor's rounding makes of it."""
    with prescribed_backend(TORCH):
        found = suggested(name)
    for point, wanted in zip(found, recorded(name), strict=True):
        assert point == {key: pytest.approx(v, rel=1e-6) if type(v) is float else v for key, v in wanted.items()}


@pytest.mark.parametrize("name", CASES)
def test_in_single_precision_the_suggestion_is_the_recorded_one_to_a_thousandth_of_the_cube(name: str) -> None:
    space = CASES[name][0]
    with prescribed_backend(SINGLE):
        found = space.to_unit(suggested(name))
    assert float((found - space.to_unit(recorded(name))).abs().max()) < 1e-3


# -- pure -------------------------------------------------------------------------------------------------------------


def told_apart(suggestion: Suggestion) -> dict[str, Any]:
    """Everything but the seconds; NaN is made comparable."""
    telemetry = {k: v for k, v in suggestion.telemetry.to_dict().items() if not k.endswith("_seconds")}
    return {"points": suggestion.points, "telemetry": repr(telemetry)}


@pytest.mark.parametrize("name", CASES)
def test_the_same_arguments_give_the_same_bits_and_stay_as_they_are(name: str) -> None:
    before = copy.deepcopy(CASES[name])
    first, second = suggest(*CASES[name]), suggest(*copy.deepcopy(CASES[name]))
    assert told_apart(first) == told_apart(second)
    assert CASES[name] == before


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_suggests_by_the_history_it_is_given(name: str) -> None:
    method, history = BASELINES[name], history_of(MIXED, mixed, 24, failures=5, pending=2)
    before = copy.deepcopy(history)
    assert method.suggest(history, 2) == method.suggest(copy.deepcopy(history), 2)
    assert history == before
    assert method.history == History()  # what it was told itself, nothing, did not enter


@pytest.mark.parametrize("name", ["minimised", "mixed with failures", "pending points", "one point left"])
def test_the_order_of_arrival_changes_no_bit(name: str) -> None:
    space, settings, history, count = CASES[name]
    turned = History(history.evaluations[::-1], history.pending[::-1])
    assert told_apart(suggest(space, settings, turned, count)) == told_apart(suggest(space, settings, history, count))


def test_settings_of_an_earlier_version_go_on_as_they_did() -> None:
    """Options that it does not name, nested ones as well, are what it did, not what is the default now."""
    stored = json.loads(json.dumps(Settings(starts=StartPolicy(32, 4, around_incumbents=0.25)).to_dict()))
    for name in ("outputs", "inputs", "model_points"):
        del stored[name]
    for name in ("race", "polish", "levels"):
        del stored["starts"][name]
    before = Settings.from_dict(stored)
    assert before.starts == StartPolicy(32, 4, around_incumbents=0.25, levels=False)
    assert (before.outputs, before.inputs, before.model_points) == ("none", "none", None)
    assert Settings.from_dict(Settings().to_dict()) == Settings()


def test_a_maximizer_is_a_name_or_a_value() -> None:
    value = make_maximizer("Adam-ERM", lr=0.25)
    space, named, history, count = CASES["hyperparameters"]
    assert named == cheap(maximizer=value)
    assert named.maximizer == value
    assert suggest(space, cheap(maximizer=value), history, count).points == suggest(*CASES["hyperparameters"]).points
    assert Settings.from_dict(json.loads(json.dumps(named.to_dict()))) == named
    with pytest.raises(ValueError, match="this Adam-ERM has its own; leave them out"):
        Settings(maximizer=value, hyperparameters={"lr": 0.5})


def test_points_are_as_many_as_asked_for_or_a_batch() -> None:
    space, _, history, _ = CASES["minimised"]
    assert len(suggest(space, cheap(batch_size=3), history).points) == 3
    with pytest.raises(ValueError, match="count must be a whole number >= 1, got 0"):
        suggest(space, cheap(), history, 0)


def test_repeated_points_are_counted_and_named() -> None:
    names = ("repeated point replaced", "used up", "used up, with noise", "repeats allowed", "minimised")
    telemetry = {name: suggest(*CASES[name]).telemetry for name in names}
    assert telemetry["repeated point replaced"].replaced == 1
    assert telemetry["repeated point replaced"].reason.endswith("; replaced 1 repeated point")
    assert telemetry["used up"].replaced == 0
    assert telemetry["used up"].reason.endswith("; the space is exhausted: 2 points repeated")
    for name in names[2:]:
        assert (telemetry[name].replaced, "repeated" in telemetry[name].reason) == (0, False)


# -- noise ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.0, 1e150, 1e-150])
def test_declared_noise_is_relative_to_the_deviation_of_the_values(factor: float) -> None:
    y = torch.tensor([1.0, 2.0, 4.0, 9.0], dtype=torch.float64) * factor
    variance = float(np.var([1.0, 2.0, 4.0, 9.0], ddof=1))
    assert noise_variance(0.5 * factor, y, Identity()) == pytest.approx(0.25 / variance, rel=1e-12)
    assert noise_variance(0.0, y, Identity()) == NOISELESS
    assert noise_variance(None, y, Identity()) is None


def test_noise_that_drowns_the_values_is_finite() -> None:
    assert math.isfinite(
        noise_variance(1e300, torch.tensor([1e-300, 2e-300], dtype=torch.float64), Identity()) or math.inf
    )


# -- what users hand to tell ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "values"),
    [
        ({"x": 1, "y": 2}, 3),
        ({"x": 1, "y": 2}, np.float32(3)),
        ([{"x": 1, "y": 2}], 3.0),
        ([{"x": 1, "y": 2}], [3]),
        (({"x": 1, "y": 2},), np.array([3.0])),
        ([{"x": np.float64(1), "y": np.int64(2)}], torch.tensor([3.0])),
    ],
)
def test_one_evaluation_in_every_shape(points: Any, values: Any) -> None:
    assert told_evaluations(PLANE, History(), points, values) == [Evaluation({"x": 1.0, "y": 2.0}, 3.0, "")]


def test_as_many_messages_as_points() -> None:
    with pytest.raises(ValueError, match="tell: 1 point but 2 messages"):
        told_evaluations(PLANE, History(), [{"x": 1, "y": 2}], [None], ["a", "b"])


# -- examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(compbo.bo.__path__)])
def test_the_examples_of_the_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"compbo.bo.{name}"))
    assert outcome.failed == 0
    assert outcome.attempted > 0 or name not in ("history", "optimizer", "suggest")
