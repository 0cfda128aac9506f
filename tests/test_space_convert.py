"""Spaces in other notations: JSON, TOML, Optuna's distributions, Bayesmark's api_config."""

import json
import subprocess
import sys

import numpy as np
import optuna
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space

SETTINGS = settings(derandomize=True, max_examples=40, deadline=None)

SPACE = Space(
    {
        "lr": Float(1e-5, 1e-1, scale="log"),
        "depth": Int(1, 15),
        "min_split": Float(0.01, 0.99, scale="logit"),
        "bootstrap": Bool(),
        "kernel": Categorical(["rbf", "poly"]),
        "size": Ordinal([16, 32, 64]),
        "trees": Int(1, 1000, scale="log"),
        "shift": Int(-50, 200, scale="bilog"),
        "größe": Categorical([None, True, 3, 0.1, "ü"]),
        "seed": 7,
        "fixed": Float(3, 3),
        "dial": Float(20, 90, step=0.5),
        "knob": Float(1, 1000, scale="log", step=0.1),
        "short": Float(1e-6, 1, scale="log", digits=2),
    }
)

TOML = """
seed = 7

[lr]
type = "float"
low = 1e-5
high = 0.1
scale = "log"

[depth]
type = "int"
low = 1
high = 15

[celsius]
type = "float"
low = 20
high = 90
step = 0.5

[dose]
type = "float"
low = 0.001
high = 10
scale = "log"
digits = 2

[bootstrap]
type = "bool"

[kernel]
type = "categorical"
choices = ["rbf", "poly", 3, 0.5, true]

[size]
type = "ordinal"
values = [16, 32, 64]

[version]
type = "constant"
value = "v2"
"""


def points(space: Space, n: int = 20) -> list[dict]:
    return space.sample(n, torch.Generator().manual_seed(0))


# JSON and dictionaries


def test_json_round_trip():
    back = Space.from_json(SPACE.to_json())
    assert back == SPACE
    assert back.names == SPACE.names
    assert dict(back.parameters) == dict(SPACE.parameters)
    assert Space.from_dict(SPACE.to_dict()) == SPACE
    assert points(back) == points(SPACE)


def test_json_says_what_the_parameter_is():
    tables = json.loads(SPACE.to_json())
    assert tables["lr"] == {"type": "float", "low": 1e-5, "high": 0.1, "scale": "log"}
    assert tables["bootstrap"] == {"type": "bool"}
    assert tables["dial"] == {"type": "float", "low": 20.0, "high": 90.0, "scale": "linear", "step": 0.5}
    assert tables["short"] == {"type": "float", "low": 1e-6, "high": 1.0, "scale": "log", "digits": 2}
    assert tables["größe"] == {"type": "categorical", "choices": [None, True, 3, 0.1, "ü"]}
    assert tables["size"] == {"type": "ordinal", "values": [16, 32, 64]}
    assert tables["seed"] == {"type": "constant", "value": 7}


@SETTINGS
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_json_keeps_every_bit_of_the_bounds(a, b):
    low, high = min(a, b), max(a, b)
    assume(np.isfinite(high - low))
    back = Space.from_json(Space({"x": Float(low, high), "k": Bool()}).to_json()).parameters["x"]
    assert (back.low, back.high) == (low, high)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON"),
        ("[1]", "table of parameters, got list"),
        ("{}", "space is empty"),
        ('{"lr": {"low": 0}}', '"lr": the key "type" is missing'),
        ('{"lr": {"type": "real"}}', '"lr": unknown type .real., use one of float, int, bool'),
        ('{"lr": {"type": ["int"]}}', '"lr": unknown type'),
        (
            '{"lr": {"type": "float", "low": 0}}',
            '"lr": the key "high" is missing, type float takes low, high, scale, step, digits',
        ),
        ('{"lr": {"type": "float", "low": 0, "high": NaN}}', '"lr": high must be finite'),
        ('{"b": {"type": "bool", "low": 0}}', '"b": unknown key "low", type bool takes no other key'),
        ('{"b": [1, 2]}', '"b": .* is neither a table'),
    ],
)
def test_bad_json_is_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        Space.from_json(text)


# TOML


def test_toml():
    assert Space.from_toml(TOML) == Space(
        {
            "seed": 7,
            "lr": Float(1e-5, 0.1, "log"),
            "depth": Int(1, 15),
            "celsius": Float(20, 90, step=0.5),
            "dose": Float(0.001, 10, "log", digits=2),
            "bootstrap": Bool(),
            "kernel": Categorical(["rbf", "poly", 3, 0.5, True]),
            "size": Ordinal([16, 32, 64]),
            "version": Constant("v2"),
        }
    )


