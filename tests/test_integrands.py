"""Acquisition functions as integrands: their definitions, closed forms and derivatives."""

from __future__ import annotations

import itertools
import json
import math

import pytest
import torch
from botorch.utils.safe_math import fatplus
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI, winners
from compbo.acquisition.registry import ACQUISITIONS, acquisition_from_dict, acquisition_to_dict, get_acquisition
from compbo.acquisition.samples import sobol_normals
from compbo.surrogate.posterior import PosteriorSamples

F64 = torch.float64
ALL = [EI(), PI(tau=0.7), SR(), UCB(beta=3.0), LogEI(tau=0.2)]
NAMES = [acquisition.name for acquisition in ALL]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=seeded(seed))


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def inner_by_hand(acquisition: object, mean: float, deviation: float, best: float) -> float:
    """v of section 2, one number at a time."""
    f = mean + deviation
    if isinstance(acquisition, EI):
        return max(f - best, 0.0)
    if isinstance(acquisition, PI):
        return (f - best) / acquisition.tau
    if isinstance(acquisition, SR):
        return f
    if isinstance(acquisition, UCB):
        return mean + math.sqrt(acquisition.beta * math.pi / 2.0) * abs(deviation)
    y = (f - best) / acquisition.tau
    return acquisition.tau * (math.log1p(math.exp(y)) + 0.1 / (1.0 + y * y))


def outer_by_hand(acquisition: object, a: torch.Tensor) -> float:
    """f of section 2, literally, on a = E[g] (q, M)."""
    q, m = a.shape
    if isinstance(acquisition, PI):
        return sum(max(sigmoid(m * float(a[j, i])) for j in range(q)) for i in range(m)) / m
    total = sum(max(float(a[j, i]) for j in range(q)) for i in range(m))
    return math.log(total) if isinstance(acquisition, LogEI) else total


