"""Scales (linear, log, logit, bilog), and how they map an interval to [0, 1] and back without losing a digit.

A unit coordinate is one double, so it resolves about 1e-16 of the (warped) range, and values closer than that have the
same coordinate. `Intervals.short_values` chooses among them the shortest decimal. It gives back every value of up to 12
significant digits (on a linear scale counted from the larger bound, on a bilog scale from 1 if the value is smaller),
and every value that it has returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Candidate = Callable[["Intervals", Array, Array], Array]  # intervals, coordinates, values -> other values

# m / 10^k is the double nearest to that decimal as long as m < 2^53 and 10^k is exact, that is k <= 22.
_EXACT_POWER = 22
_MAX_DIGITS = 15
_ATTEMPTS = 8


class Scale(NamedTuple):
    """An increasing function of the real numbers, or of a part of them, `warp`, and its inverse, `unwarp`."""

    warp: Callable[[Array], Array]
    unwarp: Callable[[Array], Array]


def _identity(values: Array) -> Array:
    return values


def _logit(values: Array) -> Array:
    return np.log(values / (1.0 - values))


def _logistic(values: Array) -> Array:
    small = np.exp(-np.abs(values))  # cannot overflow
    return np.where(values >= 0, 1.0, small) / (1.0 + small)


def _bilog(values: Array) -> Array:
    """sign(x) log(1 + |x|), as in Bayesmark: a log scale that goes through zero."""
    return np.sign(values) * np.log1p(np.abs(values))


def _biexp(values: Array) -> Array:
    return np.sign(values) * np.expm1(np.abs(values))


SCALES: dict[str, Scale] = {
    "linear": Scale(_identity, _identity),
    "log": Scale(np.log, np.exp),
    "logit": Scale(_logit, _logistic),
    "bilog": Scale(_bilog, _biexp),
}


def warp(values: object, scale: str) -> Array:
    """The values on their scale."""
    return SCALES[scale].warp(np.array(values, dtype=np.float64))


@dataclass(frozen=True)
class Intervals:
    """Intervals [low, high] on one scale, one per column; `start` and `width` are their warped ends."""

    scale: str
    low: Array
    high: Array
    start: Array
    width: Array

    @classmethod
    def between(cls, low: object, high: object, scale: str) -> Intervals:
        """The intervals with these ends; the parameters have checked them already."""
        start = warp(low, scale)
        return cls(scale, np.array(low, np.float64), np.array(high, np.float64), start, warp(high, scale) - start)

    def coordinates(self, values: Array) -> Array:
        """Values (n, m) -> unit coordinates (n, m): exactly 0 at low and 1 at high."""
        unit = (SCALES[self.scale].warp(np.ascontiguousarray(values)) - self.start) / self.width
        unit = np.clip(unit, 0.0, 1.0)
        return np.where(values <= self.low, 0.0, np.where(values >= self.high, 1.0, unit))

    def values(self, unit: Array) -> Array:
        """Unit coordinates -> the values they stand for, to rounding error, always inside [low, high]."""
        with np.errstate(over="ignore"):  # exp of the warped largest double may round up to infinity
            values = SCALES[self.scale].unwarp(self.start + np.ascontiguousarray(unit) * self.width)
        values = np.clip(values, self.low, self.high)
        return np.where(unit <= 0.0, self.low, np.where(unit >= 1.0, self.high, values))

    def short_values(self, unit: Array) -> Array:
        """Unit coordinates (n, m) -> the shortest decimals (n, m) that have these coordinates.

        Where values are coarser than coordinates, as in [1000, 1001], most coordinates belong to no value: those first
        move to the coordinate of the value next to them.
        """
        flat = self._select(np.broadcast_to(np.arange(self.low.size), unit.shape).ravel())
        target = np.clip(unit, 0.0, 1.0).ravel()
        result, unmatched = flat._shortest(target)
        for _ in range(_ATTEMPTS):
            if not unmatched.size:
                break
            rest = flat._select(unmatched)
            target[unmatched] = rest.coordinates(rest.values(target[unmatched]))
            result[unmatched], missing = rest._shortest(target[unmatched])
            unmatched = unmatched[missing]
        return result.reshape(unit.shape)

    def _select(self, index: NDArray[np.intp]) -> Intervals:
        return Intervals(self.scale, self.low[index], self.high[index], self.start[index], self.width[index])

    def _shortest(self, unit: Array) -> tuple[Array, NDArray[np.intp]]:
        """For 1-D arrays: the first candidate that has exactly this coordinate, and the places where none has."""
        guess = self.values(unit)
        result = guess.copy()
        unmatched = np.arange(unit.size)
        for candidate_of in _CANDIDATES:
            rest = self._select(unmatched)
            candidate = np.clip(candidate_of(rest, unit[unmatched], guess[unmatched]), rest.low, rest.high)
            hit = rest.coordinates(candidate) == unit[unmatched]
            result[unmatched[hit]] = candidate[hit]
            unmatched = unmatched[~hit]
            if not unmatched.size:
                break
        return result, unmatched


def _to_digits(digits: int) -> Candidate:
    return lambda _intervals, _unit, guess: round_digits(guess, digits)


def _nearby_value(steps: int) -> Candidate:
    return lambda _intervals, _unit, guess: guess + steps * np.spacing(guess)


def _value_nearby(steps: int) -> Candidate:
    return lambda intervals, unit, _guess: intervals.values(unit + steps * np.spacing(unit))


# Candidates for the value of a coordinate, the shortest first: the bounds, zero, few digits, then the computed value
# and its neighbours (a rounding error can move the computed value to the next coordinate).
_CANDIDATES: tuple[Candidate, ...] = (
    lambda intervals, _unit, _guess: intervals.low,
    lambda intervals, _unit, _guess: intervals.high,
    lambda _intervals, _unit, guess: np.zeros_like(guess),
    *(_to_digits(digits) for digits in range(1, _MAX_DIGITS + 1)),
    lambda _intervals, _unit, guess: guess,
    *(nearby(steps) for steps in (1, -1, 2, -2) for nearby in (_nearby_value, _value_nearby)),
)


def round_digits(values: Array, digits: int) -> Array:
    """The values rounded to a number of significant decimal digits, at most 15, as the nearest doubles."""
    exponent = np.floor(np.log10(np.abs(np.where(values == 0.0, 1.0, values))))
    places = digits - 1 - exponent
    exact = np.abs(places) <= _EXACT_POWER
    power = 10.0 ** np.where(exact, np.abs(places), 0.0)
    rounded = np.where(places >= 0, np.rint(values * power) / power, np.rint(values / power) * power)
    if not exact.all():  # very large or very small: the decimal reader gets it right
        rounded[~exact] = [float(f"{value:.{digits - 1}e}") for value in values[~exact].tolist()]
    return rounded
