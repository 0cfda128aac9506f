"""Space: exact there and back, rounding, sampling, validation, and every complaint about bad input."""

import copy
import hashlib
import itertools
import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logit

from compbo.space import Bool, Categorical, Constant, Float, Int, Ordinal, Space
from compbo.space.scales import round_digits

SETTINGS = settings(derandomize=True, max_examples=60, deadline=None)

MIXED = Space(
    {
        "lr": Float(1e-5, 1e-1, scale="log"),
        "depth": Int(1, 15),
        "min_split": Float(0.01, 0.99, scale="logit"),
        "bootstrap": Bool(),
        "kernel": Categorical(["rbf", "poly", None]),
        "size": Ordinal([16, 32, 64]),
        "seed": 7,
        "trees": Int(1, 1000, scale="log"),
        "shift": Int(-50, 200, scale="bilog"),
        "offset": Float(-100, 1e4, scale="bilog"),
        "flag": Categorical([True, "auto"]),
        "fixed": Float(3, 3),
    }
)

# low, high, scale: narrow, wide, huge, tiny, far from zero
RANGES = [
    (0, 1, "linear"),
    (-5, 5, "linear"),
    (0.1, 0.7, "linear"),
    (1000, 1001, "linear"),
    (-1e300, 1e300, "linear"),
    (0, 5e-324, "linear"),
    (3, math.nextafter(3, 4), "linear"),
    (1e-5, 0.1, "log"),
    (1e-300, 1e300, "log"),
    (5e-324, 1.7976931348623157e308, "log"),
    (1, 1 + 1e-6, "log"),
    (1e300, 1.0000001e300, "log"),
    (0.01, 0.99, "logit"),
    (1e-300, 1 - 1e-15, "logit"),
    (0, 1e6, "bilog"),
    (-100, 1e6, "bilog"),
    (-1.7e308, 1.7e308 / 2, "bilog"),
]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def decimal(number: int, places: int) -> float:
    return float(f"{number}e-{places}" if places >= 0 else f"{number}e{-places}")


@st.composite
def parameters(draw):
    """Any parameter the library accepts."""
    kind = draw(st.sampled_from(["float", "step", "digits", "int", "bool", "categorical", "ordinal", "constant"]))
    if kind == "float":
        scale = draw(st.sampled_from(["linear", "log", "logit", "bilog"]))
        floor, ceiling = {"log": (1e-12, 1e12), "logit": (1e-6, 1 - 1e-6)}.get(scale, (-1e9, 1e9))
        low = draw(st.floats(floor, ceiling, exclude_max=True))
        high = draw(st.floats(low, ceiling).filter(lambda high: high == low or high - low > 1e-9 * (1 + abs(low))))
        return Float(low, high, scale)
    if kind == "step":
        scale = draw(st.sampled_from(["linear", "log", "bilog"]))
        places = draw(st.integers(-3, 6))
        low = draw(st.integers(1 if scale == "log" else -(10**6), 10**6))
        stride, count = draw(st.integers(1, 1000)), draw(st.integers(0, 1000))
        ends = (decimal(number, places) for number in (low, low + stride * count, stride))
        low, high, step = ends
        return Float(low, high, scale, step=step)
    if kind == "digits":
        scale = draw(st.sampled_from(["linear", "log", "logit", "bilog"]))
        digits = draw(st.integers(1, 12))
        floor, ceiling = {"log": (1e-12, 1e12), "logit": (1e-6, 1 - 1e-6)}.get(scale, (-1e9, 1e9))
        ends = [float(f"{draw(st.floats(floor, ceiling)):.{digits - 1}e}") for _ in range(2)]
        assume(scale != "logit" or max(ends) < 1)
        assume(min(ends) == max(ends) or max(ends) - min(ends) > 1e-9 * (1 + max(map(abs, ends))))
        return Float(min(ends), max(ends), scale, digits=digits)
    if kind == "int":
        scale = draw(st.sampled_from(["linear", "log", "bilog"]))
        low = draw(st.integers(1 if scale == "log" else -(10**6), 10**6))
        return Int(low, draw(st.integers(low, low + 10**6)), scale)
    if kind == "bool":
        return Bool()
    scalars = st.one_of(st.none(), st.integers(-5, 5), st.floats(-1, 1).map(lambda x: x + 0.25), st.text(max_size=3))
    if kind == "constant":
        return Constant(draw(scalars))
    values = draw(st.lists(scalars, min_size=1, max_size=5, unique=True))
    return Categorical(values) if kind == "categorical" else Ordinal(values)


