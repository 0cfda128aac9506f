"""Input warps: a monotone map of every dimension of the unit cube in front of the kernel.

A stationary kernel takes the objective to change equally fast everywhere along a parameter. Where it changes faster
near a border (an optimum there, a parameter on the wrong scale) the warp stretches that part. It is fitted together
with the other hyperparameters, with a prior towards none (Snoek et al., 2014, with Kumaraswamy's distribution).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

import numpy as np
import torch

from compbo.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

NONE, WARPED = "none", "warped"  # what `inputs` may be
EDGE = 1e-3  # beyond [EDGE, 1 - EDGE] the warp goes on as a line: its slope stays finite, inside the cube and outside
SHAPE_BOUNDS = (0.1, 10.0)  # of a and b


class ShapePrior(NamedTuple):
    """log x is normal around 0 with this scale, by its density in log x: the greatest is at a shape of 1, no warp."""

    scale: float

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """-log(s sqrt(2 pi)) - (log x)^2 / (2 s^2)."""
        return -math.log(self.scale * math.sqrt(2.0 * math.pi)) - np.log(x) ** 2 / (2.0 * self.scale**2)

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """-log x / (s^2 x)."""
        return -np.log(x) / (self.scale**2 * x)

    @property
    def middle(self) -> float:
        """1, no warp."""
        return 1.0


# BoTorch's examples and Ax have a scale of sqrt(0.75). With it, where observations are few, runs in 20 dimensions and
# more ended far worse than without a warp, and a fit took several times as long.
SHAPE_PRIOR = ShapePrior(0.25)


class InputWarp(Protocol):
    """What a model needs of a warp: an increasing map of every column of x (..., d), and its slope on the way back."""

    name: ClassVar[str]

    def forward(self, x: Tensor) -> Tensor:
        """The warped points w(x)."""
        ...

    def pull(self, x: Tensor, dw: Tensor) -> Tensor:
        """A cotangent of w(x) -> that of x: the product with the slope dw/dx."""
        ...

    def describe(self) -> str:
        """Its name and what was fitted, for telemetry."""
        ...


@dataclass(frozen=True)
class Unwarped:
    """w(x) = x."""

    name: ClassVar[str] = NONE

    def forward(self, x: Tensor) -> Tensor:
        """The points as they are."""
        return x

    def pull(self, x: Tensor, dw: Tensor) -> Tensor:
        """The cotangent dw as it is; x does not matter."""
        del x
        return dw

    def describe(self) -> str:
        """Its name."""
        return self.name


UNWARPED = Unwarped()


class WarpedAt(NamedTuple):
    """A warp at points x: w and its derivatives, each (..., d)."""

    value: Tensor  # w(x)
    slope: Tensor  # dw/dx
    slope_a: Tensor  # dw/d log a
    slope_b: Tensor  # dw/d log b


class _Inside(NamedTuple):
    """What all formulas share, at c, the point of [EDGE, 1 - EDGE] nearest to x."""

    c: Tensor
    power: Tensor  # c^a
    log_rest: Tensor  # log(1 - c^a)
    value: Tensor  # w(c)
    slope: Tensor  # w'(c)


@dataclass(frozen=True, eq=False)
class Kumaraswamy:
    """w(x) = 1 - (1 - x^a)^b in every dimension, with shapes a (d,) and b (d,); 1 and 1 are no warp.

    Beyond [EDGE, 1 - EDGE] it goes on as a line, with a continuous slope.
    """

    a: Tensor
    b: Tensor
    name: ClassVar[str] = WARPED

    def forward(self, x: Tensor) -> Tensor:
        """The warped points w(x)."""
        at = self._inside(x)
        return torch.addcmul(at.value, at.slope, x - at.c)

    def pull(self, x: Tensor, dw: Tensor) -> Tensor:
        """dw times the slope at x, which is a b c^(a-1) (1 - c^a)^(b-1)."""
        return dw * self._inside(x).slope

    def at(self, x: Tensor) -> WarpedAt:
        """w(x) with its derivatives in x and in the logarithms of the shapes."""
        c, power, log_rest, value, slope = self._inside(x)
        log, beyond = c.log() * self.a, slope * (x - c)
        slope_a = slope * c * log / self.a + beyond * (1.0 + log - (self.b - 1.0) * log * power / (1.0 - power))
        along_b = self.b * log_rest
        slope_b = beyond * (1.0 + along_b) - along_b * along_b.exp()
        return WarpedAt(value + beyond, slope, slope_a, slope_b)

    def describe(self) -> str:
        """Name and the ranges of the shapes."""
        ranges = (f"{name} {float(shape.min()):.2f} to {float(shape.max()):.2f}" for name, shape in self._shapes)
        return f"{self.name} ({', '.join(ranges)})"

    @property
    def _shapes(self) -> tuple[tuple[str, Tensor], ...]:
        return ("a", self.a), ("b", self.b)

    def _inside(self, x: Tensor) -> _Inside:
        c = x.clamp(EDGE, 1.0 - EDGE)
        power = c.pow(self.a)
        log_rest = torch.log1p(-power)
        rest = torch.exp(self.b * log_rest)  # (1 - c^a)^b
        slope = (self.a * self.b) * power * rest / (c * (1.0 - power))
        return _Inside(c, power, log_rest, 1.0 - rest, slope)


def check_inputs(name: str) -> str:
    """The name itself, "none" or "warped"; OptionError for another one."""
    if name not in (NONE, WARPED):
        raise OptionError(
            "inputs", "{option} {given!r} is unknown; choose one of {known}.", given=name, known=f"{NONE}, {WARPED}"
        )
    return name
