"""Transforms of the values that were tried for walls of penalties, and another way to choose, beside the library's.

A plugin of the study: `compbo study run --plugin benchmarks.defaults.outputs --grid benchmarks/defaults/outputs.toml`.
Method `outputs-NAME` is the default with `outputs=NAME`. Everything is maximised: the poor values are the small ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from compbo.bo.model import MERITS, log_evidence
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method
from compbo.surrogate import outputs as library
from compbo.surrogate.leave_one_out import leave_one_out
from compbo.surrogate.outputs import TOP, OutputTransform, YeoJohnson, fit_yeo_johnson

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.surrogate.gp import GP

    Fit = Callable[[Tensor], OutputTransform]

RESOLUTION = 0.1  # of ranks, in standard deviations


@dataclass(frozen=True)
class Chain:
    """One transform after another."""

    first: OutputTransform
    second: OutputTransform
    name: ClassVar[str] = "chain"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values."""
        return self.second.forward(self.first.forward(y))

    def inverse(self, t: Tensor) -> Tensor:
        """The values."""
        return self.first.inverse(self.second.inverse(t))

    def slope(self, y: Tensor) -> Tensor:
        """The product of both slopes."""
        return self.first.slope(y) * self.second.slope(self.first.forward(y))

    def describe(self) -> str:
        """Both."""
        return f"{self.first.describe()}, {self.second.describe()}"


@dataclass(frozen=True, eq=False)
class Knots:
    """Piecewise linear through the points (at, to), both increasing; the first and the last piece go on.

    unit: of `at`.
    """

    at: Tensor
    to: Tensor
    unit: float = 1.0
    name: ClassVar[str] = "knots"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values."""
        return _on_line(y / self.unit, self.at, self.to)[0]

    def inverse(self, t: Tensor) -> Tensor:
        """The values."""
        return self.unit * _on_line(t, self.to, self.at)[0]

    def slope(self, y: Tensor) -> Tensor:
        """That of the piece."""
        return _on_line(y / self.unit, self.at, self.to)[1] / self.unit

    def describe(self) -> str:
        """How many knots."""
        return f"{self.name} ({len(self.at)})"


def _on_line(x: Tensor, at: Tensor, to: Tensor) -> tuple[Tensor, Tensor]:
    """Values and slopes."""
    i = (torch.searchsorted(at, x.contiguous()) - 1).clamp(0, len(at) - 2)
    length, height = at[i + 1] - at[i], to[i + 1] - to[i]
    return to[i] + (x - at[i]) / length * height, height / length


def _shares(y: Tensor) -> tuple[Tensor, Tensor]:
    """Different values, and the share of values below each, half of its own counted."""
    different, counts = y.unique(return_counts=True)
    return different, (counts.cumsum(0) - counts.to(y.dtype) / 2.0) / len(y)


def fit_ranks(y: Tensor) -> OutputTransform:
    """The normal quantiles at the ranks of values y (n,), linear between values that are closer than `RESOLUTION`.

    Beyond the best value, and beyond the worst, it goes on as from the end of that quarter of the values to it.
    """
    unit = float(y.abs().max())
    values, share = _shares(y / unit)
    quantiles, last = torch.special.ndtri(share), len(values) - 1
    kept = [last]
    for i in range(last - 1, -1, -1):
        if i == 0 or quantiles[kept[-1]] - quantiles[i] >= RESOLUTION:
            kept.append(i)
    best, worst = min(int((share < 1.0 - TOP).sum()), last - 1), max(int((share < TOP).sum()), 1)
    return Knots(
        *(torch.cat([2 * v[:1] - v[worst], v[kept[::-1]], 2 * v[-1:] - v[best]]) for v in (values, quantiles)), unit
    )


def fit_half_rank(y: Tensor) -> OutputTransform:
    """Ranks for the worse half of y (n,), the better one as it is, in units of its spread (Song et al., 2024)."""
    middle = y.quantile(0.5)
    spread = (y[y >= middle] - middle).square().mean().sqrt()
    spread = spread if spread > 0 else y.std()
    different, share = _shares(y)
    poor = different < middle
    end = torch.maximum(y.max(), middle + spread)
    at = torch.cat([different[poor], torch.stack([middle, end])])
    to = torch.special.ndtri(share[poor].clamp_max(0.499))
    return Knots(at, torch.cat([to, torch.stack([torch.zeros_like(middle), (end - middle) / spread])]))


def then_yeo_johnson(fit: Fit) -> Fit:
    """A fit, and Yeo-Johnson of what comes out of it."""

    def chained(y: Tensor) -> OutputTransform:
        first = fit(y)
        return Chain(first, fit_yeo_johnson(first.forward(y)))

    return chained


@dataclass(frozen=True)
class Power:
    """-((floor + (best - y) / spread)^shape - 1) / shape: Box and Cox (1964) of the distance to the best."""

    best: float
    spread: float
    floor: float
    shape: float
    name: ClassVar[str] = "power"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values."""
        logarithm = torch.log(self._distance(y))
        return -logarithm if self.shape == 0 else -torch.expm1(self.shape * logarithm) / self.shape

    def inverse(self, t: Tensor) -> Tensor:
        """The values."""
        logarithm = -t if self.shape == 0 else torch.log1p((-self.shape * t).clamp_min(-1 + 1e-12)) / self.shape
        return self.best - self.spread * (torch.exp(logarithm.clamp(-50, 50)) - self.floor)

    def slope(self, y: Tensor) -> Tensor:
        """The slope at every value."""
        return self._distance(y) ** (self.shape - 1) / self.spread

    def describe(self) -> str:
        """Shape and floor."""
        return f"{self.name} ({self.shape:.2f}, {self.floor:.2g})"

    def _distance(self, y: Tensor) -> Tensor:
        return self.floor + (self.best / self.spread - y / self.spread).clamp_min(0.0)