@st.composite
def spaces(draw):
    rest = draw(st.dictionaries(st.text(min_size=1, max_size=4), parameters(), max_size=5))
    return Space({**rest, "x": Float(0, 1)})


# There and back


def test_dimensions_and_names():
    assert MIXED.names[:2] == ("lr", "depth")
    assert list(MIXED.parameters) == list(MIXED.names)
    assert MIXED.dim == 1 + 1 + 1 + 1 + 3 + 1 + 0 + 1 + 1 + 1 + 2 + 0
    assert MIXED.parameters["seed"] == Constant(7)
    with pytest.raises(TypeError):
        MIXED.parameters["lr"] = Float(0, 1)


def test_coordinates_are_the_scales():
    space = Space(
        {
            "log": Float(1e-4, 1, "log"),
            "logit": Float(0.1, 0.9, "logit"),
            "bilog": Float(-10, 100, "bilog"),
            "linear": Float(-2, 6),
            "int": Int(1, 1000, "log"),
            "level": Int(-3, 5),
            "bool": Bool(),
            "size": Ordinal(["s", "m", "l"]),
            "cat": Categorical(["a", "b", "c"]),
        }
    )
    point = {"log": 1e-3, "logit": 0.3, "bilog": -4.0, "linear": 0.0, "int": 30, "level": -1, "bool": True}
    unit = space.to_unit([{**point, "size": "m", "cat": "b"}])
    expected = [
        0.25,
        (logit(0.3) - logit(0.1)) / (logit(0.9) - logit(0.1)),
        (-math.log(5) + math.log(11)) / (math.log(101) + math.log(11)),
        0.25,
        math.log(30) / math.log(1000),
        0.25,
        1.0,
        0.5,
        0.0,
        1.0,
        0.0,
    ]
    assert unit.dtype == torch.float64
    assert unit.shape == (1, 11)
    np.testing.assert_allclose(unit[0].numpy(), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(("low", "high", "scale"), RANGES)
def test_float_ranges_are_exact(low, high, scale):
    space = Space({"x": Float(low, high, scale)})
    assert space.to_unit([{"x": low}, {"x": high}]).flatten().tolist() == [0.0, 1.0]
    assert space.from_unit(torch.tensor([[0.0], [1.0], [-3.0], [7.0]])) == [{"x": v} for v in (low, high, low, high)]
    unit = torch.cat([torch.linspace(0, 1, 301, dtype=torch.float64)[:, None], space.sample_unit((300,), generator())])
    points = space.from_unit(unit)
    assert all(type(point["x"]) is float and low <= point["x"] <= high for point in points)
    assert space.from_unit(space.to_unit(points)) == points
    assert [space.from_unit(space.to_unit([point]))[0] for point in points[::50]] == points[::50]
    in_order = [space.from_unit(row[None])[0]["x"] for row in unit.sort(dim=0).values[::20]]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [r for r in RANGES if r[1] - r[0] > 1e-9 and r[:2] not in {(-100, 1e6), (-1.7e308, 1.7e308 / 2)}],
)
def test_typed_floats_come_back(low, high, scale):
    """Twelve significant digits; on a linear scale twelve digits counted from the larger bound."""
    space = Space({"x": Float(low, high, scale)})
    values = [point["x"] for point in space.sample(400, generator(1))]
    if scale == "linear":
        unit = 10.0 ** (math.floor(math.log10(max(abs(low), abs(high)))) - 11)
        typed = [float(f"{round(value / unit) * unit:.11e}") for value in values]
    else:
        typed = [
            float(f"{value:.{digits}e}") for value, digits in zip(values, itertools.cycle(range(12)), strict=False)
        ]
    points = [{"x": value} for value in typed if low <= value <= high]
    assert len(points) > 200
    assert space.from_unit(space.to_unit(points)) == points


def test_short_numbers_near_zero_come_back():
    space = Space({"x": Float(-1e6, 1e6), "y": Float(-1, 0), "z": Float(-1e6, 1e6, "bilog")})
    points = [{"x": x, "y": -abs(x) / 1e6, "z": x} for x in (0.0, 1e-9, -1e-8, 0.001, -0.25, 1234.5, 1e5)]
    assert space.from_unit(space.to_unit(points)) == points


