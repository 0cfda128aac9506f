"""Mean and Cholesky factor of a batch, and their own backward pass."""

from __future__ import annotations

import math
from typing import Any

import gpytorch
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from torch.utils._python_dispatch import TorchDispatchMode

from compbo.acquisition.integrands import EI, UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import FreshSamples
from compbo.space import Bool, Categorical, Int, Space
from compbo.surrogate import posterior as posterior_module
from compbo.surrogate.gp import fit_gp
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.pending import GPWithPending
from compbo.surrogate.posterior import (
    GPPosterior,
    PendingPosterior,
    factor_to_covariance_cotangent,
    mean_and_factor,
    reparameterise,
    times_upper,
    with_pending,
)

F64 = torch.float64
KERNELS = ("matern52", "se")
NOISES = {"well conditioned": 1e-2, "ill conditioned": 1e-7}


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, dtype=F64, generator=seeded(seed))


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=F64, generator=seeded(seed))


N, D = 18, 3
TRAIN_X, TRAIN_Y = rand(N, D, seed=1), randn(N, seed=2)
LENGTHSCALE, OUTPUTSCALE = torch.tensor([0.3, 0.8, 2.0], dtype=F64), 1.7


def make(kernel: str = "matern52", noise: float = 1e-2, **options: object) -> GPPosterior:
    return GPPosterior(
        TRAIN_X,
        TRAIN_Y,
        kernel=get_kernel(kernel),
        lengthscale=LENGTHSCALE,
        outputscale=OUTPUTSCALE,
        noise=noise * OUTPUTSCALE,
        **options,
    )


def botorch_model(kernel: str, noise: float = 1e-2) -> SingleTaskGP:
    base = MaternKernel(nu=2.5, ard_num_dims=D) if kernel == "matern52" else RBFKernel(ard_num_dims=D)
    covariance = ScaleKernel(base).double()
    covariance.base_kernel.lengthscale = LENGTHSCALE
    covariance.outputscale = torch.tensor(OUTPUTSCALE, dtype=F64)
    likelihood = GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-9)).double()
    likelihood.noise = torch.tensor(noise * OUTPUTSCALE, dtype=F64)
    return SingleTaskGP(
        TRAIN_X,
        TRAIN_Y.unsqueeze(-1),
        covar_module=covariance,
        likelihood=likelihood,
        mean_module=ZeroMean(),
        outcome_transform=None,
    )


