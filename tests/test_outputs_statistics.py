"""The statistics of the study against SciPy, statsmodels, a textbook and numbers worked out by hand."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from compbo.study.outputs.statistics.bootstrap import estimate, iqm, mean, median, resample
from compbo.study.outputs.statistics.improvement import below, lower_shares, probability_of_improvement
from compbo.study.outputs.statistics.ranks import complete_part, indistinct_groups, ranking, wilcoxon_holm
from compbo.study.outputs.statistics.student import mean_over_tasks

# -- intervals


def three_tasks(rng: np.random.Generator, runs: int = 6) -> tuple[np.ndarray, np.ndarray]:
    values = np.concatenate([rng.normal(centre, 1.0 + centre, runs) for centre in range(3)])
    return values, np.repeat(["a", "b", "c"], runs)


def test_the_interval_over_tasks_is_students() -> None:
    differences = np.array([0.3, -0.1, 0.25, 0.4, 0.05])
    found = mean_over_tasks(np.repeat(differences, 2), np.repeat(list("abcde"), 2))  # two equal runs say no more
    by_scipy = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert (float(found.low), float(found.high)) == pytest.approx((by_scipy.low, by_scipy.high))
    assert (found.unit, found.tasks, found.runs) == ("black boxes", 5, 10)
    few = mean_over_tasks([1.0, 3.0, np.nan], ["a", "b", "c"])
    assert (float(few.value), few.unit, few.tasks) == (2.0, "nothing", 2)
    assert mean_over_tasks([], []).runs == 0


def test_the_interval_over_few_tasks_covers_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    drawn = generator.normal(size=(2000, 5))
    inside = sum(one.low <= 0.0 <= one.high for one in (mean_over_tasks(values, list("abcde")) for values in drawn))
    assert 0.93 < inside / 2000 < 0.97


def test_the_stratified_interval_is_that_of_scipy(rng: np.random.Generator) -> None:
    values, tasks = three_tasks(rng)
    samples = [values[tasks == task] for task in "abc"]  # SciPy resamples every sample by itself: strata
    theirs = stats.bootstrap(
        samples, lambda *parts, axis=-1: sum(p.mean(axis=axis) for p in parts) / 3, n_resamples=60_000,
        method="percentile", rng=np.random.default_rng(1),
    )  # fmt: skip
    ours = estimate(values, tasks, resamples=60_000, generator=np.random.default_rng(2))
    assert ours.unit == "seeds"
    assert (ours.tasks, ours.runs) == (3, 18)
    assert ours.value == pytest.approx(np.mean([part.mean() for part in samples]))
    noise = 0.012 * theirs.standard_error * 3  # of a percentile of 60,000 draws, three of its standard errors, twice
    assert float(ours.low) == pytest.approx(theirs.confidence_interval.low, abs=2 * noise)
    assert float(ours.high) == pytest.approx(theirs.confidence_interval.high, abs=2 * noise)


def test_strata_keep_the_differences_between_tasks_out_of_the_interval(rng: np.random.Generator) -> None:
    values = rng.normal(np.repeat([0.0, 100.0, 200.0], 6), 1.0)
    found = estimate(values, np.repeat(["a", "b", "c"], 6))
    assert found.high - found.low < 2.0
    assert estimate(values, np.arange(18)).high > found.high + 20.0  # every run a task of its own


def test_a_resample_of_two_runs_is_one_of_four() -> None:
    drawn = resample(["t", "t"], np.random.default_rng(0), 4000)
    rows, counts = np.unique(drawn.resampled, axis=0, return_counts=True)
    shares = {tuple(row): count / 4000 for row, count in zip(rows, counts, strict=True)}
    assert set(shares) == {(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)}
    assert shares[0.5, 0.5] == pytest.approx(0.5, abs=0.04)


def test_every_task_counts_the_same_however_many_runs_it_has() -> None:
    found = estimate([1.0, 1.0, 1.0, 1.0, 3.0, 3.0], ["a"] * 4 + ["b"] * 2)
    assert found.value == 2.0
    assert (found.low, found.high) == (2.0, 2.0)


def test_tasks_are_resampled_where_one_has_a_single_run() -> None:
    values, tasks = [1.0, 2.0, 3.0, 4.0, 4.0], ["a", "b", "c", "d", "d"]
    found = estimate(values, tasks, resamples=20_000)
    theirs = stats.bootstrap(([1.0, 2.0, 3.0, 4.0],), np.mean, n_resamples=20_000, method="percentile",
                             rng=np.random.default_rng(1))  # fmt: skip
    assert found.unit == "tasks"
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval), abs=1e-9)


def test_groups_of_tasks_count_the_same_and_tasks_are_resampled_within_theirs() -> None:
    tasks, groups = ["a", "b", "c", "d", "e", "f", "g"], [16, 16, 16, 16, 40, 40, 40]
    found = estimate([1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0], tasks, groups=groups)
    assert found.value == 2.0  # not 13 / 7
    assert (found.low, found.high) == (2.0, 2.0)
    assert found.unit == "tasks"
    assert estimate([1.0, 1.0, 1.0, 3.0, 3.0], list("abcde"), groups=[1, 1, 1, 2, 2]).unit == "nothing"
    assert estimate([1.0, 1.0, np.nan, 3.0], list("abcd"), groups=[1, 1, 1, 2]).value == 2.0


def test_there_is_no_interval_of_one_or_two_runs() -> None:
    for tasks in (["a"], ["a", "b"]):
        found = estimate(np.arange(1.0, len(tasks) + 1), tasks)
        assert found.unit == "nothing"
        assert np.isnan([found.low, found.high]).all()
        assert np.isfinite(found.value)
    assert np.isnan(estimate([], []).value)
    assert np.isnan(estimate([np.nan], ["a"]).value)


def test_a_curve_is_estimated_step_by_step_and_the_same_every_time(rng: np.random.Generator) -> None:
    curves = rng.random((12, 5))
    tasks = np.repeat(["a", "b", "c"], 4)
    whole = estimate(curves, tasks)
    assert whole.value.shape == whole.low.shape == (5,)
    assert (whole.low < whole.value).all()
    assert (whole.value < whole.high).all()
    assert np.allclose(whole.low[2], estimate(curves[:, 2], tasks).low)
    assert (estimate(curves, tasks).high == whole.high).all()


numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=24)


@given(numbers)
def test_weighted_median_and_mean_are_numpys_where_all_weigh_the_same(values: list[float]) -> None:
    array = np.array(values)
    weights = np.full((1, len(values)), 1 / len(values))
    assert median(array, weights)[0] == pytest.approx(np.median(array), abs=1e-6)
    assert mean(array, weights)[0] == pytest.approx(np.mean(array), abs=1e-6)


@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4), st.integers(1, 5))
def test_the_interquartile_mean_is_scipys(values: list[float], copies: int) -> None:
    array = np.array(values * copies)
    weights = np.full((1, len(array)), 1 / len(array))
    assert iqm(array, weights)[0] == pytest.approx(stats.trim_mean(array, 0.25), abs=1e-9)


def test_weights_are_whole_copies() -> None:
    values, copies = np.array([5.0, 1.0, 9.0, 2.0]), np.array([3, 1, 2, 2])
    weights = (copies / copies.sum())[None]
    repeated = np.repeat(values, copies)
    assert median(values, weights)[0] == np.median(repeated)
    assert iqm(values, weights)[0] == pytest.approx(stats.trim_mean(repeated, 0.25))


# -- which of two


def test_probability_of_improvement_is_mann_and_whitneys(rng: np.random.Generator) -> None:
    values = rng.integers(0, 5, (3, 4, 6)).astype(float)  # with ties
    found = probability_of_improvement(values)
    for i, j in product(range(3), repeat=2):
        counts = [stats.mannwhitneyu(values[j, t], values[i, t]).statistic / 36 for t in range(4)]
        assert found.probability[i, j] == pytest.approx(np.mean(counts))
    assert found.probability + found.probability.T == pytest.approx(np.ones((3, 3)))
    assert found.unit == "seeds"
    assert (found.tasks == 4).all()
    inside = ~np.eye(3, dtype=bool)
    assert (found.low < found.probability)[inside].all()
    assert (found.probability < found.high)[inside].all()


def test_probability_of_improvement_by_hand_with_missing_runs() -> None:
    nan = np.nan
    values = np.array([[[1.0], [2.0], [3.0], [1.0]], [[2.0], [1.0], [3.0], [nan]], [[nan], [nan], [nan], [nan]]])
    found = probability_of_improvement(values)
    assert found.probability[0, 1] == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.tasks[0, 1] == 3
    assert found.unit == "tasks"
    assert np.isnan(found.probability[0, 2])
    assert np.isnan(found.low[2]).all()
    assert np.isnan(lower_shares(values)[3, 0, 1])


def test_the_interval_of_an_improvement_is_that_of_its_shares(rng: np.random.Generator) -> None:
    values = rng.random((2, 9, 1))
    found = probability_of_improvement(values, resamples=20_000)
    shares = (values[0, :, 0] < values[1, :, 0]).astype(float)
    theirs = stats.bootstrap((shares,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(0))
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx(tuple(theirs.confidence_interval), abs=1e-9)


def test_resampled_seeds_agree_with_scipy_for_two_methods(rng: np.random.Generator) -> None:
    first, second = rng.normal(0, 1, 8), rng.normal(0.7, 1, 8)
    found = probability_of_improvement(np.stack([first, second])[:, None], resamples=8000)

    def share(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return (a[..., :, None] < b[..., None, :]).mean(axis=(-2, -1))

    theirs = stats.bootstrap(
        (first, second), share, n_resamples=8000, method="percentile", rng=np.random.default_rng(3)
    )
    assert found.probability[0, 1] == pytest.approx(share(first, second))
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx(tuple(theirs.confidence_interval), abs=1.5 / 64)


def test_a_profile_counts_the_runs_below_a_level() -> None:
    assert below([0.1, 0.5], [0.0, 0.1, 0.5]).mean(axis=0).tolist() == [0.0, 0.5, 1.0]


# -- ranks

# Demsar (2006), table 6: C4.5 and three ways to tune it on 14 data sets; 0.9751 is printed as 0.975 and ranked above it
DEMSAR = np.array(
    [
        [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.000, 0.940, 0.619, 0.972, 0.957],
        [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.000, 0.962, 0.666, 0.981, 0.978],
        [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.000, 0.965, 0.614, 0.9751, 0.946],
        [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.000, 0.962, 0.669, 0.975, 0.970],
    ]
)


def test_mean_ranks_and_friedman_as_in_the_textbook() -> None:
    found = ranking(-DEMSAR)
    assert found.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    theirs = stats.friedmanchisquare(*-DEMSAR)
    assert (found.friedman, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    r = found.mean_ranks  # without SciPy's correction for ties: 12 n / (k (k+1)) (sum r^2 - k (k+1)^2 / 4)
    assert 12 * 14 / 20 * ((r**2).sum() - 25.0) == pytest.approx(9.28, abs=5e-3)


def test_wilcoxon_with_holms_correction_is_scipys_and_statsmodels() -> None:
    pairs = list(combinations(range(4), 2))
    with np.errstate(all="ignore"):
        raw = [stats.wilcoxon(DEMSAR[i], DEMSAR[j]).pvalue for i, j in pairs]
    expected = multipletests(raw, method="holm")[1]
    found = wilcoxon_holm(DEMSAR)
    assert [found[i, j] for i, j in pairs] == pytest.approx(list(expected))
    assert (found == found.T).all()
    by_hand = np.maximum.accumulate(np.sort(raw) * np.arange(len(raw), 0, -1)).clip(max=1.0)
    assert np.sort([found[i, j] for i, j in pairs]) == pytest.approx(by_hand)


def test_equal_methods_do_not_differ_and_too_few_are_not_tested() -> None:
    same = ranking(np.ones((3, 5)))
    assert same.mean_ranks.tolist() == [2.0, 2.0, 2.0]
    assert (same.pairs == 1.0).all()
    assert np.isnan(same.p)
    few = ranking([[1.0], [2.0], [3.0]])
    assert few.mean_ranks.tolist() == [1.0, 2.0, 3.0]
    assert np.isnan(few.p)
    assert np.isnan(few.pairs[0, 1])
    assert ranking(np.empty((2, 0))).tasks == 0


def test_the_complete_part_leaves_out_whoever_ran_least() -> None:
    nan = np.nan
    values = [[1, 2, 3, 4], [1, 2, nan, 4], [nan, nan, nan, 4], [1, 2, 3, 4]]
    methods, tasks = complete_part(np.array(values, dtype=float))
    assert methods.tolist() == [0, 1, 3]
    assert tasks.tolist() == [0, 1, 3]
    assert complete_part(np.full((2, 2), nan))[1].tolist() == []


def test_bars_join_neighbours_of_which_no_pair_differs() -> None:
    different = [(0, 2), (0, 3), (1, 3)]  # in the order of the ranks
    pairs = np.ones((4, 4))
    for i, j in different:
        pairs[i, j] = pairs[j, i] = 0.01
    assert indistinct_groups(np.array([1.0, 2.0, 3.0, 4.0]), pairs) == [(0, 1), (1, 2), (2, 3)]
    assert indistinct_groups(np.array([1.0, 2.0, 3.0, 4.0]), np.ones((4, 4))) == [(0, 3)]
    assert indistinct_groups(np.array([1.0, 2.0]), np.full((2, 2), 0.01)) == []