@pytest.mark.parametrize("scale", ["linear", "bilog"])
def test_zero_comes_back(scale):
    ends = np.random.default_rng(0).random((200, 2))
    space = Space({f"x{i}": Float(-low, high, scale) for i, (low, high) in enumerate(ends)})
    zero = dict.fromkeys(space.names, 0.0)
    assert space.from_unit(space.to_unit([zero])) == [zero]


@pytest.mark.parametrize("bounds", [(-100, 1e6, "bilog"), (0.01, 0.99, "logit"), (-2e6, 1e6), (1, 1 + 1e-6, "log")])
def test_any_double_keeps_its_coordinate(bounds):
    """Doubles can share a coordinate; the one that comes back has the same, or very rarely that of a neighbour."""
    space = Space({"x": Float(*bounds)})
    values = np.random.default_rng(0).uniform(*bounds[:2], 3000)
    unit = space.to_unit([{"x": value} for value in values])
    back = space.to_unit(space.from_unit(unit))
    assert (back == unit).double().mean() > 0.999
    assert (back - unit).abs().max() <= 2.0**-51


@SETTINGS
@given(spaces(), st.integers(0, 2**31))
def test_every_sampled_point_comes_back(space, seed):
    points = space.sample(4, generator(seed))
    unit = space.to_unit(points)
    assert space.from_unit(unit) == points
    assert [space.validate(point) for point in points] == points
    assert torch.equal(space.round_unit(unit), unit)
    assert ((unit >= 0) & (unit <= 1)).all()
    kinds = {bool, int, float, str, type(None)}
    assert all(type(value) in kinds for point in points for value in point.values())


@SETTINGS
@given(spaces(), st.integers(0, 2**31))
def test_rounding_is_a_projection(space, seed):
    x = space.sample_unit((3, 2), generator(seed)) * 1.4 - 0.2
    rounded = space.round_unit(x)
    assert torch.equal(space.round_unit(rounded), rounded)
    assert space.from_unit(rounded.reshape(-1, space.dim)) == space.from_unit(x.reshape(-1, space.dim))
    names = _columns(space)
    plain = {name for name, p in space.parameters.items() if isinstance(p, Float) and p.step is p.digits is None}
    reals = [k for k, name in enumerate(names) if name in plain]
    assert torch.equal(rounded[..., reals], x[..., reals])


def _columns(space: Space) -> list[str]:
    """Name of the parameter of every column."""
    return [
        name
        for name, p in space.parameters.items()
        if not p.is_constant
        for _ in range(len(p.choices) if isinstance(p, Categorical) else 1)
    ]


@pytest.mark.parametrize("scale", ["linear", "log", "bilog"])
@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 15), (3, 5000), (1, 10**12), (10**12 - 999, 10**12)])
def test_every_integer_has_its_own_coordinate(low, high, scale):
    space = Space({"k": Int(low, high, scale)})
    ks = sorted({*range(low, min(low + 3000, high)), *range(max(low, high - 3000), high + 1)})
    points = [{"k": k} for k in ks]
    unit = space.to_unit(points)
    assert space.from_unit(unit) == points
    assert torch.equal(space.round_unit(unit), unit)
    assert (unit.flatten().diff() > 0).all()
    assert unit[0].item() == 0.0
    assert unit[-1].item() == 1.0


@SETTINGS
@given(st.lists(st.integers(-(2**50), 2**50), min_size=3, max_size=3, unique=True).map(sorted))
def test_huge_integers_are_exact(bounds):
    low, value, high = bounds
    space = Space({"k": Int(low, high)})
    for k in {low, low + 1, value, high - 1, high}:
        assert space.from_unit(space.to_unit([{"k": k}])) == [{"k": k}]


@SETTINGS
@given(st.integers(2, 2**22), st.data())
def test_levels_of_any_number_stay_in_their_cells(count, data):
    k = data.draw(st.integers(0, count - 1))
    space = Space({"k": Int(0, count - 1)})
    unit = space.to_unit([{"k": k}])
    assert torch.equal(space.round_unit(unit), unit)
    assert space.from_unit(unit) == [{"k": k}]


# Steps and digits