@pytest.mark.parametrize("acquisition", ALL, ids=NAMES)
class TestDefinition:
    BEST = 0.3

    def test_inner(self, acquisition: object) -> None:
        mean, deviation = randn(2, 3, 1), randn(2, 3, 5, seed=1)
        v = acquisition.inner(PosteriorSamples(mean, deviation), self.BEST)
        assert v.shape == (2, 3, 5)
        for b, j, k in itertools.product(range(2), range(3), range(5)):
            by_hand = inner_by_hand(acquisition, float(mean[b, j, 0]), float(deviation[b, j, k]), self.BEST)
            assert float(v[b, j, k]) == pytest.approx(by_hand, rel=1e-12, abs=1e-14)

    def test_inner_leaves_its_arguments_alone(self, acquisition: object) -> None:
        mean, deviation = randn(2, 3, 1), randn(2, 3, 5, seed=1)
        before = mean.clone(), deviation.clone()
        acquisition.inner(PosteriorSamples(mean, deviation), self.BEST)
        acquisition.inner_vjp(torch.ones(2, 3, 5, dtype=F64), PosteriorSamples(mean, deviation), self.BEST)
        v = acquisition.inner(PosteriorSamples(mean, deviation), self.BEST)
        kept = v.clone()
        acquisition.outer(v)
        acquisition.outer_gradient(v)
        assert torch.equal(mean, before[0])
        assert torch.equal(deviation, before[1])
        assert torch.equal(v, kept)

    def test_outer_on_the_v_scale_is_outer_on_the_a_scale(self, acquisition: object) -> None:
        """ERM on all samples = the finite sum = f(E[g]) with E[g] = v / M."""
        v = acquisition.inner(PosteriorSamples(randn(2, 3, 1), randn(2, 3, 8, seed=1)), self.BEST)
        value = acquisition.outer(v)
        for b in range(2):
            assert float(value[b]) == pytest.approx(outer_by_hand(acquisition, v[b] / 8), rel=1e-12, abs=1e-12)

    def test_the_minibatch_estimate_is_unbiased_exactly(self, acquisition: object) -> None:
        """Mean over all subsets of the estimate of E[g]: v_m (M/K) in the drawn columns, on the v-scale v itself."""
        m, k = 6, 2
        v = acquisition.inner(PosteriorSamples(randn(1, 3, 1), randn(1, 3, m, seed=1)), self.BEST)
        subsets = list(itertools.combinations(range(m), k))
        total = torch.zeros_like(v)
        for subset in subsets:
            estimate = torch.zeros_like(v)
            estimate[..., list(subset)] = (m / k) * v[..., list(subset)]
            total += estimate
        torch.testing.assert_close(total / len(subsets), v, rtol=1e-13, atol=1e-13)
        expected = outer_by_hand(acquisition, total[0] / len(subsets) / m)
        assert float(acquisition.outer(v)) == pytest.approx(expected, rel=1e-12, abs=1e-12)

    def test_columns_make_the_outer_function(self, acquisition: object) -> None:
        v = acquisition.inner(PosteriorSamples(randn(2, 3, 1), randn(2, 3, 8, seed=1)), self.BEST)
        mean_utility = acquisition.utility(v).mean(-1)
        assert acquisition.utility(v).shape == (2, 8)
        expected = mean_utility if acquisition.linear_outer else mean_utility.log()
        torch.testing.assert_close(acquisition.outer(v), expected, rtol=1e-14, atol=0)

    def test_a_utility_says_whether_it_is_homogeneous(self, acquisition: object) -> None:
        """h(c v) = c h(v), which a tracker relies on that puts (M/K) v in place of v."""
        v = acquisition.inner(PosteriorSamples(randn(2, 3, 1), randn(2, 3, 8, seed=1)), self.BEST)
        for c in (0.1, 64.0):
            scaled = torch.allclose(acquisition.utility(c * v), c * acquisition.utility(v), rtol=1e-12, atol=0)
            assert scaled == acquisition.homogeneous_utility == (acquisition.name != "pi")

    def test_derivative_of_inner(self, acquisition: object) -> None:
        mean, deviation = randn(2, 3, 1), randn(2, 3, 5, seed=1)
        c = randn(2, 3, 5, seed=2)
        dmean, ddeviation = acquisition.inner_vjp(c, PosteriorSamples(mean, deviation), self.BEST)
        assert dmean.shape == ddeviation.shape == c.shape
        step = 1e-6
        for b, j, k in itertools.product(range(2), range(3), range(5)):
            m, e = float(mean[b, j, 0]), float(deviation[b, j, k])
            up, down = (inner_by_hand(acquisition, m + s, e, self.BEST) for s in (step, -step))
            assert float(dmean[b, j, k]) == pytest.approx(
                float(c[b, j, k]) * (up - down) / (2 * step), rel=1e-6, abs=1e-7
            )
            up, down = (inner_by_hand(acquisition, m, e + s, self.BEST) for s in (step, -step))
            assert float(ddeviation[b, j, k]) == pytest.approx(
                float(c[b, j, k]) * (up - down) / (2 * step), rel=1e-6, abs=1e-7
            )

    def test_derivative_of_outer(self, acquisition: object) -> None:
        v = acquisition.inner(PosteriorSamples(randn(1, 3, 1), randn(1, 3, 6, seed=1)), self.BEST)
        gradient = acquisition.outer_gradient(v)
        for j, k in itertools.product(range(3), range(6)):
            up, down = v[0].clone(), v[0].clone()
            up[j, k] += 1e-6
            down[j, k] -= 1e-6
            slope = (outer_by_hand(acquisition, up / 6) - outer_by_hand(acquisition, down / 6)) / 2e-6
            if (v[0, :, k] == v[0, :, k].max()).sum() == 1:
                assert float(gradient[0, j, k]) == pytest.approx(slope, rel=1e-6, abs=1e-8)

    def test_gradient_on_some_columns_given_the_mean_utility_of_all(self, acquisition: object) -> None:
        """(M/K) grad f in the drawn columns: on average over the draws, grad f itself."""
        m, k = 6, 2
        v = acquisition.inner(PosteriorSamples(randn(1, 3, 1) + 1.0, randn(1, 3, m, seed=1)), self.BEST)
        mean_utility = acquisition.utility(v).mean(-1)
        subsets = list(itertools.combinations(range(m), k))
        total = torch.zeros_like(v)
        for subset in subsets:
            drawn = acquisition.outer_gradient(v[..., list(subset)], mean_utility)
            total[..., list(subset)] += drawn
        torch.testing.assert_close(total / len(subsets), acquisition.outer_gradient(v), rtol=1e-12, atol=1e-15)

    @given(shift=st.floats(0.001, 5.0), seed=st.integers(0, 100))
    def test_better_means_are_better(self, acquisition: object, shift: float, seed: int) -> None:
        mean, deviation = randn(1, 3, 1, seed=seed), randn(1, 3, 16, seed=seed + 1)
        low = float(acquisition.outer(acquisition.inner(PosteriorSamples(mean, deviation), self.BEST)))
        high = float(acquisition.outer(acquisition.inner(PosteriorSamples(mean + shift, deviation), self.BEST)))
        assert high >= low
        if acquisition.name != "ei":
            assert high > low

    def test_a_further_point_never_hurts(self, acquisition: object) -> None:
        mean, deviation = randn(1, 4, 1), randn(1, 4, 16, seed=1)
        v = acquisition.inner(PosteriorSamples(mean, deviation), self.BEST)
        values = [float(acquisition.outer(v[:, :q])) for q in range(1, 5)]
        assert values == sorted(values)

    def test_round_trip_through_json(self, acquisition: object) -> None:
        data = json.loads(json.dumps(acquisition_to_dict(acquisition)))
        assert acquisition_from_dict(data) == acquisition
        assert get_acquisition(acquisition) is acquisition
        assert type(get_acquisition(acquisition.name.upper())) is type(acquisition)


