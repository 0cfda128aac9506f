"""The fit of the Gaussian process, against GPyTorch and against what can go wrong."""

from __future__ import annotations

import math

import gpytorch
import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from gpytorch.priors import GammaPrior, LogNormalPrior

from compbo.numerics import standardise
from compbo.surrogate import log_posterior
from compbo.surrogate.gp import NOISELESS, fit_gp
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.log_posterior import (
    LENGTHSCALE_BOUNDS,
    NOISE_BOUNDS,
    OUTPUTSCALE_BOUNDS,
    Hyperparameters,
    NegativeLogPosterior,
)
from compbo.surrogate.priors import Gamma, LogNormal, get_priors

F64 = torch.float64
KERNELS = ("matern52", "se")
PRIORS = ("paper", "dimension-scaled", "shared-choices")


def gamma(concentration: float, rate: float) -> GammaPrior:
    return GammaPrior(torch.tensor(concentration, dtype=F64), torch.tensor(rate, dtype=F64))


def lognormal(location: float, scale: float) -> LogNormalPrior:
    return LogNormalPrior(torch.tensor(location, dtype=F64), torch.tensor(scale, dtype=F64))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def dataset(n: int, d: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(n, d, dtype=F64, generator=seeded(seed))
    noise = torch.randn(n, dtype=F64, generator=seeded(seed + 1))
    return x, (5.0 * x).sin().sum(-1) + (x[:, 0] * 3.0) ** 2 + 0.1 * noise


def theta_of(d: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.5, 0.7, d + 2)


def reference_kernel(kernel: str, lengthscale: torch.Tensor, outputscale: float) -> ScaleKernel:
    d = len(lengthscale)
    base = MaternKernel(nu=2.5, ard_num_dims=d) if kernel == "matern52" else RBFKernel(ard_num_dims=d)
    module = ScaleKernel(base).double()
    module.base_kernel.lengthscale = lengthscale
    module.outputscale = torch.tensor(outputscale, dtype=F64)  # a bare float would be rounded to float32
    return module


def reference_gp(x: torch.Tensor, y: torch.Tensor, kernel: str, theta: Hyperparameters) -> SingleTaskGP:
    """The same GP in BoTorch: zero mean, no transforms."""
    likelihood = GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-9)).double()
    model = SingleTaskGP(
        x,
        y.unsqueeze(-1),
        covar_module=reference_kernel(kernel, theta.lengthscale, theta.outputscale),
        likelihood=likelihood,
        mean_module=ZeroMean(),
        outcome_transform=None,
    )
    likelihood.noise = torch.tensor(theta.noise, dtype=F64)
    return model


def test_fit_and_posterior_scale_inputs_alike() -> None:
    """(x - 0.5) stretch / lengthscale, with the factors of the kernel: sqrt 5 for Matern-5/2, sqrt 1/2 for SE."""
    x = torch.rand(7, 3, dtype=F64, generator=torch.Generator().manual_seed(0))
    for kernel, stretch in (("matern52", math.sqrt(5.0)), ("se", math.sqrt(0.5))):
        gp = fit_gp(x, x.sum(-1), kernel=kernel)
        expected = (x - 0.5) * stretch / gp.hyperparameters.lengthscale
        torch.testing.assert_close(gp.posterior.scaled_train, expected, rtol=1e-14, atol=1e-14)
        torch.testing.assert_close(gp.posterior.inputs(x), expected, rtol=1e-14, atol=1e-14)


