"""BoTorch models as posteriors: plain ones take the fast path, all others go through autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.numerics import cholesky
from compbo.surrogate.kernels import MATERN52, SQUARED_EXPONENTIAL, Kernel
from compbo.surrogate.posterior import (
    BatchPosterior,
    GPPosterior,
    Posterior,
    batches_per_chunk,
    factor_to_covariance_cotangent,
)
from compbo.types import DTYPE

if TYPE_CHECKING:
    from torch import Tensor


def posterior_of(model: Any) -> Posterior:
    """The posterior of a single-output BoTorch model, in the units the model itself reports."""
    from botorch.models import ModelListGP

    if type(model) is ModelListGP and len(model.models) == 1 and not hasattr(model, "outcome_transform"):
        model = model.models[0]
    return recognise(model) or ModelPosterior(model)


class _AutogradChunk(NamedTuple):
    """One chunk of batches: its points, what autograd knows of them, how many of them have a gradient."""

    points: Tensor
    mean: Tensor
    covariance: Tensor
    factor: Tensor
    rows: int

    def pullback(self, dmean: Tensor, dfactor: Tensor) -> Tensor:
        """Gradient in the first `rows` batches of the chunk."""
        rows = self.rows
        cotangents = dmean, factor_to_covariance_cotangent(self.factor[:rows], dfactor)
        with torch.enable_grad():  # the slices belong to the graph, even if the caller has switched gradients off
            moments = self.mean[:rows], self.covariance[:rows]
        (gradient,) = torch.autograd.grad(moments, self.points, cotangents, retain_graph=True)
        return gradient[:rows]


class ModelPosterior:
    """Any BoTorch model with one output; mean and covariance are differentiated by autograd, chunked over B."""

    extra_points = 0

    def __init__(self, model: Any) -> None:
        """Model: a `botorch.models.model.Model` with a Gaussian posterior and one output; float32 stays float32."""
        from botorch.utils.transforms import is_ensemble

        if getattr(model, "num_outputs", 1) != 1:
            raise ValueError(
                f"the model has {model.num_outputs} outputs and compbo maximises over one: "
                "pass model.subset_output(idcs=[i])."
            )
        if is_ensemble(model):
            raise ValueError(
                f"{type(model).__name__} is a mixture of models (fully Bayesian or an ensemble), whose posterior is "
                "not Gaussian: pass one GP, for instance a SingleTaskGP with its fitted hyperparameters."
            )
        model.eval()
        self.model = model
        self._train_x = _train_inputs(model)
        if self._train_x.ndim != 2:
            raise ValueError(f"{type(model).__name__} is a batch of models: pass one of them.")

    @property
    def dim(self) -> int:
        """Number d of input dimensions: that of the training inputs before any transform."""
        return int(self._train_x.shape[-1])

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch: autograd keeps about eight arrays of n and n d numbers."""
        n, d = self._train_x.shape[-2:]
        return int(8 * n * (8 + d))

    def flops_per_row(self) -> float:
        """Operations of the product with the inverse covariance for one point of a batch."""
        return 2.0 * float(self._train_x.shape[-2]) ** 2

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Posterior of the batches x (B, q, d)."""
        rows = x.shape[0] if gradient_rows is None else gradient_rows
        size = batches_per_chunk(x.shape[1], self._train_x.shape[-2])
        means, chols, saved = [], [], []
        for start in range(0, x.shape[0], size):
            part = x[start : start + size].detach()
            keep = min(max(rows - start, 0), len(part))
            points, mean, covariance = self._moments(part, keep > 0)
            means.append(mean.detach())
            chols.append(cholesky(covariance.detach()))
            if keep > 0:
                saved.append(_AutogradChunk(points, mean, covariance, chols[-1].factor, keep))

        def pullback(dmean: Tensor, dfactor: Tensor) -> Tensor:
            gradients, start = [], 0
            for chunk in saved:
                stop = start + chunk.rows
                gradients.append(chunk.pullback(dmean[start:stop], dfactor[start:stop]))
                start = stop
            return torch.cat(gradients) if gradients else torch.zeros_like(x[:0])

        factor, jitter, failed = (torch.cat(parts) for parts in zip(*chols, strict=True))
        return BatchPosterior(torch.cat(means), factor, failed, float(jitter.max()), pullback)

    def _moments(self, x: Tensor, with_gradient: bool) -> tuple[Tensor, Tensor, Tensor]:
        """The points as autograd's leaf, and their mean (b, q) and covariance (b, q, q)."""
        with torch.set_grad_enabled(with_gradient):
            points = x.clone().requires_grad_(with_gradient)
            normal = self._joint_normal(points.to(self._train_x.dtype))
            return points, normal.mean.to(DTYPE), normal.covariance_matrix.to(DTYPE)

    def _joint_normal(self, x: Tensor) -> Any:
        from gpytorch.distributions import MultivariateNormal

        normal: Any = getattr(self.model.posterior(x), "distribution", None)
        name, is_normal = type(self.model).__name__, isinstance(normal, MultivariateNormal)
        if not is_normal:
            raise ValueError(f"the posterior of {name} is not Gaussian (an outcome transform?): use a model whose is.")
        if normal.mean.shape != x.shape[:2]:
            raise ValueError(
                f"the posterior of {name} has shape {tuple(normal.mean.shape)} for batches of shape "
                f"{tuple(x.shape[:2])} (a one-to-many input transform?): use a model with one output per point."
            )
        return normal


