"""Ask and tell."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import math
import pickle
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compbo import (
    EI,
    PI,
    SR,
    UCB,
    Bool,
    Budget,
    Categorical,
    Constant,
    Evaluation,
    Float,
    Int,
    LogEI,
    NumberedPoint,
    Optimizer,
    Ordinal,
    Settings,
    Space,
    StartPolicy,
    Verdict,
    minimize,
)
from compbo.bo.history import History
from compbo.maximizers import make_maximizer
from compbo.surrogate.gp import NOISELESS
from objectives import bowl, mixed

PLANE = Space({"x": Float(-5, 5), "y": Float(-5, 5)})
MIXED = Space({
    "lr": Float(1e-5, 1e-1, scale="log"),
    "depth": Int(1, 15),
    "kind": Categorical(["a", "b", "c"]),
    "flag": Bool(),
})  # fmt: skip


def cheap(**options: Any) -> dict[str, Any]:
    return {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8), **options}


def advance(optimizer: Optimizer, f: Any, asks: int, count: int | None = None) -> None:
    for _ in range(asks):
        points = optimizer.ask(count)
        optimizer.tell(points, [f(point) for point in points])


def modelled(space: Space = PLANE, f: Any = bowl, points: int = 8, **options: Any) -> Optimizer:
    """An optimizer past its initial design."""
    optimizer = Optimizer(space, **cheap(initial_points=points, **options))
    advance(optimizer, f, 1, points)
    return optimizer


# -- what is suggested ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maximizer", ["CAdam-ME", "Adam-ERM", "L-BFGS-B"])
@pytest.mark.parametrize("acquisition", ["ei", "pi", "sr", "ucb", "logei"])
def test_every_acquisition_with_every_class_of_maximizer(acquisition: str, maximizer: str) -> None:
    optimizer = modelled(acquisition=acquisition, maximizer=maximizer)
    points = optimizer.ask(3)
    telemetry = optimizer.telemetry[-1]
    assert len({tuple(point.values()) for point in points}) == 3
    assert [PLANE.validate(point) for point in points] == points
    assert (telemetry.acquisition, telemetry.maximizer) == (acquisition, maximizer)
    assert telemetry.verdict is not Verdict.DEGRADED, telemetry.reason
    assert telemetry.acquisition_gain > 0  # eight steps lead somewhere
    assert len(telemetry.end_values) == 4
    optimizer.tell(points, [bowl(point) for point in points])


@pytest.mark.parametrize("acquisition", [EI(), PI(tau=0.1), SR(), UCB(beta=0.5), LogEI(tau=1e-4)])
def test_an_acquisition_object_keeps_its_parameters(acquisition: Any) -> None:
    optimizer = modelled(acquisition=acquisition)
    assert Optimizer.from_json(optimizer.to_json()).settings.acquisition == acquisition
    optimizer.ask(1)


@pytest.mark.parametrize("count", [1, 8, 64])
def test_batch_sizes(count: int) -> None:
    optimizer = modelled(batch_size=count, points=8)
    points = optimizer.ask()
    assert len({tuple(point.values()) for point in points}) == count == len(optimizer.pending)


def test_one_dimension() -> None:
    line = Space({"x": Float(0, 1)})
    optimizer = Optimizer(line, **cheap(initial_points=3))
    advance(optimizer, lambda p: (p["x"] - 0.7) ** 2, 9)
    assert optimizer.best is not None
    assert abs(optimizer.best.params["x"] - 0.7) < 0.02


@pytest.mark.parametrize("priors", ["dimension-scaled", "paper"])
def test_two_hundred_dimensions_leave_a_slope_to_climb(priors: str) -> None:
    def sphere(p: dict[str, float]) -> float:
        return sum(v * v for v in p.values())

    wide = Space({f"x{i}": Float(-1, 1) for i in range(200)})
    optimizer = modelled(wide, sphere, points=4, priors=priors)
    advance(optimizer, sphere, 2, 2)
    assert len({tuple(e.params.values()) for e in optimizer.evaluations}) == 8
    assert optimizer.telemetry[-1].verdict in {Verdict.CONVERGED, Verdict.CLIMBING}


def test_mixed_space_gives_valid_points_of_plain_scalars() -> None:
    optimizer = modelled(MIXED, mixed)
    advance(optimizer, mixed, 4, 2)
    for point in optimizer.ask(4):
        assert [type(point[name]) for name in ("lr", "depth", "kind", "flag")] == [float, int, str, bool]
        json.dumps(point)


def test_maximising_mirrors_minimising() -> None:
    down, up = modelled(), modelled(direction="maximize", f=lambda p: -bowl(p))
    assert down.ask(3) == up.ask(3)
    assert down.best is not None
    assert up.best is not None
    assert up.best.value == -down.best.value


def test_pending_points_are_respected() -> None:
    optimizer, again = modelled(), modelled()
    first = optimizer.ask(1)
    second = optimizer.ask(1)
    assert second != first
    assert optimizer.telemetry[-1].pending == 1
    assert again.ask(1) == first
    again.forget(first)
    assert again.ask(1) == first  # withdrawn: the same question has the same answer
    with pytest.raises(ValueError, match="not pending"):
        again.forget(second)


def test_initial_design_by_default_and_by_choice() -> None:
    assert Optimizer(PLANE).initial_points == 4
    assert Optimizer(PLANE, batch_size=8).initial_points == 8
    uniform = Optimizer(PLANE, initial_design="uniform", initial_points=3)
    sobol = Optimizer(PLANE, initial_points=3)
    assert uniform.ask(3) != sobol.ask(3)
    assert uniform.telemetry[-1].verdict is Verdict.DESIGN


# -- no point twice ---------------------------------------------------------------------------------------------------


def test_a_finite_space_is_visited_whole_before_anything_repeats() -> None:
    grid = Space({"k": Int(1, 3), "c": Categorical(["a", "b"]), "always": Constant(7)})
    optimizer = Optimizer(grid, **cheap(initial_points=2))
    seen = []
    for count in (2, 1, 3):
        points = optimizer.ask(count)
        seen += points
        optimizer.tell(points, [point["k"] for point in points])
    assert sorted(map(str, seen)) == sorted(map(str, grid.grid()))
    repeated = optimizer.ask(2)
    assert "exhausted" in optimizer.telemetry[-1].reason
    assert all(point in seen for point in repeated)


def test_a_finite_space_without_any_success_is_also_left_in_the_end() -> None:
    optimizer = Optimizer(Space({"k": Int(1, 3)}), **cheap())
    points = optimizer.ask(3)
    assert sorted(point["k"] for point in points) == [1, 2, 3]
    optimizer.tell(points, [None] * 3)
    assert len(optimizer.ask(2)) == 2


def test_failed_points_are_not_suggested_again_even_with_noise() -> None:
    levels = Space({"k": Ordinal([1, 2, 3, 4, 5, 6])})
    optimizer = Optimizer(levels, **cheap(noise=0.5, initial_points=2))
    optimizer.tell([{"k": 1}, {"k": 2}, {"k": 6}], [5.0, None, 1.0])
    for _ in range(4):
        points = optimizer.ask(1)
        assert points != [{"k": 2}]
        optimizer.tell(points, [float(points[0]["k"])])


def test_a_region_that_fails_is_avoided() -> None:
    line = Space({"x": Float(-1, 1)})
    optimizer = Optimizer(line, **cheap(initial_points=8))
    for _ in range(16):
        (point,) = optimizer.ask(1)
        # the bait is on the left, where everything fails
        optimizer.tell([point], [None if point["x"] < 0 else point["x"]])
    assert sum(e.failed for e in optimizer.evaluations[8:]) <= 3


def test_declared_noise_is_the_noise_of_the_model() -> None:
    values = [e.value for e in modelled(noise=0.5, outputs="none").evaluations]
    spread = float(np.std(np.array(values, float), ddof=1))
    assert modelled(noise=0.5, outputs="none").model().hyperparameters.noise == pytest.approx(
        (0.5 / spread) ** 2, rel=1e-12
    )
    assert modelled(noise=0.0).model().hyperparameters.noise == NOISELESS


@pytest.mark.parametrize("noise", [1.0, 1e300])
def test_noise_that_drowns_the_values_leaves_a_suggestion(noise: float) -> None:
    optimizer = Optimizer(PLANE, **cheap(initial_points=2, noise=noise))
    optimizer.tell([{"x": float(i), "y": 0.5} for i in range(3)], [1e-300, 2e-300, 5e-324])
    (point,) = optimizer.ask(1)
    assert PLANE.validate(point) == point


# -- tell -------------------------------------------------------------------------------------------------------------


def test_tell_takes_any_order_any_subset_and_points_never_asked() -> None:
    optimizer = Optimizer(PLANE, batch_size=4)
    points = optimizer.ask()
    optimizer.tell([points[2], points[0]], [1.0, 2])
    assert optimizer.pending == [points[1], points[3]]
    optimizer.tell(points[1], np.float64(0.5))
    optimizer.tell([{"x": 0, "y": 0}], np.array([7.0]))
    assert [e.value for e in optimizer.evaluations] == [1.0, 2.0, 0.5, 7.0]
    assert optimizer.best is not None
    assert optimizer.best.params == points[1]
    assert optimizer.pending == [points[3]]


def test_points_carry_numbers_and_are_dictionaries() -> None:
    optimizer = Optimizer(PLANE, batch_size=2)
    first, second = optimizer.ask(), optimizer.ask()
    assert [point.number for point in first + second] == [0, 1, 2, 3]
    assert [point.number for point in optimizer.pending] == [0, 1, 2, 3]
    point = second[1]
    assert isinstance(point, dict)
    assert json.loads(json.dumps(point)) == point == dict(point)
    assert repr(point) == repr(dict(point))
    for copied in (point.copy(), copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert (copied, copied.number) == (point, 3)
    changed = point | {"x": 1.5}
    assert (changed["x"], changed["y"], changed.number) == (1.5, point["y"], 3)
    assert not hasattr(dict(point), "number")


def test_tell_takes_numbers() -> None:
    optimizer = Optimizer(PLANE, batch_size=4)
    points = optimizer.ask()
    optimizer.tell(2, 1.0)
    optimizer.tell([3, points[0], np.int64(1)], [2.0, None, 4.0], ["", "broke", ""])
    assert [(e.number, e.params, e.value) for e in optimizer.evaluations] == [
        (2, points[2], 1.0),
        (3, points[3], 2.0),
        (0, points[0], None),
        (1, points[1], 4.0),
    ]
    assert optimizer.pending == []


def test_a_point_that_was_set_differently_is_told_under_its_number() -> None:
    """The pending one is gone, and the model sees what was really used."""
    optimizer, plain = modelled(), modelled()
    (point,) = optimizer.ask(1)
    plain.ask(1)
    point["x"] = 1.5
    optimizer.tell(point, 0.25)
    told = optimizer.evaluations[-1]
    assert (told.number, told.params) == (8, {"x": 1.5, "y": point["y"]})
    assert optimizer.pending == []
    assert PLANE.to_unit([point]).tolist()[0] in optimizer.model().train_x.tolist()
    plain.tell(dict(point), 0.25)  # a plain dictionary is another point
    assert (len(plain.pending), plain.evaluations[-1].number) == (1, 9)


def test_what_is_left_out_under_a_number_is_as_suggested() -> None:
    optimizer = Optimizer(PLANE)
    (point,) = optimizer.ask(1)
    optimizer.tell(NumberedPoint({"y": 1.5}, point.number), 3.0)
    assert optimizer.evaluations == [({"x": point["x"], "y": 1.5}, 3.0, "", 0, dict(point))]
    with pytest.raises(ValueError, match='"x" is missing'):
        optimizer.tell(NumberedPoint({"y": 1.5}, 7), 3.0)  # no pending point has this number


@pytest.mark.parametrize(
    ("points", "values", "match"),
    [
        (7, 1.0, "tell: trial 7 was never asked for"),
        ([1, 7], [1.0, 2.0], "trial 7 was never asked for"),
        (0, 1.0, "tell: trial 0 was told already"),
        (2, 1.0, "tell: trial 2 was forgotten"),
        ([1, 1], [1.0, 2.0], "tell: trial 1 is told twice"),
        (True, 1.0, "points must be one dictionary or number"),
        (1.0, 1.0, "points must be one dictionary or number"),
        ("1", 1.0, "points must be one dictionary or number"),
    ],
)
def test_a_wrong_number_changes_nothing(points: Any, values: Any, match: str) -> None:
    optimizer = Optimizer(PLANE, batch_size=3)
    optimizer.ask()
    optimizer.tell(0, 1.0)
    optimizer.forget(2)
    before = optimizer.to_json()
    with pytest.raises(ValueError, match=match):
        optimizer.tell(points, values)
    assert optimizer.to_json() == before


def test_the_same_point_twice_is_two_evaluations() -> None:
    optimizer = Optimizer(PLANE, noise=0.1)
    (point,) = optimizer.ask(1)
    optimizer.tell([point, point], [1.0, 1.2])
    optimizer.tell(point, 1.1)
    assert [(e.number, e.value) for e in optimizer.evaluations] == [(0, 1.0), (1, 1.2), (2, 1.1)]


def test_forget_takes_numbers_and_points() -> None:
    optimizer = Optimizer(PLANE, batch_size=5)
    points = optimizer.ask()
    optimizer.forget(3)
    optimizer.forget(points[1])
    optimizer.forget([dict(points[4]), 0])
    assert [point.number for point in optimizer.pending] == [2]
    with pytest.raises(ValueError, match="forget: trial 3 was forgotten"):
        optimizer.forget([2, 3])
    with pytest.raises(ValueError, match="is not pending"):
        optimizer.forget([points[2], points[2]])
    assert len(optimizer.pending) == 1
    assert optimizer.ask(1)[0].number == 5


def test_numbers_survive_saving() -> None:
    optimizer = Optimizer(PLANE, batch_size=3)
    optimizer.ask()
    optimizer.tell(1, 2.0)
    optimizer.forget(2)
    again = Optimizer.from_json(optimizer.to_json())
    assert again.history == optimizer.history
    assert [point.number for point in again.pending] == [0]
    assert [point.number for point in again.ask()] == [3, 4, 5]


@pytest.mark.parametrize(
    "parameter", [Float(20, 90, step=0.5), Float(20, 90, digits=2), Float(1, 100, "log", digits=2)]
)
def test_only_what_can_be_set_on_a_dial_is_suggested(parameter: Float) -> None:
    space = Space({"t": parameter, "y": Float(0, 1, step=0.1)})
    optimizer = Optimizer(space, **cheap(initial_points=4))
    advance(optimizer, lambda p: (p["t"] - 61.3) ** 2 + p["y"], 5, 2)
    assert all(type(value) is float for e in optimizer.evaluations for value in e.params.values())
    for e in optimizer.evaluations:
        on_the_dial = e.params["t"] * 2 % 1 == 0 if parameter.step else float(f"{e.params['t']:.1e}") == e.params["t"]
        assert on_the_dial, e.params
        assert round(e.params["y"], 1) == e.params["y"]
    assert len({tuple(e.params.values()) for e in optimizer.evaluations}) == 10
    optimizer.tell({"t": 61.486, "y": 0.25}, 1.0)  # between two steps: recorded as it is
    assert optimizer.evaluations[-1].params == {"t": 61.486, "y": 0.25}
    optimizer.ask(1)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_a_failed_value_is_recorded_and_never_best(value: float | None) -> None:
    optimizer = Optimizer(PLANE)
    optimizer.tell([{"x": 1.0, "y": 1.0}], [value], ["it broke"])
    assert optimizer.best is None
    assert optimizer.evaluations[0].failed
    assert optimizer.evaluations[0].message == "it broke"


@pytest.mark.parametrize(
    ("points", "values", "match"),
    [
        ([{"x": 0.0, "y": 0.0}], [1.0, 2.0], "1 point but 2 values"),
        ([{"x": 0.0, "y": 0.0}, {"x": 9.0, "y": 0.0}], [1.0, 2.0], '"x"'),
        ([{"x": 0.0, "y": 0.0}, {"x": 0.0}], [1.0, 2.0], '"y" is missing'),
        ([{"x": 0.0, "y": 0.0}], [object()], "not a number"),
        ([{"x": 0.0, "y": 0.0}], [b"1.0"], "not a number"),
    ],
)
def test_a_bad_tell_changes_nothing(points: Any, values: Any, match: str) -> None:
    optimizer = Optimizer(PLANE)
    with pytest.raises(ValueError, match=match):
        optimizer.tell(points, values)
    assert optimizer.evaluations == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"acquisitions": "ei"}, "'acquisitions' is not an option.*acquisition"),
        ({"acquisition": "eii"}, "eii"),
        ({"maximizer": "CAdam-MEE"}, "CAdam-ME"),
        ({"maximizer": "Adam-ERM", "hyperparameters": {"lrr": 1.0}}, "lrr"),
        ({"batch_size": 0}, "batch_size"),
        ({"seed": -1}, "seed"),
        ({"noise": -0.1}, "noise"),
        ({"direction": "down"}, "direction"),
        ({"kernel": "cubic"}, "cubic"),
        ({"priors": "mine"}, "mine"),
        ({"initial_design": "grid"}, "initial_design"),
        ({"initial_points": 0}, "initial_points"),
        ({"maximizer": None}, "no maximizer is called None"),
        ({"maximizer": ["RS"]}, "no maximizer is called"),
        ({"hyperparameters": None}, "hyperparameters must be a mapping"),
        ({"hyperparameters": {3: 4}}, "no hyperparameter '3'"),
        ({"kernel": ["se"]}, "kernel"),
        ({"priors": ["paper"]}, "prior set"),
        ({"starts": {"restarts": 2}}, r"starts must be a StartPolicy\(...\)"),
        ({"budget": 10}, r"budget must be a Budget\(...\)"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Optimizer(PLANE, **options)


# -- bit for bit ------------------------------------------------------------------------------------------------------


@settings(max_examples=6)
@given(order=st.permutations(range(9)), pending=st.permutations(range(2)))
def test_the_order_of_arrival_changes_no_bit(order: list[int], pending: list[int]) -> None:
    results = [({"x": -4.0 + i, "y": (3.0 * i) % 5}, None if i == 4 else float(i)) for i in range(9)]
    running = [{"x": 0.25, "y": 0.5}, {"x": 4.5, "y": -2.5}]
    told = Optimizer.resume(PLANE, Settings(**cheap()), History(pending=tuple(running)))
    shuffled = Optimizer.resume(PLANE, Settings(**cheap()), History(pending=tuple(running[i] for i in pending)))
    told.tell([p for p, _ in results], [v for _, v in results])
    for i in order:
        shuffled.tell([results[i][0]], [results[i][1]])
    assert told.ask(2) == shuffled.ask(2)


def test_the_sign_of_zero_changes_no_bit() -> None:
    suggestions = []
    for zero, direction in ((0.0, "minimize"), (-0.0, "minimize"), (0.0, "maximize")):
        optimizer = Optimizer(PLANE, **cheap(direction=direction, initial_points=2))
        sign = 1.0 if direction == "minimize" else -1.0
        optimizer.tell([{"x": 1.0, "y": 1.0}, {"x": 0.0, "y": 0.0}, {"x": 2.0, "y": 0.0}], [sign, zero, 2 * sign])
        suggestions.append(optimizer.ask(1))
    assert suggestions[0] == suggestions[1] == suggestions[2]


def test_saved_and_loaded_at_every_step_gives_the_same_run() -> None:
    def run(reload: bool) -> Optimizer:
        optimizer = Optimizer(MIXED, **cheap(batch_size=3, seed=5, initial_points=4))
        for _ in range(4):
            points = optimizer.ask()
            if reload:
                optimizer = Optimizer.from_json(optimizer.to_json())
            optimizer.tell(points[:2], [mixed(points[0]), None], ["", "broken"])
            if reload:
                optimizer = Optimizer.from_json(optimizer.to_json())
            optimizer.tell(points[2:], [mixed(points[2])])
        return optimizer

    plain, reloaded = run(reload=False), run(reload=True)
    assert plain.evaluations == reloaded.evaluations
    assert [t.verdict for t in plain.telemetry] == [t.verdict for t in reloaded.telemetry]
    assert [t.end_values for t in plain.telemetry] == [t.end_values for t in reloaded.telemetry]


def test_what_is_saved_is_strict_json() -> None:
    """NaN and Infinity, which Python writes by itself, are not JSON; telemetry and budgets have them."""
    optimizer = modelled(budget=Budget(steps=8, seconds=math.inf))
    optimizer.ask(1)

    def refuse(word: str) -> float:
        raise AssertionError(word)

    assert json.loads(optimizer.to_json(), parse_constant=refuse)["version"] == 3
    again = Optimizer.from_json(optimizer.to_json())
    assert again.settings == optimizer.settings
    assert repr(again.telemetry) == repr(optimizer.telemetry)  # NaN included
    assert math.isnan(again.telemetry[0].acquisition_value)


def test_every_setting_can_be_completed_by_an_editor() -> None:
    """The keywords are written out, with the types and defaults of `Settings`."""
    shown = inspect.signature(Optimizer).parameters
    for field in fields(Settings):
        assert shown[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[field.name].annotation == field.type
        assert field.name == "hyperparameters" or shown[field.name].default == field.default
    assert set(shown) - {field.name for field in fields(Settings)} == {"space", "unknown"}
    assert Optimizer(PLANE).settings == Settings()


def test_the_seed_matters_and_settings_survive() -> None:
    one, other = modelled(seed=1), modelled(seed=2)
    assert one.ask(2) != other.ask(2)
    again = Optimizer.from_json(one.to_json())
    assert again.settings == one.settings
    assert again.space == one.space
    with pytest.raises(ValueError, match="not a saved optimizer"):
        Optimizer.from_json("{}")


# -- a shell around a history -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["space", "settings", "history", "evaluations", "pending", "telemetry", "best"])
def test_nothing_is_set_from_outside(name: str) -> None:
    optimizer = modelled()
    optimizer.ask(1)
    with pytest.raises(AttributeError):
        setattr(optimizer, name, getattr(optimizer, name))


def test_lists_are_the_callers_own() -> None:
    optimizer = modelled()
    optimizer.ask(1)
    before = optimizer.to_json()
    for own in (optimizer.evaluations, optimizer.pending, optimizer.telemetry):
        assert own
        own.clear()
    optimizer.pending[0]["x"] = 99.0
    assert optimizer.to_json() == before


def test_an_optimizer_is_its_parts() -> None:
    optimizer = modelled()
    optimizer.ask(2)
    again = Optimizer.resume(optimizer.space, optimizer.settings, optimizer.history, optimizer.telemetry)
    assert again.to_json() == optimizer.to_json()
    assert again.ask(2) == optimizer.ask(2)


def test_forgetting_is_all_or_nothing() -> None:
    optimizer = Optimizer(PLANE)
    points = optimizer.ask(2)
    with pytest.raises(ValueError, match="not pending"):
        optimizer.forget([points[0], {"x": 0.0, "y": 0.0}])
    assert optimizer.pending == points


def test_whether_points_may_repeat_is_saved() -> None:
    levels = Space({"k": Int(1, 2)})
    history = History((Evaluation({"k": 1}, 1.0), Evaluation({"k": 2}, 2.0)), repeats_allowed=True)
    optimizer = Optimizer.resume(levels, Settings(**cheap(initial_points=1)), history)
    again = Optimizer.from_json(optimizer.to_json())
    assert again.history == history
    assert again.ask(1) == optimizer.ask(1)
    assert "exhausted" not in again.telemetry[-1].reason


def test_a_maximizer_reaches_a_run_by_name_or_as_a_value() -> None:
    options = cheap(evaluations=6, initial_points=4)
    named = minimize(bowl, PLANE, maximizer="Adam-ERM", hyperparameters={"lr": 0.25}, **options)
    given = minimize(bowl, PLANE, maximizer=make_maximizer("Adam-ERM", lr=0.25), **options)
    plain = minimize(bowl, PLANE, maximizer="Adam-ERM", **options)
    assert named.history.equals(given.history)
    assert not named.history.equals(plain.history)


# -- numbers that hurt ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        [3.0] * 6,
        [1e300, -1e300, 1e299, 0.0, 5.0, 1e300],
        [1e-300, 2e-300, 3e-300, 0.0, 1e-300, 5e-301],
        [None, None, None, None, None, 1.0],
    ],
)
def test_values_of_any_size_lead_to_a_finite_suggestion(values: list[float | None]) -> None:
    optimizer = Optimizer(PLANE, **cheap(initial_points=2))
    optimizer.tell([{"x": float(i), "y": float(i % 2)} for i in range(6)], values)
    points = optimizer.ask(2)
    assert all(math.isfinite(v) for point in points for v in point.values())


def test_one_observation_and_many_of_the_same_point() -> None:
    optimizer = Optimizer(PLANE, **cheap(initial_points=1))
    optimizer.tell([{"x": 1.0, "y": 1.0}], [2.0])
    first = optimizer.ask(1)
    optimizer.tell(first, [1.0])
    optimizer.tell([{"x": 1.0, "y": 1.0}] * 5, [2.0, 2.1, 1.9, 2.0, 2.0])
    for a, b in itertools.pairwise(optimizer.ask(3)):
        assert a != b


def test_a_time_limit_returns_the_best_so_far_and_says_so() -> None:
    optimizer = modelled(budget=Budget(steps=10**6, seconds=0.2))
    (point,) = optimizer.ask(1)
    assert PLANE.validate(point) == point
    assert "time limit" in optimizer.telemetry[-1].reason


def test_a_memory_limit_falls_back_and_says_so() -> None:
    optimizer = modelled(budget=Budget(steps=8, memory=1))
    optimizer.ask(1)
    assert optimizer.telemetry[-1].verdict is Verdict.DEGRADED
    assert "memory" in optimizer.telemetry[-1].reason


# -- what users hand in by mistake ------------------------------------------------------------------------------------


def test_strings_are_not_values() -> None:
    optimizer = Optimizer({"x": Float(0, 1)})
    points = optimizer.ask(3)
    for values in ("123", ["1", 2, 3]):
        with pytest.raises(ValueError, match="tell: "):
            optimizer.tell(points, values)  # type: ignore[arg-type]
    assert optimizer.evaluations == []
    assert len(optimizer.pending) == 3


def test_points_must_be_dictionaries() -> None:
    optimizer = Optimizer({"x": Float(0, 1)})
    for points in (None, "x", iter([{"x": 0.5}])):
        with pytest.raises(ValueError, match="points must be"):
            optimizer.tell(points, [1.0])  # type: ignore[arg-type]


def test_numpy_integers_are_whole_numbers() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, batch_size=np.int64(2), seed=np.int32(3))
    assert len(optimizer.ask()) == 2
    assert len(optimizer.ask(np.int64(3))) == 3
    assert Optimizer.from_json(optimizer.to_json()).settings == optimizer.settings


def test_numbers_of_other_libraries_are_saved_as_plain_ones() -> None:
    settings = cheap(
        noise=np.float32(0.5),
        maximizer="Adam-ERM",
        hyperparameters={"lr": np.float32(0.25)},
        acquisition=UCB(beta=np.float32(4)),
        starts=StartPolicy(np.int64(8), np.int64(2), around_incumbents=np.float32(0.5)),
        budget=Budget(np.int64(3), seconds=np.float32(60), memory=np.int64(10**9)),
    )
    optimizer = Optimizer(PLANE, **settings)
    assert Optimizer.from_json(optimizer.to_json()).settings == optimizer.settings


@pytest.mark.parametrize("value", [10**400, Fraction(-(10**400))])
def test_a_number_beyond_all_floats_has_failed(value: Any) -> None:
    optimizer = Optimizer(PLANE)
    optimizer.tell({"x": 0.0, "y": 0.0}, value)
    assert "inf" in optimizer.evaluations[0].message
    assert optimizer.best is None


@pytest.mark.parametrize("value", [np.array(2.0), torch.tensor(2.0), np.array([2.0]), torch.tensor([[2.0]])])
def test_an_array_of_one_element_is_a_value(value: Any) -> None:
    optimizer = Optimizer(PLANE)
    optimizer.tell([{"x": 0.0, "y": 0.0}], value)
    assert [e.value for e in optimizer.evaluations] == [2.0]


@pytest.mark.parametrize("messages", ["boom", [None], 3])
def test_messages_are_a_list_of_strings(messages: Any) -> None:
    with pytest.raises(ValueError, match="messages must be a list of strings"):
        Optimizer(PLANE).tell([{"x": 0.0, "y": 0.0}], [None], messages)


def test_more_dimensions_than_a_sobol_sequence_has() -> None:
    space = Space({"c": Categorical(list(range(21_202)))})
    with pytest.raises(ValueError, match=r'21202: set initial_design="uniform"'):
        Optimizer(space).ask(1)
    assert len(Optimizer(space, initial_design="uniform").ask(1)) == 1


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Budget(steps="a"), "steps must be a whole number"),  # type: ignore[arg-type]
        (lambda: Budget(steps=1.5), "steps must be a whole number"),  # type: ignore[arg-type]
        (lambda: Budget(seconds="a"), "seconds must be a positive number"),  # type: ignore[arg-type]
        (lambda: Budget(memory=0), "memory .* must be a whole number"),
        (lambda: StartPolicy(restarts=1.5), "restarts must be a whole number"),  # type: ignore[arg-type]
        (lambda: StartPolicy(eta="a"), "eta must be positive"),  # type: ignore[arg-type]
        (lambda: UCB(beta="a"), "beta must be a finite number"),  # type: ignore[arg-type]
    ],
)
def test_numbers_of_the_parts_are_checked(make: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()


@pytest.mark.parametrize("noise", ["x", -1.0, float("nan"), True, 10**400])
def test_noise_is_a_deviation(noise: object) -> None:
    with pytest.raises(ValueError, match="noise must be a standard deviation"):
        Optimizer({"x": Float(0, 1)}, noise=noise)


@pytest.mark.parametrize("text", ["foo", None, "[]", '{"version": 1}'])
def test_what_is_not_a_saved_optimizer(text: object) -> None:
    with pytest.raises(ValueError, match="not a saved optimizer"):
        Optimizer.from_json(text)  # type: ignore[arg-type]


SAVED = {"params": {"x": 0.0, "y": 0.0}, "value": 1.0, "message": "", "number": 0, "suggested": None}


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("space", {}, "space is empty"),
        ("settings", {}, "acquisition"),
        ("evaluations", [{**SAVED, "value": "1.0"}], "'1.0' is not the value"),
        ("evaluations", [{key: entry for key, entry in SAVED.items() if key != "value"}], "value"),
        ("evaluations", [SAVED, SAVED], "every number once"),
        ("evaluations", [{**SAVED, "number": "0"}], "number must be a whole number"),
        ("pending", [{"number": 0, "params": {"x": 9.0, "y": 0.0}}], '"x"'),
        ("next_number", None, "next_number must be a whole number"),
        ("telemetry", None, "not iterable"),
    ],
)
def test_a_damaged_optimizer_is_refused_in_a_sentence(key: str, value: object, match: str) -> None:
    saved = json.loads(Optimizer(PLANE).to_json())
    for damaged in ({**saved, key: value}, {k: v for k, v in saved.items() if k != key}):
        with pytest.raises(ValueError, match=match if key in damaged else key) as caught:
            Optimizer.from_json(json.dumps(damaged))
        assert "is damaged" in str(caught.value)