class TestClosedForms:
    """q = 1, where the integrals are known."""

    Z = sobol_normals(1, 2**14, seeded(0))
    POINTS = ((0.4, 0.5, 0.3), (-1.0, 0.7, 0.5), (2.0, 0.1, 1.9), (0.0, 1.0, 2.0))  # mu, sigma, f*

    def value(self, acquisition: object, mean: float, sigma: float, best: float) -> tuple[float, float]:
        """Value, and the standard error independent draws would have."""
        mu = torch.full((1, 1, 1), mean, dtype=F64)
        v = acquisition.inner(PosteriorSamples(mu, sigma * self.Z.unsqueeze(0)), best)
        spread = float(acquisition.utility(v).std()) / math.sqrt(self.Z.shape[-1])
        return float(acquisition.outer(v)), spread

    @pytest.mark.parametrize(("mean", "sigma", "best"), POINTS)
    def test_ei(self, mean: float, sigma: float, best: float) -> None:
        u = (mean - best) / sigma
        value, error = self.value(EI(), mean, sigma, best)
        assert value == pytest.approx(sigma * (u * norm.cdf(u) + norm.pdf(u)), abs=error)

    @pytest.mark.parametrize(("mean", "sigma", "best"), POINTS)
    def test_pi_as_tau_vanishes(self, mean: float, sigma: float, best: float) -> None:
        truth = norm.cdf((mean - best) / sigma)
        errors = []
        for tau in (0.5, 0.05, 1e-3, 1e-6):
            value, error = self.value(PI(tau=tau), mean, sigma, best)
            errors.append(abs(value - truth))
        assert errors[-1] <= error
        assert errors[-2] <= error
        assert errors[-1] < errors[0]

    @pytest.mark.parametrize("beta", [0.0, 2.0, 9.0])
    @pytest.mark.parametrize(("mean", "sigma", "best"), POINTS)
    def test_ucb(self, mean: float, sigma: float, best: float, beta: float) -> None:
        value, error = self.value(UCB(beta=beta), mean, sigma, best)
        assert value == pytest.approx(mean + math.sqrt(beta) * sigma, abs=error + 1e-14)

    @pytest.mark.parametrize(("mean", "sigma", "best"), POINTS)
    def test_sr(self, mean: float, sigma: float, best: float) -> None:
        value, error = self.value(SR(), mean, sigma, best)
        assert value == pytest.approx(mean, abs=error)

    @pytest.mark.parametrize(("mean", "sigma", "best"), POINTS)
    def test_logei_is_the_logarithm_of_ei(self, mean: float, sigma: float, best: float) -> None:
        u = (mean - best) / sigma
        truth = sigma * (u * norm.cdf(u) + norm.pdf(u))
        value, error = self.value(LogEI(), mean, sigma, best)
        assert value == pytest.approx(math.log(truth), abs=error / truth + 1e-4)