class TestObjective:
    """J of section 1 and its gradient."""

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("priors", PRIORS)
    def test_value_and_gradient_equal_gpytorch(self, kernel: str, priors: str) -> None:
        """Value, and the derivative in every hyperparameter, against GPyTorch's marginal likelihood and priors."""
        n, d = 25, 3
        x, raw = dataset(n, d)
        y = standardise(raw).values
        theta = theta_of(d)
        objective = NegativeLogPosterior(x, y, get_kernel(kernel), get_priors(priors, d), None, choices=[1])
        value, gradient = objective(theta)

        log = torch.tensor(theta, requires_grad=True)
        lengthscale, outputscale, noise = log[:d].exp(), log[d].exp(), log[d + 1].exp()
        module = reference_kernel(kernel, lengthscale.detach(), float(outputscale.detach()))
        scaled = module.base_kernel(x / lengthscale * module.base_kernel.lengthscale.detach()).to_dense()
        covariance = outputscale * scaled + noise * torch.eye(n, dtype=F64)
        likelihood = gpytorch.distributions.MultivariateNormal(torch.zeros(n, dtype=F64), covariance).log_prob(y)
        if priors != "dimension-scaled":
            prior = (gamma(3.0, 6.0), gamma(2.0, 0.15), gamma(1.1, 0.05))
        else:
            location = math.sqrt(2.0) + 0.5 * math.log(d)
            prior = (lognormal(location, math.sqrt(3.0)), gamma(2.0, 0.15), lognormal(-4.0, 1.0))
        density = prior[0].log_prob(lengthscale).sum()
        if priors == "shared-choices":  # eight times as long in the column of a choice
            density = density - prior[0].log_prob(lengthscale[1]) + gamma(3.0, 0.75).log_prob(lengthscale[1])
        density = density + prior[1].log_prob(outputscale) + prior[2].log_prob(noise)
        expected = -(likelihood + density)
        expected.backward()

        assert value == pytest.approx(float(expected.detach()), rel=1e-10)
        np.testing.assert_allclose(gradient, log.grad.numpy(), rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("noise", [None, NOISELESS])
    @pytest.mark.parametrize("priors", PRIORS)
    def test_gradient_by_finite_differences(self, kernel: str, noise: float | None, priors: str) -> None:
        x, raw = dataset(12, 2)
        objective = NegativeLogPosterior(x, standardise(raw).values, get_kernel(kernel), get_priors(priors, 2), noise)
        theta = theta_of(2)[: 4 if noise is None else 3]
        _, gradient = objective(theta)
        assert gradient.shape == theta.shape
        for i in range(len(theta)):
            step = np.zeros_like(theta)
            step[i] = 1e-5
            slope = (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-5
            assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-7)

    def test_duplicated_inputs_have_a_gradient(self) -> None:
        """The distance is zero there: the slope of the kernel must stay finite."""
        x, raw = dataset(6, 2)
        x, y = torch.cat([x, x]), standardise(torch.cat([raw, raw + 0.3])).values
        objective = NegativeLogPosterior(x, y, get_kernel("matern52"), get_priors("paper", 2), None)
        theta = theta_of(2)
        _, gradient = objective(theta)
        for i in range(len(theta)):
            step = np.zeros_like(theta)
            step[i] = 1e-5
            slope = (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-5
            assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)

    def test_a_fixed_noise_has_no_prior(self) -> None:
        """J with the noise fixed and J with it learned differ by the noise's prior and by nothing else."""
        x, raw = dataset(10, 2)
        y, priors, theta = standardise(raw).values, get_priors("paper", 2), theta_of(2)
        noise = math.exp(theta[-1])
        free = NegativeLogPosterior(x, y, get_kernel("se"), priors, None)(theta)
        fixed = NegativeLogPosterior(x, y, get_kernel("se"), priors, noise)(theta[:-1])
        density = float(priors.noise.log_density(np.array(noise)))
        assert fixed[0] - free[0] == pytest.approx(density, rel=1e-9)
        np.testing.assert_allclose(fixed[1], free[1][:-1], rtol=1e-10)

    def test_pack_and_unpack_are_inverse_inside_the_bounds(self) -> None:
        x, raw = dataset(5, 3)
        objective = NegativeLogPosterior(x, raw, get_kernel("se"), get_priors("paper", 3), None)
        theta = Hyperparameters(torch.tensor([0.1, 1.0, 20.0], dtype=F64), 2.0, 1e-3)
        back = objective.unpack(objective.pack(theta))
        torch.testing.assert_close(back.lengthscale, theta.lengthscale, rtol=1e-14, atol=0)
        assert (back.outputscale, back.noise) == pytest.approx((2.0, 1e-3), rel=1e-14)
        wild = objective.unpack(objective.pack(Hyperparameters(torch.tensor([0.0, 1e9, 1.0], dtype=F64), 0.0, 1e9)))
        assert wild.lengthscale.tolist() == pytest.approx([LENGTHSCALE_BOUNDS[0], LENGTHSCALE_BOUNDS[1], 1.0])
        assert (wild.outputscale, wild.noise) == pytest.approx((OUTPUTSCALE_BOUNDS[0], NOISE_BOUNDS[1]))


class TestPriors:
    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            (Gamma(3.0, 6.0), gamma(3.0, 6.0)),
            (Gamma(1.1, 0.05), gamma(1.1, 0.05)),
            (LogNormal(2.3, 1.7), lognormal(2.3, 1.7)),
        ],
    )
    def test_density_and_slope(self, ours: Gamma | LogNormal, theirs: GammaPrior | LogNormalPrior) -> None:
        x = torch.logspace(-4, 2, 25, dtype=F64).requires_grad_()
        expected = theirs.log_prob(x)
        (slope,) = torch.autograd.grad(expected.sum(), x)
        at = x.detach().numpy()
        np.testing.assert_allclose(ours.log_density(at), expected.detach(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.slope(at), slope, rtol=1e-9, atol=1e-9)

    def test_lengthscales_grow_with_the_root_of_the_dimension(self) -> None:
        assert get_priors("dimension-scaled", 16).lengthscale.middle == pytest.approx(4 * math.exp(math.sqrt(2.0)))

    def test_unknown_names(self) -> None:
        with pytest.raises(
            ValueError, match=r"prior set 'flat' is unknown; choose one of shared-choices, paper, dimension-scaled"
        ):
            get_priors("flat", 2)
        with pytest.raises(ValueError, match=r"kernel 'matern32' is unknown; choose one of matern52, se"):
            get_kernel("matern32")


class TestFit:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_posterior_equals_botorch_at_the_fitted_hyperparameters(self, kernel: str) -> None:
        x, y = dataset(30, 3)
        gp = fit_gp(x, y, kernel=kernel)
        model = reference_gp(x, gp.train_y, kernel, gp.hyperparameters)
        points = torch.rand(7, 4, 3, dtype=F64, generator=seeded(9))
        ours, theirs = gp.posterior(points), model.posterior(points)
        torch.testing.assert_close(ours.mean, theirs.mean.squeeze(-1).detach(), rtol=0, atol=1e-8)
        covariance = ours.factor @ ours.factor.mT
        torch.testing.assert_close(covariance, theirs.distribution.covariance_matrix.detach(), rtol=0, atol=1e-8)
        mean, deviation = gp.predict(points[:, 0])
        torch.testing.assert_close((mean - gp.mean) / gp.scale, ours.mean[:, 0], rtol=0, atol=1e-10)
        torch.testing.assert_close((deviation / gp.scale) ** 2, covariance[:, 0, 0], rtol=0, atol=1e-10)

    def test_predictions_follow_the_data_in_its_own_units(self) -> None:
        x, y = dataset(40, 2)
        gp = fit_gp(x, 1e6 * y - 3e7)
        mean, deviation = gp.predict(x)
        assert float(((mean - (1e6 * y - 3e7)).abs() / 1e6).max()) < 0.5
        assert float(deviation.max()) < 0.5e6
        assert gp.best == pytest.approx(float((y.max() - y.mean()) / y.std()), rel=1e-9)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_recovers_the_lengthscales_of_a_known_gp(self, kernel: str) -> None:
        n, truth = 150, Hyperparameters(torch.tensor([0.2, 0.7], dtype=F64), 1.0, 1e-3)
        x = torch.rand(n, 2, dtype=F64, generator=seeded(5))
        covariance = reference_kernel(kernel, truth.lengthscale, 1.0)(x).to_dense().detach()
        root = torch.linalg.cholesky(covariance + truth.noise * torch.eye(n, dtype=F64))
        y = root @ torch.randn(n, dtype=F64, generator=seeded(6))
        gp = fit_gp(x, y, kernel=kernel)
        ratio = gp.hyperparameters.lengthscale / truth.lengthscale
        assert 1 / 1.6 < float(ratio.min()) <= float(ratio.max()) < 1.6
        noise = gp.hyperparameters.noise * gp.scale**2
        assert 0.5 < noise / truth.noise < 2.0

    def test_irrelevant_dimensions_get_long_lengthscales(self) -> None:
        x = torch.rand(60, 4, dtype=F64, generator=seeded(0))
        found = fit_gp(x, (6 * x[:, 1]).sin(), priors="dimension-scaled").hyperparameters
        assert int(found.lengthscale.argmin()) == 1
        assert float(found.lengthscale[[0, 2, 3]].min()) > 3 * float(found.lengthscale[1])

    def test_the_gradient_vanishes_at_the_optimum_or_points_out_of_the_bounds(self) -> None:
        x, y = dataset(40, 3)
        gp = fit_gp(x, y)
        objective = NegativeLogPosterior(x, gp.train_y, gp.kernel, get_priors("paper", 3), None)
        theta = objective.pack(gp.hyperparameters)
        value, gradient = objective(theta)
        lower, upper = np.array(objective.bounds).T
        projected = theta - np.clip(theta - gradient, lower, upper)
        assert value == pytest.approx(gp.loss, rel=1e-10)
        assert np.abs(projected).max() < 1e-2

    @pytest.mark.parametrize("priors", PRIORS)
    def test_the_cold_start_is_no_worse_than_the_middle_of_the_prior(self, priors: str) -> None:
        for seed in range(4):
            x, y = dataset(25, 4, seed=seed)
            middle = torch.full((4,), get_priors(priors, 4).lengthscale.middle, dtype=F64)
            from_middle = fit_gp(x, y, priors=priors, warm_start=Hyperparameters(middle, 1.0, 1e-2))
            assert fit_gp(x, y, priors=priors).loss <= from_middle.loss + 1e-4

    def test_cold_starts_find_short_lengthscales(self) -> None:
        """A rough function of one input among ten, with lengthscales that the prior expects to be long."""
        x = torch.rand(80, 10, dtype=F64, generator=seeded(1))
        found = fit_gp(x, (25 * x[:, 0]).sin() + x[:, -1], priors="dimension-scaled").hyperparameters
        assert int(found.lengthscale.argmin()) == 0
        assert float(found.lengthscale[1:].min()) > 5 * float(found.lengthscale[0])

    def test_warm_start_reaches_the_same_value_in_fewer_evaluations(self) -> None:
        x, y = dataset(60, 4)
        before = fit_gp(x[:-1], y[:-1])
        cold = fit_gp(x, y)
        warm = fit_gp(x, y, warm_start=before.hyperparameters)
        assert warm.evaluations < cold.evaluations
        assert warm.loss <= cold.loss + 1e-6

    def test_warm_start_from_its_own_optimum_stays(self) -> None:
        x, y = dataset(30, 2)
        cold = fit_gp(x, y)
        warm = fit_gp(x, y, warm_start=cold.hyperparameters)
        assert warm.loss <= cold.loss + 1e-6
        assert warm.evaluations < cold.evaluations

    def test_fixed_noise_is_honoured(self) -> None:
        x, y = dataset(20, 2)
        for noise in (NOISELESS, 0.3, 1e-9):
            gp = fit_gp(x, y, noise=noise)
            assert gp.hyperparameters.noise == noise
            assert gp.posterior.noise_ratio == pytest.approx(noise / gp.hyperparameters.outputscale)
            mean, deviation = gp.predict(x)
            assert torch.isfinite(mean).all()
            assert torch.isfinite(deviation).all()

    def test_noiseless_interpolates(self) -> None:
        x, y = dataset(15, 2)
        gp = fit_gp(x, y, noise=1e-8)
        mean, deviation = gp.predict(x)
        torch.testing.assert_close(mean, y, rtol=0, atol=1e-4 * gp.scale)
        assert float(deviation.max()) < 1e-3 * gp.scale

    @pytest.mark.parametrize("priors", PRIORS)
    def test_bounds_are_honoured(self, priors: str) -> None:
        """White noise pushes the lengthscales and the noise around as far as they can go."""
        x = torch.rand(30, 2, dtype=F64, generator=seeded(0))
        for seed in range(3):
            y = torch.randn(30, dtype=F64, generator=seeded(seed + 1))
            found = fit_gp(x, y, priors=priors).hyperparameters
            assert LENGTHSCALE_BOUNDS[0] * (1 - 1e-12) <= float(found.lengthscale.min())
            assert float(found.lengthscale.max()) <= LENGTHSCALE_BOUNDS[1] * (1 + 1e-12)
            assert OUTPUTSCALE_BOUNDS[0] * (1 - 1e-12) <= found.outputscale <= OUTPUTSCALE_BOUNDS[1] * (1 + 1e-12)
            assert NOISE_BOUNDS[0] * (1 - 1e-12) <= found.noise <= NOISE_BOUNDS[1] * (1 + 1e-12)

    def test_same_data_same_fit(self) -> None:
        x, y = dataset(25, 3)
        one, two = fit_gp(x, y), fit_gp(x, y)
        assert torch.equal(one.hyperparameters.lengthscale, two.hyperparameters.lengthscale)
        assert one.loss == two.loss
        assert one.evaluations == two.evaluations

    def test_scaling_the_outputs_changes_nothing_inside(self) -> None:
        x, y = dataset(20, 2)
        one, two = fit_gp(x, y), fit_gp(x, 2.0**40 * y)
        torch.testing.assert_close(one.hyperparameters.lengthscale, two.hyperparameters.lengthscale, rtol=1e-6, atol=0)
        assert two.scale == pytest.approx(2.0**40 * one.scale, rel=1e-12)

    def test_inputs_are_rounded_before_the_kernel(self) -> None:
        def rounder(x: torch.Tensor) -> torch.Tensor:
            return (x * 4).round() / 4

        x, y = dataset(20, 2)
        gp, same = fit_gp(x, y, rounder=rounder), fit_gp(rounder(x), y)
        assert torch.equal(gp.train_x, rounder(x))
        assert gp.loss == same.loss
        probe = torch.rand(6, 2, dtype=F64, generator=seeded(3))
        torch.testing.assert_close(gp.predict(probe)[0], same.predict(rounder(probe))[0], rtol=0, atol=1e-12)

    def test_the_iteration_limit_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_posterior, "COLD_STARTS", (1.0,))
        x, y = dataset(30, 3)
        assert fit_gp(x, y, max_iterations=2).evaluations < fit_gp(x, y).evaluations


