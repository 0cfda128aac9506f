"""BOHB's model and random search: the densities against statsmodels, the rules of the paper, determinism."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, truncnorm
from statsmodels.nonparametric.kernel_density import KDEMultivariate

from compbo.baselines.bohb import BOHBModel, Coding
from compbo.baselines.kde import MIN_BANDWIDTH, Columns, Density, kernel_parameters, normal_reference
from compbo.baselines.random import RandomSearch
from compbo.seeds import numpy_stream, stream
from compbo.space import Bool, Categorical, Float, Int, Ordinal, Space

MIXED = Space(
    {
        "rate": Float(1e-4, 1.0, scale="log"),
        "depth": Int(1, 9),
        "steps": Int(10, 5000, scale="log"),
        "flag": Bool(),
        "colour": Categorical(["red", "green", "blue"]),
        "size": Ordinal(["s", "m", "l", "xl"]),
        "fixed": 7,
    }
)
PLANE = Space({"x": Float(0, 1), "y": Float(0, 1)})


def _mixed_data(n):
    rng = numpy_stream(0, "data")
    return np.stack([rng.random(n), rng.integers(6, size=n), rng.integers(3, size=n)], axis=1)


def _bowl(point):
    return (point["x"] - 0.7) ** 2 + (point["y"] - 0.2) ** 2


def _told(method, points, loss):
    method.tell(points, [loss(point) for point in points])
    return method


def test_the_density_is_that_of_statsmodels():
    columns = Columns("cou", (0, 6, 3))
    data, x = _mixed_data(40), _mixed_data(15)
    bandwidth = normal_reference(data, columns)
    assert bandwidth == pytest.approx(1.06 * data.std(0) * 40 ** (-1 / 7), rel=1e-12)
    peer = KDEMultivariate(data, "cou", bw=kernel_parameters(bandwidth, columns), rng=0)
    assert np.exp(Density(data, columns, bandwidth).log_density(x)) == pytest.approx(peer.pdf(x), rel=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 1e4), st.integers(2, 12))
def test_every_kernel_is_a_distribution(bandwidth, levels):
    columns = Columns("ou", (levels, levels))
    ordered, unordered = kernel_parameters(np.full(2, bandwidth), columns)
    assert MIN_BANDWIDTH <= ordered < 1
    assert MIN_BANDWIDTH <= unordered <= (levels - 1) / levels
    if 0.1 < bandwidth < 20:  # Wang-Ryzin has the standard deviation asked for
        distance = np.arange(1, 4000)
        weights = 0.5 * (1 - ordered) * ordered**distance
        assert 1 - ordered + 2 * weights.sum() == pytest.approx(1, rel=1e-9)
        assert 2 * (weights * distance**2).sum() == pytest.approx(bandwidth**2, rel=1e-6)
    density = Density(np.array([[0.0]]), Columns("u", (levels,)), np.array([bandwidth]))
    assert np.exp(density.log_density(np.arange(levels)[:, None])).sum() == pytest.approx(1)


def test_a_category_never_seen_is_unlikely_not_infinitely_good():
    density = Density.fit(np.zeros((5, 1)), Columns("u", (3,)))
    seen, unseen = density.log_density(np.array([[0.0], [2.0]]))
    assert math.isfinite(unseen)
    assert unseen < seen


def test_draws_follow_the_widened_kernels():
    columns = Columns("cou", (0, 5, 4))
    density = Density(np.array([[0.2, 1.0, 2.0]]), columns, np.array([0.1, 0.4, 0.1]))
    n = 20_000
    drawn = density.sample(n, 3.0, numpy_stream(0, "draws"))
    assert kstest(drawn[:, 0], truncnorm(-0.2 / 0.3, 0.8 / 0.3, 0.2, 0.3).cdf).pvalue > 1e-3
    _, ordered, unordered = kernel_parameters(3 * density.bandwidth, columns)
    weights = np.where(np.arange(5) == 1, 1 - ordered, 0.5 * (1 - ordered) * ordered ** abs(np.arange(5) - 1.0))
    expected = [weights / weights.sum(), [unordered / 3, unordered / 3, 1 - unordered, unordered / 3]]
    for column, shares in zip((1, 2), expected, strict=True):
        found = np.bincount(drawn[:, column].astype(int), minlength=len(shares)) / n
        assert np.all(abs(found - shares) < 5 * np.sqrt(np.array(shares) / n))


def test_points_survive_their_coding():
    coding = Coding(MIXED)
    assert coding.columns == Columns("cocuuo", (0, 9, 0, 2, 3, 4))
    points = MIXED.sample(200, stream(0, "points"))
    assert coding.decode(coding.encode(points)) == points
    wide = Coding(Space({"n": Int(0, 10**15)}))
    assert wide.columns.types == "c"


def test_the_split_is_the_originals():
    method = _told(BOHBModel(PLANE), PLANE.sample(5, stream(0, "p")), _bowl)
    assert method.model(method.history) is None  # d + 1 good and only 2 others
    _told(method, PLANE.sample(1, stream(1, "p")), _bowl)
    assert [len(density.data) for density in method.model(method.history)] == [3, 3]
    _told(method, PLANE.sample(94, stream(2, "p")), _bowl)
    good, bad = method.model(method.history)
    assert (len(good.data), len(bad.data)) == (15, 85)
    worst = max(_bowl(p) for p in method._coding.decode(good.data))
    assert worst <= min(_bowl(p) for p in method._coding.decode(bad.data))


def test_failures_are_bad_and_too_many_leave_it_uniform():
    method = BOHBModel(PLANE)
    points = PLANE.sample(12, stream(0, "p"))
    method.tell(points, [None, math.nan, math.inf, *[_bowl(p) for p in points[3:]]])
    codes = method._coding.encode(points[:3])
    assert all(row.tolist() in method.model(method.history).bad.data.tolist() for row in codes)
    assert method.best[1] == min(_bowl(p) for p in points[3:])
    broken = BOHBModel(PLANE)
    broken.tell(points, [None] * 12)
    assert broken.model(broken.history) is None
    assert broken.best is None
    assert len(broken.ask(3)) == 3


def _far(points):
    """How many are far from the bowl's best 15 %, which lie within about 0.25 of its middle."""
    return np.mean([_bowl(point) > 0.3**2 for point in points])


