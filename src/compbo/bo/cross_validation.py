"""Is the model to be believed? Every value beside what the model says of it without having seen it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compbo.bo.history import sign_of
from compbo.bo.model import model_of
from compbo.surrogate.leave_one_out import leave_one_out

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.bo.history import Direction, History, Observations
    from compbo.bo.settings import Settings
    from compbo.space import Space
    from compbo.surrogate.gp import GP

SURE = 1.959963984540054  # standard deviations on both sides that hold 95 % of a normal variable


@dataclass(frozen=True)
class CrossValidation:
    """Leave-one-out cross-validation: measured values, and what the model of all others predicts of them.

    Everything is in the units of the objective; one entry per successful evaluation that the model was fitted to. The
    hyperparameters stay those of the fit to all. Noise is a part of what is predicted.

    Args:
        numbers: of the trials.
        values: what was measured.
        means: what was expected.
        low: lower ends of the intervals that hold 95 % of what the model expects.
        high: their upper ends.
        residuals: standardised, (t(value) - mu) / s in the units of the output transform t: about N(0, 1) if the model
            is right. Positive where the value was larger than expected.
        log_densities: of the values, the transform counted; their sum compares models of the same values.

    >>> import compbo
    >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)})
    >>> optimizer.tell([{"x": i / 10} for i in range(11)], [(i - 3) ** 2 for i in range(11)])
    >>> isinstance(optimizer.cross_validation(), compbo.CrossValidation)
    True
    """

    numbers: tuple[int, ...]
    values: tuple[float, ...]
    means: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    residuals: tuple[float, ...]
    log_densities: tuple[float, ...]

    @property
    def coverage(self) -> float:
        """Share of the values inside of their intervals: about 0.95 if the model is right."""
        return sum(abs(residual) <= SURE for residual in self.residuals) / len(self.residuals)

    @property
    def log_density(self) -> float:
        """Mean log density of a value; larger is better."""
        return sum(self.log_densities) / len(self.log_densities)

    @property
    def error(self) -> float:
        """Root of the mean squared difference of values and means."""
        differences = [value - mean for value, mean in zip(self.values, self.means, strict=True)]
        return math.hypot(*differences) / math.sqrt(len(differences))

    def __str__(self) -> str:
        return (
            f"{len(self.values)} values, each predicted from all others: {self.coverage:.0%} inside of the 95 % "
            f"intervals, root mean squared error {self.error:.4g}, mean log density {self.log_density:.4g}"
        )


def cross_validation(space: Space, settings: Settings, history: History) -> CrossValidation:
    """Of the model of a history in which something succeeded."""
    observations = history.observations(space, settings.direction)
    return cross_validation_of(model_of(space, settings, observations), observations, settings.direction)


def cross_validation_of(model: GP, observations: Observations, direction: Direction) -> CrossValidation:
    """Of a model of these observations: those that it rests on, but for failed ones, which have no value."""
    observations = observations.at(model.kept)
    sign, measured = sign_of(direction), ~observations.failed
    mu, s = leave_one_out(model)
    residuals = (model.train_y - mu) / s
    slope = model.outputs.slope(observations.y) / model.scale  # of the standardised t in y
    log_densities = -0.5 * residuals.square() - s.log() - 0.5 * math.log(2.0 * math.pi) + slope.log()
    worse, better = model.values_at(mu - SURE * s), model.values_at(mu + SURE * s)
    low, high = (worse, better) if sign > 0 else (-better, -worse)

    def listed(values: Tensor) -> tuple[float, ...]:
        return tuple(values[measured].tolist())

    return CrossValidation(
        tuple(observations.numbers[measured].tolist()),
        listed(sign * observations.y),
        listed(sign * model.in_units(mu, s)[0]),
        listed(low),
        listed(high),
        listed(sign * residuals),
        listed(log_densities),
    )