@pytest.mark.parametrize(
    ("parameter", "typed", "suggested"),
    [
        (Float(20, 90, step=0.5), [61.486, 20.1, 89.9, 61.74, 61.76], [61.5, 20.0, 90.0, 61.5, 62.0]),
        (Float(0, 1, step=0.1), [0.1 + 0.2, 0.7, 0.65001], [0.3, 0.7, 0.7]),
        (Float(0.3, 2.3, step=0.5), [0.9, 2.2], [0.8, 2.3]),
        (Float(-1e16, 9e16, step=1e15), [1.4e15, -0.6e15], [1e15, -1e15]),
        (Float(1, 1000, "log", step=0.5), [1.2, 1.3, 999.8], [1.0, 1.5, 1000.0]),
        (Float(1e-6, 1, "log", digits=3), [0.0012345, 0.99951, 1.23456e-6], [0.00123, 1.0, 1.23e-6]),
        (Float(0, 100, digits=3), [61.486, 0.0123456, 0.0, 99.96], [61.5, 0.0123, 0.0, 100.0]),
        (Float(-100, 100, digits=2), [-61.486, 1e-30, 99.4], [-61.0, 0.0, 99.0]),
        (Float(0.1, 0.9, "logit", digits=1), [0.46, 0.86], [0.5, 0.9]),
    ],
)
def test_what_can_be_set_on_a_dial_is_suggested(parameter, typed, suggested):
    space = Space({"x": parameter})
    unit = space.to_unit([{"x": value} for value in typed])
    assert [point["x"] for point in space.from_unit(unit)] == suggested
    assert torch.equal(space.round_unit(unit), unit)  # the model sees what would be suggested
    assert [space.validate({"x": value})["x"] for value in typed[1:]] == [
        pytest.approx(value, rel=1e-15, abs=0) for value in typed[1:]
    ]  # what was really used is kept
    assert space.is_discrete


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_only_steps_are_suggested_and_all_of_them(scale):
    space = Space({"x": Float(0.1, 2.1, scale, step=0.1)})
    assert space.size == 21
    expected = [k / 10 for k in range(1, 22)]
    assert [point["x"] for point in space.grid()] == expected
    found = {point["x"] for point in space.sample(4000, generator())}
    assert found == set(expected)


def test_steps_are_equally_likely():
    points = Space({"x": Float(0, 1, step=0.25)}).sample(5000, generator(5))
    counts = [sum(point["x"] == level for point in points) for level in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert sum(counts) == 5000
    assert stats.chisquare(counts).pvalue > 1e-3


def test_steps_are_a_sequence_that_lists_nothing():
    steps = Float(0, 1e6, step=1e-6).levels
    assert len(steps) == 10**12 + 1
    assert (steps[0], steps[3], steps[-1]) == (0.0, 3e-6, 1e6)
    assert steps[1:4] == (1e-6, 2e-6, 3e-6)
    assert Float(2, 2, step=1).levels == (2.0,)
    assert Float(0, 1, digits=2).levels is None


def test_rounding_details():
    space = Space({"b": Bool(), "c": Categorical("xyz".__iter__()), "o": Ordinal([1, 2, 3, 4]), "f": Float(0, 1)})
    x = torch.tensor([[0.49, 0.2, 0.9, 0.3, 0.26, 0.123], [0.51, 0.5, 0.5, 0.5, 0.99, 2.0]], dtype=torch.float64)
    third = 1 / 3
    assert space.round_unit(x).tolist() == [[0, 0, 1, 0, third, 0.123], [1, 1, 0, 0, 1, 2.0]]
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 6\)"):
        space.round_unit(x[:, :5])


def test_rounding_leaves_the_gradient_of_floats():
    space = Space({"k": Int(0, 4), "f": Float(0, 1)})
    x = torch.tensor([[0.3, 0.3]], dtype=torch.float64, requires_grad=True)
    space.round_unit(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0]]


def test_a_space_of_floats_is_not_rounded():
    space = Space({"x": Float(0, 1), "c": 1})
    x = torch.rand(3, 2, 1, dtype=torch.float64, generator=generator())
    assert space.round_unit(x) is x
    assert space.rounder() is None
    assert not space.is_discrete


def test_rounder_survives_pickling():
    x = MIXED.sample_unit((2, 3), generator())
    assert MIXED.is_discrete
    assert torch.equal(pickle.loads(pickle.dumps(MIXED.rounder()))(x), MIXED.round_unit(x))


def test_empty_batches():
    assert MIXED.to_unit([]).shape == (0, MIXED.dim)
    assert MIXED.from_unit(torch.zeros(0, MIXED.dim, dtype=torch.float64)) == []
    assert MIXED.round_unit(torch.zeros(0, 2, MIXED.dim, dtype=torch.float64)).shape == (0, 2, MIXED.dim)
    assert MIXED.sample(0, generator()) == []


