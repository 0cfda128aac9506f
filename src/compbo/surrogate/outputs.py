"""Output transforms: a monotone map of the values, after which a Gaussian process fits them better.

A few poor values (a loss of 1e6 beside losses of 0.1) dominate a Gaussian process that is fitted to the values as they
are. Every transform here is increasing, so the best stays the best, and follows y -> a y + b with a > 0: suggestions do
not depend on the units. Everything is maximised: the poor values are the small ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import torch

from compbo.errors import OptionError
from compbo.numerics import standardise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

FEWEST = 4  # different values that are needed to learn a shape
SHAPES = (-3.0, 5.0)  # range of Yeo-Johnson's lambda; 1 is the identity
GRID = 33  # shapes that are compared before the best is refined
FLOOR = 0.1  # of the logarithmic warp, in units of the distance from the median to the best
FLOORS = (0.03, 10.0)  # range of a fitted one: from this in units of the best quarter, to this in units of all values
TOP = 0.25  # the best quarter
SMALLEST_SPREAD = 1e-9  # of the quartiles, in units of the whole range
LARGEST = 1e8  # of a standardised value: beyond it powers overflow


class OutputTransform(Protocol):
    """What a model needs of an output transform: an increasing map t(y), its inverse and its slope."""

    name: ClassVar[str]

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values t(y)."""
        ...

    def inverse(self, t: Tensor) -> Tensor:
        """The value y with t(y) = t."""
        ...

    def slope(self, y: Tensor) -> Tensor:
        """The slope dt/dy at every value."""
        ...

    def describe(self) -> str:
        """Its name and what was fitted, for telemetry."""
        ...


@dataclass(frozen=True)
class Identity:
    """t(y) = y."""

    name: ClassVar[str] = "none"

    def forward(self, y: Tensor) -> Tensor:
        """The values as they are."""
        return y

    def inverse(self, t: Tensor) -> Tensor:
        """The values as they are."""
        return t

    def slope(self, y: Tensor) -> Tensor:
        """1 for every value."""
        return torch.ones_like(y)

    def describe(self) -> str:
        """Its name."""
        return self.name


@dataclass(frozen=True)
class YeoJohnson:
    """Yeo and Johnson (2000), of z = (y - centre) / spread, with the shape lambda.

    centre, spread: the median and the distance of the quartiles.

    t = ((1 + z)^lambda - 1) / lambda where z >= 0, and -((1 - z)^(2 - lambda) - 1) / (2 - lambda) where z < 0; a
    logarithm where the exponent is 0. lambda > 1 draws poor values together.
    """

    shape: float
    centre: float
    spread: float
    name: ClassVar[str] = "yeo-johnson"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values t(y)."""
        z = self._standard(y)
        return torch.where(z < 0, -_power(-z, 2.0 - self.shape), _power(z, self.shape))

    def inverse(self, t: Tensor) -> Tensor:
        """The value y; where t lies beyond what t(y) reaches, the largest finite z."""
        z = torch.where(t < 0, -_root(-t, 2.0 - self.shape), _root(t, self.shape))
        return self.centre + self.spread * z

    def slope(self, y: Tensor) -> Tensor:
        """(1 + |z|)^(+-(lambda - 1)) / spread."""
        z = self._standard(y)
        return torch.exp((self.shape - 1.0) * z.sign() * torch.log1p(z.abs())) / self.spread

    def describe(self) -> str:
        """Name and shape."""
        return f"{self.name} ({self.shape:.2f})"

    def _standard(self, y: Tensor) -> Tensor:
        return (y / self.spread - self.centre / self.spread).clamp(-LARGEST, LARGEST)


@dataclass(frozen=True)
class LogWarp:
    """t = -log(floor + (best - y) / spread): the distance to the best value, logarithmic.

    spread is the distance to the best, from the median or, where the floor is fitted, from the end of the best quarter.
    """

    best: float
    spread: float
    floor: float = FLOOR
    name: ClassVar[str] = "log"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values t(y), for values up to the best."""
        return -torch.log(self._distance(y))

    def inverse(self, t: Tensor) -> Tensor:
        """The value y; at most best + floor * spread."""
        return self.best - self.spread * (torch.exp(-t).clamp_max(LARGEST) - self.floor)

    def slope(self, y: Tensor) -> Tensor:
        """1 / (spread (floor + (best - y) / spread))."""
        return 1.0 / self._distance(y) / self.spread  # their product may not be finite

    def describe(self) -> str:
        """Name and floor."""
        return f"{self.name} ({self.floor:.2g})"

    def _distance(self, y: Tensor) -> Tensor:
        return self.floor + (self.best / self.spread - y / self.spread).clamp(0.0, LARGEST)


def fit_yeo_johnson(y: Tensor) -> OutputTransform:
    """Yeo-Johnson with the shape of greatest likelihood (the Jacobian counted) of values y (n,).

    >>> fit_yeo_johnson(-torch.exp(torch.linspace(0.0, 5.0, 50, dtype=torch.float64))).describe()
    'yeo-johnson (3.08)'
    """
    centre, spread = _middle(y)
    z = YeoJohnson(1.0, centre, spread).forward(y)
    return YeoJohnson(_best_shape(z.numpy()), centre, spread)


def fit_log_warp(y: Tensor) -> OutputTransform:
    """The logarithmic warp between the median and the best of values y (n,)."""
    best = float(y.max())
    spread = best / 2.0 - float(y.median()) / 2.0  # halves: the difference of 1e308 and -1e308 is not finite
    if spread == 0.0:  # half of the values are the best one
        spread = best / 2.0 - float(y.min()) / 2.0
    return LogWarp(best, min(2.0 * spread, torch.finfo(y.dtype).max))