class TestWinners:
    def test_one_winner_per_column(self) -> None:
        v = torch.tensor([[[1.0, 5.0], [2.0, -1.0], [0.0, 4.0]]], dtype=F64)
        assert winners(v).tolist() == [[[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]]

    def test_ties_share(self) -> None:
        v = torch.tensor([[[2.0, 0.0, 3.0], [2.0, 0.0, 1.0], [1.0, 0.0, 3.0], [2.0, 0.0, 0.0]]], dtype=F64)
        third = 1.0 / 3.0
        expected = [[[third, 0.25, 0.5], [third, 0.25, 0.0], [0.0, 0.25, 0.5], [third, 0.25, 0.0]]]
        torch.testing.assert_close(winners(v), torch.tensor(expected, dtype=F64))

    @given(st.integers(0, 1000), st.integers(1, 5))
    def test_weights_sum_to_one(self, seed: int, q: int) -> None:
        v = randn(2, q, 7, seed=seed).round()
        torch.testing.assert_close(winners(v).sum(-2), torch.ones(2, 7, dtype=F64))

    def test_a_column_that_is_not_a_number_has_none(self) -> None:
        v = torch.full((1, 2, 1), math.nan, dtype=F64)
        assert winners(v).tolist() == [[[0.0], [0.0]]]
        tie_beside_it = torch.tensor([[[math.nan, 1.0], [math.nan, 1.0]]], dtype=F64)
        assert winners(tie_beside_it).tolist() == [[[0.0, 0.5], [0.0, 0.5]]]

    def test_weights_of_the_columns(self) -> None:
        v = torch.tensor([[[1.0, 5.0], [2.0, 5.0]]], dtype=F64)
        weight = torch.tensor([[[0.5, 4.0]]], dtype=F64)
        assert winners(v, weight).tolist() == [[[0.0, 2.0], [0.5, 2.0]]]


class TestEI:
    def test_where_nothing_improves_value_and_gradient_are_zero(self) -> None:
        mean, deviation = torch.full((1, 2, 1), -5.0, dtype=F64), 0.1 * randn(1, 2, 8)
        v = EI().inner(PosteriorSamples(mean, deviation), 0.0)
        assert torch.equal(v, torch.zeros_like(v))
        c = EI().outer_gradient(v)
        assert torch.isfinite(c).all()
        for cotangent in EI().inner_vjp(c, PosteriorSamples(mean, deviation), 0.0):
            assert torch.equal(cotangent, torch.zeros_like(v))

    def test_the_mask_is_that_of_the_current_sample(self) -> None:
        """A tracked zeta chooses the winner; whether it moves is up to the sample drawn now."""
        zeta = torch.tensor([[[1.0], [0.5]]], dtype=F64)
        mean, deviation = torch.tensor([[[-1.0], [2.0]]], dtype=F64), torch.zeros(1, 2, 1, dtype=F64)
        dmean, _ = EI().inner_vjp(EI().outer_gradient(zeta), PosteriorSamples(mean, deviation), 0.0)
        assert dmean.tolist() == [[[0.0], [0.0]]]


class TestPI:
    def test_saturated_sigmoids_stay_finite(self) -> None:
        v = torch.tensor([[[1e6, -1e6, 0.0]]], dtype=F64)
        assert float(PI().outer(v)) == pytest.approx(0.5)
        gradient = PI().outer_gradient(v)
        assert torch.isfinite(gradient).all()
        assert gradient.flatten().tolist() == pytest.approx([0.0, 0.0, 0.25 / 3])


class TestLogEI:
    @pytest.mark.parametrize("tau", [1e-6, 1e-2, 1.0])
    def test_inner_is_botorchs_fat_softplus(self, tau: float) -> None:
        y = torch.linspace(-30, 30, 301, dtype=F64).reshape(1, 1, -1) * tau
        v = LogEI(tau=tau).inner(PosteriorSamples(torch.zeros(1, 1, 1, dtype=F64), y), 0.0)
        torch.testing.assert_close(v, fatplus(y, tau=tau), rtol=1e-13, atol=0)

    @pytest.mark.parametrize("depth", [1.0, 1e2, 1e6, 1e10])
    def test_far_below_the_incumbent_value_and_gradient_are_alive(self, depth: float) -> None:
        mean, deviation = torch.tensor([[[-depth], [-2.0 * depth]]], dtype=F64), 0.1 * randn(1, 2, 16)
        acquisition = LogEI()
        v = acquisition.inner(PosteriorSamples(mean, deviation), 0.0)
        value = float(acquisition.outer(v))
        dmean, ddeviation = acquisition.inner_vjp(acquisition.outer_gradient(v), PosteriorSamples(mean, deviation), 0.0)
        assert math.isfinite(value)
        assert torch.isfinite(dmean).all()
        assert torch.isfinite(ddeviation).all()
        # the tail falls as 1 / y^2, so d log v / d mean = 2 / |y|
        assert float(dmean[0, 0].sum()) == pytest.approx(2.0 / depth, rel=0.05)
        assert float(EI().outer(EI().inner(PosteriorSamples(mean, deviation), 0.0))) == 0.0

    def test_monotone_in_the_improvement(self) -> None:
        y = torch.cat([-torch.logspace(8, -8, 400, dtype=F64), torch.logspace(-8, 8, 400, dtype=F64)])
        v = LogEI().inner(PosteriorSamples(torch.zeros(1, 1, 1, dtype=F64), y.reshape(1, 1, -1)), 0.0).flatten()
        assert bool((v.diff() > 0).all())
        assert bool((v > 0).all())
        c = torch.ones(1, 1, 800, dtype=F64)
        slope, _ = LogEI().inner_vjp(c, PosteriorSamples(torch.zeros(1, 1, 1, dtype=F64), y.reshape(1, 1, -1)), 0.0)
        assert bool((slope > 0).all())

    @pytest.mark.parametrize("extreme", [-1e300, 1e300])
    def test_extreme_values_stay_finite(self, extreme: float) -> None:
        mean, deviation = torch.full((1, 1, 1), extreme, dtype=F64), torch.zeros(1, 1, 2, dtype=F64)
        v = LogEI(tau=1.0).inner(PosteriorSamples(mean, deviation), 0.0)
        assert torch.isfinite(v).all()
        assert math.isfinite(float(LogEI().outer(v)))
        assert torch.isfinite(LogEI().outer_gradient(v)).all()
        assert all(
            torch.isfinite(part).all() for part in LogEI().inner_vjp(v.sign(), PosteriorSamples(mean, deviation), 0.0)
        )

    def test_a_tracked_expectation_of_zero_or_less_has_no_slope(self) -> None:
        """f is constant where its logarithm is cut off; a quotient by next to nothing would overflow when squared."""
        mean = torch.tensor([0.0, -1e-3, 1e-150, 1e-90], dtype=F64)
        gradient = LogEI().outer_gradient(torch.zeros(4, 2, 3, dtype=F64), mean)
        assert (gradient[:3] == 0).all()
        assert gradient[3].amax() > 0
        assert torch.isfinite(gradient.square()).all()
        assert LogEI().outer(torch.full((1, 2, 3), -1e-3, dtype=F64)) == LogEI().outer(torch.zeros(1, 2, 3, dtype=F64))

    def test_a_small_minibatch_is_biased(self) -> None:
        """The logarithm of a mean over few columns is too small on average (Jensen); that is why zeta exists."""
        mean, deviation = torch.full((1, 1, 1), -0.5, dtype=F64), randn(1, 1, 4096)
        v = LogEI().inner(PosteriorSamples(mean, deviation), 0.0)
        whole = float(LogEI().outer(v))
        parts = LogEI().outer(v.reshape(1, 512, 8).transpose(0, 1))
        assert float(parts.mean()) < whole - 4.0 * float(parts.std()) / math.sqrt(512)


class TestNames:
    def test_defaults(self) -> None:
        assert set(ACQUISITIONS) == {"ei", "pi", "sr", "ucb", "logei"}
        assert get_acquisition("PI") == PI(tau=1e-3)
        assert get_acquisition("ucb") == UCB(beta=2.0)

    @pytest.mark.parametrize("wrong", ["kg", "", UCB, None, 3])
    def test_unknown(self, wrong: object) -> None:
        with pytest.raises(ValueError, match=r"is unknown; choose one of ei, pi, sr, ucb, logei"):
            get_acquisition(wrong)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({"name": "kg"}, "acquisition 'kg' is unknown"),
            ({}, "acquisition 'None' is unknown"),
            ({"name": "ucb", "tau": 1.0}, "acquisition 'ucb' has no parameter tau"),
            ({"name": "ucb", "beta": -1.0}, "UCB: beta must be a finite number >= 0, got -1.0"),
        ],
    )
    def test_bad_dictionaries(self, data: dict, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            acquisition_from_dict(data)

    @pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
    def test_bad_temperatures(self, value: float) -> None:
        for cls in (PI, LogEI):
            with pytest.raises(ValueError, match=f"{cls.__name__}: tau must be a finite number > 0"):
                cls(tau=value)

    @pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
    def test_bad_beta(self, value: float) -> None:
        with pytest.raises(ValueError, match="UCB: beta must be a finite number >= 0"):
            UCB(beta=value)

    def test_they_are_frozen(self) -> None:
        with pytest.raises(AttributeError):
            UCB().beta = 3.0
