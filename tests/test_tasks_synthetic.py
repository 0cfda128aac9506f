"""The synthetic functions against their formulas, their optima, their noise, their names."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from compbo.seeds import stream
from compbo.study.tasks import SyntheticTask, Task, get_task, list_tasks
from compbo.study.tasks.synthetic import DIMENSIONS, FUNCTIONS


def _dixon_price(x):
    return (x[0] - 1) ** 2 + sum(i * (2 * x[i - 1] ** 2 - x[i - 2]) ** 2 for i in range(2, len(x) + 1))


def _powell(x):
    blocks = [x[i : i + 4] for i in range(0, len(x), 4)]
    return sum((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4 for a, b, c, d in blocks)


def _levy(x):
    w = 1 + (x - 1) / 4
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2))
    return np.sin(np.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)


def _ackley(x):
    first = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return first - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20 + np.e


def _styblinski_tang(x):
    return 0.5 * np.sum(x**4 - 16 * x**2 + 5 * x)


FORMULAS = {
    "dixon-price": (_dixon_price, -10, 10),
    "powell": (_powell, -4, 5),
    "levy": (_levy, -10, 10),
    "ackley": (_ackley, -32.768, 32.768),
    "styblinski-tang": (_styblinski_tang, -5, 5),
}


def _vector(point):
    return np.array(list(point.values()))


def _point(task, vector):
    return dict(zip(task.space.names, map(float, vector), strict=True))


def _points(task, n):
    return task.space.sample(n, stream(0, "test", task.name))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_are_the_formula_and_bounds_are_the_papers(function):
    task = SyntheticTask(function, 8)
    formula, low, high = FORMULAS[function]
    for point in _points(task, 20):
        assert task.evaluate(point) == pytest.approx(formula(_vector(point)), rel=1e-12)
    assert task.space.names == tuple(f"x{i}" for i in range(1, 9))
    assert all((p.low, p.high, p.scale) == (low, high, "linear") for p in task.space.parameters.values())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shifting_moves_the_formula(function):
    plain, shifted = SyntheticTask(function, 8), SyntheticTask(function, 8, shifted=True)
    shift = _vector(shifted.minimizer) - _vector(plain.minimizer)
    assert np.abs(shift).min() > 0
    for point in _points(shifted, 20):
        assert shifted.evaluate(point) == pytest.approx(FORMULAS[function][0](_vector(point) - shift), rel=1e-12)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_optimum_is_attained_and_not_beaten(function, shifted):
    task = SyntheticTask(function, 8, shifted=shifted)
    best = task.evaluate(task.minimizer)
    assert best == pytest.approx(task.optimum, abs=1e-11)
    assert min(task.evaluate(point) for point in _points(task, 2000)) > best
    bounds = [(p.low, p.high) for p in task.space.parameters.values()]
    for jump in (0.0, 0.1):
        start = np.clip(_vector(task.minimizer) + jump, *np.transpose(bounds))
        found = minimize(lambda x: task.evaluate(_point(task, x)), start, method="L-BFGS-B", bounds=bounds)
        assert found.fun >= task.optimum - 1e-11


def test_no_corner_of_the_shifted_box_is_better():
    """Far outside of the usual domain, where x - s may lie, the functions only grow."""
    for function in FUNCTIONS:
        task = SyntheticTask(function, 4, shifted=True)
        ends = [(p.low, p.high) for p in task.space.parameters.values()]
        corners = np.stack(np.meshgrid(*ends), -1).reshape(-1, 4)
        assert min(task.evaluate(_point(task, corner)) for corner in corners) > task.optimum + 1


def test_the_shift_depends_on_function_and_dimension_only():
    places = {name: _vector(get_task(name).minimizer)[:16] for name in list_tasks("shifted")}
    assert len({tuple(place) for place in places.values()}) == len(places)
    one, other = get_task("levy-16-shifted", seed=1), get_task("levy-16-shifted-noise0.5", seed=2)
    assert one.minimizer == other.minimizer
    for task in map(get_task, places):
        assert task.space.validate(task.minimizer)


def test_optima_of_shifted_tasks_are_uniform_in_the_box():
    tasks = map(get_task, list_tasks("shifted"))
    where = np.concatenate([task.space.to_unit([task.minimizer])[0].numpy() for task in tasks])
    n = len(where)
    assert n == 5 * sum(DIMENSIONS)
    assert abs(where.mean() - 0.5) < 4 / np.sqrt(12 * n)
    assert abs(np.histogram(where, 4, (0, 1))[0] - n / 4).max() < 4 * np.sqrt(n * 3 / 16)


def test_noise_is_gaussian_and_belongs_to_the_point():
    task = get_task("levy-4-noise0.5")
    points = _points(task, 400)
    noise = np.array([task.evaluate(p) - task.true_value(p) for p in points])
    assert task.noisy
    assert task.optimum == 0
    assert abs(noise.mean()) < 4 * 0.5 / np.sqrt(400)
    assert abs(noise.std() / 0.5 - 1) < 4 / np.sqrt(800)
    assert task.evaluate(points[0]) == task.evaluate(dict(reversed(points[0].items())))
    again = get_task("levy-4-noise0.5", seed=1)
    assert again.true_value(points[0]) == task.true_value(points[0])
    assert again.evaluate(points[0]) != task.evaluate(points[0])
    assert not get_task("levy-4").noisy


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.integers(1, 30),
    st.booleans(),
    st.just(0.0) | st.floats(1e-6, 1e6),
    st.integers(0, 9),
)
def test_a_name_is_enough(function, quarter, shifted, noise, seed):
    task = SyntheticTask(function, 4 * quarter, shifted, noise, seed)
    assert get_task(task.name, seed) == task
    assert isinstance(task, Task)
    copy = pickle.loads(pickle.dumps(task))
    assert copy == task
    assert copy.space == task.space


def test_names_written_by_hand():
    assert get_task("ackley-40-noise0.1") == SyntheticTask("ackley", 40, noise=0.1)
    assert get_task("styblinski-tang-16-shifted-noise2") == SyntheticTask("styblinski-tang", 16, True, 2.0)
    assert len(list_tasks("synthetic")) == 30
    assert all(get_task(name).name == name for name in list_tasks())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("powell-10", "multiple of 4, got 10"),
        ("levy-0", "at least 1, got 0"),
        ("levy", "No task 'levy'"),
        ("levy-16-shifted-noise1e", "not a number"),
        ("levy-16-noise-1", "non-negative"),
        ("rosenbrock-16", "No task 'rosenbrock-16'"),
    ],
)
def test_wrong_names_are_explained(spec, message):
    with pytest.raises(ValueError, match=message):
        get_task(spec)


def test_wrong_points_are_explained():
    task = get_task("levy-2")
    with pytest.raises(ValueError, match='"x2" is missing'):
        task.evaluate({"x1": 0.0})
    with pytest.raises(ValueError, match="outside"):
        task.evaluate({"x1": 0.0, "x2": 11.0})
