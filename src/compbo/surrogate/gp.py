"""The Gaussian process: hyperparameters by maximum a posteriori, with analytic gradients.

    J = 1/2 log det C + 1/2 y^T C^-1 y + n/2 log 2 pi - log prior,   C = s_f^2 K + s_n^2 I

With M = alpha alpha^T - C^-1 the derivative with respect to C is -M/2; for the lengthscales only products are needed:
sum_ij Q_ij (a_ik - a_jk)^2 = 2 (sum_i q_i a_ik^2 - a_k^T Q a_k), with q the row sums of Q. Q is symmetric, so its lower
triangle T is enough: q = the row and column sums of T, and a_k^T Q a_k = 2 a_k^T T a_k (the diagonal drops out).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from compbo.numerics import cholesky, inverse_of_factor, lower_inverse, standardise
from compbo.surrogate.kernels import Kernel, get_kernel, input_scale, left_factor, right_factor
from compbo.surrogate.outputs import Identity, OutputTransform
from compbo.surrogate.posterior import GPPosterior
from compbo.surrogate.priors import PriorSet, get_priors
from compbo.threads import lapack_threads_for
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

NOISELESS = 2e-4  # variance in standardised units for tasks without noise

LENGTHSCALE_BOUNDS = (5e-3, 1e3)
OUTPUTSCALE_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-6, 10.0)
NODES = 32  # of the Gauss-Hermite rule by which a prediction returns from transformed outputs
NO_FACTOR = 1e10  # J where C has no factor

COLD_STARTS = (0.1, 0.3, 1.0)  # lengthscales in units of the prior's middle; the best value is where the fit begins
STEPS = (
    1.0,
    0.5,
    4.0,
)  # how far a step of the fit takes log lengthscale, output scale and noise: J is flat in the last
TOLERANCE = 1e-7  # relative change of J that ends the fit
MAX_ITERATIONS = 200


class Hyperparameters(NamedTuple):
    """theta: lengthscales (d,), output scale s_f^2 and noise s_n^2 (variances, standardised units)."""

    lengthscale: Tensor
    outputscale: float  # a variance
    noise: float


@dataclass(frozen=True)
class GP:
    """A fitted Gaussian process on unit-cube inputs and standardised outputs.

    Everything but `predict` and `noise_deviation` is in standardised units: t(y) = mean + scale * standardised, with
    the output transform t.
    """

    train_x: Tensor  # (n, d)
    train_y: Tensor  # (n,) standardised
    mean: float
    scale: float
    kernel: Kernel
    hyperparameters: Hyperparameters
    loss: float  # J at the optimum
    evaluations: int  # of J
    posterior: GPPosterior  # of a batch of points
    outputs: OutputTransform = field(default_factory=Identity)  # t

    @property
    def best(self) -> float:
        """f*: the best observed value, standardised."""
        return float(self.train_y.max())

    def predict(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Marginal mean and standard deviation (m,) of the latent function at x (m, d), in the units of y.

        Where outputs were transformed, those of t^-1 of a normal variable, which is cut off as far beyond the
        observed values as they reach among themselves: the tails of some transforms have no mean.
        """
        batch = self.posterior(x.unsqueeze(1), gradient_rows=0)
        mean, deviation = self.mean + self.scale * batch.mean[:, 0], self.scale * batch.factor[:, 0, 0]
        if isinstance(self.outputs, Identity):
            return mean, deviation
        nodes, weights = (torch.as_tensor(part) for part in np.polynomial.hermite_e.hermegauss(NODES))
        weights = weights / weights.sum()
        values = self._untransformed(mean.unsqueeze(-1) + deviation.unsqueeze(-1) * nodes)
        size = max(float(values.abs().max()), math.ulp(0.0))  # squares of 1e300 are not finite
        centre = (values / size) @ weights
        return size * centre, size * ((values / size - centre.unsqueeze(-1)).square() @ weights).sqrt()

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise in the units of y; of transformed outputs, at the median observation."""
        middle = self._untransformed(self.mean + self.scale * self.train_y.median())
        return self.scale * math.sqrt(self.hyperparameters.noise) / float(self.outputs.slope(middle))

    def _untransformed(self, t: Tensor) -> Tensor:
        """t^-1, cut off at one range of the observed values below and above them."""
        observed = self.outputs.inverse(self.mean + self.scale * self.train_y)
        lowest, highest = observed.min(), observed.max()
        cut = torch.stack([2.0 * lowest - highest, 2.0 * highest - lowest]).nan_to_num()  # finite at 1e308 too
        return self.outputs.inverse(t).clamp(*cut)


def fit_gp(
    x: Tensor,
    y: Tensor,
    *,
    kernel: str = "matern52",
    priors: str = "paper",
    noise: float | None = None,
    warm_start: Hyperparameters | None = None,
    rounder: Callable[[Tensor], Tensor] | None = None,
    transform: OutputTransform | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> GP:
    """The Gaussian process fitted to x (n, d) in the unit cube and y (n,), both finite.

    kernel, priors: by name. rounder: x -> the nearest valid x. max_iterations: of L-BFGS-B.

    noise: a fixed variance in standardised units (`NOISELESS` for noiseless tasks), or None to learn it.
    warm_start: hyperparameters of a fit to almost the same data, to begin from.
    transform: of the outputs, before they are standardised; None for none.
    """
    transform = Identity() if transform is None else transform
    x, y = _check_data(x, y, noise)
    rounded = x if rounder is None else rounder(x)
    outputs = standardise(transform.forward(y))
    n, d = rounded.shape
    loss = NegativeLogPosterior(rounded, outputs.values, get_kernel(kernel), get_priors(priors, d), noise)
    with lapack_threads_for(n**3):
        start = loss.cold_start() if warm_start is None else loss.pack(warm_start)
        theta, least = _minimise(loss, start, max_iterations)
        found = loss.unpack(theta)
        posterior = GPPosterior(
            rounded,
            outputs.values,
            kernel=loss.kernel,
            lengthscale=found.lengthscale,
            outputscale=found.outputscale,
            noise=found.noise,
            rounder=rounder,
        )
    return GP(
        rounded,
        outputs.values,
        outputs.mean,
        outputs.scale,
        loss.kernel,
        found,
        least,
        loss.evaluations,
        posterior,
        transform,
    )


def _check_data(x: Tensor, y: Tensor, noise: float | None) -> tuple[Tensor, Tensor]:
    x, y = x.detach().to(DTYPE), y.detach().to(DTYPE)
    if x.ndim != 2 or y.shape != x.shape[:1] or len(y) == 0:
        raise ValueError(f"fit_gp: x must be (n, d) and y (n,) with n >= 1, got {tuple(x.shape)} and {tuple(y.shape)}.")
    if not bool(torch.isfinite(x).all() and torch.isfinite(y).all()):
        raise ValueError("fit_gp: x and y must be finite; leave failed evaluations out.")
    if noise is not None and not (math.isfinite(noise) and noise > 0):
        raise ValueError(f"fit_gp: noise must be a positive variance, got {noise}.")
    return x, y


class _Forward(NamedTuple):
    """J, and what its gradient needs: scaled inputs (n, d), slope of the kernel (n, n), L and L^-1 y."""

    value: float
    hyperparameters: Hyperparameters
    prior_slope: NDArray[np.float64]  # of log p, in theta
    inputs: Tensor
    slope: Tensor
    factor: Tensor
    whitened: Tensor


class NegativeLogPosterior:
    """J(theta) and its gradient in log hyperparameters, theta = log (lengthscales, output scale[, noise]).

    x, y, kernel, priors: of the fit. noise: a fixed variance, or None to learn it.
    """

    def __init__(self, x: Tensor, y: Tensor, kernel: Kernel, priors: PriorSet, noise: float | None) -> None:
        """x (n, d), y (n,) standardised; noise fixed, or None to learn it."""
        self.x = input_scale(kernel, torch.ones_like(x[0]))(x)  # at lengthscales of 1
        self.y = y
        self.kernel = kernel
        self.priors = priors
        self.noise = noise
        self.evaluations = 0

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of theta, for L-BFGS-B."""
        boxes = [LENGTHSCALE_BOUNDS] * self.x.shape[1] + [OUTPUTSCALE_BOUNDS]
        boxes += [NOISE_BOUNDS] if self.noise is None else []
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
        lower, upper = np.array(self.bounds).T
        return np.clip(np.log(np.maximum(parts, 1e-300)), lower, upper)

    def unpack(self, theta: NDArray[np.float64]) -> Hyperparameters:
        """Theta -> hyperparameters."""
        d = self.x.shape[1]
        values = np.exp(theta)
        noise = float(values[d + 1]) if self.noise is None else self.noise
        return Hyperparameters(torch.as_tensor(values[:d]), float(values[d]), noise)

    def cold_start(self) -> NDArray[np.float64]:
        """The best of a few isotropic lengthscales, by their values alone."""
        d, middle = self.x.shape[1], self.priors.lengthscale.middle
        guesses = (torch.full((d,), share * middle, dtype=DTYPE) for share in COLD_STARTS)
        starts = [self.pack(Hyperparameters(guess, 1.0, 1e-2)) for guess in guesses]
        return min(starts, key=lambda theta: self._forward(theta).value)

    @property
    def steps(self) -> NDArray[np.float64]:
        """STEPS, one for every entry of theta."""
        lengthscale, outputscale, noise = STEPS
        rest = [outputscale, noise] if self.noise is None else [outputscale]
        return np.array([lengthscale] * self.x.shape[1] + rest)

    def __call__(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """J and dJ/dtheta. Where C has no factor: a large value and no slope, so that the line search turns back."""
        at = self._forward(theta)
        if at.value == NO_FACTOR:
            return at.value, np.zeros_like(theta)
        _, outputscale, noise = at.hyperparameters
        inverse_factor = inverse_of_factor(at.factor)
        alpha = inverse_factor.mT @ at.whitened
        # dJ/dC = -M/2; its lower triangle is enough; tr(M C) = y^T alpha - n spares a pass over K
        m = torch.addr(lower_inverse(inverse_factor), alpha, alpha, beta=-1.0)
        trace = noise * float(m.diagonal().sum())
        q = m.mul_(at.slope).tril_()
        pull = ((q.sum(0) + q.sum(1)).unsqueeze(-1) * at.inputs - 2.0 * (q @ at.inputs)) * at.inputs
        slope = 2.0 * self.kernel.slope_factor * outputscale * pull.sum(0).numpy()
        misfit = float(self.y @ alpha)
        gradient = np.append(slope, [-0.5 * (misfit - len(self.y) - trace), -0.5 * trace])[: len(theta)]
        return at.value, gradient - at.prior_slope

    def _forward(self, theta: NDArray[np.float64]) -> _Forward:
        self.evaluations += 1
        hyperparameters = self.unpack(theta)
        lengthscale, outputscale, noise = hyperparameters
        inputs = self.x / lengthscale
        k = self.kernel.evaluate(left_factor(inputs) @ right_factor(inputs).mT)
        covariance = outputscale * k.value
        covariance.diagonal().add_(noise)
        factor, _, failed = cholesky(covariance)
        whitened = torch.linalg.solve_triangular(factor, self.y.unsqueeze(-1), upper=False).squeeze(-1)
        value = factor.diagonal().log().sum() + 0.5 * whitened @ whitened + 0.5 * len(self.y) * math.log(2.0 * math.pi)
        prior, prior_slope = self._log_prior(np.exp(theta))
        loss = NO_FACTOR if bool(failed) else float(value) - prior
        return _Forward(loss, hyperparameters, prior_slope, inputs, k.slope, factor, whitened)

    def _log_prior(self, values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """log p and its derivative in log theta at exp(theta); a fixed noise has no prior."""
        d = self.x.shape[1]
        parts = [(self.priors.lengthscale, values[:d]), (self.priors.outputscale, values[d : d + 1])]
        parts += [(self.priors.noise, values[d + 1 :])] if self.noise is None else []
        value = sum(float(prior.log_density(part).sum()) for prior, part in parts)
        return value, np.concatenate([prior.slope(part) * part for prior, part in parts])


def _minimise(
    loss: NegativeLogPosterior, start: NDArray[np.float64], iterations: int
) -> tuple[NDArray[np.float64], float]:
    """L-BFGS-B in theta / steps."""
    from scipy.optimize import Bounds, minimize

    steps = loss.steps
    lower, upper = np.array(loss.bounds).T

    def scaled_loss(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss(scaled * steps)
        return value, gradient * steps

    found = minimize(
        scaled_loss,
        start / steps,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower / steps, upper / steps),
        options={"maxiter": iterations, "ftol": TOLERANCE},
    )
    return np.asarray(found.x, dtype=np.float64) * steps, float(found.fun)
