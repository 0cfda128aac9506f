"""What the model of a history says about points, in the units of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.bo.history import sign_of
from compbo.bo.model import model_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.bo.history import History
    from compbo.bo.settings import Settings
    from compbo.space import Space


class Prediction(NamedTuple):
    """What a model expects of the objective at a point: the mean, and how sure it is (a standard deviation)."""

    mean: float
    deviation: float


def predictions(
    space: Space, settings: Settings, history: History, points: Sequence[Mapping[str, Any]]
) -> list[Prediction]:
    """What the model of a history, in which something succeeded, expects at the points, noise not included."""
    model = model_of(space, settings, history.observations(space, settings.direction))
    mean, deviation = model.predict(space.to_unit(points))
    sign = sign_of(settings.direction)
    return [Prediction(sign * m, d) for m, d in zip(mean.tolist(), deviation.tolist(), strict=True)]
