"""Thompson sampling: samples against the exact posterior, gradients, batches, determinism."""

import random

import numpy as np
import pytest
import torch

from compbo.baselines.paths import Paths, draw_frequencies, draw_paths
from compbo.baselines.random import RandomSearch
from compbo.baselines.thompson import FLAVOURS, ThompsonSampling, best_of_joint_samples, maximise_paths
from compbo.seeds import stream
from compbo.space import Bool, Categorical, Float, Int, Space
from compbo.surrogate.gp import fit_gp
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.log_posterior import Hyperparameters
from compbo.surrogate.posterior import GPPosterior
from compbo.types import DTYPE

PLANE = Space({"x": Float(0, 1), "y": Float(0, 1)})
MIXED = Space({"x": Float(0, 1), "n": Int(0, 5), "flag": Bool(), "c": Categorical(["a", "b", "c"])})


def _bowl(point):
    return (point["x"] - 0.7) ** 2 + (point["y"] - 0.2) ** 2


def _told(method, points, loss):
    method.tell(points, [loss(point) for point in points])
    return method


def _gp(kernel="matern52", n=6, d=2, noise=0.01):
    """A GP with hyperparameters of our choice."""
    x = torch.rand(n, d, dtype=DTYPE, generator=stream(0, "x"))
    gp = fit_gp(x, (5 * x).sin().sum(-1), kernel=kernel, noise=noise, max_iterations=1)
    chosen = Hyperparameters(torch.linspace(0.3, 0.6, d, dtype=DTYPE), 1.7, noise)
    posterior = GPPosterior(
        x, gp.train_y, kernel=get_kernel(kernel), lengthscale=chosen.lengthscale, outputscale=1.7, noise=noise
    )
    return gp.__class__(**{**vars(gp), "hyperparameters": chosen, "posterior": posterior})


def _moments(gp, x):
    batch = gp.posterior(x.unsqueeze(0), gradient_rows=0)
    return batch.mean[0], batch.factor[0] @ batch.factor[0].mT


def _assert_moments(samples, mean, covariance):
    """Sample mean and covariance within five of their own standard errors."""
    deviation = samples - mean
    error = samples.std(0) / len(samples) ** 0.5
    assert bool((deviation.mean(0).abs() < 5 * error).all())
    products = deviation.unsqueeze(-1) * deviation.unsqueeze(-2)
    error = products.std(0) / len(samples) ** 0.5
    assert bool(((products.mean(0) - covariance).abs() < 5 * error + 1e-12).all())


@pytest.mark.parametrize("kernel", ["matern52", "se"])
def test_prior_waves_have_the_kernels_covariance(kernel):
    gp = _gp(kernel)
    generator = stream(0, "waves")
    x = torch.rand(5, 2, dtype=DTYPE, generator=generator)
    frequencies = draw_frequencies(gp, 1500, 16, generator)
    weights = torch.randn(1500, 32, dtype=DTYPE, generator=generator)
    prior = Paths(gp, frequencies, weights, torch.zeros(1500, 6, dtype=DTYPE)).values(x)
    scaled = x / gp.hyperparameters.lengthscale
    r = torch.cdist(scaled, scaled)
    shape = (1 + 5**0.5 * r + 5 / 3 * r**2) * (-(5**0.5) * r).exp() if kernel == "matern52" else (-0.5 * r**2).exp()
    _assert_moments(prior, torch.zeros(5, dtype=DTYPE), 1.7 * shape)


@pytest.mark.parametrize("kernel", ["matern52", "se"])
def test_decoupled_paths_have_the_posteriors_moments(kernel):
    gp = _gp(kernel)
    generator = stream(1, "paths")
    x = torch.cat([torch.rand(4, 2, dtype=DTYPE, generator=generator), gp.train_x[:1]])
    paths = draw_paths(gp, draw_frequencies(gp, 1500, 32, generator), "decoupled", generator)
    _assert_moments(paths.values(x), *_moments(gp, x))


def test_weight_space_paths_have_the_linear_models_moments():
    """Bayesian linear regression in closed form, on one set of features shared by all the paths."""
    gp = _gp()
    generator = stream(2, "paths")
    x = torch.rand(4, 2, dtype=DTYPE, generator=generator)
    frequencies = draw_frequencies(gp, 1, 8, generator)

    def features(points):
        angle = points @ frequencies[0].mT
        return (1.7 / 8) ** 0.5 * torch.cat([angle.cos(), angle.sin()], -1)

    phi, at = features(gp.train_x), features(x)
    precision = phi.mT @ phi / 0.01 + torch.eye(16, dtype=DTYPE)
    mean = at @ torch.linalg.solve(precision, phi.mT @ gp.train_y / 0.01)
    covariance = at @ torch.linalg.solve(precision, at.mT)
    paths = draw_paths(gp, frequencies.expand(1500, -1, -1), "weight", generator)
    _assert_moments(paths.values(x), mean, covariance)


def test_weight_space_comes_close_to_the_posterior_with_many_features():
    gp = _gp(noise=0.1)
    x = torch.rand(4, 2, dtype=DTYPE, generator=stream(3, "x"))
    mean, covariance = _moments(gp, x)
    gaps = []
    for features in (4, 1000):
        generator = stream(3, "paths")
        samples = draw_paths(gp, draw_frequencies(gp, 200, features, generator), "weight", generator).values(x)
        gaps.append(float((samples.mean(0) - mean).abs().max()))
    error = float((covariance.diagonal() / 200).sqrt().max())
    assert gaps[1] < 5 * error
    assert gaps[1] < gaps[0]


