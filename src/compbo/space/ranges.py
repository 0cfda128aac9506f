"""Parameters that are numbers in a range: Float and Int."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from compbo.space.parameters import Parameter, plain
from compbo.space.scales import SCALES, round_digits, warp
from compbo.space.steps import MOST_DIGITS, EvenSteps, FewDigits

if TYPE_CHECKING:
    from collections.abc import Sequence

# Integers become doubles on their way: within these bounds every integer has a coordinate of its own.
INT_LIMIT = 2**50
ON_A_STEP = 1e-9  # of a step: a number so close to one is that step (0.1 + 0.2 is 0.3)


@dataclass(frozen=True)
class Float(Parameter):
    """A real number from low to high, both included.

    Args:
        low: the smallest value.
        high: the largest value. If it equals `low`, the parameter is a constant.
        scale: on which the values are spread evenly: linear, log, logit, or bilog (sign(x) log(1 + |x|)).
        step: suggest only low, low + step, ... up to high, which must be one of them. None: any number.
        digits: suggest only numbers of that many significant digits, at most 12. None: any number.

    With a step or with digits the model sees the nearest number that can be suggested, as it does for integers. A value
    between two of them may still be told: it is recorded as it is.

    >>> import compbo
    >>> space = compbo.Space({"lr": compbo.Float(1e-5, 1e-1, scale="log")})
    >>> space.to_unit([{"lr": 1e-3}]).tolist()
    [[0.5]]
    >>> dial = compbo.Space({"celsius": compbo.Float(20, 90, step=0.5)})
    >>> dial.from_unit(dial.to_unit([{"celsius": 61.486}]))
    [{'celsius': 61.5}]
    """

    kind: ClassVar[str] = "float"

    low: float
    high: float
    scale: str = "linear"
    step: float | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        """Take bounds and step as floats, and refuse what cannot be."""
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, _as_float(getattr(self, name)))
        object.__setattr__(self, "digits", plain(self.digits))
        super().__post_init__()

    def check(self) -> None:
        """Raise ValueError for bounds in the wrong order, or for which the scale is not defined."""
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if not _is_number(value):
                raise ValueError(f"{bound} must be a number, got {value!r}")
            if not math.isfinite(value):
                raise ValueError(f"{bound} must be finite, got {value!r}")
        _check_range(self)
        self._check_rounding()
        if self.low == self.high:
            return
        start, end = warp([self.low, self.high], self.scale).tolist()
        if not math.isfinite(end - start):
            raise ValueError(f"the range from {self.low!r} to {self.high!r} is too wide for a {self.scale} scale")
        if end <= start:
            raise ValueError(f"low {self.low!r} and high {self.high!r} are too close for a {self.scale} scale")

    def _check_rounding(self) -> None:
        """Raise ValueError for a step or a number of digits that the bounds do not have."""
        if self.step is not None and self.digits is not None:
            raise ValueError("step and digits exclude each other: give one of them")
        if self.step is not None:
            if not _is_number(self.step) or not 0 < self.step < math.inf:
                raise ValueError(f"step must be a positive number, got {self.step!r}")
            EvenSteps.between(self.low, self.high, self.step)
        if self.digits is not None:
            if not isinstance(self.digits, int) or isinstance(self.digits, bool) or not 1 <= self.digits <= MOST_DIGITS:
                raise ValueError(f"digits must be a whole number from 1 to {MOST_DIGITS}, got {self.digits!r}")
            for bound in ("low", "high"):
                value = getattr(self, bound)
                if float(round_digits(np.array(value), self.digits)) != value:
                    raise ValueError(f"{bound} {value!r} has more than {self.digits} digits")

    def validate(self, value: Any) -> float:
        """The value as a float; ValueError if it is not a number between the bounds."""
        number = plain(value)
        if not _is_number(number):
            raise ValueError(f"{value!r} is not a number")
        _check_inside(self, number)
        number = float(number) + 0.0
        if self.steps is not None and self.step is not None:
            nearest = float(self.steps.nearest(np.array(number)))
            return nearest if abs(nearest - number) <= ON_A_STEP * self.step else number
        return number

    def nearest(self, values: Any) -> Any:
        """The numbers that can be suggested, nearest to the values (an array); without step or digits, the values."""
        if self.steps is not None:
            return self.steps.nearest(values)
        if self.digits is not None:
            return FewDigits(self.digits, self.scale, np.array(self.low), np.array(self.high)).nearest(values)
        return values

    @cached_property
    def steps(self) -> EvenSteps | None:
        """What can be suggested where there is a step."""
        return None if self.step is None else EvenSteps.between(self.low, self.high, self.step)

    @property
    def levels(self) -> Sequence[float] | None:
        """The steps; None without a step; of a constant, its one value."""
        return (self.low,) if self.low == self.high else self.steps


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
        """Take NumPy integers as plain ones, and refuse what cannot be."""
        object.__setattr__(self, "low", plain(self.low))
        object.__setattr__(self, "high", plain(self.high))
        super().__post_init__()

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
