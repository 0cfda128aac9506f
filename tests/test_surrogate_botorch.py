"""BoTorch models as posteriors: the fast path, and autograd for all others."""

from __future__ import annotations

from collections.abc import Callable

import gpytorch
import pytest
import torch
from botorch.exceptions import InputDataWarning
from botorch.models import (
    MixedSingleTaskGP,
    ModelListGP,
    SingleTaskGP,
    SingleTaskMultiFidelityGP,
    SingleTaskVariationalGP,
)
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
from botorch.models.transforms.input import ChainedInputTransform, InputPerturbation, Normalize, Warp
from botorch.models.transforms.outcome import Log, Standardize
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import LinearMean, ZeroMean

from compbo.surrogate import posterior as posterior_module
from compbo.surrogate.botorch import ModelPosterior, posterior_of, recognise
from compbo.surrogate.posterior import GPPosterior, mean_and_factor, with_pending

pytestmark = pytest.mark.filterwarnings("ignore::botorch.exceptions.InputDataWarning")  # scaling is under test

F64 = torch.float64
N, D = 20, 3
LOW, RANGE = torch.tensor([0.0, 5.0, -1.0], dtype=F64), torch.tensor([1.0, 10.0, 3.0], dtype=F64)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def unit(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, dtype=F64, generator=seeded(seed))


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=F64, generator=seeded(seed))


X = LOW + RANGE * unit(N, D, seed=1)
Y = 7.0 * X.sum(-1, keepdim=True).sin() + 3.0
STANDARD_Y = (Y - Y.mean()) / Y.std()


def scaled(kernel: gpytorch.kernels.Kernel) -> ScaleKernel:
    module = ScaleKernel(kernel).double()
    module.outputscale = torch.tensor(2.3, dtype=F64)
    return module


def stirred(model: SingleTaskGP) -> SingleTaskGP:
    """Hyperparameters that are nobody's default."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter += 0.3 * normal(*parameter.shape, seed=50 + i).to(parameter.dtype)
    return model


PLAIN: dict[str, Callable[[], SingleTaskGP]] = {
    "default": lambda: SingleTaskGP(X, Y),
    "no transform": lambda: SingleTaskGP(X, Y, outcome_transform=None),
    "normalize": lambda: SingleTaskGP(X, Y, input_transform=Normalize(D)),
    "normalize, centred": lambda: SingleTaskGP(X, Y, input_transform=Normalize(D, center=0.0)),
    "normalize, given bounds": lambda: SingleTaskGP(
        X, Y, input_transform=Normalize(D, bounds=torch.stack([LOW - 1.0, LOW + 2.0 * RANGE]))
    ),
    "normalize, standardize": lambda: SingleTaskGP(
        X, Y, input_transform=Normalize(D), outcome_transform=Standardize(m=1)
    ),
    "scaled matern": lambda: SingleTaskGP(
        X, Y, covar_module=scaled(MaternKernel(2.5, ard_num_dims=D)), input_transform=Normalize(D)
    ),
    "scaled rbf": lambda: SingleTaskGP(
        X, Y, covar_module=scaled(RBFKernel(ard_num_dims=D)), input_transform=Normalize(D)
    ),
    "matern, one lengthscale": lambda: SingleTaskGP(X, Y, covar_module=MaternKernel(2.5)),
    "rbf, one lengthscale": lambda: SingleTaskGP(X, Y, covar_module=RBFKernel(), input_transform=Normalize(D)),
    "zero mean": lambda: SingleTaskGP(X, STANDARD_Y, mean_module=ZeroMean(), outcome_transform=None),
    "fixed noise": lambda: SingleTaskGP(X, Y, torch.full_like(Y, 0.3)),
    "one of two outputs": lambda: SingleTaskGP(X, torch.cat([Y, -2.0 * Y], -1)).subset_output(idcs=[1]),
    "a list of one": lambda: ModelListGP(SingleTaskGP(X, Y)),
}


def with_last_column(column: torch.Tensor) -> torch.Tensor:
    return torch.cat([X[:, :2], column], -1)


def variational() -> SingleTaskVariationalGP:
    model = SingleTaskVariationalGP(X, STANDARD_Y, inducing_points=10)
    model.posterior(X[:1])  # the first call draws the variational parameters
    return model


OTHERS: dict[str, Callable[[], SingleTaskGP]] = {
    "heteroscedastic noise": lambda: SingleTaskGP(X, Y, 0.1 + unit(N, 1)),
    "matern 3/2": lambda: SingleTaskGP(X, Y, covar_module=MaternKernel(1.5)),
    "sum of kernels": lambda: SingleTaskGP(X, Y, covar_module=RBFKernel() + MaternKernel(2.5)),
    "active dimensions": lambda: SingleTaskGP(X, Y, covar_module=MaternKernel(2.5, active_dims=[0, 1])),
    "linear mean": lambda: SingleTaskGP(X, Y, mean_module=LinearMean(D)),
    "normalize some": lambda: SingleTaskGP(X, Y, input_transform=Normalize(D, indices=[0, 1])),
    "chained": lambda: SingleTaskGP(X, Y, input_transform=ChainedInputTransform(one=Normalize(D))),
    "warp": lambda: SingleTaskGP(
        (X - LOW) / RANGE, Y, input_transform=Warp(d=D, indices=[0, 1], bounds=torch.stack([LOW, LOW + RANGE]))
    ),
    "mixed": lambda: MixedSingleTaskGP(with_last_column((X[:, 2:] > 0).to(F64)), Y, cat_dims=[2]),
    "multi-fidelity": lambda: SingleTaskMultiFidelityGP(with_last_column(unit(N, 1)), Y, data_fidelities=[2]),
    "variational": variational,
}


def agree(one: torch.Tensor, two: torch.Tensor) -> None:
    torch.testing.assert_close(one, two, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_models_take_the_fast_path_and_agree(name: str) -> None:
    """Mean, factor and gradients of the fast path against autograd, and against the model's own posterior."""
    model = stirred(PLAIN[name]())
    fast, slow = posterior_of(model), ModelPosterior(model)
    assert type(fast) is GPPosterior
    assert fast.dim == slow.dim == D
    x = LOW + RANGE * (1.4 * unit(5, 4, D, seed=3) - 0.2)
    c, e = normal(5, 4, seed=4), normal(5, 4, 4, seed=5)
    one, two = fast(x), slow(x)
    agree(one.mean, two.mean)
    agree(one.factor, two.factor)
    agree(one.pullback(c, e), two.pullback(c, e))
    own = model.posterior(x)
    agree(one.mean, own.mean.squeeze(-1).detach())
    agree(one.factor @ one.factor.mT, own.distribution.covariance_matrix.detach())