def test_joint_samples_choose_candidates_as_often_as_they_are_best():
    gp = _gp()
    candidates = torch.rand(5, 2, dtype=DTYPE, generator=stream(4, "x"))
    mean, covariance = _moments(gp, candidates)
    rng = np.random.default_rng(0)
    winners = rng.multivariate_normal(mean.numpy(), covariance.numpy(), size=20_000).argmax(1)
    expected = np.bincount(winners, minlength=5) / 20_000
    picks = [best_of_joint_samples(gp, candidates, 1, stream(s, "pick")) for s in range(400)]
    found = np.array([sum(bool((pick[0] == c).all()) for pick in picks) for c in candidates]) / 400
    assert np.all(abs(found - expected) < 5 * np.sqrt((expected + 1e-4) / 400))


@pytest.mark.parametrize("kernel", ["matern52", "se"])
@pytest.mark.parametrize("basis", ["weight", "decoupled"])
def test_gradients_are_those_of_finite_differences(kernel, basis):
    gp = _gp(kernel, n=9, d=3)
    generator = stream(5, "paths")
    paths = draw_paths(gp, draw_frequencies(gp, 4, 20, generator), basis, generator)
    x = torch.rand(6, 3, dtype=DTYPE, generator=generator)
    which = torch.tensor([0, 1, 2, 3, 3, 0])
    value, gradient = paths.value_and_gradient(x, which)
    assert torch.allclose(value, paths.values(x)[which, torch.arange(6)], rtol=1e-12)
    for k in range(3):
        step = torch.zeros(3, dtype=DTYPE)
        step[k] = 1e-6
        up, down = (paths.value_and_gradient(x + sign * step, which)[0] for sign in (1, -1))
        assert torch.allclose((up - down) / 2e-6, gradient[:, k], rtol=1e-5, atol=1e-6)


def test_the_maximiser_of_a_path_is_better_than_a_fine_grid():
    gp = _gp(n=8)
    generator = stream(6, "paths")
    paths = draw_paths(gp, draw_frequencies(gp, 3, 200, generator), "decoupled", generator)
    axis = torch.linspace(0, 1, 60, dtype=DTYPE)
    grid = torch.cartesian_prod(axis, axis)
    found = maximise_paths(paths, torch.rand(256, 2, dtype=DTYPE, generator=generator), 8, 64)
    value, gradient = paths.value_and_gradient(found, torch.arange(3))
    assert bool((value >= paths.values(grid).max(-1).values - 1e-9).all())
    inside = (found > 1e-9) & (found < 1 - 1e-9)
    assert float(gradient[inside].abs().max()) < 1e-2


def _quick(flavour, space=PLANE, seed=0, **more):
    return ThompsonSampling(space, seed, flavour=flavour, candidates=256, features=128, steps=20, noise=0.0, **more)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_suggestion_depends_on_seed_and_history_only(flavour):
    points = PLANE.sample(12, stream(0, "p"))
    one = _told(_quick(flavour), points, _bowl)
    first, second = one.ask(4), one.ask(4)
    other = _quick(flavour)
    for point in random.Random(0).sample(points, len(points)):
        _told(other, [point], _bowl)
    assert other.ask(4) == first
    assert other.ask(4) == second != first
    assert _told(_quick(flavour, seed=1), points, _bowl).ask(4) != first


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_batches_are_diverse_and_find_the_bowl(flavour):
    method = _quick(flavour)
    batch = _told(method, PLANE.sample(3, stream(0, "p")), _bowl).ask(8)
    unit = PLANE.to_unit(batch)
    assert float(torch.pdist(unit).min()) > 0
    assert float(torch.pdist(unit).mean()) > 0.1
    _told(method, batch, _bowl)
    for _ in range(3):
        _told(method, method.ask(8), _bowl)
    chance = RandomSearch(PLANE, 0)
    _told(chance, chance.ask(35), _bowl)
    assert method.best[1] < chance.best[1]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_mixed_spaces_failures_and_a_single_observation(flavour):
    method = _quick(flavour, MIXED)
    assert len(method.ask(3)) == 3  # nothing known: uniform
    points = MIXED.sample(8, stream(0, "p"))
    method.tell(points[:1], [1.0])
    assert len(method.ask(2)) == 2
    method.tell(points[1:], [None, float("nan"), 1e300, 2.0, 2.0, -3.0, 0.5])
    batch = method.ask(5)
    assert all(MIXED.validate(point) == point for point in batch)


def test_a_small_space_is_searched_without_repetition_until_it_is_exhausted():
    space = Space({"n": Int(0, 3)})
    method = _told(_quick("function", space), [{"n": 0}], lambda p: p["n"])
    assert sorted(point["n"] for point in method.ask(4)) == [0, 1, 2, 3]
    assert len(method.ask(6)) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flavour": "posterior"}, "no flavour 'posterior'"),
        ({"noise": -1.0}, "noise must be"),
        ({"features": 0}, "features must be at least 1"),
    ],
)
def test_wrong_arguments_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        ThompsonSampling(PLANE, **options)
