"""The loss of a fit: the negative log posterior of the hyperparameters, with its analytic gradient.

    J = 1/2 log det C + 1/2 y^T C^-1 y + n/2 log 2 pi - log prior,   C = s_f^2 K + s_n^2 I + E

E is the diagonal of the errors that observations came with, if they did.

With M = alpha alpha^T - C^-1 the derivative with respect to C is -M/2; for the lengthscales only products are needed:
sum_ij Q_ij (a_ik - a_jk)^2 = 2 (sum_i q_i a_ik^2 - a_k^T Q a_k), with q the row sums of Q. Q is symmetric, so its lower
triangle T is enough: q = the row and column sums of T, and a_k^T Q a_k = 2 a_k^T T a_k (the diagonal drops out).
The shapes of an input warp need the derivative in every scaled input: sum_j Q_ij (a_ik - a_jk) up to a factor, and so
T^T a besides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from compbo.numerics import cholesky, inverse_of_factor, lower_inverse
from compbo.surrogate.features import FeatureKernel, input_slope, lengthscale_slope
from compbo.surrogate.kernels import Kernel, KernelValue, input_scale, left_factor, right_factor
from compbo.surrogate.warps import SHAPE_BOUNDS, SHAPE_PRIOR, UNWARPED, Kumaraswamy, Unwarped
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.surrogate.priors import Prior, PriorSet
    from compbo.surrogate.warps import WarpedAt

LENGTHSCALE_BOUNDS = (5e-3, 1e3)
OUTPUTSCALE_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-6, 10.0)
NO_FACTOR = 1e10  # J where C has no factor

COLD_STARTS = (0.1, 0.3, 1.0)  # lengthscales in units of the prior's middle; the best value is where the fit begins
LONGER_STARTS = (2.0, 4.0)  # more of them for kernels of few features, whose J has a valley for every wave length
STEPS = (
    1.0,
    0.5,
    4.0,
)  # how far a step of the fit takes log lengthscale, output scale and noise: J is flat in the last
SHAPE_STEP = 1.0  # the same of the logarithms of the warp's shapes


class Hyperparameters(NamedTuple):
    """theta: lengthscales (d,), output scale s_f^2 and noise s_n^2 (variances, standardised units), input warp."""

    lengthscale: Tensor
    outputscale: float  # a variance
    noise: float
    warp: Unwarped | Kumaraswamy = UNWARPED


class _Forward(NamedTuple):
    """J, and what its gradient needs: scaled inputs (n, d), slope of the kernel (n, n), L and L^-1 y."""

    value: float
    hyperparameters: Hyperparameters
    prior_slope: NDArray[np.float64]  # of log p, in theta
    inputs: Tensor
    slope: Tensor
    factor: Tensor
    whitened: Tensor
    warped: WarpedAt | None  # the inputs before they are scaled, where they are warped


class NegativeLogPosterior:
    """J(theta) and its gradient in log hyperparameters, theta = log (lengthscales, output scale[, noise][, a, b]).

    x, y, kernel, priors: of the fit. noise: a fixed variance, or None to learn it. warped: columns (k,) of x that are
    warped, with shapes a (k,) and b (k,). choices: columns of x of choices and switches.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        kernel: Kernel | FeatureKernel,
        priors: PriorSet,
        noise: float | None,
        errors: Tensor | None = None,
        warped: Sequence[int] = (),
        choices: Sequence[int] = (),
    ) -> None:
        """x (n, d), y (n,) standardised; noise fixed, or None to learn it; errors (n,): known variances beside it."""
        self.unscaled, self.warped = x, list(warped)
        self.x = input_scale(kernel, torch.ones_like(x[0]))(x)  # at lengthscales of 1
        self.y = y
        self.kernel = kernel
        self.priors = priors
        self.lengthscale_priors = priors.of_lengthscales(x.shape[1], choices)
        self.noise = noise
        self.errors = errors
        self.evaluations = 0

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of theta, for L-BFGS-B."""
        boxes = [LENGTHSCALE_BOUNDS] * self.x.shape[1] + [OUTPUTSCALE_BOUNDS]
        boxes += [NOISE_BOUNDS] if self.noise is None else []
        boxes += [SHAPE_BOUNDS] * (2 * len(self.warped))
        return [(math.log(low), math.log(high)) for low, high in boxes]

    def pack(self, parameters: Hyperparameters) -> NDArray[np.float64]:
        """Hyperparameters -> theta, inside the bounds."""
        if parameters.lengthscale.shape != self.x.shape[1:]:
            raise ValueError(
                f"warm_start has {parameters.lengthscale.numel()} lengthscales for inputs of {self.x.shape[1]} "
                "dimensions; pass those of a fit to the same space."
            )
        parts = [*parameters.lengthscale.tolist(), parameters.outputscale]
        parts += [parameters.noise] if self.noise is None else []
        parts += self._shapes(parameters.warp)
        lower, upper = np.array(self.bounds).T
        return np.clip(np.log(np.maximum(parts, 1e-300)), lower, upper)

    def unpack(self, theta: NDArray[np.float64]) -> Hyperparameters:
        """Theta -> hyperparameters."""
        d = self.x.shape[1]
        values = np.exp(theta)
        noise = float(values[d + 1]) if self.noise is None else self.noise
        return Hyperparameters(torch.as_tensor(values[:d]), float(values[d]), noise, self._warp(values))

    def _shapes(self, warp: Unwarped | Kumaraswamy) -> list[float]:
        """The shapes a, then b, of the warped columns; 1 where there is no warp."""
        if isinstance(warp, Unwarped):
            return [1.0] * (2 * len(self.warped))
        return [*warp.a[self.warped].tolist(), *warp.b[self.warped].tolist()]

    def _warp(self, values: NDArray[np.float64]) -> Unwarped | Kumaraswamy:
        """The warp with the shapes at the end of exp(theta); those of the other columns are 1."""
        if not self.warped:
            return UNWARPED
        shapes = torch.ones(2, self.x.shape[1], dtype=DTYPE)
        shapes[:, self.warped] = torch.as_tensor(values[-2 * len(self.warped) :]).reshape(2, -1)
        return Kumaraswamy(shapes[0], shapes[1])

    def cold_start(self) -> NDArray[np.float64]:
        """The best of a few isotropic lengthscales, by their values alone."""
        middle = torch.empty(self.x.shape[1], dtype=DTYPE)
        for prior, columns in self.lengthscale_priors:
            middle[columns] = prior.middle
        shares = COLD_STARTS + (LONGER_STARTS if isinstance(self.kernel, FeatureKernel) else ())
        starts = [self.pack(Hyperparameters(share * middle, 1.0, 1e-2)) for share in shares]
        return min(starts, key=lambda theta: self._forward(theta).value)

    @property
    def steps(self) -> NDArray[np.float64]:
        """STEPS, one for every entry of theta."""
        lengthscale, outputscale, noise = STEPS
        rest = [outputscale, noise] if self.noise is None else [outputscale]
        return np.array([lengthscale] * self.x.shape[1] + rest + [SHAPE_STEP] * (2 * len(self.warped)))

    def __call__(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """J and dJ/dtheta. Where C has no factor: a large value and no slope, so that the line search turns back."""
        at = self._forward(theta)
        if at.value == NO_FACTOR:
            return at.value, np.zeros_like(theta)
        noise = at.hyperparameters.noise
        inverse_factor = inverse_of_factor(at.factor)
        alpha = inverse_factor.mT @ at.whitened
        # dJ/dC = -M/2; its lower triangle is enough; tr(M C) = y^T alpha - n spares a pass over K
        m = torch.addr(lower_inverse(inverse_factor), alpha, alpha, beta=-1.0)
        trace = noise * float(m.diagonal().sum())
        known = 0.0 if self.errors is None else float(m.diagonal() @ self.errors)
        of_inputs, of_shapes = self._input_slopes(m, at)
        misfit = float(self.y @ alpha)
        of_outputs = [-0.5 * (misfit - len(self.y) - trace - known)]
        of_noise = [-0.5 * trace] if self.noise is None else []
        gradient = np.concatenate([of_inputs.numpy(), of_outputs, of_noise, of_shapes.numpy()])
        return at.value, gradient - at.prior_slope

    def _input_slopes(self, m: Tensor, at: _Forward) -> tuple[Tensor, Tensor]:
        """dJ/d log lengthscales (d,) and dJ/d log shapes (2 k,) from the lower triangle of M, which is used up."""
        if at.warped is None:
            return self._lengthscale_slope(m, at), at.inputs.new_empty(0)
        slope = self._scaled_slope(m, at)
        of_warped = slope * (self.kernel.stretch / at.hyperparameters.lengthscale)
        of_shapes = [(of_warped * part).sum(0)[self.warped] for part in (at.warped.slope_a, at.warped.slope_b)]
        return -(slope * at.inputs).sum(0), torch.cat(of_shapes)

    def _scaled_slope(self, m: Tensor, at: _Forward) -> Tensor:
        """dJ/dP (n, d) of the scaled inputs P from the lower triangle of M, which is used up."""
        outputscale, p = at.hyperparameters.outputscale, at.inputs
        if isinstance(self.kernel, FeatureKernel):
            return -outputscale * input_slope(self.kernel, p, m.tril_())
        q = m.mul_(at.slope).tril_()
        pull = (q.sum(0) + q.sum(1)).unsqueeze(-1) * p - q @ p - q.mT @ p
        return -2.0 * self.kernel.slope_factor * outputscale * pull

    def _lengthscale_slope(self, m: Tensor, at: _Forward) -> Tensor:
        """dJ/d log lengthscales (d,) from the lower triangle of M, which is used up."""
        outputscale = at.hyperparameters.outputscale
        if isinstance(self.kernel, FeatureKernel):
            return -outputscale * lengthscale_slope(self.kernel, at.inputs, m.tril_())
        q = m.mul_(at.slope).tril_()
        pull = ((q.sum(0) + q.sum(1)).unsqueeze(-1) * at.inputs - 2.0 * (q @ at.inputs)) * at.inputs
        return 2.0 * self.kernel.slope_factor * outputscale * pull.sum(0)

    def _kernel(self, inputs: Tensor) -> KernelValue:
        """K (n, n) at unit output scale, with what its slope needs."""
        if isinstance(self.kernel, FeatureKernel):
            phi = self.kernel.features(inputs)
            return KernelValue(phi @ phi.mT, phi)
        return self.kernel.evaluate(left_factor(inputs) @ right_factor(inputs).mT)

    def _forward(self, theta: NDArray[np.float64]) -> _Forward:
        self.evaluations += 1
        hyperparameters = self.unpack(theta)
        lengthscale, outputscale, noise, warp = hyperparameters
        warped = None if isinstance(warp, Unwarped) else warp.at(self.unscaled)
        inputs = (self.x if warped is None else (warped.value - 0.5) * self.kernel.stretch) / lengthscale
        k = self._kernel(inputs)
        covariance = outputscale * k.value
        covariance.diagonal().add_(noise if self.errors is None else noise + self.errors)
        factor, _, failed = cholesky(covariance)
        whitened = torch.linalg.solve_triangular(factor, self.y.unsqueeze(-1), upper=False).squeeze(-1)
        value = factor.diagonal().log().sum() + 0.5 * whitened @ whitened + 0.5 * len(self.y) * math.log(2.0 * math.pi)
        prior, prior_slope = self._log_prior(np.exp(theta))
        loss = NO_FACTOR if bool(failed) else float(value) - prior
        return _Forward(loss, hyperparameters, prior_slope, inputs, k.slope, factor, whitened, warped)

    def _log_prior(self, values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """log p and its derivative in log theta at exp(theta); a fixed noise has no prior."""
        d = self.x.shape[1]
        parts: list[tuple[Prior, NDArray[np.intp]]]
        parts = [*self.lengthscale_priors, (self.priors.outputscale, np.array([d]))]
        parts += [(self.priors.noise, np.array([d + 1]))] if self.noise is None else []
        parts += [(SHAPE_PRIOR, np.arange(len(values))[-2 * len(self.warped) :])] if self.warped else []
        value, slope = 0.0, np.empty_like(values)
        for prior, at in parts:
            value += float(prior.log_density(values[at]).sum())
            slope[at] = prior.slope(values[at]) * values[at]
        return value, slope