def test_a_third_is_uniform_and_the_rest_is_where_it_is_good():
    points = PLANE.sample(200, stream(0, "p"))
    assert _far(_told(BOHBModel(PLANE, random_share=0), points, _bowl).ask(100)) == 0
    expected = _far(PLANE.sample(4000, stream(1, "p"))) / 3
    found = _far(_told(BOHBModel(PLANE), points, _bowl).ask(300))
    assert abs(found - expected) < 4 * np.sqrt(expected / 300)
    everywhere = _told(BOHBModel(PLANE, random_share=1), points, _bowl).ask(300)
    assert abs(_far(everywhere) - 3 * expected) < 4 * np.sqrt(3 * expected / 300)


def test_it_beats_random_search_on_a_bowl():
    space = Space({f"x{i}": Float(0, 1) for i in range(6)})
    for seed in range(3):
        best = []
        for method in (BOHBModel(space, seed), RandomSearch(space, seed)):
            for _ in range(15):
                _told(method, method.ask(8), lambda point: sum((x - 0.4) ** 2 for x in point.values()))
            best.append(method.best[1])
        assert best[0] < best[1]


def _mixed_loss(point):
    return abs(math.log10(point["rate"]) + 2) + abs(point["depth"] - 4) + (point["colour"] != "green")


@pytest.mark.parametrize("kind", [BOHBModel, RandomSearch])
def test_a_suggestion_depends_on_seed_and_history_only(kind):
    points = MIXED.sample(40, stream(0, "p"))
    one = _told(kind(MIXED, 3), points, _mixed_loss)
    first, second = one.ask(4), one.ask(4)
    shuffled = random.Random(0).sample(points, len(points))
    other = kind(MIXED, 3)
    for point in shuffled:
        _told(other, [point], _mixed_loss)
    assert other.ask(4) == first
    assert other.ask(4) == second != first
    assert _told(kind(MIXED, 4), points, _mixed_loss).ask(4) != first
    _told(one, second[::-1], _mixed_loss)
    _told(one, first, _mixed_loss)
    assert one.pending == []
    assert all(MIXED.validate(point) == point for point in one.ask(20))


def test_random_search_does_not_depend_on_the_batch_size():
    by_one, by_eight = RandomSearch(MIXED, 1), RandomSearch(MIXED, 1)
    assert [by_one.ask()[0] for _ in range(16)] == by_eight.ask(8) + by_eight.ask(8)
    unit = PLANE.to_unit(RandomSearch(PLANE, 0).ask(500)).numpy()
    assert kstest(unit.ravel(), "uniform").pvalue > 1e-3


def test_wrong_arguments_are_explained():
    method = BOHBModel(PLANE)
    with pytest.raises(ValueError, match="2 points but 1 value"):
        method.tell([{"x": 0.0, "y": 0.0}] * 2, [1.0])
    with pytest.raises(ValueError, match="count must be a whole number >= 1, got 0"):
        method.ask(0)
    with pytest.raises(ValueError, match="good_share"):
        BOHBModel(PLANE, good_share=15)
    with pytest.raises(ValueError, match="draws"):
        BOHBModel(PLANE, draws=0)
