"""Parameters that are numbers in a range: Float and Int."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from compbo.space.parameters import Parameter, plain
from compbo.space.scales import SCALES, warp

if TYPE_CHECKING:
    from collections.abc import Sequence

# Integers become doubles on their way: within these bounds every integer has a coordinate of its own.
INT_LIMIT = 2**50


@dataclass(frozen=True)
class Float(Parameter):
    """A real number from low to high, both included.

    Args:
        low: the smallest value.
        high: the largest value. If it equals `low`, the parameter is a constant.
        scale: on which the values are spread evenly: linear, log, logit, or bilog (sign(x) log(1 + |x|)).

    >>> import compbo
    >>> space = compbo.Space({"lr": compbo.Float(1e-5, 1e-1, scale="log")})
    >>> space.to_unit([{"lr": 1e-3}]).tolist()
    [[0.5]]
    """

    kind: ClassVar[str] = "float"

    low: float
    high: float
    scale: str = "linear"

    def __post_init__(self) -> None:
        """Take the bounds as floats."""
        object.__setattr__(self, "low", _as_float(self.low))
        object.__setattr__(self, "high", _as_float(self.high))

    def check(self) -> None:
        """Raise ValueError for bounds in the wrong order, or for which the scale is not defined."""
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if not _is_number(value):
                raise ValueError(f"{bound} must be a number, got {value!r}")
            if not math.isfinite(value):
                raise ValueError(f"{bound} must be finite, got {value!r}")
        _check_range(self)
        if self.low == self.high:
            return
        start, end = warp([self.low, self.high], self.scale).tolist()
        if not math.isfinite(end - start):
            raise ValueError(f"the range from {self.low!r} to {self.high!r} is too wide for a {self.scale} scale")
        if end <= start:
            raise ValueError(f"low {self.low!r} and high {self.high!r} are too close for a {self.scale} scale")

    def validate(self, value: Any) -> float:
        """The value as a float; ValueError if it is not a number between the bounds."""
        number = plain(value)
        if not _is_number(number):
            raise ValueError(f"{value!r} is not a number")
        _check_inside(self, number)
        return float(number) + 0.0

    @property
    def levels(self) -> Sequence[float] | None:
        """None; of a constant, its one value."""
        return (self.low,) if self.low == self.high else None


@dataclass(frozen=True)
class Int(Parameter):
    """A whole number from low to high, both included.

    Args:
        low: the smallest value.
        high: the largest value. If it equals `low`, the parameter is a constant.
        scale: on which the values are spread evenly: linear, log or bilog (sign(x) log(1 + |x|)).

    >>> import compbo
    >>> compbo.Space({"depth": compbo.Int(1, 15)}).size
    15
    """

    kind: ClassVar[str] = "int"

    low: int
    high: int
    scale: str = "linear"

    def __post_init__(self) -> None:
        """Take NumPy integers as plain ones."""
        object.__setattr__(self, "low", plain(self.low))
        object.__setattr__(self, "high", plain(self.high))

    def check(self) -> None:
        """Raise ValueError for bounds in the wrong order, or for which the scale is not defined."""
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValueError(f"{bound} must be an integer, got {value!r}")
            if abs(value) > INT_LIMIT:
                raise ValueError(f"{bound} must lie within ±2**50 (about 1.1e15), got {value}")
        _check_range(self)
        if self.scale == "linear" or self.low == self.high:
            return
        ends = warp([self.low, self.low + 1, self.high - 1, self.high], self.scale)
        gap = min(ends[1] - ends[0], ends[3] - ends[2])
        if gap < 32 * np.finfo(np.float64).eps * np.abs(ends).max():
            raise ValueError(
                f"the range from {self.low} to {self.high} is too wide to tell neighbours apart on a {self.scale} scale"
            )

    def validate(self, value: Any) -> int:
        """The value as an int; ValueError if it is not an integer between the bounds. A float is not, even 3.0."""
        number = plain(value)
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError(f"{value!r} is not an integer")
        _check_inside(self, number)
        return int(number)

    @property
    def levels(self) -> Sequence[int]:
        """All integers from low to high."""
        return range(self.low, self.high + 1)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_float(value: Any) -> Any:
    """A number as a float, infinite if it is too large: Float(0, 1) equals Float(0.0, 1.0). Anything else as it is."""
    value = plain(value)
    if not _is_number(value):
        return value
    try:
        return float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _check_range(parameter: Float | Int) -> None:
    """Raise ValueError for reversed bounds, an unknown scale, or one that is not defined between the bounds."""
    low, high, scale = parameter.low, parameter.high, parameter.scale
    if low > high:
        raise ValueError(f"low {low!r} is above high {high!r}")
    if not isinstance(scale, str) or scale not in SCALES:
        raise ValueError(f"unknown scale {scale!r}, use one of {', '.join(SCALES)}")
    if scale == "log" and low <= 0:
        raise ValueError(f"a log scale needs low above 0, got {low!r}")
    if scale == "logit" and not (low > 0 and high < 1):
        raise ValueError(f"a logit scale needs 0 < low and high < 1, got {low!r} and {high!r}")


def _check_inside(parameter: Float | Int, number: float) -> None:
    if not parameter.low <= number <= parameter.high:  # NaN too
        raise ValueError(f"{number!r} is outside [{parameter.low!r}, {parameter.high!r}]")
