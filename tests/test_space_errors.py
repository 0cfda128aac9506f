"""Space: what is accepted as a value or a definition, and every complaint about what is not."""

import math
import pickle

import numpy as np
import pytest
import torch

from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space

SPACE = Space(
    {
        "lr": Float(1e-5, 1e-1, scale="log"),
        "depth": Int(1, 15),
        "bootstrap": Bool(),
        "kernel": Categorical(["rbf", "poly", None]),
        "size": Ordinal([16, 32, 64]),
        "seed": 7,
        "flag": Categorical([True, "auto"]),
        "fixed": Float(3, 3),
    }
)
POINT = SPACE.sample(1, torch.Generator().manual_seed(0))[0]


# Validation


def test_validate_makes_plain_python():
    space = Space({"f": Float(0, 10), "k": Int(0, 10), "b": Bool(), "c": Categorical(["a", 1]), "o": Ordinal([0.5, 2])})
    point = {"f": np.float32(0.5), "k": np.int8(3), "b": np.bool_(True), "c": np.str_("a"), "o": np.float64(2)}
    plain = space.validate(point)
    assert plain == {"f": 0.5, "k": 3, "b": True, "c": "a", "o": 2}
    assert [type(value) for value in plain.values()] == [float, int, bool, str, int]
    assert type(space.validate({**point, "f": 3})["f"]) is float


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("lr", 0.5, r"0\.5 is outside \[1e-05, 0\.1\]"),
        ("lr", math.nan, "nan is outside"),
        ("lr", math.inf, "inf is outside"),
        ("lr", 10**400, "is outside"),
        ("lr", "0.01", "'0.01' is not a number"),
        ("lr", True, "True is not a number"),
        ("lr", None, "None is not a number"),
        ("depth", 16, r"16 is outside \[1, 15\]"),
        ("depth", 3.0, r"3\.0 is not an integer"),
        ("depth", np.float64(3), "is not an integer"),
        ("depth", True, "True is not an integer"),
        ("bootstrap", 1, "1 is not True or False"),
        ("bootstrap", "true", "'true' is not True or False"),
        ("kernel", "linear", "'linear' is not one of 'rbf', 'poly', None"),
        ("kernel", ["rbf"], r"\['rbf'\] is not one of"),
        ("size", 48, "48 is not one of 16, 32, 64"),
        ("flag", 1, "1 is not one of True, 'auto'"),
        ("seed", 8, "8 is not one of 7"),
        ("fixed", 4, "4 is outside"),
    ],
)
def test_bad_values_are_named(name, value, problem):
    point = {**POINT, name: value}
    with pytest.raises(ValueError, match=f'^Parameter "{name}": .*{problem}'):
        SPACE.validate(point)
    with pytest.raises(ValueError, match=f'"{name}"'):
        SPACE.to_unit([point])


def test_bad_points_are_named():
    point = dict(POINT)
    with pytest.raises(ValueError, match='Unknown parameter "learning_rate": the space has "lr", "depth"'):
        SPACE.validate({**point, "learning_rate": 0.1})
    del point["depth"]
    with pytest.raises(ValueError, match='Parameter "depth" is missing'):
        SPACE.validate(point)
    with pytest.raises(ValueError, match="must be a mapping"):
        SPACE.validate([1, 2])


def test_long_lists_are_cut_in_messages():
    space = Space({"o": Ordinal(list(range(1000)))})
    with pytest.raises(ValueError, match=r"-1 is not one of 0, 1, .*7, \.\.\. \(1000 values\)"):
        space.validate({"o": -1})


