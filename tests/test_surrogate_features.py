"""Linear and cosine kernels: golden values from GPyTorch, the fit, the posterior and its way back, sample paths."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import compbo
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import ACQUISITIONS
from compbo.acquisition.samples import make_samples
from compbo.baselines.paths import FeaturePaths, draw_frequencies, posterior_paths
from compbo.baselines.thompson import FLAVOURS, ThompsonSampling
from compbo.maximizers import make_maximizer
from compbo.space import Float, Int, Space
from compbo.surrogate.feature_posterior import FeaturePosterior
from compbo.surrogate.gp import GP, fit_gp, posterior_with
from compbo.surrogate.kernels import KERNELS, get_kernel, input_scale
from compbo.surrogate.log_posterior import Hyperparameters, NegativeLogPosterior
from compbo.surrogate.posterior import mean_and_factor, with_pending
from compbo.surrogate.priors import get_priors
from compbo.types import DTYPE, Box, Budget, Status

NAMES = ("linear", "cosine")
N, D = 14, 3
LENGTHSCALE = torch.tensor([0.4, 0.9, 1.7], dtype=DTYPE)
THETA = Hyperparameters(LENGTHSCALE, 1.7, 0.05)


def rand(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, dtype=DTYPE, generator=torch.Generator().manual_seed(seed))


X = rand(N, D, seed=1)
Y = (3.0 * X).sin().sum(-1)
Y = (Y - Y.mean()) / Y.std()


def features(name: str, x: Tensor, lengthscale: Tensor = LENGTHSCALE) -> Tensor:
    kernel = get_kernel(name)
    return kernel.features(input_scale(kernel, lengthscale)(x))


def posterior(name: str) -> FeaturePosterior:
    return posterior_with(get_kernel(name), X, Y, THETA)


# Golden values. ------------------------------------------------------------------------------------------------------


def gpytorch_kernel(name: str):
    """GPyTorch's own kernel, and how its inputs are made of ours."""
    from gpytorch.kernels import ConstantKernel, CosineKernel, LinearKernel

    constant = ConstantKernel().to(DTYPE)
    constant.constant = torch.ones(1, dtype=DTYPE)
    if name == "linear":
        linear = LinearKernel(ard_num_dims=D).to(DTYPE)
        linear.variance = LENGTHSCALE**-2
        return linear + constant, lambda x: x - 0.5
    cosine = CosineKernel().to(DTYPE)
    cosine.period_length = 1.0
    return cosine + constant, lambda x: (x / LENGTHSCALE).sum(-1, keepdim=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_is_gpytorchs(name):
    kernel, inputs = gpytorch_kernel(name)
    x, other = rand(6, D), rand(5, D, seed=2)
    expected = kernel(inputs(x), inputs(other)).to_dense().detach()
    torch.testing.assert_close(features(name, x) @ features(name, other).mT, expected, rtol=1e-12, atol=1e-12)


def test_one_dimensional_cosine_is_gpytorchs_and_a_constant():
    from gpytorch.kernels import CosineKernel

    kernel = CosineKernel().to(DTYPE)
    kernel.period_length = torch.tensor(0.7, dtype=DTYPE)
    x = rand(9, 1)
    phi = features("cosine", x, torch.tensor([0.7], dtype=DTYPE))
    torch.testing.assert_close(phi @ phi.mT, 1 + kernel(x).to_dense().detach(), rtol=1e-12, atol=1e-12)


def test_the_cosine_of_a_distance_is_no_covariance_in_two_dimensions():
    """Why the cosine kernel is not GPyTorch's in several dimensions."""
    from gpytorch.kernels import CosineKernel

    x = rand(30, 2)
    matrix = CosineKernel().to(DTYPE)(x).to_dense().detach()
    assert torch.linalg.eigvalsh(matrix)[0] < -0.01
    phi = features("cosine", x, LENGTHSCALE[:2])
    assert torch.linalg.eigvalsh(phi @ phi.mT)[0] > -1e-12


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("q", [1, 2, 7])
def test_the_posterior_is_the_dense_formula(name, q):
    """mu = Ks C^-1 y and Sigma = Kss - Ks C^-1 Ks^T; with more points than features up to the nugget."""
    x = rand(2, q, D, seed=3)
    batch = posterior(name)(x)
    train = features(name, X)
    c = THETA.outputscale * train @ train.mT + THETA.noise * torch.eye(N, dtype=DTYPE)
    for b in range(2):
        phi = features(name, x[b])
        cross = THETA.outputscale * phi @ train.mT
        mean, sigma = cross @ torch.linalg.solve(c, Y), THETA.outputscale * phi @ phi.mT
        sigma -= cross @ torch.linalg.solve(c, cross.mT)
        torch.testing.assert_close(batch.mean[b], mean, rtol=1e-10, atol=1e-10)
        found = batch.factor[b] @ batch.factor[b].mT
        torch.testing.assert_close(found, sigma, rtol=1e-7, atol=2e-8 * float(sigma.diagonal().mean()))
    assert not batch.failed.any()
    assert (batch.jitter > 0) == (q > train.shape[-1])


@pytest.mark.parametrize("name", NAMES)
def test_marginals_are_those_of_gpytorchs_exact_gp(name):
    import gpytorch

    covariance, inputs = gpytorch_kernel(name)
    scaled = gpytorch.kernels.ScaleKernel(covariance).to(DTYPE)
    scaled.outputscale = THETA.outputscale
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(DTYPE)
    likelihood.noise = THETA.noise

    class Exact(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(inputs(X), Y, likelihood)
            self.mean, self.covariance = gpytorch.means.ZeroMean(), scaled

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))

    x = rand(8, D, seed=4)
    theirs = Exact().eval()(inputs(x))
    ours = posterior(name)(x.unsqueeze(1), gradient_rows=0)
    torch.testing.assert_close(ours.mean[:, 0], theirs.mean.detach(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours.factor[:, 0, 0] ** 2, theirs.variance.detach(), rtol=1e-6, atol=1e-6)


# Gradients. ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [None, 0.1])
@pytest.mark.parametrize("name", NAMES)
def test_the_fits_gradient_by_finite_differences(name, noise):
    loss = NegativeLogPosterior(X, Y, get_kernel(name), get_priors("paper", D), noise)
    theta = np.array([-0.3, 0.2, 0.5, 0.3, -2.0])[: D + 1 if noise else None]
    step = 1e-6
    _, gradient = loss(theta)
    for i, unit in enumerate(np.eye(len(theta))):
        slope = (loss(theta + step * unit)[0] - loss(theta - step * unit)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("q", [1, 2, 3, 7])
@pytest.mark.parametrize("name", NAMES)
def test_the_way_back_by_finite_differences(name, q):
    """Also where the batch has more points than the kernel has features."""
    x = rand(2, q, D, seed=5).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: mean_and_factor(posterior(name), t), (x,), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_pending_points_and_rows_without_gradients(name):
    x, pending = rand(3, 2, D, seed=5), rand(4, D, seed=6)
    joint = with_pending(posterior(name), pending)
    assert torch.autograd.gradcheck(
        lambda t: mean_and_factor(joint, t), (x.clone().requires_grad_(),), atol=1e-5, rtol=1e-5
    )
    whole, part = joint(x), joint(x, gradient_rows=2)
    dmean, dfactor = rand(3, 6), rand(3, 6, 6, seed=1)
    torch.testing.assert_close(part.pullback(dmean[:2], dfactor[:2]), whole.pullback(dmean, dfactor)[:2])


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_passes_straight_through_the_rounding(name):
    coarse = posterior_with(get_kernel(name), X, Y, THETA, rounder=lambda x: (4 * x).round() / 4)
    plain = posterior_with(get_kernel(name), (4 * X).round() / 4, Y, THETA)
    x = rand(2, 2, D, seed=7)
    cotangents = rand(2, 2), rand(2, 2, 2, seed=1)
    found, expected = coarse(x), plain((4 * x).round() / 4)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.pullback(*cotangents), expected.pullback(*cotangents))


# Fits and what is made of them. --------------------------------------------------------------------------------------

TRUTH = {
    "linear": lambda x: 2.0 - x @ torch.tensor([1.0, -3.0, 0.5], dtype=DTYPE),
    "cosine": lambda x: 1.0 + (2.0 * x).sum(-1).cos(),
}


def fitted(name: str) -> GP:
    return fit_gp(X, TRUTH[name](X), kernel=name)


@pytest.mark.parametrize("priors", ["paper", "dimension-scaled"])
@pytest.mark.parametrize("name", NAMES)
def test_a_fit_finds_what_the_kernel_can_say(name, priors):
    gp = fit_gp(X, TRUTH[name](X), kernel=name, priors=priors)
    x = rand(50, D, seed=8)
    mean, deviation = gp.predict(x)
    spread = float(TRUTH[name](x).std())
    assert float((mean - TRUTH[name](x)).abs().max()) < 0.05 * spread
    assert float(deviation.max()) < 0.1 * spread


def test_the_kernels_are_those_of_the_pilot():
    assert list(KERNELS) == ["matern52", "se", "linear", "cosine"]
    with pytest.raises(ValueError, match="choose one of matern52, se, linear, cosine"):
        get_kernel("quadratic")


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_acquisition_is_climbed(name, acquisition):
    """Six points and three or four features: the covariance is singular, and no restart fails for it."""
    gp = fit_gp(X, Y, kernel=name)
    for maximizer in (make_maximizer("Adam-ERM"), make_maximizer("CAdam")):
        samples = make_samples(maximizer.form, 6, minibatch=16, steps=20)
        oracle = AcquisitionOracle(ACQUISITIONS[acquisition](), gp.posterior, samples, gp.best)
        generator = torch.Generator().manual_seed(0)
        trace = maximizer(oracle, rand(4, 6, D), budget=Budget(20), box=Box.unit(D), generator=generator)
        assert set(trace.status) == {Status.DONE}
        assert torch.isfinite(trace.final_value).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_with_the_kernel(name):
    space = {"x": Float(0, 1), "y": Float(-1, 1), "n": Int(0, 5)}
    optimizer = compbo.Optimizer(
        space,
        kernel=name,
        batch_size=3,
        initial_points=4,
        starts=compbo.StartPolicy(32, 4),
        budget=Budget(10),
        minibatch=16,
    )
    for _ in range(4):
        points = optimizer.ask()
        optimizer.tell(points, [2 * p["x"] - p["y"] + 0.1 * p["n"] for p in points])
    assert optimizer.model().kernel.name == name
    again = compbo.Optimizer.from_json(optimizer.to_json())
    assert again.ask() == optimizer.ask()


# Sample paths. -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_paths_are_samples_of_the_posterior(name):
    gp, x = fitted(name), rand(5, D, seed=9)
    batch = gp.posterior(x.unsqueeze(0))
    paths = posterior_paths(gp, 4000, 8, "decoupled", torch.Generator().manual_seed(1))
    assert isinstance(paths, FeaturePaths)
    values = paths.values(x)
    sigma = batch.factor[0] @ batch.factor[0].mT
    error = sigma.diagonal().sqrt() / math.sqrt(4000)
    assert ((values.mean(0) - batch.mean[0]).abs() < 4 * error).all()
    assert torch.allclose(torch.cov(values.mT), sigma, rtol=0.15, atol=0.1 * float(sigma.diagonal().mean()))


@pytest.mark.parametrize("name", NAMES)
def test_a_paths_gradient_by_finite_differences(name):
    paths = posterior_paths(fitted(name), 3, 8, "weight", torch.Generator().manual_seed(1))
    x, which, step = rand(3, D, seed=2), torch.tensor([2, 0, 1]), 1e-6
    value, gradient = paths.value_and_gradient(x, which)
    torch.testing.assert_close(value, paths.values(x)[which, torch.arange(3)])
    for k in range(D):
        shift = step * torch.eye(D, dtype=DTYPE)[k]
        up, down = (paths.value_and_gradient(x + s * shift, which)[0] for s in (1, -1))
        torch.testing.assert_close(gradient[:, k], (up - down) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("name", NAMES)
def test_thompson_sampling_in_every_flavour(name, flavour):
    """The minimum of a plane is a corner."""
    space = Space({f"x{k}": Float(0, 1) for k in range(D)})
    sampling = ThompsonSampling(space, 0, flavour=flavour, kernel=name, noise=0.0, candidates=64, steps=20)
    sampling.tell(space.from_unit(X), TRUTH["linear"](X).tolist())
    points = sampling.ask(4)
    assert len(points) == 4
    if name == "linear":
        worth = TRUTH["linear"](space.to_unit(points))
        assert float(worth.max()) < float(TRUTH["linear"](X).quantile(0.2))


def test_random_waves_are_refused_by_name():
    with pytest.raises(ValueError, match="the kernel 'linear' has no random waves; draw its paths by"):
        draw_frequencies(fitted("linear"), 1, 8, torch.Generator().manual_seed(0))