HARD_DATA = {
    "one observation": ([[0.3, 0.4]], [2.5]),
    "one observation of zero": ([[0.3, 0.4]], [0.0]),
    "one huge observation": ([[0.3, 0.4]], [1e300]),
    "two observations": ([[0.1, 0.2], [0.8, 0.9]], [1.0, -1.0]),
    "constant outputs": ([[0.1, 0.2], [0.8, 0.9], [0.5, 0.5]], [7.0, 7.0, 7.0]),
    "constant up to rounding": ([[0.1, 0.2], [0.8, 0.9], [0.5, 0.5]], [0.1 + 0.2, 0.3, 0.3]),
    "duplicated inputs": ([[0.1, 0.2]] * 4 + [[0.7, 0.7]], [1.0, 1.0, 1.0, 1.0, 2.0]),
    "duplicates that disagree": ([[0.1, 0.2]] * 4 + [[0.7, 0.7]] * 2, [1.0, -1.0, 5.0, 2.0, 0.0, 100.0]),
    "all the same point": ([[0.5, 0.5]] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]),
    "1e300": ([[0.1, 0.2], [0.8, 0.9], [0.5, 0.1]], [1e300, -1e300, 3e299]),
    "1e-300": ([[0.1, 0.2], [0.8, 0.9], [0.5, 0.1]], [1e-300, -1e-300, 3e-301]),
    "mixed magnitudes": ([[0.1, 0.2], [0.8, 0.9], [0.5, 0.1], [0.2, 0.9]], [1e300, 1.0, -1e-300, 0.0]),
    "an outlier": ([[0.1, 0.2], [0.8, 0.9], [0.5, 0.1], [0.2, 0.9]], [1e12, 1.0, 2.0, 3.0]),
    "largest numbers": ([[0.1, 0.2], [0.8, 0.9]], [1.7e308, -1.7e308]),
    "corners": ([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0.0, 1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [None, NOISELESS, 1e-12])
@pytest.mark.parametrize("case", HARD_DATA)
def test_hard_data_never_raises_and_gives_a_finite_posterior(case: str, noise: float | None, kernel: str) -> None:
    x, y = (torch.tensor(values, dtype=F64) for values in HARD_DATA[case])
    for priors in PRIORS:
        gp = fit_gp(x, y, kernel=kernel, priors=priors, noise=noise)
        assert math.isfinite(gp.loss)
        probe = torch.cat([x, torch.rand(20, 2, dtype=F64, generator=seeded(1))])
        batch = gp.posterior(probe.unsqueeze(1))
        gradient = batch.pullback(torch.ones_like(batch.mean), torch.ones_like(batch.factor))
        assert not batch.failed.any()
        assert torch.isfinite(batch.mean).all()
        assert torch.isfinite(batch.factor).all()
        assert torch.isfinite(gradient).all()
        assert bool((batch.factor[:, 0, 0] > 0).all())
        if case != "largest numbers":  # there the prior standard deviation alone is beyond floating point
            assert all(torch.isfinite(part).all() for part in gp.predict(probe))


def test_fewer_observations_than_dimensions() -> None:
    x, y = dataset(4, 30)
    for priors in PRIORS:
        gp = fit_gp(x, y, priors=priors)
        assert torch.isfinite(gp.posterior(torch.rand(3, 5, 30, dtype=F64, generator=seeded(1))).mean).all()


def test_float32_data_is_taken_as_float64() -> None:
    x, y = dataset(12, 2)
    gp = fit_gp(x.float(), y.float())
    assert gp.train_x.dtype == gp.train_y.dtype == gp.posterior.alpha.dtype == F64


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (torch.zeros(3), torch.zeros(3), {}, r"x must be \(n, d\) and y \(n,\) with n >= 1, got \(3,\) and \(3,\)"),
        (torch.zeros(3, 2), torch.zeros(2), {}, r"got \(3, 2\) and \(2,\)"),
        (torch.zeros(3, 2), torch.zeros(3, 1), {}, r"got \(3, 2\) and \(3, 1\)"),
        (torch.zeros(0, 2), torch.zeros(0), {}, "n >= 1"),
        (torch.zeros(2, 2), torch.tensor([0.0, math.nan]), {}, "must be finite; leave failed evaluations out"),
        (torch.full((2, 2), math.inf), torch.zeros(2), {}, "must be finite"),
        (torch.zeros(2, 2), torch.zeros(2), {"noise": 0.0}, "noise must be a positive variance, got 0.0"),
        (torch.zeros(2, 2), torch.zeros(2), {"noise": math.nan}, "noise must be a positive variance"),
        (torch.zeros(2, 2), torch.zeros(2), {"kernel": "rbf"}, "kernel 'rbf' is unknown"),
        (torch.zeros(2, 2), torch.zeros(2), {"priors": "none"}, "prior set 'none' is unknown"),
        (
            torch.zeros(2, 2),
            torch.zeros(2),
            {"warm_start": Hyperparameters(torch.ones(3), 1.0, 1.0)},
            "warm_start has 3 lengthscales for inputs of 2 dimensions",
        ),
    ],
)
def test_bad_input_is_named(x: torch.Tensor, y: torch.Tensor, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_gp(x, y, **options)
