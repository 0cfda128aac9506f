"""How values of parameters become columns of the unit cube and back: encode, decode, round.

A codec does it for all parameters of a space that follow the same rule, at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from compbo.space.parameters import Bool, Categorical, Ordinal, Parameter, Scalar
from compbo.space.ranges import Float, Int
from compbo.space.scales import Intervals
from compbo.space.steps import FewDigits, WholeNumbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from compbo.space.scales import Array
    from compbo.space.steps import Dial

    Point = Mapping[str, Any]

# Largest number of levels for which the cube is cut into cells of equal size; with more, rounding errors would matter.
_EVEN_CELLS = 2**20


class Codec(Protocol):
    """The parameters of one rule: their names, and their columns of the unit cube."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        ...

    @property
    def columns(self) -> NDArray[np.intp]:
        """(w,) of the cube, parameter by parameter."""
        ...

    @property
    def discrete(self) -> bool:
        """Whether `round` does anything."""
        ...

    def encode(self, points: Sequence[Point]) -> Array:
        """Valid points -> unit coordinates (n, w)."""
        ...

    def decode(self, unit: Array) -> list[list[Scalar]]:
        """Unit coordinates (n, w) -> the values of every parameter, one list of n per name."""
        ...

    def round(self, unit: Array) -> Array:
        """The nearest valid coordinates (..., w)."""
        ...

    def neighbours(self, unit: Array) -> Array:
        """Valid coordinates (m, w) in which one parameter is one level, or one choice, away from those of unit (w,)."""
        ...


def _one_up_or_down(places: Array, lowest: Array | float, highest: Array) -> Array:
    """Places (w,) with one of them one higher or lower, (m, w); none beyond the lowest or the highest."""
    step = np.eye(len(places))
    moved = places + np.concatenate([step, -step])
    kept: Array = moved[((moved >= lowest) & (moved <= highest)).all(-1)]
    return kept


def _matrix(points: Sequence[Point], names: Sequence[str]) -> Array:
    return np.array([[point[name] for name in names] for point in points], np.float64).reshape(-1, len(names))


@dataclass(frozen=True)
class Reals:
    """Floats on one scale: their names and columns of the unit cube."""

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    intervals: Intervals
    discrete = False

    def encode(self, points: Sequence[Point]) -> Array:
        """Warp and shift to [0, 1]."""
        return self.intervals.coordinates(_matrix(points, self.names))

    def decode(self, unit: Array) -> list[list[Scalar]]:
        """The shortest decimals with these coordinates."""
        return self.intervals.short_values(unit).T.tolist()  # type: ignore[no-any-return]

    def round(self, unit: Array) -> Array:
        """Unchanged."""
        return unit

    def neighbours(self, unit: Array) -> Array:
        """None: there are no levels."""
        return unit[None][:0]


@dataclass(frozen=True)
class Rounded:
    """Numbers with possible values that are not evenly spaced on their scale: the one nearest to the unwarped value.

    names, columns: the parameters and their columns of the unit cube.

    Integers, and floats with a step, on a scale that is not linear; floats of few digits.
    """

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    intervals: Intervals
    dial: Dial
    whole: bool  # integers
    discrete = True

    def encode(self, points: Sequence[Point]) -> Array:
        """The nearest possible number, warped and shifted to [0, 1]."""
        return self.intervals.coordinates(self.dial.nearest(_matrix(points, self.names)))

    def decode(self, unit: Array) -> list[list[Scalar]]:
        """The nearest possible numbers."""
        values = self.dial.nearest(self.intervals.values(unit))
        return (values.astype(np.int64) if self.whole else values).T.tolist()  # type: ignore[no-any-return]

    def round(self, unit: Array) -> Array:
        """The coordinates of the nearest possible numbers."""
        return self.intervals.coordinates(self.dial.nearest(self.intervals.values(unit)))

    def neighbours(self, unit: Array) -> Array:
        """The next larger and the next smaller possible number."""
        values = self.dial.nearest(self.intervals.values(unit))
        beside = np.concatenate([np.tile(self.dial.beside(values, sign), (len(values), 1)) for sign in (1.0, -1.0)])
        one = np.tile(np.eye(len(values), dtype=bool), (2, 1))
        inside = (beside != values) & (beside >= self.intervals.low) & (beside <= self.intervals.high)
        return self.intervals.coordinates(np.where(one, beside, values)[(one & inside).any(-1)])


@dataclass(frozen=True)
class Levels:
    """Evenly spaced levels (linear integers and steps, bools, ordinals): level k of n has coordinate k / (n - 1).

    names, columns, parameters: the parameters and their columns of the unit cube.

    [0, 1] is cut into n cells of equal size, so that a uniform coordinate falls on every level equally often. With more
    than a million levels a coordinate goes to the nearest one instead: the first and the last level then have cells of
    half the size, which no longer matters.
    """

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    parameters: tuple[Int | Float | Bool | Ordinal, ...]
    discrete = True

    @cached_property
    def _levels(self) -> list[Sequence[Scalar]]:
        return [parameter.levels or () for parameter in self.parameters]

    @cached_property
    def _last(self) -> Array:
        return np.array([len(levels) - 1 for levels in self._levels], np.float64)

    @cached_property
    def _widening(self) -> Array:
        # floor(u n) = round(u (n - 1) + (u - 1/2)); a little less than 1 keeps levels inside their own cells
        return np.where(self._last < _EVEN_CELLS, 1.0 - 2.0**-20, 0.0)

    def _places(self, unit: Array) -> Array:
        return np.clip(np.rint(unit * self._last + self._widening * (unit - 0.5)), 0.0, self._last)

    def encode(self, points: Sequence[Point]) -> Array:
        """k / (n - 1)."""
        places = [
            [_place(parameter, point[name]) for name, parameter in zip(self.names, self.parameters, strict=True)]
            for point in points
        ]
        return np.array(places, np.float64).reshape(-1, len(self.names)) / self._last

    def decode(self, unit: Array) -> list[list[Scalar]]:
        """The levels whose cells these are."""
        places = self._places(unit).astype(np.int64).T.tolist()
        return [[levels[k] for k in column] for levels, column in zip(self._levels, places, strict=True)]

    def round(self, unit: Array) -> Array:
        """The coordinates of those levels."""
        return self._places(unit) / self._last

    def neighbours(self, unit: Array) -> Array:
        """The next lower and the next higher level."""
        return _one_up_or_down(self._places(unit), 0.0, self._last) / self._last