@pytest.mark.parametrize("name", OTHERS)
def test_all_others_go_through_autograd_and_agree_with_the_model(name: str) -> None:
    with torch.random.fork_rng():  # some modules draw their first parameters from the global generator
        model = OTHERS[name]()
    posterior = posterior_of(model)
    assert type(posterior) is ModelPosterior
    assert posterior.dim == D
    x = LOW + RANGE * unit(4, 3, D, seed=3)
    if name == "mixed":
        x[..., 2] = (x[..., 2] > 0).to(F64)
    c, e = normal(4, 3, seed=4), normal(4, 3, 3, seed=5)
    free = x.clone().requires_grad_()
    own = model.posterior(free).distribution
    (expected,) = torch.autograd.grad(
        (torch.linalg.cholesky(own.covariance_matrix) * e).sum() + (own.mean * c).sum(), free
    )
    batch = posterior(x)
    agree(batch.mean, own.mean.detach())
    agree(batch.factor @ batch.factor.mT, own.covariance_matrix.detach())
    agree(batch.pullback(c, e), expected)
    assert not batch.failed.any()


class TestRecognise:
    def test_the_mode_of_the_model_does_not_matter(self) -> None:
        """Normalize learns its bounds while training and applies them in evaluation."""
        x = LOW + RANGE * unit(3, 2, D)
        model = PLAIN["normalize"]()
        expected = model.eval().posterior(x).mean.squeeze(-1).detach()
        model.train()
        agree(posterior_of(model)(x).mean, expected)
        agree(posterior_of(model)(x).mean, expected)

    def test_new_data_in_training_mode_are_seen(self) -> None:
        """`set_train_data` leaves Normalize's bounds stale until the model is evaluated."""
        model = PLAIN["normalize"]()
        model.train()
        model.set_train_data(2.0 * X, model.train_targets, strict=False)
        x = LOW + RANGE * unit(3, 2, D)
        posterior = posterior_of(model)
        agree(posterior(x).mean, model.posterior(x).mean.squeeze(-1).detach())

    def test_transforms_that_skip_a_mode_are_out_of_the_ordinary(self) -> None:
        bounds = torch.stack([LOW, LOW + RANGE])
        for option in ("transform_on_train", "transform_on_eval"):
            model = SingleTaskGP(X, Y, input_transform=Normalize(D, bounds=bounds, **{option: False}))
            assert recognise(model) is None
        assert recognise(SingleTaskGP(X, Y, input_transform=Normalize(D, bounds=bounds, reverse=True))) is None

    def test_a_subclass_is_out_of_the_ordinary(self) -> None:
        class Special(SingleTaskGP):
            pass

        assert recognise(Special(X, Y)) is None

    def test_tiny_noise_is_taken_as_the_model_has_it(self) -> None:
        likelihood = GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-10)).double()
        likelihood.noise = torch.tensor(1e-6, dtype=F64)
        model = SingleTaskGP(X, Y, likelihood=likelihood, input_transform=Normalize(D))
        x = LOW + RANGE * unit(5, 3, D)
        fast, slow = posterior_of(model)(x), ModelPosterior(model)(x)
        torch.testing.assert_close(fast.mean, slow.mean, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(fast.factor, slow.factor, rtol=1e-5, atol=1e-5)


class TestModelPosterior:
    MODEL = OTHERS["matern 3/2"]()

    @pytest.mark.parametrize("chunk", [1, 3 * 4 * N, 400_000])
    @pytest.mark.parametrize("rows", [0, 1, 4, 7, None])
    def test_chunks_and_gradient_rows_change_nothing(
        self, chunk: int, rows: int | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        posterior = ModelPosterior(self.MODEL)
        x = LOW + RANGE * unit(7, 4, D)
        c, e = normal(7, 4, seed=1), normal(7, 4, 4, seed=2)
        whole = posterior(x)
        expected = whole.pullback(c, e)
        monkeypatch.setattr(posterior_module, "CHUNK_ELEMENTS", chunk)
        batch = posterior(x, rows)
        agree(batch.mean, whole.mean)
        agree(batch.factor, whole.factor)
        got = batch.pullback(c[:rows], e[:rows])
        assert got.shape == (7 if rows is None else rows, 4, D)
        agree(got, expected[:rows])

    def test_many_raw_batches_are_evaluated_in_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        posterior, sizes = ModelPosterior(self.MODEL), []
        evaluate = posterior._moments
        monkeypatch.setattr(posterior, "_moments", lambda x, grad: sizes.append((len(x), grad)) or evaluate(x, grad))
        batch = posterior(LOW + RANGE * unit(1024, 64, D), gradient_rows=0)
        limit = posterior_module.batches_per_chunk(64, N)
        assert [size for size, _ in sizes] == [limit] * (1024 // limit) + [1024 % limit]
        assert not any(grad for _, grad in sizes)
        assert batch.factor.shape == (1024, 64, 64)
        assert not batch.mean.requires_grad
        assert not batch.factor.requires_grad

    def test_a_pullback_can_be_used_again(self) -> None:
        batch = ModelPosterior(self.MODEL)(LOW + RANGE * unit(2, 3, D))
        c, e = normal(2, 3, seed=1), normal(2, 3, 3, seed=2)
        assert torch.equal(batch.pullback(c, e), batch.pullback(c, e))

    def test_gradients_by_finite_differences(self) -> None:
        posterior = ModelPosterior(self.MODEL)
        x = (LOW + RANGE * unit(2, 2, D)).requires_grad_()
        assert torch.autograd.gradcheck(lambda t: mean_and_factor(posterior, t), (x,), atol=1e-5, rtol=1e-5)

    def test_it_works_where_autograd_is_off(self) -> None:
        with torch.no_grad():
            batch = ModelPosterior(self.MODEL)(LOW + RANGE * unit(2, 3, D))
            gradient = batch.pullback(torch.ones(2, 3, dtype=F64), torch.ones(2, 3, 3, dtype=F64))
        assert float(gradient.abs().min()) > 0

    def test_pending_points(self) -> None:
        x, pending = LOW + RANGE * unit(3, 2, D), LOW + RANGE * unit(2, D, seed=9)
        batch = with_pending(ModelPosterior(self.MODEL), pending)(x)
        own = self.MODEL.posterior(torch.cat([x, pending.expand(3, 2, D)], 1)).distribution
        agree(batch.factor @ batch.factor.mT, own.covariance_matrix.detach())
        assert batch.pullback(normal(3, 4), normal(3, 4, 4)).shape == (3, 2, D)

    def test_the_parameters_of_the_model_collect_no_gradient(self) -> None:
        batch = ModelPosterior(self.MODEL)(LOW + RANGE * unit(2, 3, D))
        batch.pullback(torch.ones(2, 3, dtype=F64), torch.ones(2, 3, 3, dtype=F64))
        assert all(parameter.grad is None for parameter in self.MODEL.parameters())

    def test_duplicates_in_a_batch_stay_finite(self) -> None:
        batch = ModelPosterior(self.MODEL)((LOW + RANGE * unit(2, 1, D)).expand(2, 3, D))
        assert not batch.failed.any()
        assert batch.jitter > 0
        assert torch.isfinite(batch.pullback(torch.ones(2, 3, dtype=F64), torch.ones(2, 3, 3, dtype=F64))).all()

    def test_a_point_that_is_not_a_number_is_marked(self) -> None:
        x = LOW + RANGE * unit(3, 2, D)
        x[1, 0, 0] = torch.nan
        assert ModelPosterior(self.MODEL)(x).failed.tolist() == [False, True, False]

    def test_memory_grows_with_the_data(self) -> None:
        small, large = SingleTaskGP(X[:5], Y[:5]), SingleTaskGP(X, Y)
        assert ModelPosterior(small).bytes_per_row() * 4 == ModelPosterior(large).bytes_per_row()


def test_float32_models_are_answered_in_float64() -> None:
    with pytest.warns(InputDataWarning, match="float32"):
        model = SingleTaskGP(X.float(), Y.float(), input_transform=Normalize(D))
    exact = SingleTaskGP(X, Y, input_transform=Normalize(D))
    exact.load_state_dict(model.state_dict())
    posterior = posterior_of(model)
    assert type(posterior) is ModelPosterior
    x = LOW + RANGE * unit(4, 3, D, seed=8)
    c, e = normal(4, 3, seed=1), normal(4, 3, 3, seed=2)
    batch, expected = posterior(x), ModelPosterior(exact)(x)
    assert batch.mean.dtype == batch.factor.dtype == batch.pullback(c, e).dtype == F64
    torch.testing.assert_close(batch.mean, expected.mean, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(batch.factor, expected.factor, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(batch.pullback(c, e), expected.pullback(c, e), rtol=0.05, atol=0.05)


class TestRefusals:
    def test_several_outputs(self) -> None:
        with pytest.raises(ValueError, match=r"has 2 outputs .* pass model.subset_output\(idcs=\[i\]\)"):
            posterior_of(SingleTaskGP(X, torch.cat([Y, Y], -1)))

    def test_a_list_of_several(self) -> None:
        with pytest.raises(ValueError, match="has 2 outputs"):
            posterior_of(ModelListGP(SingleTaskGP(X, Y), SingleTaskGP(X, -Y)))

    def test_mixtures(self) -> None:
        class FullyBayesian(SingleTaskGP):
            _is_fully_bayesian = True
            _is_ensemble = True

        with torch.random.fork_rng():
            ensemble = EnsembleMapSaasSingleTaskGP(X, Y, num_taus=2)
        for model in (ensemble, FullyBayesian(X, Y), ModelListGP(FullyBayesian(X, Y))):
            with pytest.raises(ValueError, match="is a mixture of models"):
                posterior_of(model)

    def test_batches_of_models(self) -> None:
        with pytest.raises(ValueError, match="is a batch of models: pass one of them"):
            posterior_of(SingleTaskGP(X.expand(2, N, D), Y.expand(2, N, 1)))

    def test_posteriors_that_are_not_gaussian(self) -> None:
        posterior = posterior_of(SingleTaskGP(X, Y + 100.0, outcome_transform=Log()))
        with pytest.raises(ValueError, match="posterior of SingleTaskGP is not Gaussian"):
            posterior(X[:4].reshape(2, 2, D))

    def test_transforms_that_multiply_the_points(self) -> None:
        posterior = posterior_of(SingleTaskGP(X, Y, input_transform=InputPerturbation(torch.zeros(3, D))))
        with pytest.raises(ValueError, match=r"has shape \(2, 6\) for batches of shape \(2, 2\)"):
            posterior(X[:4].reshape(2, 2, D))

    def test_models_without_data(self) -> None:
        with pytest.raises(ValueError, match="GenericDeterministicModel has no training inputs"):
            posterior_of(GenericDeterministicModel(lambda x: x.sum(-1, keepdim=True)))
