"""What the model of a history says about points, in the units of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.bo.history import sign_of
from compbo.bo.model import model_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.bo.history import Direction, History
    from compbo.bo.settings import Settings
    from compbo.space import Space
    from compbo.surrogate.gp import GP


class Prediction(NamedTuple):
    """What a model expects of the objective at a point, noise not included.

    Args:
        mean: the expected value.
        deviation: how sure the model is: a standard deviation.
        improvement: the probability that the value is better than the best observed one.

    >>> import compbo
    >>> optimizer = compbo.Optimizer({"x": compbo.Float(0, 1)})
    >>> optimizer.tell([{"x": 0.1}, {"x": 0.5}, {"x": 0.9}], [1.0, 0.0, 1.0])
    >>> isinstance(optimizer.predict({"x": 0.4}), compbo.Prediction)
    True
    """

    mean: float
    deviation: float
    improvement: float


def predictions(
    space: Space, settings: Settings, history: History, points: Sequence[Mapping[str, Any]]
) -> list[Prediction]:
    """What the model of a history, in which something succeeded, expects at the points."""
    model = model_of(space, settings, history.observations(space, settings.direction))
    return predictions_of(model, space, settings.direction, points)


def predictions_of(
    model: GP, space: Space, direction: Direction, points: Sequence[Mapping[str, Any]]
) -> list[Prediction]:
    """What a fitted model expects at the points.

    The probability to improve is P(f(x) > f*) = Phi((mu - f*) / sigma), exact where outputs are transformed: the
    transform is increasing.
    """
    if not points:
        return []
    mu, sigma = model.marginals(space.to_unit(points))
    improvement = torch.special.ndtr((mu - model.best) / sigma)
    mean, deviation = model.in_units(mu, sigma)
    rows = zip((sign_of(direction) * mean).tolist(), deviation.tolist(), improvement.tolist(), strict=True)
    return [Prediction(*row) for row in rows]