def test_toml_file(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(TOML, encoding="utf-8")
    assert Space.from_toml_file(path) == Space.from_toml_file(str(path)) == Space.from_toml(TOML)
    path.write_text("[x]\ntype = 'int'\nlow = 3\nhigh = 1", encoding="utf-8")
    with pytest.raises(ValueError, match=r'space\.toml: Parameter "x": low 3 is above high 1'):
        Space.from_toml_file(path)
    with pytest.raises(FileNotFoundError):
        Space.from_toml_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "space is empty"),
        ("[lr", "not valid TOML"),
        ("space.toml", "not valid TOML .to read a file, use from_toml_file"),
        ("[lr]\ntype = 'float'\nlow = 0\nhigh = 1\n[lr]", "not valid TOML"),
        (
            "[lr]\ntype = 'float'\nlow = 0\nhihg = 1",
            '"lr": unknown key "hihg", type float takes low, high, scale, step, digits',
        ),
        ("[lr]\ntype = 'float'\nlow = 0", '"lr": the key "high" is missing'),
        ("[lr]\nlow = 0\nhigh = 1", '"lr": the key "type" is missing'),
        ("[lr]\ntype = 'float'\nlow = 'a'\nhigh = 1", '"lr": low must be a number'),
        ("[lr]\ntype = 'float'\nlow = -inf\nhigh = 1", '"lr": low must be finite'),
        ("[lr]\ntype = 'float'\nlow = 0\nhigh = 1\nscale = 'log'", '"lr": a log scale needs low above 0'),
        ("[lr.x]\ntype = 'bool'", '"lr": the key "type" is missing'),
        ("[k]\ntype = 'int'\nlow = 0\nhigh = 1e3", r'"k": high must be an integer, got 1000\.0'),
        ("[c]\ntype = 'categorical'\nvalues = [1]", '"c": unknown key "values", type categorical takes choices'),
        ("[c]\ntype = 'categorical'\nchoices = 'abc'", '"c": choices must be a list'),
        ("[c]\ntype = 'categorical'\nchoices = [[1], [2]]", r'"c": \[1\] is a list'),
        ("[c]\ntype = 'categorical'\nchoices = [2020-01-01]", '"c": .* is a date'),
        ("[o]\ntype = 'ordinal'\nchoices = [1, 2]", '"o": unknown key "choices", type ordinal takes values'),
        ("[o]\ntype = 'ordinal'\nvalues = []", '"o": values must not be empty'),
        ("[o]\ntype = 'constant'\nvalue = nan", '"o": nan is not finite'),
        ("seed = 7", 'nothing to optimise: "seed"'),
    ],
)
def test_bad_toml_is_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        Space.from_toml(text)


# Optuna


def test_from_optuna():
    space = Space.from_optuna(
        {
            "lr": FloatDistribution(1e-5, 0.1, log=True),
            "x": FloatDistribution(-1, 2),
            "step": FloatDistribution(0, 1, step=0.1),
            "k": IntDistribution(1, 9),
            "n": IntDistribution(1, 100, log=True),
            "even": IntDistribution(0, 8, step=2),
            "c": CategoricalDistribution([None, True, "a", 0.5]),
            "b": CategoricalDistribution([True, False]),
            "two": CategoricalDistribution([0, 1]),
            "one": FloatDistribution(2, 2),
            "single": IntDistribution(3, 3, step=2),
        }
    )
    assert space == Space(
        {
            "lr": Float(1e-5, 0.1, "log"),
            "x": Float(-1, 2),
            "step": Float(0, 1, step=0.1),
            "k": Int(1, 9),
            "n": Int(1, 100, "log"),
            "even": Ordinal([0, 2, 4, 6, 8]),
            "c": Categorical([None, True, "a", 0.5]),
            "b": Bool(),
            "two": Categorical([0, 1]),
            "one": Float(2, 2),
            "single": Ordinal([3]),
        }
    )


@pytest.mark.parametrize("space", [SPACE, Space({"k": Int(-(10**15), 10**15), "x": Float(1e-300, 1e300, "log")})])
def test_optuna_stores_every_point(space, tmp_path):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db")
    top = {name: p.levels[-1] if p.levels else p.high for name, p in space.parameters.items()}
    sampled = [*points(space, 6), top]
    distributions = space.to_optuna()
    study.add_trials([optuna.create_trial(params=point, distributions=distributions, value=0.0) for point in sampled])
    stored = [space.validate(trial.params) for trial in study.trials]
    assert stored == sampled
    assert [[type(v) for v in p.values()] for p in stored] == [[type(v) for v in p.values()] for p in sampled]


def test_to_optuna_keeps_what_optuna_knows():
    distributions = SPACE.to_optuna()
    assert distributions["lr"] == FloatDistribution(1e-5, 0.1, log=True)
    assert distributions["min_split"] == FloatDistribution(0.01, 0.99)
    assert distributions["trees"] == IntDistribution(1, 1000, log=True)
    assert distributions["shift"] == IntDistribution(-50, 200)
    assert distributions["bootstrap"] == CategoricalDistribution([False, True])
    assert distributions["seed"] == CategoricalDistribution([7])
    assert distributions["fixed"] == FloatDistribution(3, 3)
    assert distributions["dial"] == FloatDistribution(20, 90, step=0.5)
    assert distributions["knob"] == FloatDistribution(1, 1000, log=True)
    assert distributions["short"] == FloatDistribution(1e-6, 1, log=True)
    known = Space(
        {
            "lr": Float(1e-5, 0.1, "log"),
            "t": Float(-1, 1, step=0.25),
            "k": Int(1, 9),
            "b": Bool(),
            "c": Categorical(["x", None]),
        }
    )
    assert Space.from_optuna(known.to_optuna()) == known


