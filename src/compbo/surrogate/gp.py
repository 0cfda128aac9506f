"""The Gaussian process: hyperparameters by maximum a posteriori, with analytic gradients.

    J = 1/2 log det C + 1/2 y^T C^-1 y + n/2 log 2 pi - log prior,   C = s_f^2 K + s_n^2 I

With M = alpha alpha^T - C^-1 the derivative with respect to C is -M/2; for the lengthscales only products are needed:
sum_ij Q_ij (a_ik - a_jk)^2 = 2 (sum_i q_i a_ik^2 - a_k^T Q a_k), with q the row sums of Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from compbo.numerics import cholesky, single_threaded_blas, standardise, threads_for
from compbo.surrogate.kernels import Kernel, get_kernel, left_factor, right_factor
from compbo.surrogate.posterior import GPPosterior
from compbo.surrogate.priors import PriorSet, get_priors
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Generator, Tensor

NOISELESS = 2e-4  # variance in standardised units for tasks without noise

LENGTHSCALE_BOUNDS = (5e-3, 1e3)
OUTPUTSCALE_BOUNDS = (1e-3, 1e3)
NOISE_BOUNDS = (1e-6, 10.0)

COLD_STARTS = 3  # full prior guess and two draws; the best after a few iterations goes on
TRIAL_ITERATIONS = 2
MAX_ITERATIONS = 200


class Hyperparameters(NamedTuple):
    """theta: lengthscales (d,), output scale s_f^2 and noise s_n^2 (variances, standardised units)."""

    lengthscale: Tensor
    outputscale: float
    noise: float


@dataclass(frozen=True)
class GP:
    """A fitted Gaussian process on unit-cube inputs and standardised outputs.

    Everything it says is in standardised units: y = mean + scale * standardised.
    """

    train_x: Tensor  # (n, d)
    train_y: Tensor  # (n,) standardised
    mean: float
    scale: float
    kernel: Kernel
    hyperparameters: Hyperparameters
    loss: float  # J at the optimum
    evaluations: int  # of J
    posterior: GPPosterior

    @property
    def best(self) -> float:
        """f*: the best observed value, standardised."""
        return float(self.train_y.max())

    def predict(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Marginal mean and standard deviation (m,) of the latent function at x (m, d), in the units of y."""
        batch = self.posterior(x.unsqueeze(1), gradient_rows=0)
        return self.mean + self.scale * batch.mean[:, 0], self.scale * batch.factor[:, 0, 0]