@pytest.mark.parametrize("shape", [(MIXED.dim,), (2, MIXED.dim + 1), (1, 2, MIXED.dim)])
def test_from_unit_wants_a_matrix(shape):
    with pytest.raises(ValueError, match="unit points of shape"):
        MIXED.from_unit(torch.zeros(shape, dtype=torch.float64))


def test_from_unit_refuses_nan():
    with pytest.raises(ValueError, match="finite"):
        MIXED.from_unit(torch.full((1, MIXED.dim), math.nan, dtype=torch.float64))


def test_round_digits_reads_decimals_as_python_does():
    values = np.array([0.1 + 0.2, 1.005, -123456.789, 9.999999, 1e-310, 3.3e305, 0.0, 2 / 3 * 1e-15, 1e22 / 3])
    for digits in (1, 3, 7, 12):
        assert round_digits(values, digits).tolist() == [float(f"{value:.{digits - 1}e}") for value in values]


# Sampling


def test_levels_and_choices_are_equally_likely():
    space = Space({"k": Int(3, 9), "b": Bool(), "c": Categorical(["a", "b", "c"]), "o": Ordinal([1, 10, 100])})
    points = space.sample(6000, generator(3))
    for name, parameter in space.parameters.items():
        counts = [sum(point[name] == level for point in points) for level in parameter.levels]
        assert sum(counts) == 6000
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    ("parameter", "inverse"),
    [
        (Float(-3, 5), stats.uniform(-3, 8).cdf),
        (Float(1e-6, 10, "log"), stats.loguniform(1e-6, 10).cdf),
        (Float(0.01, 0.99, "logit"), lambda x: 0.5 + logit(x) / (2 * logit(0.99))),
        (Float(-9, 9, "bilog"), lambda x: 0.5 + np.sign(x) * np.log1p(np.abs(x)) / (2 * np.log(10))),
    ],
)
def test_floats_are_uniform_on_their_scale(parameter, inverse):
    points = Space({"x": parameter}).sample(2000, generator(4))
    assert stats.kstest([point["x"] for point in points], inverse).pvalue > 1e-3


def test_integers_on_a_log_scale_follow_their_cells():
    points = Space({"k": Int(1, 10, "log")}).sample(8000, generator(5))
    edges = np.log([1, *np.arange(1.5, 10), 10]) / math.log(10)
    counts = [sum(point["k"] == k for point in points) for k in range(1, 11)]
    assert stats.chisquare(counts, np.diff(edges) * 8000).pvalue > 1e-3


