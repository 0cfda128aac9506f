"""The surrogate of a set of observations: transformed outputs, declared noise in the model's units, then the fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from compbo.numerics import standardise
from compbo.surrogate.gp import NOISELESS, fit_gp
from compbo.surrogate.outputs import check_outputs, fit_outputs
from compbo.surrogate.parts import evenly_by_rank
from compbo.surrogate.warps import NONE, WARPED, check_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.bo.history import Observations
    from compbo.bo.settings import Settings
    from compbo.space import Space
    from compbo.surrogate.gp import GP
    from compbo.surrogate.outputs import OutputTransform

CHOICE_POINTS = 256  # observations, at even ranks, on which transforms of the values are compared
LARGEST_RELATIVE_ERROR = 1e4  # in units of the values' deviation: that observation says nothing
LARGEST_RELATIVE_NOISE = 1e100  # in units of the values' deviation: nothing can be learnt, and its square is finite


def model_of(space: Space, settings: Settings, observations: Observations) -> GP:
    """The surrogate of the observations, at most `model_points` of them; at least one of them must have a value."""
    return fit_model(
        space,
        observations.x,
        observations.y,
        kernel=settings.kernel,
        priors=settings.priors,
        noise=settings.noise,
        outputs=settings.outputs,
        inputs=settings.inputs,
        failed=observations.failed,
        errors=observations.errors if observations.has_errors else None,
        model_points=settings.model_points,
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
    inputs: str = NONE,
    failed: Tensor | None = None,
    errors: Tensor | None = None,
    model_points: int | None = None,
) -> GP:
    """The Gaussian process of x (n, d) in the unit cube of the space and y (n,), both finite.

    Args:
        space: whose integers and categories are rounded.
        x: points.
        y: values; a failed evaluation stands at the worst.
        kernel: by its name.
        priors: of the hyperparameters, by their name.
        noise: standard deviation of the values in the units of y; None to learn it.
        outputs: the transform of the values by its name; it is fitted to what was measured. Of several, the one is
            taken whose model of that has the greatest merit, the first where they are equal.
        inputs: "warped" for a warp of every parameter with more than two levels that is no choice; "none" for none.
        failed: (n,) bool, which evaluations failed; None if none did.
        errors: (n,) standard deviations of single values in the units of y, which add to the noise; None for none.
        model_points: observations that the model rests on, where there are more; None: all.

    Returns:
        The fitted model.
    """
    warped = space.graded_columns if check_inputs(inputs) == WARPED else ()

    def fitted(transform: OutputTransform, part: Tensor) -> GP:
        values = y[part]
        return fit_gp(
            x[part],
            values,
            kernel=kernel,
            priors=priors,
            noise=noise_variance(noise, values, transform),
            rounder=space.rounder(),
            transform=transform,
            errors=None if errors is None else error_variances(errors[part], values, transform),
            model_points=model_points,
            warped=warped,
            choices=space.choice_columns,
        )

    everything = torch.arange(len(y))
    measured = everything if failed is None else everything[~failed]
    transforms = fit_outputs(outputs, y[measured])
    if len(transforms) == 1:
        return fitted(transforms[0], everything)
    part = measured[evenly_by_rank(y[measured], min(CHOICE_POINTS, model_points or CHOICE_POINTS))]
    merit = MERITS[check_outputs(outputs)]
    model = max((fitted(transform, part) for transform in transforms), key=lambda model: merit(model, y[part]))
    return model if len(part) == len(y) else fitted(model.outputs, everything)


def log_evidence(model: GP, y: Tensor) -> float:
    """The log posterior density of a model and of the values y (n,) that it was fitted to, in the units of y.

    -J is that of the standardised t(y); the slopes of t carry it over, so that models of several transforms compare.
    """
    evidence = float(model.outputs.slope(y).log().sum()) - len(y) * math.log(model.scale) - model.loss
    return -math.inf if math.isnan(evidence) else evidence


MERITS: dict[str, Callable[[GP, Tensor], float]] = {"evidence": log_evidence}  # by the names in `outputs.CHOICES`


def error_variances(errors: Tensor, y: Tensor, transform: OutputTransform) -> Tensor:
    """Errors (n,) of the values y as the GP takes them: variances in the units of the standardised t(y).

    Each is multiplied by the slope of the transform t at its own value.
    """
    relative = errors * transform.slope(y) / standardise(transform.forward(y)).scale
    return relative.clamp_max(LARGEST_RELATIVE_ERROR).square()


def noise_variance(noise: float | None, y: Tensor, transform: OutputTransform) -> float | None:
    """A declared noise as the GP takes it: a variance in the units of the standardised t(y), at least `NOISELESS`.

    noise: standard deviation in the units of y, 0 for a noiseless objective; None is learnt, and stays None.
    transform: t, of the outputs; the noise is multiplied by its slope at the median of y.
    """
    if noise is None:
        return None
    if noise == 0.0:  # also where the slope is not finite
        return NOISELESS
    relative = noise * float(transform.slope(y.median())) / standardise(transform.forward(y)).scale
    return max(min(relative, LARGEST_RELATIVE_NOISE) ** 2, NOISELESS)
