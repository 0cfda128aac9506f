"""Numbers that can be set on a dial: multiples of a step, or numbers of few digits, as the decimals they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from compbo.space.scales import round_digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from compbo.space.scales import Array

MOST_DIGITS = 12  # significant ones: a coordinate of the unit cube tells them apart on every scale
_EXACT_INTEGER = 2**53  # up to here a double holds every integer
_EXACT_POWER = 22  # 10^k is exact in a double up to here
_LINEAR_DECADES, _BILOG_DECADES = 12, 10  # below the largest number, or below 1, that a coordinate still resolves


class Dial(Protocol):
    """The numbers that can be set."""

    def nearest(self, values: Array) -> Array:
        """Those nearest to the values."""
        ...

    def beside(self, values: Array, sign: float) -> Array:
        """Of values that can be set the next larger ones (sign 1) or the next smaller ones (sign -1)."""
        ...


class WholeNumbers:
    """All integers."""

    def nearest(self, values: Array) -> Array:
        """The values, rounded."""
        return np.rint(values)

    def beside(self, values: Array, sign: float) -> Array:
        """The integers next to the values, by the sign larger or smaller."""
        return values + sign


@dataclass(frozen=True)
class EvenSteps(Sequence[float]):
    """low, low + step, ... up to high (`size` values), none of them listed: number k is (first + k stride) 10^exponent.

    >>> steps = EvenSteps.between(0.1, 0.5, 0.1)
    >>> list(steps), len(steps)
    ([0.1, 0.2, 0.3, 0.4, 0.5], 5)
    """

    first: int
    stride: int
    exponent: int
    size: int

    @classmethod
    def between(cls, low: float, high: float, step: float) -> EvenSteps:
        """The steps from low to high; ValueError if high is not one of them, or a double cannot hold them."""
        decimals = [Decimal(repr(number)).normalize() for number in (low, high, step)]
        exponent = min(int(decimal.as_tuple().exponent) for decimal in decimals)
        first, last, stride = (int(decimal.scaleb(-exponent)) for decimal in decimals)
        number, rest = divmod(last - first, stride)
        if abs(exponent) > _EXACT_POWER or max(abs(first), abs(last)) >= _EXACT_INTEGER:
            raise ValueError(f"step {step!r} is too small for numbers from {low!r} to {high!r}")
        steps = cls(first, stride, exponent, number + 1)
        if rest:
            raise ValueError(
                f"high {high!r} is not low plus a whole number of steps of {step!r}; the last one before it is "
                f"{steps[-1]!r}"
            )
        return steps

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[k] for k in range(*place.indices(self.size)))
        return float(self.at(np.array(range(self.size)[place], np.float64)))

    def at(self, places: Array) -> Array:
        """The numbers at these places; they are the doubles nearest to the decimals."""
        units = self.first + places * self.stride
        power = 10.0 ** abs(self.exponent)
        return units * power if self.exponent >= 0 else units / power

    def places(self, values: Array) -> Array:
        """The places of the steps nearest to the values."""
        power = 10.0 ** abs(self.exponent)
        units = values / power if self.exponent >= 0 else values * power
        return np.clip(np.rint((units - self.first) / self.stride), 0, self.size - 1)

    def nearest(self, values: Array) -> Array:
        """The steps nearest to the values."""
        return self.at(self.places(values))

    def beside(self, values: Array, sign: float) -> Array:
        """The next steps, by the sign larger or smaller; at the first and the last, that one again."""
        return self.at(np.clip(self.places(values) + sign, 0, self.size - 1))


@dataclass(frozen=True)
class FewDigits:
    """Rounds to significant decimal digits, and near zero to no less than a coordinate on the scale resolves.

    digits: how many. low, high (w,): the bounds, one pair per column; they have no more digits themselves.
    """

    digits: int
    scale: str
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def nearest(self, values: Array) -> Array:
        """The nearest numbers (..., w) of that many digits."""
        rounded = round_digits(values, self.digits)
        if self._has_zero:
            decades = self._finest_decade()
            power = 10.0 ** np.abs(decades)
            coarse = np.where(decades >= 0, np.rint(values / power) * power, np.rint(values * power) / power)
            rounded = np.where(np.abs(values) < 10.0 ** (decades + self.digits - 1), coarse, rounded)
        return np.clip(rounded, self.low, self.high)

    def beside(self, values: Array, sign: float) -> Array:
        """The next numbers of that many digits, by the sign larger or smaller; at a bound, the bound again."""
        decades = np.floor(np.log10(np.abs(np.where(values == 0.0, 1.0, values)))) + 1 - self.digits
        if self._has_zero:
            finest = self._finest_decade()
            decades = np.where(values == 0.0, finest, np.maximum(decades, finest))
        last_digit = 10.0**decades
        finer = self.nearest(values + sign * last_digit / 10.0)  # from 1.0 to 0.99
        return np.where(finer == values, self.nearest(values + sign * last_digit), finer)

    @property
    def _has_zero(self) -> bool:
        return self.scale in ("linear", "bilog")

    def _finest_decade(self) -> Array:
        """k (w,) so that steps of 10^k near zero have coordinates of their own."""
        largest = np.floor(np.log10(np.maximum(np.abs(self.low), np.abs(self.high))))
        return largest - _LINEAR_DECADES if self.scale == "linear" else np.minimum(largest, 0.0) - _BILOG_DECADES