def textbook(x: torch.Tensor, kernel: str, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and factor by the formulas of a textbook, on differences of points, for autograd."""

    def k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        r2 = (((a.unsqueeze(-2) - b.unsqueeze(-3)) / LENGTHSCALE) ** 2).sum(-1)
        if kernel == "se":
            return OUTPUTSCALE * (-0.5 * r2).exp()
        s = (5.0 * r2 + 1e-30).sqrt()
        return OUTPUTSCALE * (1.0 + s + s * s / 3.0) * (-s).exp()

    root = torch.linalg.cholesky(k(TRAIN_X, TRAIN_X) + noise * OUTPUTSCALE * torch.eye(N, dtype=F64))
    half = torch.linalg.solve_triangular(root, k(TRAIN_X, x), upper=False)
    y = torch.linalg.solve_triangular(root, TRAIN_Y.unsqueeze(-1), upper=False)
    mean = (half.mT @ y).squeeze(-1)
    return mean, torch.linalg.cholesky(k(x, x) - half.mT @ half)


def gradient_of(mean: torch.Tensor, factor: torch.Tensor, x: torch.Tensor, c: torch.Tensor, e: torch.Tensor):
    (gradient,) = torch.autograd.grad((mean * c).sum() + (factor * e).sum(), x)
    return gradient


class TestValues:
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_mean_covariance_and_gradient_equal_botorch(self, kernel: str) -> None:
        x = rand(5, 4, D, seed=3).requires_grad_()
        c, e = randn(5, 4, seed=4), randn(5, 4, 4, seed=5)
        theirs = botorch_model(kernel).posterior(x)
        covariance = theirs.distribution.covariance_matrix
        expected = gradient_of(theirs.mean.squeeze(-1), torch.linalg.cholesky(covariance), x, c, e)
        batch = make(kernel)(x.detach())
        torch.testing.assert_close(batch.mean, theirs.mean.squeeze(-1).detach(), rtol=0, atol=1e-8)
        torch.testing.assert_close(batch.factor @ batch.factor.mT, covariance.detach(), rtol=0, atol=1e-8)
        torch.testing.assert_close(batch.pullback(c, e), expected, rtol=1e-8, atol=1e-8)
        assert not batch.failed.any()
        assert batch.jitter == 0.0

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("noise", NOISES)
    @pytest.mark.parametrize("q", [1, 2, 7])
    def test_both_branches_equal_the_textbook(self, kernel: str, noise: str, q: int) -> None:
        posterior = make(kernel, NOISES[noise])
        assert posterior.well_conditioned == (noise == "well conditioned")
        x = rand(3, q, D, seed=6).requires_grad_()
        c, e = randn(3, q, seed=7), randn(3, q, q, seed=8)
        mean, factor = textbook(x, kernel, NOISES[noise])
        expected = gradient_of(mean, factor, x, c, e)
        batch = posterior(x.detach())
        torch.testing.assert_close(batch.mean, mean.detach(), rtol=0, atol=1e-7)
        torch.testing.assert_close(batch.factor, factor.detach(), rtol=0, atol=1e-6)
        torch.testing.assert_close(batch.pullback(c, e), expected, rtol=1e-5, atol=1e-5 * float(expected.abs().max()))

    def test_output_shift_and_scale(self) -> None:
        x = rand(2, 3, D)
        c, e = randn(2, 3, seed=1), randn(2, 3, 3, seed=2)
        plain, moved = make()(x), make(output_shift=5.0, output_scale=3.0)(x)
        torch.testing.assert_close(moved.mean, 5.0 + 3.0 * plain.mean)
        torch.testing.assert_close(moved.factor, 3.0 * plain.factor)
        torch.testing.assert_close(moved.pullback(c, e), 3.0 * plain.pullback(c, e))

    def test_the_centre_does_not_matter(self) -> None:
        x = rand(2, 3, D)
        torch.testing.assert_close(make(centre=0.0)(x).factor, make(centre=0.5)(x).factor, rtol=0, atol=1e-10)

    def test_far_away_the_prior_comes_back(self) -> None:
        batch = make()(torch.full((1, 1, D), 1e3, dtype=F64))
        assert float(batch.mean) == pytest.approx(0.0, abs=1e-12)
        assert float(batch.factor) == pytest.approx(math.sqrt(OUTPUTSCALE), rel=1e-12)

    def test_samples_are_mean_plus_factor_times_z(self) -> None:
        batch, z = make()(rand(2, 3, D)), randn(3, 5)
        values = reparameterise(batch, z).values
        for b in range(2):
            for k in range(5):
                expected = batch.mean[b] + batch.factor[b] @ z[:, k]
                torch.testing.assert_close(values[b, :, k], expected)

    def test_the_input_is_left_alone(self) -> None:
        x = rand(2, 3, D)
        before = x.clone()
        batch = make()(x)
        batch.pullback(torch.ones(2, 3, dtype=F64), torch.ones(2, 3, 3, dtype=F64))
        assert torch.equal(x, before)

    def test_a_pullback_can_be_used_again(self) -> None:
        batch = make()(rand(2, 3, D))
        c, e = randn(2, 3, seed=1), randn(2, 3, 3, seed=2)
        assert torch.equal(batch.pullback(c, e), batch.pullback(c, e))


class TestGradients:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("noise", NOISES)
    @pytest.mark.parametrize("chunk", [1, 3 * N, 6 * N + 1, 400_000])
    def test_finite_differences(self, kernel: str, noise: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(posterior_module, "CHUNK_ELEMENTS", chunk)
        posterior = make(kernel, NOISES[noise])
        x = rand(3, 3, D, seed=11).requires_grad_()
        assert torch.autograd.gradcheck(lambda t: mean_and_factor(posterior, t), (x,), atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_finite_differences_outside_the_box_and_at_a_training_point(self, kernel: str) -> None:
        x = torch.stack([rand(2, D) * 3.0 - 1.0, TRAIN_X[:2]]).requires_grad_()
        assert torch.autograd.gradcheck(lambda t: mean_and_factor(make(kernel), t), (x,), atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize("noise", NOISES.values())
    @pytest.mark.parametrize("chunk", [1, 8 * N, 12 * N, 400_000])
    @pytest.mark.parametrize("rows", [0, 1, 3, 5, 7, None])
    def test_chunks_and_gradient_rows_change_nothing(
        self, noise: float, chunk: int, rows: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        posterior, x = make(noise=noise), rand(7, 4, D)
        c, e = randn(7, 4, seed=1), randn(7, 4, 4, seed=2)
        whole = posterior(x)
        expected = whole.pullback(c, e)
        monkeypatch.setattr(posterior_module, "CHUNK_ELEMENTS", chunk)
        batch = posterior(x, rows)
        torch.testing.assert_close(batch.mean, whole.mean, rtol=0, atol=1e-12)
        torch.testing.assert_close(batch.factor, whole.factor, rtol=0, atol=1e-8)
        got = batch.pullback(c[:rows], e[:rows])
        assert got.shape == (7 if rows is None else rows, 4, D)
        scale = float(expected.abs().max())
        torch.testing.assert_close(got, expected[:rows], rtol=0, atol=1e-7 * scale)

    def test_cholesky_cotangent_equals_autograd(self) -> None:
        a = randn(3, 5, 5)
        sigma = (a @ a.mT + torch.eye(5, dtype=F64)).requires_grad_()
        factor = torch.linalg.cholesky(sigma)
        e = randn(3, 5, 5, seed=1)
        (expected,) = torch.autograd.grad((factor * e).sum(), sigma)
        got = factor_to_covariance_cotangent(factor.detach(), e)
        torch.testing.assert_close(got, 0.5 * (expected + expected.mT), rtol=1e-10, atol=1e-10)

    def test_mean_alone_and_factor_alone(self) -> None:
        posterior, x = make(), rand(2, 3, D).requires_grad_()
        zero = torch.zeros(2, 3, 3, dtype=F64)
        mean, _ = mean_and_factor(posterior, x)
        (alone,) = torch.autograd.grad(mean.sum(), x)
        torch.testing.assert_close(alone, posterior(x.detach()).pullback(torch.ones(2, 3, dtype=F64), zero))
        _, factor = mean_and_factor(posterior, x)
        (alone,) = torch.autograd.grad(factor.sum(), x)
        expected = posterior(x.detach()).pullback(torch.zeros(2, 3, dtype=F64), torch.ones_like(zero))
        torch.testing.assert_close(alone, expected)

    def test_second_derivatives_are_refused(self) -> None:
        x = rand(1, 2, D).requires_grad_()
        mean, _ = mean_and_factor(make(), x)
        (gradient,) = torch.autograd.grad(mean.square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.sum().backward()


def to_fifths(x: torch.Tensor) -> torch.Tensor:
    return (x * 5.0).round() / 5.0


def to_hundredths(x: torch.Tensor) -> torch.Tensor:
    return (x * 100.0).round() / 100.0


class TestPending:
    PENDING = rand(2, D, seed=20)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_pending_points_join_and_do_not_move(self, kernel: str) -> None:
        x = rand(4, 3, D, seed=21).requires_grad_()
        c, e = randn(4, 5, seed=22), randn(4, 5, 5, seed=23)
        theirs = botorch_model(kernel).posterior(torch.cat([x, self.PENDING.expand(4, 2, D)], 1))
        covariance = theirs.distribution.covariance_matrix
        expected = gradient_of(theirs.mean.squeeze(-1), torch.linalg.cholesky(covariance), x, c, e)
        joint = with_pending(make(kernel), self.PENDING)
        batch = joint(x.detach())
        assert joint.extra_points == 2
        assert joint.dim == D
        torch.testing.assert_close(batch.mean, theirs.mean.squeeze(-1).detach(), rtol=0, atol=1e-8)
        torch.testing.assert_close(batch.factor @ batch.factor.mT, covariance.detach(), rtol=0, atol=1e-8)
        torch.testing.assert_close(batch.pullback(c, e), expected, rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize("rows", [0, 2])
    def test_gradient_rows(self, rows: int) -> None:
        joint, x = PendingPosterior(make(), self.PENDING), rand(4, 3, D)
        c, e = randn(4, 5, seed=22), randn(4, 5, 5, seed=23)
        expected = joint(x).pullback(c, e)[:rows]
        torch.testing.assert_close(joint(x, rows).pullback(c[:rows], e[:rows]), expected, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("noise", [1e-2, 1e-6])  # well-conditioned and not
    @pytest.mark.parametrize("rounder", [None, to_hundredths])  # so fine that no two of the points are equal
    @pytest.mark.parametrize(("count", "rows"), [(1, 4), (40, 4), (40, 2), (3, 0)])
    def test_what_is_computed_once_is_what_the_joint_batch_gives(
        self, monkeypatch: pytest.MonkeyPatch, noise: float, rounder: Any, count: int, rows: int
    ) -> None:
        monkeypatch.setattr("compbo.surrogate.posterior.CHUNK_ELEMENTS", 2 * 3 * len(TRAIN_X))  # two batches a chunk
        posterior, pending = make(noise=noise, rounder=rounder), rand(count, D, seed=24)
        x, c, e = rand(5, 3, D, seed=25), randn(rows, 3 + count, seed=26), randn(rows, 3 + count, 3 + count, seed=27)
        once, anew = with_pending(posterior, pending)(x, rows), PendingPosterior(posterior, pending)(x, rows)
        assert isinstance(with_pending(posterior, pending), GPWithPending)
        tolerance = 1e-9 if noise == 1e-2 else 1e-6
        torch.testing.assert_close(once.mean, anew.mean, rtol=0, atol=tolerance)
        covariances = [batch.factor @ batch.factor.mT for batch in (once, anew)]
        torch.testing.assert_close(*covariances, rtol=0, atol=tolerance)
        assert torch.equal(once.failed, anew.failed)
        expected = anew.pullback(c, e)
        scale = max(1.0, float(expected.abs().max())) if rows else 1.0
        torch.testing.assert_close(once.pullback(c, e) / scale, expected / scale, rtol=0, atol=tolerance)

    def test_pending_points_are_multiplied_with_the_observations_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        joint, rows = with_pending(make(noise=1e-6), rand(40, D, seed=24)), []
        product = times_upper

        def counted(left: torch.Tensor, lower: torch.Tensor) -> torch.Tensor:
            rows.append(len(left))
            return product(left, lower)

        monkeypatch.setattr("compbo.surrogate.pending.times_upper", counted)
        joint(rand(4, 3, D))
        assert sum(rows) == 4 * 3

    def test_the_deviation_of_a_pending_point_does_not_depend_on_x(self) -> None:
        joint = with_pending(make(), self.PENDING)
        one, two = joint(rand(1, 3, D, seed=1)), joint(rand(1, 3, D, seed=2))
        variance = [(batch.factor @ batch.factor.mT)[0, 3:, 3:] for batch in (one, two)]
        torch.testing.assert_close(variance[0], variance[1], rtol=0, atol=1e-12)
        torch.testing.assert_close(one.mean[0, 3:], two.mean[0, 3:], rtol=0, atol=1e-12)

    def test_pending_twice_adds_up(self) -> None:
        inner = PendingPosterior(PendingPosterior(make(), self.PENDING[:1]), self.PENDING[1:])
        torch.testing.assert_close(
            with_pending(with_pending(make(), self.PENDING[:1]), self.PENDING[1:])(rand(2, 3, D)).mean,
            inner(rand(2, 3, D)).mean,
        )
        twice = with_pending(with_pending(make(), self.PENDING[:1]), self.PENDING[1:])
        assert twice.extra_points == 2
        assert twice(rand(2, 3, D)).mean.shape == (2, 5)
        assert twice(rand(2, 3, D)).pullback(randn(2, 5), randn(2, 5, 5)).shape == (2, 3, D)

    def test_nothing_pending_is_nothing(self) -> None:
        posterior = make()
        assert with_pending(posterior, None) is posterior
        assert with_pending(posterior, torch.empty(0, D, dtype=F64)) is posterior
        assert posterior.extra_points == 0

    def test_autograd_sees_the_gradient_of_x_alone(self) -> None:
        joint = with_pending(make(), self.PENDING)
        x = rand(2, 2, D).requires_grad_()
        assert torch.autograd.gradcheck(lambda t: mean_and_factor(joint, t), (x,), atol=1e-5, rtol=1e-5)


class TestRounding:
    def test_the_surrogate_sees_what_is_evaluated(self) -> None:
        x = rand(3, 2, D)
        rounded, plain = make(rounder=to_fifths), make()
        reference = GPPosterior(
            to_fifths(TRAIN_X),
            TRAIN_Y,
            kernel=plain.kernel,
            lengthscale=LENGTHSCALE,
            outputscale=OUTPUTSCALE,
            noise=1e-2 * OUTPUTSCALE,
        )
        torch.testing.assert_close(rounded(x).mean, reference(to_fifths(x)).mean)
        torch.testing.assert_close(rounded(x).factor, reference(to_fifths(x)).factor)

    def test_the_gradient_is_that_of_the_rounded_point(self) -> None:
        x = rand(3, 2, D)
        c, e = randn(3, 2, seed=1), randn(3, 2, 2, seed=2)
        rounded = make(rounder=to_fifths)
        torch.testing.assert_close(rounded(x).pullback(c, e), rounded(to_fifths(x)).pullback(c, e))
        assert float(rounded(x).pullback(c, e).abs().min()) > 0

    @pytest.mark.parametrize("acquisition", [EI(), UCB()])
    def test_a_purely_integer_space_has_an_acquisition_gradient(self, acquisition: EI | UCB) -> None:
        """kNN's space of the paper: two integers. Rounding alone makes every finite difference zero."""
        space = Space({"n_neighbors": Int(1, 25), "p": Int(1, 4)})
        x = space.sample_unit((12,), seeded(0))
        gp = fit_gp(x, (x - 0.4).square().sum(-1).neg(), rounder=space.rounder())
        oracle = AcquisitionOracle(acquisition, gp.posterior, FreshSamples(3, 64), gp.best)
        oracle.start(seeded(2))
        draw = oracle.fixed_draw()
        points = space.round_unit(space.sample_unit((6, 3), seeded(3)))
        inner = oracle.inner(points, draw)
        gradient = inner.pullback(oracle.outer_gradient(inner.v))
        assert torch.equal(oracle.value(points + 1e-4, draw), oracle.value(points, draw))
        alive = oracle.value(points, draw) != 0.0  # EI is exactly zero where no sample improves
        assert int(alive.sum()) >= 5
        assert bool((gradient.flatten(1).norm(dim=1)[alive] > 1e-3).all())
        assert bool((gradient.abs().sum((0, 1)) > 0).all())

    def test_categories_and_booleans_have_one_too(self) -> None:
        space = Space({"kernel": Categorical(["rbf", "poly", "linear"]), "bootstrap": Bool()})
        x = space.sample_unit((10,), seeded(0))
        gp = fit_gp(x, x[:, 0] - x[:, 3], rounder=space.rounder())
        oracle = AcquisitionOracle(UCB(), gp.posterior, FreshSamples(2, 64), gp.best)
        oracle.start(seeded(2))
        inner = oracle.inner(space.sample_unit((4, 2), seeded(3)), oracle.draw())
        gradient = inner.pullback(oracle.outer_gradient(inner.v))
        assert bool((gradient.abs().sum((0, 1)) > 0).all())


class TestFailure:
    def test_duplicates_in_a_batch_need_jitter_and_stay_finite(self) -> None:
        x = rand(2, 1, D).expand(2, 4, D).contiguous()
        x[1] = rand(4, D, seed=5)
        batch = make()(x)
        assert not batch.failed.any()
        assert 0 < batch.jitter <= 1e-6
        assert torch.isfinite(batch.factor).all()
        assert torch.isfinite(batch.pullback(torch.ones(2, 4, dtype=F64), torch.ones(2, 4, 4, dtype=F64))).all()
        torch.testing.assert_close(batch.factor[1], make()(x[1:]).factor[0], rtol=0, atol=1e-12)

    def test_a_point_that_is_not_a_number_spoils_its_own_batch_only(self) -> None:
        x = rand(3, 2, D)
        good = make()(x)
        x[1, 0, 2] = math.nan
        batch = make()(x)
        assert batch.failed.tolist() == [False, True, False]
        torch.testing.assert_close(batch.mean[[0, 2]], good.mean[[0, 2]])
        gradient = batch.pullback(torch.ones(3, 2, dtype=F64), torch.ones(3, 2, 2, dtype=F64))
        assert torch.isfinite(gradient[[0, 2]]).all()

    def test_training_data_without_a_factor_marks_everything(self) -> None:
        train = TRAIN_X.clone()
        train[0, 0] = math.nan
        for x, noise in ((train, 0.1), (TRAIN_X, math.nan)):
            posterior = GPPosterior(
                x, TRAIN_Y, kernel=get_kernel("se"), lengthscale=LENGTHSCALE, outputscale=1.0, noise=noise
            )
            assert posterior(rand(3, 2, D)).failed.all()
            assert posterior(rand(3, 2, D) + 100.0).failed.all()  # however far from the data

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("noise", [1e-9, 1e-12])
    def test_almost_no_noise_never_fails(self, kernel: str, noise: float) -> None:
        """Near the data the variance is far below its own rounding errors."""
        x = torch.linspace(0, 1, 80, dtype=F64).unsqueeze(-1)
        posterior = GPPosterior(
            x,
            (6 * x[:, 0]).sin(),
            kernel=get_kernel(kernel),
            lengthscale=torch.tensor([0.5], dtype=F64),
            outputscale=1.0,
            noise=noise,
        )
        points = torch.cat([x[:60].reshape(20, 3, 1), rand(20, 3, 1), x[:20].unsqueeze(1).expand(20, 3, 1)])
        batch = posterior(points)
        gradient = batch.pullback(torch.ones(60, 3, dtype=F64), torch.ones(60, 3, 3, dtype=F64))
        assert not batch.failed.any()
        assert torch.isfinite(gradient).all()
        assert float(batch.factor.abs().max()) < 0.05  # the data are dense: no prior variance may come back


class _LargestTensor(TorchDispatchMode):
    """Remembers the largest tensor any operation makes."""

    largest = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        return out


class TestMemory:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("noise", NOISES.values())
    def test_nothing_of_size_bqnd_is_ever_built(self, kernel: str, noise: float) -> None:
        b, q, n, d, k = 6, 5, 40, 50, 16
        posterior = GPPosterior(
            rand(n, d),
            randn(n),
            kernel=get_kernel(kernel),
            lengthscale=torch.full((d,), 2.0, dtype=F64),
            outputscale=1.0,
            noise=noise,
        )
        oracle = AcquisitionOracle(UCB(), posterior, FreshSamples(q, k), 0.0)
        oracle.start(seeded(0))
        draw, x = oracle.draw(), rand(b, q, d)
        with _LargestTensor() as seen:
            inner = oracle.inner(x, draw)
            inner.pullback(oracle.outer_gradient(inner.v))
        allowed = max(b * q * n, b * q * (d + 2), n * (d + 2), b * q * k)
        assert 0 < seen.largest <= allowed < b * q * n * d / 10

    def test_chunks_bound_the_cross_covariance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(posterior_module, "CHUNK_ELEMENTS", 4 * N * 3)
        posterior, x = make(), rand(64, 4, D)
        with _LargestTensor() as seen:
            posterior(x, gradient_rows=0)
        assert seen.largest <= max(4 * N * 3, 64 * 4 * 4)

    def test_bytes_per_row_covers_what_is_kept(self) -> None:
        assert make().bytes_per_row() >= 8 * 2 * N
        assert with_pending(make(), rand(2, D)).bytes_per_row() == make().bytes_per_row()
