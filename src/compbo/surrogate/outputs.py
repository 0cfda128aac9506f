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
    """t = -log(FLOOR + (best - y) / spread): the distance to the best value, logarithmic.

    spread is the distance from the median to the best.
    """

    best: float
    spread: float
    name: ClassVar[str] = "log"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values t(y), for values up to the best."""
        return -torch.log(self._distance(y))

    def inverse(self, t: Tensor) -> Tensor:
        """The value y; at most best + FLOOR * spread."""
        return self.best - self.spread * (torch.exp(-t).clamp_max(LARGEST) - FLOOR)

    def slope(self, y: Tensor) -> Tensor:
        """1 / (spread (FLOOR + (best - y) / spread))."""
        return 1.0 / (self.spread * self._distance(y))

    def describe(self) -> str:
        """Its name."""
        return self.name

    def _distance(self, y: Tensor) -> Tensor:
        return FLOOR + (self.best / self.spread - y / self.spread).clamp(0.0, LARGEST)


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


TRANSFORMS: dict[str, Callable[[Tensor], OutputTransform]] = {
    "none": lambda _: Identity(),
    "yeo-johnson": fit_yeo_johnson,
    "log": fit_log_warp,
}
AUTO = "yeo-johnson"  # what "auto" takes


def fit_outputs(name: str, y: Tensor) -> OutputTransform:
    """The transform of that name ("auto", "none", "yeo-johnson", "log"), fitted to measured values y (n,).

    With too few different values to learn a shape from it is the identity.
    """
    fit = TRANSFORMS[check_outputs(name)]
    if len(set(y.tolist())) < FEWEST or float(standardise(y).values.abs().max()) == 0.0:
        return Identity()
    return fit(y)


def check_outputs(name: str) -> str:
    """The name of the transform that `name` stands for; OptionError if there is none."""
    known = AUTO if name == "auto" else name
    if not isinstance(known, str) or known not in TRANSFORMS:
        raise OptionError(
            "outputs", "{option} {given!r} is unknown; choose one of {known}.", given=name, known=_known_names()
        )
    return known


def _known_names() -> str:
    return ", ".join(["auto", *TRANSFORMS])


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
    """The shape of greatest likelihood: the best of a grid, refined between its neighbours."""
    from scipy.optimize import minimize_scalar

    logarithm = np.sign(z) * np.log1p(np.abs(z))

    def loss(shape: float) -> float:
        """-log likelihood of a normal distribution after the transform."""
        t = YeoJohnson(shape, 0.0, 1.0).forward(torch.as_tensor(z)).numpy()
        return float(0.5 * len(z) * np.log(np.var(t)) - (shape - 1.0) * logarithm.sum())

    grid = np.linspace(*SHAPES, GRID)
    values = np.array([loss(shape) for shape in grid])
    i = int(values.argmin())
    found = minimize_scalar(loss, bounds=(grid[max(i - 1, 0)], grid[min(i + 1, GRID - 1)]), method="bounded")
    return float(found.x) if found.fun < values[i] else float(grid[i])
