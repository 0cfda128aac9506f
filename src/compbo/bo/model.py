"""The surrogate of a set of observations: declared noise in the model's units, then the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.numerics import standardise
from compbo.surrogate.gp import NOISELESS, fit_gp

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.bo.history import Observations
    from compbo.bo.settings import Settings
    from compbo.space import Space
    from compbo.surrogate.gp import GP

LARGEST_RELATIVE_NOISE = 1e100  # in units of the values' deviation: nothing can be learnt, and its square is finite


def model_of(space: Space, settings: Settings, observations: Observations) -> GP:
    """The surrogate of the observations, of which at least one has a value."""
    x, y = observations.x, observations.y
    return fit_model(space, x, y, kernel=settings.kernel, priors=settings.priors, noise=settings.noise)


def fit_model(space: Space, x: Tensor, y: Tensor, *, kernel: str, priors: str, noise: float | None) -> GP:
    """The Gaussian process of x (n, d) in the unit cube of the space and y (n,), both finite.

    noise: standard deviation of the values in the units of y; None to learn it.
    """
    variance = noise_variance(noise, y)
    return fit_gp(x, y, kernel=kernel, priors=priors, noise=variance, rounder=space.rounder())


def noise_variance(noise: float | None, y: Tensor) -> float | None:
    """A declared noise as the GP takes it: a variance in the units of the standardised y, at least `NOISELESS`.

    noise: standard deviation in the units of y, 0 for a noiseless objective; None is learnt, and stays None.
    """
    if noise is None:
        return None
    relative = min(noise / standardise(y).scale, LARGEST_RELATIVE_NOISE)
    return max(relative**2, NOISELESS)