def test_optuna_trials_are_valid_points():
    space = Space.from_optuna({"s": FloatDistribution(0.1, 0.9, step=0.2), "k": IntDistribution(2, 20, step=3)})
    for value in space.parameters["s"].levels:
        assert FloatDistribution(0.1, 0.9, step=0.2)._contains(value)
    assert space.parameters["k"].levels == (2, 5, 8, 11, 14, 17, 20)


class _Other(optuna.distributions.BaseDistribution):
    def to_internal_repr(self, value):
        return 0.0

    def single(self):
        return False

    def _contains(self, value):
        return True


@pytest.mark.parametrize(
    ("distribution", "problem"),
    [
        (_Other(), "no parameter for the distribution"),
        (FloatDistribution(0, float("inf")), "high must be finite"),
        (IntDistribution(0, 10**9, step=2), "step 2 makes 500000001 values"),
        (FloatDistribution(0, 1e9, step=1e-15), "step 1e-15 is too small"),
        (CategoricalDistribution([1.0, float("nan")]), "nan is not finite"),
        (CategoricalDistribution([1, True]), "1 equals True"),
        (IntDistribution(0, 2**60), "within"),
    ],
)
def test_bad_distributions_are_named(distribution, problem):
    with pytest.raises(ValueError, match=f'^Parameter "the one": .*{problem}'):
        Space.from_optuna({"the one": distribution})


def test_optuna_is_imported_when_needed():
    code = "import sys, compbo.space; sys.exit('optuna' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# Bayesmark


def test_api_config():
    space = Space.from_api_config(
        {
            "max_depth": {"type": "int", "space": "linear", "range": (1, 15)},
            "min_samples_split": {"type": "real", "space": "logit", "range": (0.01, 0.99)},
            "alpha": {"type": "real", "space": "log", "range": [1e-5, 1e1]},
            "power": {"type": "real", "space": "bilog", "range": np.array([-3, 3])},
            "batch": {"type": "int", "values": [64, 16, 32]},
            "frac": {"type": "real", "space": "linear", "values": [1, 0.5]},
            "iters": {"type": "int", "space": "log", "range": (1.0, 100.0)},
            "bootstrap": {"type": "bool"},
            "kernel": {"type": "cat", "values": ["rbf", "poly"]},
            "size": {"type": "ordinal", "values": ["small", "large"], "space": None},
        }
    )
    assert space == Space(
        {
            "max_depth": Int(1, 15),
            "min_samples_split": Float(0.01, 0.99, "logit"),
            "alpha": Float(1e-5, 10, "log"),
            "power": Float(-3, 3, "bilog"),
            "batch": Ordinal([16, 32, 64]),
            "frac": Ordinal([0.5, 1.0]),
            "iters": Int(1, 100, "log"),
            "bootstrap": Bool(),
            "kernel": Categorical(["rbf", "poly"]),
            "size": Ordinal(["small", "large"]),
        }
    )


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (3, "must be a mapping, got 3"),
        ({"type": "float", "range": (0, 1)}, "unknown type 'float', Bayesmark has real, int, bool, cat, ordinal"),
        ({"range": (0, 1)}, "unknown type None"),
        ({"type": "real"}, 'either "range" or "values"'),
        ({"type": "int", "range": (0, 1), "values": [1, 2]}, 'either "range" or "values"'),
        ({"type": "real", "range": (0, 1, 2)}, r'"range" must be \(low, high\)'),
        ({"type": "real", "range": 5}, '"range" must be a list of numbers, got 5'),
        ({"type": "int", "values": ["a"]}, '"values" must be a list of numbers'),
        ({"type": "real", "space": "log", "range": (0, 1)}, "log scale needs low above 0"),
        ({"type": "real", "space": "sqrt", "range": (0, 1)}, "unknown scale 'sqrt'"),
        ({"type": "int", "range": (0, 1.5)}, "high must be an integer"),
        ({"type": "bool", "range": (0, 1)}, 'bool does not take the key "range"'),
        ({"type": "cat", "range": (0, 1)}, 'cat does not take the key "range"'),
        ({"type": "cat"}, 'cat needs "values"'),
        ({"type": "cat", "values": ["a", "a"]}, "must not repeat"),
    ],
)
def test_bad_api_config_is_named(config, problem):
    with pytest.raises(ValueError, match=f'^Parameter "the one": .*{problem}'):
        Space.from_api_config({"the one": config})