def _quarter(y: Tensor) -> tuple[float, float, NDArray[np.float64]]:
    """The best value, the distance to the end of the best quarter, and all distances in units of it."""
    best = float(y.max())
    distances = np.sort(best - y.numpy())
    spread = next(float(s) for s in (*np.quantile(distances, [0.25, 0.5]), distances[-1]) if s > 0)
    return best, spread, distances / spread


def fit_power(y: Tensor) -> OutputTransform:
    """Shape and floor of greatest likelihood of y (n,); the best value has no part in the Jacobian."""
    best, spread, distances = _quarter(y)
    found = []
    for floor in np.geomspace(0.03, 10 * max(distances[-1], 1.0), 24):
        logs = np.log(floor + distances)
        for shape in np.linspace(-1, 3, 33):
            t = logs if shape == 0 else np.expm1(shape * logs) / shape
            loss = 0.5 * len(t) * np.log(np.var(t)) - (shape - 1) * logs[1:].sum()
            found.append((float(loss), float(floor), float(shape)))
    _, floor, shape = min(found)
    return Power(best, spread, floor, shape)


def fit_top(y: Tensor) -> OutputTransform:
    """Yeo-Johnson around the middle of the better half of y (n,), scaled by its quartiles; the shape is that of all."""
    return _around_better_half(y, y)


def fit_top_better(y: Tensor) -> OutputTransform:
    """The same with the shape of the better half, at least 1."""
    found = _around_better_half(y, y[y >= y.median()])
    return YeoJohnson(max(found.shape, 1.0), found.centre, found.spread)


def _around_better_half(y: Tensor, shaping: Tensor) -> YeoJohnson:
    better = y[y >= y.median()]
    better, shaping = (y, y) if len(set(better.tolist())) < library.FEWEST else (better, shaping)
    centre, spread = library._middle(better)
    z = YeoJohnson(1.0, centre, spread).forward(shaping)
    return YeoJohnson(library._best_shape(z.numpy()), centre, spread)


@dataclass(frozen=True)
class Tail:
    """As it is above a cut, logarithmic below."""

    cut: float
    spread: float
    name: ClassVar[str] = "tail"

    def forward(self, y: Tensor) -> Tensor:
        """The transformed values."""
        z = self._standard(y)
        return torch.where(z < 0, -torch.log1p((-z).clamp_min(0)), z)

    def inverse(self, t: Tensor) -> Tensor:
        """The values."""
        return self.cut + self.spread * torch.where(t < 0, -torch.expm1((-t).clamp(0, 50)), t)

    def slope(self, y: Tensor) -> Tensor:
        """The slope at every value."""
        return 1.0 / (1.0 - self._standard(y).clamp_max(0.0)) / self.spread

    def describe(self) -> str:
        """Its name."""
        return self.name

    def _standard(self, y: Tensor) -> Tensor:
        return y / self.spread - self.cut / self.spread


def fit_tail(y: Tensor) -> OutputTransform:
    """Logarithmic for values y (n,) twice as far from the best as the best quarter."""
    best, spread, _ = _quarter(y)
    return Tail(best - 2 * spread, spread)


def log_order(model: GP, y: Tensor) -> float:
    """How well a model puts the best of the values y (n,) that it was fitted to in order, when each is left out.

    The mean of log P(t_i > t_j) over all pairs y_i > y_j whose y_i is in the best quarter, with independent normal t_i
    and t_j, as all other values predict them. An order is the same in all units: models of several transforms compare,
    also those of transforms without a density.
    """
    mean, deviation = leave_one_out(model)
    better = (y.unsqueeze(1) > y) & (y >= torch.quantile(y, 1.0 - TOP)).unsqueeze(1)
    z = (mean.unsqueeze(1) - mean) / torch.hypot(deviation.unsqueeze(1), deviation)
    order = float(torch.special.log_ndtr(z[better]).mean())
    return -math.inf if math.isnan(order) else order


def log_left_out(model: GP, y: Tensor) -> float:
    """How well a model predicts the better half of the values y (n,) that it was fitted to, when each is left out.

    The mean logarithm of the predictive density in the units of y. The best value takes no part: the slope of a
    logarithm has no bound there.
    """
    mean, deviation = leave_one_out(model)
    density = -0.5 * ((model.train_y - mean) / deviation).square() - deviation.log()
    density = density + model.outputs.slope(y).log() - math.log(model.scale)
    predicted = float(density[(y >= torch.quantile(y, 0.5)) & (y < y.max())].mean())
    return -math.inf if math.isnan(predicted) else predicted


TRIED: dict[str, Fit] = {
    "ranks": fit_ranks,
    "half-rank": fit_half_rank,
    "half-rank-yj": then_yeo_johnson(fit_half_rank),
    "power": fit_power,
    "yj-twice": then_yeo_johnson(fit_yeo_johnson),
    "top": fit_top,
    "top-better": fit_top_better,
    "tail-yj": then_yeo_johnson(fit_tail),
}


library.TRANSFORMS.update(TRIED)
library.CHOICES["order"] = ("yeo-johnson", "log-fitted", "ranks")
library.CHOICES["evidence-or-none"] = library.CHOICES["left-out"] = ("none", "yeo-johnson", "log-fitted")
MERITS.update({"order": log_order, "evidence-or-none": log_evidence, "left-out": log_left_out})
for tried in ("yeo-johnson", "log-fitted", "order", "evidence-or-none", "left-out", *TRIED):
    register_method(f"outputs-{tried}", MethodKind(DefaultMethod, options=settings_with(outputs=tried)))
