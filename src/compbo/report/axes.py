"""How a parameter lies along the axis of a chart: positions, ends and ticks.

Numbers on a linear or a log scale stand at their own values. Other scales have no axis of their own in Plotly: their
values stand at warped positions, choices at their place in the list, and ticks carry the names.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from compbo.space import Bool, Categorical, Float, Int, Ordinal
from compbo.space.scales import SCALES, warp
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.space import Parameter, Scalar

FEW_LEVELS = 12  # up to this many, every level is drawn and named
MOST_TICKS = 6


class ParameterAxis(TypedDict):
    """The axis of one parameter."""

    name: str
    type: Literal["linear", "log"]
    low: float  # positions of the two ends
    high: float
    ticks: list[float]  # positions; empty: Plotly chooses
    labels: list[str]  # one per tick
    points: bool  # so few levels that they are drawn one by one


def axis_of(name: str, parameter: Parameter) -> ParameterAxis:
    """The axis of a parameter that is not constant, under its name."""
    levels = parameter.levels
    points = levels is not None and len(levels) <= FEW_LEVELS
    own_axis = isinstance(parameter, Float | Int) and parameter.scale in ("linear", "log")
    shown: list[Scalar] = []
    if not own_axis:
        shown = list(levels or ()) if points else [_round(parameter, v) for v in values_along(parameter, MOST_TICKS)]
    ends = [position(parameter, value) for value in (values_along(parameter, 2) if levels is None else _ends(levels))]
    return ParameterAxis(
        name=name,
        type="log" if own_axis and getattr(parameter, "scale", "") == "log" else "linear",
        low=ends[0],
        high=ends[-1],
        ticks=[position(parameter, value) for value in shown],
        labels=[label(value) for value in shown],
        points=points,
    )


def position(parameter: Parameter, value: Scalar) -> float:
    """Where a value stands on the axis."""
    if isinstance(parameter, Categorical | Ordinal):
        return float(parameter.index(value))
    number = float(value)  # type: ignore[arg-type]  # a float, an int or a bool
    if isinstance(parameter, Float | Int) and parameter.scale not in ("linear", "log"):
        return float(warp(number, parameter.scale))
    return number


def fraction(axis: ParameterAxis, where: float) -> float:
    """A position `where` on the axis as a share of the way from its low end to its high end."""
    low, high = axis["low"], axis["high"]
    if axis["type"] == "log":
        low, high, where = math.log(low), math.log(high), math.log(where)
    return (where - low) / (high - low)


def values_along(parameter: Parameter, most: int) -> list[Scalar]:
    """At most `most` values from one end of the parameter to the other, evenly spaced on its scale."""
    levels = parameter.levels
    if levels is not None and len(levels) <= most:
        return list(levels)
    if isinstance(parameter, Float | Int):
        ends = warp([parameter.low, parameter.high], parameter.scale)
        inside = SCALES[parameter.scale].unwarp(np.linspace(ends[0], ends[1], most))
        inside = np.clip(inside, parameter.low, parameter.high)
        inside[0], inside[-1] = parameter.low, parameter.high
        if isinstance(parameter, Float):
            return list(dict.fromkeys(parameter.nearest(inside).tolist()))
        return list(dict.fromkeys(int(value) for value in np.rint(inside)))
    listed = levels or ()
    return [listed[int(k)] for k in np.linspace(0, len(listed) - 1, most)]


def label(value: Scalar) -> str:
    """A value in few characters."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def definition(parameter: Parameter) -> str:
    """A parameter in words, for the table of the space."""
    if isinstance(parameter, Float | Int):
        scale = "" if parameter.scale == "linear" else f", {parameter.scale} scale"
        return f"{parameter.low!r} to {parameter.high!r}{scale}{_rounding(parameter)}"
    if isinstance(parameter, Bool):
        return "True or False"
    return ", ".join(repr(value) for value in parameter.levels or ())


def _rounding(parameter: Float | Int) -> str:
    step, digits = getattr(parameter, "step", None), getattr(parameter, "digits", None)
    return f", in steps of {step!r}" if step is not None else f", {counted(digits, 'digit')}" if digits else ""


def _round(parameter: Parameter, value: Scalar) -> Scalar:
    """A number of two digits nearby, for a tick."""
    if not isinstance(parameter, Float) or not isinstance(value, float):
        return value
    return min(max(float(f"{value:.2g}"), parameter.low), parameter.high)


def _ends(levels: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    return levels[0], levels[-1]