def _train_inputs(model: Any) -> Tensor:
    """The training inputs (..., n, d) as the user gave them; kinds of models keep them in different places."""
    if hasattr(model, "models"):  # a ModelListGP of one model
        return _train_inputs(model.models[0])
    original = getattr(model, "_original_train_inputs", None)  # kept where an input transform replaced them
    if original is not None:
        return original  # type: ignore[no-any-return]
    inputs = getattr(model, "train_inputs", None) or getattr(getattr(model, "model", None), "train_inputs", None)
    if not inputs:
        raise ValueError(f"{type(model).__name__} has no training inputs: pass a Gaussian-process model of BoTorch.")
    return inputs[0]  # type: ignore[no-any-return]


class _Affine(NamedTuple):
    shift: Tensor | float
    scale: Tensor | float


class _Covariance(NamedTuple):
    kernel: Kernel
    lengthscale: Tensor
    outputscale: float


def recognise(model: Any) -> GPPosterior | None:
    """The fast posterior of a model that is a plain `SingleTaskGP`; None if anything about it is unusual."""
    from botorch.models import SingleTaskGP

    if type(model) is not SingleTaskGP or model.num_outputs != 1 or model.train_targets.ndim != 1:
        return None
    if model.train_targets.dtype != DTYPE:
        return None
    model.eval()  # before anything is read: it may relearn the bounds of Normalize
    noise = _homoscedastic_noise(model.likelihood)
    covariance = _plain_covariance(model.covar_module)
    inputs = _input_affine(getattr(model, "input_transform", None))
    outputs = _output_affine(getattr(model, "outcome_transform", None))
    mean = _constant_mean(model.mean_module)
    if noise is None or covariance is None or inputs is None or outputs is None or mean is None:
        return None
    train_x = model.train_inputs[0].detach()  # transformed in eval mode
    scale = inputs.scale
    return GPPosterior(
        train_x * scale + inputs.shift,
        model.train_targets.detach() - mean,
        kernel=covariance.kernel,
        lengthscale=covariance.lengthscale.expand(train_x.shape[-1]) * scale,
        outputscale=covariance.outputscale,
        noise=noise,
        centre=inputs.shift + 0.5 * scale,
        output_shift=float(outputs.shift) + float(outputs.scale) * mean,
        output_scale=float(outputs.scale),
    )


def _homoscedastic_noise(likelihood: Any) -> float | None:
    from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood

    if type(likelihood) not in (GaussianLikelihood, FixedNoiseGaussianLikelihood):
        return None
    noise = likelihood.noise.detach().flatten()
    return float(noise[0]) if bool((noise == noise[0]).all()) else None


def _plain_covariance(module: Any) -> _Covariance | None:
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

    outputscale = 1.0
    if type(module) is ScaleKernel:
        if module.active_dims is not None or len(module.batch_shape) > 0:
            return None
        outputscale, module = float(module.outputscale.detach()), module.base_kernel
    if module.active_dims is not None or module.lengthscale is None or len(module.batch_shape) > 0:
        return None
    lengthscale = module.lengthscale.detach().flatten()
    if type(module) is RBFKernel:
        return _Covariance(SQUARED_EXPONENTIAL, lengthscale, outputscale)
    if type(module) is MaternKernel and module.nu == 2.5:
        return _Covariance(MATERN52, lengthscale, outputscale)
    return None


def _input_affine(transform: Any) -> _Affine | None:
    """x = shift + scale * transformed; only a plain Normalize is affine in every dimension."""
    if transform is None:
        return _Affine(0.0, 1.0)
    from botorch.models.transforms import Normalize

    if type(transform) is not Normalize or transform.reverse or getattr(transform, "indices", None) is not None:
        return None
    if not (transform.transform_on_train and transform.transform_on_eval) or len(transform.batch_shape) > 0:
        return None
    scale, shift = transform.coefficient.detach().flatten(), transform.offset.detach().flatten()
    return _Affine(shift, scale)


def _output_affine(transform: Any) -> _Affine | None:
    """y = shift + scale * transformed."""
    if transform is None:
        return _Affine(0.0, 1.0)
    from botorch.models.transforms import Standardize

    if type(transform) is not Standardize or transform.means.numel() != 1:
        return None
    return _Affine(float(transform.means), float(transform.stdvs))


def _constant_mean(module: Any) -> float | None:
    from gpytorch.means import ConstantMean, ZeroMean

    if type(module) is ZeroMean:
        return 0.0
    return float(module.constant.detach()) if type(module) is ConstantMean else None