def fit_gp(
    x: Tensor,
    y: Tensor,
    *,
    kernel: str = "matern52",
    priors: str = "paper",
    noise: float | None = None,
    warm_start: Hyperparameters | None = None,
    rounder: Callable[[Tensor], Tensor] | None = None,
    generator: Generator | None = None,
    max_iterations: int = MAX_ITERATIONS,
) -> GP:
    """Fit to x (n, d) in the unit cube and y (n,), both finite.

    noise: a fixed variance in standardised units (`NOISELESS` for noiseless tasks), or None to learn it.
    warm_start: hyperparameters of a fit to almost the same data; one start instead of several.
    generator: where the further cold starts come from; without one there is only the first.
    """
    x, y = _check_data(x, y, noise)
    rounded = x if rounder is None else rounder(x)
    outputs = standardise(y)
    n, d = rounded.shape
    objective = NegativeLogPosterior(rounded, outputs.values, get_kernel(kernel), get_priors(priors, d), noise)
    starts = [objective.pack(warm_start)] if warm_start is not None else objective.cold_starts(generator)
    with single_threaded_blas(), threads_for(n * n * (n / 3 + d)):
        theta, loss = _minimise(objective, starts, max_iterations)
    found = objective.unpack(theta)
    posterior = GPPosterior(
        rounded,
        outputs.values,
        kernel=objective.kernel,
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
        objective.kernel,
        found,
        loss,
        objective.evaluations,
        posterior,
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


class NegativeLogPosterior:
    """J(theta) and its gradient in log hyperparameters, theta = log (lengthscales, output scale[, noise])."""

    def __init__(self, x: Tensor, y: Tensor, kernel: Kernel, priors: PriorSet, noise: float | None) -> None:
        """x (n, d), y (n,) standardised; noise fixed, or None to learn it."""
        self.x = (x - 0.5) * kernel.stretch
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

    def cold_starts(self, generator: Generator | None) -> list[NDArray[np.float64]]:
        """The middle of the priors, then draws from the lengthscale prior."""
        d = self.x.shape[1]
        middle = torch.full((d,), self.priors.lengthscale.mean, dtype=DTYPE)
        starts = [Hyperparameters(middle, 1.0, 1e-2)]
        if generator is not None:
            draws = self.priors.lengthscale.sample(COLD_STARTS - 1, generator)
            starts += [Hyperparameters(draw.expand(d), 1.0, 1e-2) for draw in draws]
        return [self.pack(start) for start in starts]

    def __call__(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """J and dJ/dtheta. Where C has no factor: a large value and no slope, so that the line search turns back."""
        self.evaluations += 1
        lengthscale, outputscale, noise = self.unpack(theta)
        n, d = self.x.shape
        a = self.x / lengthscale
        k = self.kernel.evaluate(left_factor(a) @ right_factor(a).mT)
        covariance = outputscale * k.value
        covariance.diagonal().add_(noise)
        factor, _, failed = cholesky(covariance)
        if bool(failed):
            return 1e10, np.zeros_like(theta)
        alpha = torch.cholesky_solve(self.y.unsqueeze(-1), factor).squeeze(-1)
        value = factor.diagonal().log().sum() + 0.5 * self.y @ alpha + 0.5 * n * math.log(2.0 * math.pi)
        # dJ/dC = -M/2
        m = torch.addr(torch.cholesky_inverse(factor), alpha, alpha, beta=-1.0)
        gradient = torch.empty(len(theta), dtype=DTYPE)
        gradient[d] = -0.5 * outputscale * (m * k.value).sum()
        if self.noise is None:
            gradient[d + 1] = -0.5 * noise * m.diagonal().sum()
        q = m.mul_(k.slope).mul_(self.kernel.slope_factor * outputscale)
        gradient[:d] = 2.0 * ((q.sum(-1, keepdim=True) * a - q @ a) * a).sum(0)
        prior, slope = self._log_prior(lengthscale, outputscale, noise)
        return float(value - prior), (gradient - slope[: len(theta)]).numpy()

    def _log_prior(self, lengthscale: Tensor, outputscale: float, noise: float) -> tuple[Tensor, Tensor]:
        """log p(theta) and its derivative in log theta; a fixed noise has no prior."""
        s, e = torch.tensor(outputscale, dtype=DTYPE), torch.tensor(noise, dtype=DTYPE)
        p = self.priors
        value = p.lengthscale.log_density(lengthscale).sum() + p.outputscale.log_density(s)
        if self.noise is None:
            value = value + p.noise.log_density(e)
        slope = [p.lengthscale.slope(lengthscale) * lengthscale, (p.outputscale.slope(s) * s).reshape(1)]
        return value, torch.cat([*slope, (p.noise.slope(e) * e).reshape(1)])


def _minimise(
    objective: NegativeLogPosterior, starts: list[NDArray[np.float64]], iterations: int
) -> tuple[NDArray[np.float64], float]:
    """L-BFGS-B; of several starts the best after a few iterations goes on to the end."""
    from scipy.optimize import minimize

    def run(start: NDArray[np.float64], steps: int) -> tuple[NDArray[np.float64], float]:
        found = minimize(
            objective, start, jac=True, method="L-BFGS-B", bounds=objective.bounds, options={"maxiter": steps}
        )
        return np.asarray(found.x, dtype=np.float64), float(found.fun)

    if len(starts) > 1:
        trials = [run(start, min(TRIAL_ITERATIONS, iterations)) for start in starts]
        starts = [min(trials, key=lambda trial: trial[1])[0]]
    return run(starts[0], iterations)
