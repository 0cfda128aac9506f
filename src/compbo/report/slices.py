"""What the surrogate says: importance of the parameters and slices through the best point."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
import torch

from compbo.bo.cross_validation import CrossValidation, cross_validation_of
from compbo.bo.history import sign_of
from compbo.bo.model import model_of
from compbo.report.axes import ParameterAxis, axis_of, label, position, values_along
from compbo.space import Space
from compbo.space.codecs import width
from compbo.surrogate.parts import kept_by_rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from compbo.bo.history import Direction, History
    from compbo.bo.settings import Settings
    from compbo.evaluation import Evaluation
    from compbo.space import Parameter, Scalar
    from compbo.surrogate.gp import GP
    from compbo.surrogate.log_posterior import Hyperparameters

logger = logging.getLogger(__name__)

LARGEST_FIT = 512  # observations; a report should not cost more than a few seconds
SLICES = 12
SLICE_VALUES = 61
PAIRED = 5  # parameters whose pairs are shown
PAIR_VALUES = 25
NEAREST = 250  # observations drawn in a slice


class Share(TypedDict):
    """Importance of a parameter: its part of the sum of 1/lengthscale."""

    name: str
    share: float


class Slice(TypedDict):
    """Mean and standard deviation along one parameter, in the units and the direction of the objective."""

    axis: ParameterAxis
    at: list[float]
    labels: list[str]
    mean: list[float]
    deviation: list[float]


class Pair(TypedDict):
    """Mean and standard deviation over two parameters; rows follow y."""

    x: ParameterAxis
    y: ParameterAxis
    x_at: list[float]
    y_at: list[float]
    x_labels: list[str]
    y_labels: list[str]
    mean: list[list[float]]
    deviation: list[list[float]]


class ModelSummary(TypedDict):
    """Everything the report shows of the surrogate."""

    importance: list[Share]  # most important first
    slices: list[Slice]
    pairs: list[Pair]
    nearest: list[int]  # evaluations nearest to the best point, in lengthscales
    observations: int  # that the model was fitted to
    kernel: str
    noise: float  # standard deviation in the units of the objective
    inputs: str  # warp of the parameters
    outputs: str  # transform of the values
    check: CrossValidation
    check_places: list[int]  # of its values, among the evaluations


def summarise_model(space: Space, settings: Settings, history: History) -> tuple[ModelSummary | None, str]:
    """What the surrogate of a history says, or None and the reason why there is none."""
    best = history.best(settings.direction)
    if best is None:
        return None, "There is no model yet: nothing has been evaluated successfully."
    fitted = _thinned(history, settings.direction)
    observations = fitted.observations(space, settings.direction)
    try:
        model = model_of(space, settings, observations)
    except (ValueError, ArithmeticError, RuntimeError) as error:  # torch.linalg raises RuntimeError
        logger.warning("report: the surrogate could not be fitted: %s", error)
        return None, f"The model could not be fitted: {error}"
    columns = _columns(space.parameters)
    theta = model.hyperparameters
    inverse = 1.0 / theta.lengthscale
    raw = np.array([float(inverse[column.columns].sum()) for column in columns])
    shares = raw / raw.sum()
    order = np.argsort(-shares, kind="stable").tolist()
    sign = sign_of(settings.direction)
    top = [columns[i] for i in order]
    base = space.to_unit([best.params])
    places = {evaluation.number or 0: place for place, evaluation in enumerate(history.evaluations)}
    return ModelSummary(
        importance=[Share(name=columns[i].axis["name"], share=float(shares[i])) for i in order],
        slices=[_slice(base, model, column, sign) for column in top[:SLICES]],
        pairs=[_pair(base, model, x, y, sign) for x, y in combinations(top[:PAIRED], 2)],
        nearest=_nearest(space, history.evaluations, base, theta),
        observations=len(fitted.evaluations),
        kernel=model.kernel.name,
        noise=model.noise_deviation,
        inputs=theta.warp.describe(),
        outputs=model.outputs.describe(),
        check=(check := cross_validation_of(model, observations, settings.direction)),
        check_places=[places[number] for number in check.numbers],
    ), ""


def _thinned(history: History, direction: Direction) -> History:
    """The history itself, or `LARGEST_FIT` of its evaluations: half the best, half at even ranks of the rest."""
    sign = sign_of(direction)
    evaluations = history.evaluations
    quality = torch.tensor([-np.inf if e.value is None else sign * e.value for e in evaluations])
    return replace(history, evaluations=tuple(evaluations[i] for i in kept_by_rank(quality, LARGEST_FIT).tolist()))


class _Column(NamedTuple):
    """A parameter, its columns of the unit cube and a grid of its values there."""

    parameter: Parameter
    axis: ParameterAxis
    columns: slice

    def grid(self, most: int) -> tuple[list[Scalar], Tensor]:
        """At most `most` values and their unit coordinates (m, w)."""
        values = values_along(self.parameter, most)
        name = self.axis["name"]
        return values, Space({name: self.parameter}).to_unit([{name: value} for value in values])


def _columns(parameters: Mapping[str, Parameter]) -> list[_Column]:
    found, first = [], 0
    for name, parameter in parameters.items():
        count = width(parameter)
        if count > 0:
            found.append(_Column(parameter, axis_of(name, parameter), slice(first, first + count)))
        first += count
    return found


def _slice(base: Tensor, model: GP, column: _Column, sign: float) -> Slice:
    """Base: the best point in the unit cube (1, d)."""
    values, block = column.grid(SLICE_VALUES)
    x = base.repeat(len(values), 1)
    x[:, column.columns] = block
    mean, deviation = model.predict(x)
    return Slice(
        axis=column.axis,
        at=[position(column.parameter, value) for value in values],
        labels=[label(value) for value in values],
        mean=_short(sign * mean),
        deviation=_short(deviation),
    )


def _pair(base: Tensor, model: GP, first: _Column, second: _Column, sign: float) -> Pair:
    x_values, x_block = first.grid(PAIR_VALUES)
    y_values, y_block = second.grid(PAIR_VALUES)
    across, up = len(x_values), len(y_values)
    unit = base.repeat(across * up, 1)
    unit[:, first.columns] = x_block.repeat(up, 1)
    unit[:, second.columns] = y_block.repeat_interleave(across, 0)
    mean, deviation = model.predict(unit)
    return Pair(
        x=first.axis,
        y=second.axis,
        x_at=[position(first.parameter, value) for value in x_values],
        y_at=[position(second.parameter, value) for value in y_values],
        x_labels=[label(value) for value in x_values],
        y_labels=[label(value) for value in y_values],
        mean=[_short(row) for row in (sign * mean).reshape(up, across)],
        deviation=[_short(row) for row in deviation.reshape(up, across)],
    )


def _nearest(space: Space, evaluations: Sequence[Evaluation], base: Tensor, theta: Hyperparameters) -> list[int]:
    """Indices of the successful evaluations nearest to the best point, nearest first."""
    done = [i for i, e in enumerate(evaluations) if not e.failed]
    there = space.to_unit([evaluations[i].params for i in done])
    offset = (theta.warp.forward(there) - theta.warp.forward(base)) * (1.0 / theta.lengthscale)
    order = torch.argsort(offset.square().sum(-1), stable=True)[:NEAREST]
    return [done[int(i)] for i in order]


def _short(values: Tensor) -> list[float]:
    """Six digits: more than a picture shows, in less than half the space."""
    return [float(f"{value:.6g}") for value in values.tolist()]