# Definitions


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Float(1, 0), r"low 1\.0 is above high 0\.0"),
        (lambda: Float(0, math.inf), "high must be finite, got inf"),
        (lambda: Float(math.nan, 1), "low must be finite, got nan"),
        (lambda: Float(-(10**400), 1), "low must be finite, got -inf"),
        (lambda: Float("0", 1), "low must be a number, got '0'"),
        (lambda: Float(False, 1), "low must be a number, got False"),
        (lambda: Float(0, None), "high must be a number, got None"),
        (lambda: Float(-1.7e308, 1.7e308), "too wide"),
        (lambda: Float(0, 1, "log"), r"a log scale needs low above 0, got 0\.0"),
        (lambda: Float(-1, 1, "log"), "a log scale needs low above 0"),
        (lambda: Float(0, 0, "log"), "a log scale needs low above 0"),
        (lambda: Float(0, 0.5, "logit"), "a logit scale needs 0 < low and high < 1"),
        (lambda: Float(0.5, 1, "logit"), "a logit scale needs 0 < low and high < 1"),
        (lambda: Float(0, 1, "sqrt"), "unknown scale 'sqrt', use one of linear, log, logit, bilog"),
        (lambda: Float(0, 1, None), "unknown scale None"),
        (lambda: Float(1e300, math.nextafter(1e300, math.inf), "log"), "too close for a log scale"),
        (lambda: Int(5, 1), "low 5 is above high 1"),
        (lambda: Int(1, 2.5), r"high must be an integer, got 2\.5"),
        (lambda: Int(1.0, 2), r"low must be an integer, got 1\.0"),
        (lambda: Int(False, 2), "low must be an integer, got False"),
        (lambda: Int(1, math.inf), "high must be an integer, got inf"),
        (lambda: Int(0, 2**50 + 1), r"high must lie within ±2\*\*50"),
        (lambda: Int(0, 8, "log"), "a log scale needs low above 0, got 0"),
        (lambda: Int(1, 8, "logit"), "a logit scale needs"),
        (lambda: Int(1, 8, "exp"), "unknown scale 'exp'"),
        (lambda: Int(1, 10**15, "log"), "too wide to tell neighbours apart on a log scale"),
        (lambda: Int(-(10**15), 1, "bilog"), "too wide to tell neighbours apart on a bilog scale"),
        (lambda: Categorical([]), "choices must not be empty"),
        (lambda: Categorical(["a", "b", "a"]), "choices must not repeat, but 'a' equals 'a'"),
        (lambda: Categorical([1, True]), "choices must not repeat, but 1 equals True"),
        (lambda: Categorical([1, math.nan]), "nan is not finite"),
        (lambda: Categorical([(1, 2), (3,)]), r"\(1, 2\) is a tuple"),
        (lambda: Categorical("rbf"), "choices must be a list, got 'rbf'"),
        (lambda: Categorical(3), "choices must be a list, got 3"),
        (lambda: Categorical({"a", "b"}), "choices must be a list, got {"),  # a set has another order in every process
        (lambda: Categorical(["a", "\udcff"]), "is not text"),
        (lambda: Float(0, 1, ["log"]), r"unknown scale \['log'\]"),
        (lambda: Float(0, 1, step=0), r"step must be a positive number, got 0\.0"),
        (lambda: Float(0, 1, step=-0.5), "step must be a positive number"),
        (lambda: Float(0, 1, step=math.inf), "step must be a positive number"),
        (lambda: Float(0, 1, step="0.5"), "step must be a positive number, got '0.5'"),
        (
            lambda: Float(0, 1, step=0.3),
            r"high 1\.0 is not low plus a whole number of steps of 0\.3.*before it is 0\.9",
        ),
        (lambda: Float(0, 1, step=2), r"before it is 0\.0"),
        (lambda: Float(0, 1, step=1e-300), "step 1e-300 is too small for numbers from 0"),
        (lambda: Float(0, 1, step=0.5, digits=2), "step and digits exclude each other"),
        (lambda: Float(0, 1, digits=0), "digits must be a whole number from 1 to 12, got 0"),
        (lambda: Float(0, 1, digits=13), "digits must be a whole number from 1 to 12"),
        (lambda: Float(0, 1, digits=2.0), "digits must be a whole number"),
        (lambda: Float(0, 1, digits=True), "digits must be a whole number"),
        (lambda: Float(0.123, 1, digits=2), r"low 0\.123 has more than 2 digits"),
        (lambda: Float(0, 123, digits=2), r"high 123\.0 has more than 2 digits"),
        (lambda: Ordinal([]), "values must not be empty"),
        (lambda: Ordinal([1, 2, 1.0]), r"values must not repeat, but 1 equals 1\.0"),
        (lambda: Ordinal([1, math.inf]), "inf is not finite"),
        (lambda: Constant(math.nan), "nan is not finite"),
        (lambda: Constant([1]), r"\[1\] is a list"),
    ],
)
def test_bad_definitions_are_refused_where_they_are_written(make, problem):
    with pytest.raises(ValueError, match=f"^(Float|Int|Categorical|Ordinal|Constant): .*{problem}.*[.]$"):
        make()


@pytest.mark.parametrize(
    ("parameter", "problem"),
    [
        ([1, 2], r"\[1, 2\] is neither a parameter"),
        ((0.0, 1.0), "is neither a parameter"),
        (math.inf, "inf is not finite"),
    ],
)
def test_bad_definitions_are_named(parameter, problem):
    with pytest.raises(ValueError, match=f'^Parameter "the one": .*{problem}'):
        Space({"fine": Float(0, 1), "the one": parameter})


def test_a_parameter_of_a_file_is_refused_by_its_name():
    with pytest.raises(ValueError, match=r'^Parameter "the one": low 1\.0 is above high 0\.0\.$'):
        Space.from_dict({"fine": {"type": "bool"}, "the one": {"type": "float", "low": 1, "high": 0}})


def test_an_error_about_a_definition_can_be_sent_to_another_process():
    with pytest.raises(ValueError, match="above") as caught:
        Float(1, 0)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value) == "Float: low 1.0 is above high 0.0."


def test_spaces_with_nothing_to_optimise():
    with pytest.raises(ValueError, match="space is empty"):
        Space({})
    with pytest.raises(ValueError, match='nothing to optimise: "a", "b" can only take one value'):
        Space({"a": 1, "b": Float(2, 2)})
    with pytest.raises(ValueError, match="mapping of names to parameters, got list"):
        Space([Float(0, 1)])


@pytest.mark.parametrize("name", ["", 3, None, ("a",)])
def test_bad_names(name):
    with pytest.raises(ValueError, match="name of a parameter must be a string that is not empty"):
        Space({name: Float(0, 1)})


def test_numpy_definitions_become_plain():
    space = Space({"f": Float(np.float32(0), np.int64(2)), "k": Int(np.int32(1), np.int64(3)), "s": np.int64(4)})
    assert space == Space({"f": Float(0, 2), "k": Int(1, 3), "s": 4})
    assert type(space.parameters["f"].low) is float
    assert type(space.parameters["k"].high) is int