def fit_floor(y: Tensor) -> OutputTransform:
    """The logarithmic warp of values y (n,) whose floor has the greatest likelihood, the Jacobian counted.

    Distances are in units of the best quarter: with most values behind a wall of penalties, the good ones stay apart.
    The best value takes no part in the Jacobian, which would have no bound there.

    >>> losses = torch.cat([torch.linspace(1.0, 1.1, 15), torch.linspace(1e4, 1e5, 25)]).double()
    >>> fit_floor(-losses).describe()
    'log (0.03)'
    """
    magnitude = float(y.abs().max())
    away = (y.max() / magnitude - y / magnitude).sort().values
    ends = [*torch.quantile(away, torch.tensor([TOP, 0.5], dtype=y.dtype)).tolist(), float(away[-1])]
    spread = next(end for end in ends if end > SMALLEST_SPREAD * ends[-1])
    distances = (away / spread).numpy()

    def loss(log_floor: float) -> float:
        """-log likelihood of a normal distribution after the transform."""
        t = np.log(math.exp(log_floor) + distances)
        return float(0.5 * len(t) * np.log(np.var(t)) + t[1:].sum())

    floor = _least(loss, np.linspace(math.log(FLOORS[0]), math.log(FLOORS[1] * distances[-1]), GRID))
    finite = torch.finfo(y.dtype)
    return LogWarp(float(y.max()), min(max(spread * magnitude, math.ulp(0.0)), finite.max), math.exp(floor))


TRANSFORMS: dict[str, Callable[[Tensor], OutputTransform]] = {
    "none": lambda _: Identity(),
    "yeo-johnson": fit_yeo_johnson,
    "log": fit_log_warp,
    "log-fitted": fit_floor,
}
# Names that stand for several: a model chooses one of them (`bo/model.py`).
CHOICES: dict[str, tuple[str, ...]] = {"evidence": ("yeo-johnson", "log-fitted")}
AUTO = "evidence"  # what "auto" takes
EARLIER_AUTO = "yeo-johnson"  # what it took when "auto" itself was stored


def fit_outputs(name: str, y: Tensor) -> tuple[OutputTransform, ...]:
    """The transforms that a name stands for, fitted to measured values y (n,).

    Args:
        name: "auto", "none", "yeo-johnson", "log", "log-fitted" or "evidence".
        y: the values.

    Returns:
        One, or several for a model to choose from. With too few different values to learn a shape from: the identity.
    """
    name = check_outputs(name)
    if len(set(y.tolist())) < FEWEST or float(standardise(y).values.abs().max()) == 0.0:
        return (Identity(),)
    return tuple(TRANSFORMS[one](y) for one in CHOICES.get(name, (name,)))


def check_outputs(name: str) -> str:
    """The name of the transform that `name` stands for; OptionError if there is none."""
    known = AUTO if name == "auto" else name
    if not isinstance(known, str) or known not in {**TRANSFORMS, **CHOICES}:
        raise OptionError(
            "outputs", "{option} {given!r} is unknown; choose one of {known}.", given=name, known=_known_names()
        )
    return known


def _known_names() -> str:
    return ", ".join(["auto", *TRANSFORMS, *CHOICES])


def _middle(y: Tensor) -> tuple[float, float]:
    """Median and distance of the quartiles: one outlier does not change them. The deviation, where quartiles meet."""
    magnitude = float(y.abs().max())
    relative = y / magnitude
    low, median, high = torch.quantile(relative, torch.tensor([0.25, 0.5, 0.75], dtype=y.dtype)).tolist()
    reach = float(relative.max() - relative.min())
    spread = high - low if high - low > SMALLEST_SPREAD * reach else float(relative.std())
    finite = torch.finfo(y.dtype)
    return median * magnitude, min(max(spread * magnitude, math.ulp(0.0)), finite.max)


def _power(z: Tensor, exponent: float) -> Tensor:
    """((1 + z)^exponent - 1) / exponent of z >= 0 (negative entries are left out by the caller)."""
    logarithm = torch.log1p(z.clamp_min(0.0))
    return logarithm if abs(exponent) < 1e-8 else torch.expm1(exponent * logarithm) / exponent


def _root(t: Tensor, exponent: float) -> Tensor:
    """The z >= 0 with _power(z) = t, at most LARGEST."""
    t = t.clamp_min(0.0)
    logarithm = t if abs(exponent) < 1e-8 else torch.log1p((exponent * t).clamp_min(-1.0)) / exponent
    return torch.expm1(logarithm.clamp_max(math.log1p(LARGEST)))


def _best_shape(z: NDArray[np.float64]) -> float:
    """The shape of greatest likelihood."""
    logarithm = np.sign(z) * np.log1p(np.abs(z))

    def loss(shape: float) -> float:
        """-log likelihood of a normal distribution after the transform."""
        t = YeoJohnson(shape, 0.0, 1.0).forward(torch.as_tensor(z)).numpy()
        return float(0.5 * len(z) * np.log(np.var(t)) - (shape - 1.0) * logarithm.sum())

    return _least(loss, np.linspace(*SHAPES, GRID))


def _least(loss: Callable[[float], float], grid: NDArray[np.float64]) -> float:
    """Where a loss is least: at the best point of a grid, refined between its neighbours."""
    from scipy.optimize import minimize_scalar

    values = np.array([loss(at) for at in grid])
    i = int(values.argmin())
    found = minimize_scalar(loss, bounds=(grid[max(i - 1, 0)], grid[min(i + 1, GRID - 1)]), method="bounded")
    return float(found.x) if found.fun < values[i] else float(grid[i])
