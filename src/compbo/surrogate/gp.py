"""The Gaussian process: its data, and hyperparameters by maximum a posteriori."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from compbo.numerics import standardise
from compbo.surrogate.feature_posterior import FeaturePosterior
from compbo.surrogate.features import FeatureKernel
from compbo.surrogate.fit import FIRST_FIT, MAX_ITERATIONS, fit, fit_in_turn
from compbo.surrogate.kernels import Kernel, get_kernel, input_scale
from compbo.surrogate.log_posterior import Hyperparameters, NegativeLogPosterior
from compbo.surrogate.outputs import Identity, OutputTransform
from compbo.surrogate.parts import evenly_by_rank, kept_near_best
from compbo.surrogate.posterior import GPPosterior
from compbo.surrogate.priors import get_priors
from compbo.threads import lapack_threads_for
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

NOISELESS = 2e-4  # variance in standardised units for tasks without noise

NODES = 32  # of the Gauss-Hermite rule by which a prediction returns from transformed outputs


@dataclass(frozen=True)
class GP:
    """A fitted Gaussian process on unit-cube inputs and standardised outputs.

    Everything but `predict` and `noise_deviation` is in standardised units: t(y) = mean + scale * standardised, with
    the output transform t.
    """

    train_x: Tensor  # (n, d), of the observations that the posterior rests on
    train_y: Tensor  # (n,) standardised
    mean: float
    scale: float
    kernel: Kernel | FeatureKernel
    hyperparameters: Hyperparameters
    loss: float  # J at the optimum
    evaluations: int  # of J
    posterior: GPPosterior | FeaturePosterior  # of a batch of points
    outputs: OutputTransform = field(default_factory=Identity)  # t
    errors: Tensor | None = None  # (n,) variances of single observations beside the noise, standardised
    kept: Tensor = field(default_factory=lambda: torch.arange(0))  # (n,) their places among all that were given
    refined: bool = False  # whether the hyperparameters were fitted to few observations first, then refined on more

    @property
    def best(self) -> float:
        """f*: the best observed value, standardised."""
        return float(self.train_y.max())

    def describe(self, given: int) -> str:
        """What the model was made of, in words, where `given` observations were there: "exact" if all of them."""
        posterior = "exact" if len(self.train_y) == given else f"{len(self.train_y)} of {given} observations"
        return posterior + (f", hyperparameters refined from those of {FIRST_FIT}" if self.refined else "")

    def predict(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Marginal mean and standard deviation (m,) of the latent function at x (m, d), in the units of y.

        Where outputs were transformed, those of t^-1 of a normal variable, which is cut off as far beyond the
        observed values as they reach among themselves: the tails of some transforms have no mean.
        """
        return self.in_units(*self.marginals(x))

    def marginals(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (m,) of the latent function at x (m, d), standardised."""
        batch = self.posterior(x.unsqueeze(1), gradient_rows=0)
        return batch.mean[:, 0], batch.factor[:, 0, 0]

    def in_units(self, mean: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (m,) in the units of y of variables that are normal in standardised units."""
        mean, deviation = self.mean + self.scale * mean, self.scale * deviation
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

    def values_at(self, standardised: Tensor) -> Tensor:
        """Standardised values in the units of y, cut off as in `predict` where outputs were transformed."""
        values = self.mean + self.scale * standardised
        return values if isinstance(self.outputs, Identity) else self._untransformed(values)

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
    errors: Tensor | None = None,
    max_iterations: int = MAX_ITERATIONS,
    model_points: int | None = None,
    warped: Sequence[int] = (),
    choices: Sequence[int] = (),
) -> GP:
    """The Gaussian process fitted to x (n, d) in the unit cube and y (n,), both finite.

    rounder: x -> the nearest valid x. max_iterations: of L-BFGS-B.
    kernel: "matern52", "se", "linear" or "cosine". priors: "shared-choices", "paper" or "dimension-scaled".
    noise: a fixed variance in standardised units (`NOISELESS` for noiseless tasks), or None to learn it.
    warm_start: hyperparameters of a fit to almost the same data, to begin from.
    transform: of the outputs, before they are standardised; None for none.
    errors: (n,) known variances of single observations, standardised, that add to the noise; None for none.
    model_points: observations that the model rests on, where there are more (`kept_near_best`); None: all. With it,
    hyperparameters of more than `FIRST_FIT` observations are fitted to that number of them, then refined.
    warped: columns of x with an input warp, whose shapes are fitted with the hyperparameters.
    choices: columns of x of choices and switches, whose lengthscales have a prior of their own.
    """
    transform = Identity() if transform is None else transform
    x, y = _check_data(x, y, noise)
    rounded = x if rounder is None else rounder(x)
    outputs = standardise(transform.forward(y))
    data = _Data(rounded, outputs.values, errors)
    prior_set = get_priors(priors, rounded.shape[1])

    def loss_of(part: _Data) -> NegativeLogPosterior:
        return NegativeLogPosterior(part.x, part.y, get_kernel(kernel), prior_set, noise, part.errors, warped, choices)

    if model_points is None:
        found = fit(loss_of(data), warm_start, max_iterations)
    else:
        few, more = (loss_of(data.at(evenly_by_rank(y, most))) for most in (FIRST_FIT, model_points))
        found = fit_in_turn(few, more, warm_start, max_iterations)
    theta = found.hyperparameters
    scale = input_scale(found.loss.kernel, theta.lengthscale, warp=theta.warp)
    kept = kept_near_best(scale(rounded), y, model_points)
    data = data.at(kept)
    with lapack_threads_for(len(kept) ** 3):
        posterior = posterior_with(found.loss.kernel, data.x, data.y, theta, rounder, data.errors)
    return GP(
        data.x,
        data.y,
        outputs.mean,
        outputs.scale,
        found.loss.kernel,
        theta,
        found.least,
        found.evaluations,
        posterior,
        transform,
        data.errors,
        kept,
        found.refined,
    )


