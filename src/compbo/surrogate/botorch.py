"""BoTorch models as posteriors: plain ones take the fast path, all others go through autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.numerics import cholesky
from compbo.surrogate.kernels import MATERN52, SQUARED_EXPONENTIAL, Kernel
from compbo.surrogate.posterior import BatchPosterior, GPPosterior, Posterior, factor_to_covariance_cotangent
from compbo.types import DTYPE

if TYPE_CHECKING:
    from torch import Tensor


def posterior_of(model: Any) -> Posterior:
    """The posterior of a single-output BoTorch model, in the units the model itself reports."""
    return recognise(model) or ModelPosterior(model)


class ModelPosterior:
    """Any BoTorch model with one output; mean and covariance are differentiated by autograd."""

    extra_points = 0

    def __init__(self, model: Any) -> None:
        """Model: a `botorch.models.model.Model` with a Gaussian posterior and one output."""
        if getattr(model, "num_outputs", 1) != 1:
            raise ValueError(
                f"the model has {model.num_outputs} outputs; compbo maximises over one: "
                "pass model.subset_output([i]) or a ScalarizedPosteriorTransform of it."
            )
        model.eval()
        self.model = model

    @property
    def dim(self) -> int:
        """Number d of input dimensions."""
        return int(_train_inputs(self.model).shape[-1])

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch: autograd keeps about eight arrays of n and n d numbers."""
        n, d = _train_inputs(self.model).shape[-2:]
        return int(8 * n * (8 + d))

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Posterior of the batches x (B, q, d)."""
        rows = x.shape[0] if gradient_rows is None else gradient_rows
        with torch.enable_grad():
            free = x[:rows].detach().requires_grad_(rows > 0)
            joint = torch.cat([free, x[rows:].detach()])
            normal = self.model.posterior(joint).distribution
            mean, covariance = normal.mean, normal.covariance_matrix
        chol = cholesky(covariance.detach())

        def pullback(dmean: Tensor, dfactor: Tensor) -> Tensor:
            dcovariance = factor_to_covariance_cotangent(chol.factor[:rows], dfactor)
            (gradient,) = torch.autograd.grad(
                (mean[:rows], covariance[:rows]), free, (dmean, dcovariance), retain_graph=True
            )
            return gradient

        return BatchPosterior(mean.detach(), chol.factor, chol.failed, float(chol.jitter.max()), pullback)


def _train_inputs(model: Any) -> Tensor:
    inputs = getattr(model, "train_inputs", None)
    if inputs is None:  # for instance a ModelListGP of one model
        inputs = model.models[0].train_inputs
    first: Tensor = inputs[0]
    return first[0] if first.ndim == 3 else first


class _Affine(NamedTuple):
    shift: Tensor | float
    scale: Tensor | float


class _Covariance(NamedTuple):
    kernel: Kernel
    lengthscale: Tensor
    outputscale: float


def recognise(model: Any) -> GPPosterior | None:
    """The fast posterior of a plain `SingleTaskGP`, or None where anything about it is out of the ordinary."""
    from botorch.models import SingleTaskGP

    if type(model) is not SingleTaskGP or model.num_outputs != 1 or model.train_targets.ndim != 1:
        return None
    if model.train_targets.dtype != DTYPE:
        return None
    noise = _homoscedastic_noise(model.likelihood)
    covariance = _plain_covariance(model.covar_module)
    inputs = _input_affine(getattr(model, "input_transform", None))
    outputs = _output_affine(getattr(model, "outcome_transform", None))
    mean = _constant_mean(model.mean_module)
    if noise is None or covariance is None or inputs is None or outputs is None or mean is None:
        return None
    model.eval()
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

    if not isinstance(likelihood, (GaussianLikelihood, FixedNoiseGaussianLikelihood)):
        return None
    noise = likelihood.noise.detach().flatten()
    return float(noise[0]) if bool((noise == noise[0]).all()) else None


def _plain_covariance(module: Any) -> _Covariance | None:
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

    outputscale = 1.0
    if type(module) is ScaleKernel:
        if module.active_dims is not None:
            return None
        outputscale, module = float(module.outputscale.detach()), module.base_kernel
    if module.active_dims is not None or module.lengthscale is None:
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
    if not transform.transform_on_eval or len(transform.batch_shape) > 0:
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
