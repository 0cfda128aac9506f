"""The surrogate of a set of observations: transformed outputs, declared noise in the model's units, then the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.bo.thinning import thinned
from compbo.numerics import standardise
from compbo.surrogate.gp import NOISELESS, fit_gp
from compbo.surrogate.outputs import fit_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.bo.history import Observations
    from compbo.bo.settings import Settings
    from compbo.space import Space
    from compbo.surrogate.gp import GP
    from compbo.surrogate.outputs import OutputTransform

LARGEST_RELATIVE_NOISE = 1e100  # in units of the values' deviation: nothing can be learnt, and its square is finite


def model_of(space: Space, settings: Settings, observations: Observations) -> GP:
    """The surrogate of the observations, at most `model_points` of them; at least one of them must have a value."""
    observations = thinned(observations, settings.model_points)
    return fit_model(
        space,
        observations.x,
        observations.y,
        kernel=settings.kernel,
        priors=settings.priors,
        noise=settings.noise,
        outputs=settings.outputs,
        failed=observations.failed,
    )


def fit_model(
    space: Space,
    x: Tensor,
    y: Tensor,
    *,
    kernel: str,
    priors: str,
    noise: float | None,
    outputs: str = "none",
    failed: Tensor | None = None,
) -> GP:
    """The Gaussian process of x (n, d) in the unit cube of the space and y (n,), both finite.

    Args:
        space: whose integers and categories are rounded.
        x: points.
        y: values; a failed evaluation stands at the worst.
        kernel: by its name.
        priors: of the hyperparameters, by their name.
        noise: standard deviation of the values in the units of y; None to learn it.
        outputs: the transform of the values by its name; it is fitted to what was measured.
        failed: (n,) bool, which evaluations failed; None if none did.

    Returns:
        The fitted model.
    """
    transform = fit_outputs(outputs, y if failed is None else y[~failed])
    variance = noise_variance(noise, y, transform)
    return fit_gp(x, y, kernel=kernel, priors=priors, noise=variance, rounder=space.rounder(), transform=transform)


def noise_variance(noise: float | None, y: Tensor, transform: OutputTransform) -> float | None:
    """A declared noise as the GP takes it: a variance in the units of the standardised t(y), at least `NOISELESS`.

    noise: standard deviation in the units of y, 0 for a noiseless objective; None is learnt, and stays None.
    transform: t, of the outputs; the noise is multiplied by its slope at the median of y.
    """
    if noise is None:
        return None
    relative = noise * float(transform.slope(y.median())) / standardise(transform.forward(y)).scale
    return max(min(relative, LARGEST_RELATIVE_NOISE) ** 2, NOISELESS)