class _Data(NamedTuple):
    """What a model is made of: x (n, d) rounded, y (n,) standardised, errors (n,) or None."""

    x: Tensor
    y: Tensor
    errors: Tensor | None

    def at(self, places: Tensor) -> _Data:
        """Those at these places (m,)."""
        return _Data(self.x[places], self.y[places], None if self.errors is None else self.errors[places])


def posterior_with(
    kernel: Kernel | FeatureKernel,
    x: Tensor,
    y: Tensor,
    theta: Hyperparameters,
    rounder: Callable[[Tensor], Tensor] | None = None,
    errors: Tensor | None = None,
) -> GPPosterior | FeaturePosterior:
    """The posterior of x (n, d) and y (n,), standardised, with these hyperparameters theta.

    rounder: x -> the nearest valid x. errors: (n,) variances of single observations beside the noise.
    """
    numbers = theta._asdict()
    if isinstance(kernel, FeatureKernel):
        return FeaturePosterior(x, y, kernel=kernel, rounder=rounder, errors=errors, **numbers)
    return GPPosterior(x, y, kernel=kernel, rounder=rounder, errors=errors, **numbers)


def _check_data(x: Tensor, y: Tensor, noise: float | None) -> tuple[Tensor, Tensor]:
    x, y = x.detach().to(DTYPE), y.detach().to(DTYPE)
    if x.ndim != 2 or y.shape != x.shape[:1] or len(y) == 0:
        raise ValueError(f"fit_gp: x must be (n, d) and y (n,) with n >= 1, got {tuple(x.shape)} and {tuple(y.shape)}.")
    if not bool(torch.isfinite(x).all() and torch.isfinite(y).all()):
        raise ValueError("fit_gp: x and y must be finite; leave failed evaluations out.")
    if noise is not None and not (math.isfinite(noise) and noise > 0):
        raise ValueError(f"fit_gp: noise must be a positive variance, got {noise}.")
    return x, y