def _place(parameter: Int | Float | Bool | Ordinal, value: Any) -> int:
    if isinstance(parameter, Ordinal):
        return parameter.index(value)
    if isinstance(parameter, Float):
        return int(parameter.steps.places(np.array(value))) if parameter.steps is not None else 0
    return int(value) - (parameter.low if isinstance(parameter, Int) else 0)


@dataclass(frozen=True)
class OneHot:
    """Categoricals with the same number of choices, one column per choice: the largest coordinate wins.

    names, columns, parameters: the parameters and the columns of the unit cube of each.
    """

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    parameters: tuple[Categorical, ...]
    discrete = True

    @property
    def _choices(self) -> int:
        return len(self.columns) // len(self.names)

    def _blocks(self, unit: Array) -> Array:
        return unit.reshape(*unit.shape[:-1], len(self.names), self._choices)

    def encode(self, points: Sequence[Point]) -> Array:
        """1 in the column of the choice, 0 in the others."""
        places = [
            [parameter.index(point[name]) for name, parameter in zip(self.names, self.parameters, strict=True)]
            for point in points
        ]
        return np.eye(self._choices).take(np.array(places, np.intp), axis=0).reshape(len(points), len(self.columns))

    def decode(self, unit: Array) -> list[list[Scalar]]:
        """The choices with the largest coordinates."""
        places = self._blocks(unit).argmax(-1).T.tolist()
        return [
            [parameter.choices[k] for k in column] for parameter, column in zip(self.parameters, places, strict=True)
        ]

    def round(self, unit: Array) -> Array:
        """1 in the column with the largest coordinate of a parameter, 0 in its others."""
        winners: NDArray[np.intp] = self._blocks(unit).argmax(-1)
        return np.eye(self._choices).take(winners, axis=0).reshape(unit.shape)

    def neighbours(self, unit: Array) -> Array:
        """All other choices."""
        chosen = self._blocks(unit).argmax(-1)
        places = [
            np.where(np.arange(len(chosen)) == i, choice, chosen)
            for i in range(len(chosen))
            for choice in range(self._choices)
            if choice != chosen[i]
        ]
        return np.eye(self._choices).take(np.array(places, np.intp), axis=0).reshape(len(places), len(unit))


def width(parameter: Parameter) -> int:
    """Number of columns a parameter takes."""
    if parameter.is_constant:
        return 0
    return len(parameter.choices) if isinstance(parameter, Categorical) else 1


def _rule(parameter: Parameter) -> tuple[type, object]:
    """The codec of a parameter, and what else its parameters must have in common."""
    if isinstance(parameter, Float) and parameter.digits is not None:
        return Rounded, (parameter.scale, parameter.digits)
    if isinstance(parameter, Float) and parameter.step is None:
        return Reals, parameter.scale
    if isinstance(parameter, Float | Int) and parameter.scale != "linear":
        return Rounded, (parameter.scale, parameter.steps if isinstance(parameter, Float) else "whole")
    if isinstance(parameter, Categorical):
        return OneHot, len(parameter.choices)
    return Levels, None


def codecs(parameters: Mapping[str, Parameter]) -> tuple[Codec, ...]:
    """The codecs of a space; columns are in the order of the parameters, and constants have none."""
    groups: dict[tuple[type, object], list[tuple[str, int]]] = {}
    first = 0
    for name, parameter in parameters.items():
        if not parameter.is_constant:
            groups.setdefault(_rule(parameter), []).append((name, first))
            first += width(parameter)
    return tuple(_codec(kind, members, parameters) for (kind, _), members in groups.items())


def _codec(kind: type, members: Sequence[tuple[str, int]], parameters: Mapping[str, Parameter]) -> Codec:
    names = tuple(name for name, _ in members)
    columns = np.array([start + k for name, start in members for k in range(width(parameters[name]))], np.intp)
    own: Any = tuple(parameters[name] for name in names)
    if kind in (Levels, OneHot):
        return kind(names, columns, own)
    intervals = Intervals.between([p.low for p in own], [p.high for p in own], own[0].scale)
    if kind is Reals:
        return Reals(names, columns, intervals)
    whole = isinstance(own[0], Int)
    return Rounded(names, columns, intervals, WholeNumbers() if whole else _dial(own[0], intervals), whole)


def _dial(parameter: Float, intervals: Intervals) -> Dial:
    """What rounds the columns of parameters that follow the rule of this one."""
    if parameter.steps is not None:
        return parameter.steps
    return FewDigits(parameter.digits or 1, parameter.scale, intervals.low, intervals.high)