def test_sampling_depends_on_the_generator_only():
    before = torch.random.get_rng_state()
    assert MIXED.sample(5, generator(1)) == MIXED.sample(5, generator(1))
    assert MIXED.sample(5, generator(1)) != MIXED.sample(5, generator(2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert MIXED.sample_unit((4, 2), generator()).shape == (4, 2, MIXED.dim)
    assert MIXED.sample_unit((), generator()).shape == (MIXED.dim,)
    with pytest.raises(ValueError, match="negative"):
        MIXED.sample(-1, generator())


# Finite spaces


def test_size_and_grid():
    levels = {"k": Int(-1, 2), "b": Bool(), "c": Categorical(["x", None]), "o": Ordinal([1.5, "big"]), "s": 7}
    space = Space(levels)
    assert space.size == 4 * 2 * 2 * 2
    expected = [
        dict(zip(space.names, point, strict=True))
        for point in itertools.product(range(-1, 3), [False, True], ["x", None], [1.5, "big"], [7])
    ]
    points = list(space.grid())
    assert points == expected
    assert space.from_unit(space.to_unit(points)) == points


def test_grid_is_lazy():
    space = Space({"k": Int(0, 2**50), **{f"j{i}": Int(0, 10**9) for i in range(50)}})
    assert space.size == (2**50 + 1) * (10**9 + 1) ** 50
    assert next(space.grid())["k"] == 0


def test_a_continuum_has_no_size_and_no_grid():
    assert MIXED.size is None
    with pytest.raises(ValueError, match='"lr" is a continuum'):
        MIXED.grid()
    assert Space({"x": Float(2, 2), "b": Bool()}).size == 2


# Constants


def test_constants_take_no_dimension():
    space = Space(
        {
            "a": Float(3, 3),
            "b": Int(2, 2),
            "c": Categorical(["only"]),
            "d": Ordinal([8]),
            "e": Constant(None),
            "k": Bool(),
        }
    )
    constants = {"a": 3.0, "b": 2, "c": "only", "d": 8, "e": None}
    assert space.dim == 1
    assert space.from_unit(torch.tensor([[0.9]])) == [{**constants, "k": True}]
    assert space.validate({"k": False}) == {**constants, "k": False}
    assert space.to_unit([{"k": True}, {"b": 2, "k": False}]).tolist() == [[1.0], [0.0]]
    with pytest.raises(ValueError, match=r'"c": \'other\' is not one of \'only\''):
        space.validate({"c": "other", "k": True})


# Neighbours


def _changes(space, point):
    """Which parameters of the neighbours differ from the point, with their values."""
    [x] = space.to_unit([point])
    changes = []
    for near in space.from_unit(space.neighbours(x)):
        different = {name: value for name, value in near.items() if value != point[name]}
        assert len(different) == 1
        changes += different.items()
    return sorted(changes, key=str)


def test_neighbours_are_one_level_or_another_choice_away():
    point = {"lr": 1e-3, "depth": 15, "min_split": 0.5, "bootstrap": False, "kernel": "rbf", "size": 32, "seed": 7}
    point |= {"trees": 1, "shift": 0, "offset": 2.0, "flag": "auto", "fixed": 3.0}
    expected = [("depth", 14), ("bootstrap", True), ("kernel", "poly"), ("kernel", None), ("size", 16), ("size", 64)]
    expected += [("trees", 2), ("shift", -1), ("shift", 1), ("flag", True)]
    assert _changes(MIXED, point) == sorted(expected, key=str)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_every_integer_has_the_next_ones_as_neighbours(scale):
    space = Space({"n": Int(1, 40, scale=scale), "x": Float(0, 1)})
    for n in range(1, 41):
        expected = sorted((("n", m) for m in (n - 1, n + 1) if 1 <= m <= 40), key=str)
        assert _changes(space, {"n": n, "x": 0.25}) == expected


@pytest.mark.parametrize(
    ("dial", "value", "expected"),
    [
        (Float(0.1, 0.9, scale="logit", step=0.1), 0.3, [0.2, 0.4]),
        (Float(0.1, 0.9, scale="logit", step=0.1), 0.9, [0.8]),
        (Float(0.001, 1, scale="log", digits=2), 0.01, [0.0099, 0.011]),
        (Float(0.001, 1, scale="log", digits=2), 0.099, [0.098, 0.1]),
        (Float(0.001, 1, scale="log", digits=2), 0.001, [0.0011]),
        (Float(0, 1, digits=1), 0.5, [0.4, 0.6]),
        (Float(0, 1, digits=1), 0.0, [1e-12]),
        (Float(-100, 100, scale="bilog", digits=2), -10.0, [-11.0, -9.9]),
        (Float(-100, 100, scale="bilog", digits=2), 0.0, [-1e-10, 1e-10]),
    ],
)
def test_every_number_of_a_dial_has_the_next_ones_as_neighbours(dial, value, expected):
    """Also beside another parameter of the same rule, which stays."""
    space = Space({"x": dial, "y": dial})
    point = {"x": value, "y": float(dial.nearest(np.array(dial.low + 0.37 * (dial.high - dial.low))))}
    assert sorted(number for name, number in _changes(space, point) if name == "x") == expected


def test_floats_have_no_neighbours():
    space = Space({"x": Float(0, 1), "y": Float(1, 2)})
    assert space.neighbours(torch.tensor([0.2, 0.4], dtype=torch.float64)).shape == (0, 2)


# Identity


def test_equality_hash_and_digest():
    same = Space(dict(MIXED.parameters))
    assert same == MIXED
    assert hash(same) == hash(MIXED)
    assert same.digest() == MIXED.digest()
    text = '{"x": {"type": "float", "low": 0.0, "high": 1.0, "scale": "linear"}}'
    assert Space({"x": Float(0, 1)}).digest() == hashlib.sha256(text.encode()).hexdigest()
    assert Space({"x": Float(0, 1), "c": 1}) != Space({"x": Float(0, 1), "c": True})
    assert Space({"x": Float(0, 1), "c": 1}) != Space({"x": Float(0, 1), "c": 1.0})
    assert Space({"x": Float(0, 1), "y": Bool()}) != Space({"y": Bool(), "x": Float(0, 1)})
    assert Space({"x": Float(0, 1)}) != {"x": Float(0, 1)}


def test_copies_and_pickles_are_equal():
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED
    assert copy.deepcopy(MIXED) == MIXED
    assert eval(repr(MIXED)) == MIXED
