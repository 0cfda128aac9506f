"""Kernel densities over columns of mixed type, as in statsmodels' KDEMultivariate.

A column is continuous in [0, 1] (c: Gaussian kernel), ordered levels 0 ... c-1 (o: Wang-Ryzin) or unordered levels
(u: Aitchison-Aitken). The bandwidths are statsmodels' normal reference; the density is the same product of kernels,
for all points at once and in logarithms, with two corrections that its kernels need to be densities at all:

- the normal reference b is a standard deviation in levels, Wang-Ryzin's parameter lies in [0, 1): it is set to the
  h whose kernel has that standard deviation, h (1 + h) / (1 - h)^2 = b^2;
- Aitchison-Aitken's lies in [0, (c-1)/c], with c the levels there are, not those that happened to be observed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from compbo.extras import load_optional

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MIN_BANDWIDTH = 1e-3  # BOHB's


class Columns(NamedTuple):
    """The type of every column, a string of c, o and u, and its number of levels (0 for c)."""

    types: str
    levels: tuple[int, ...]


def normal_reference(data: Array, columns: Columns) -> Array:
    """Bandwidths (d,) of data (n, d), n > d, one standard deviation per column."""
    density = load_optional("statsmodels.nonparametric.kernel_density", "study").KDEMultivariate
    fitted = density(data, columns.types, bw="normal_reference", rng=0)
    return np.array(fitted.bw, dtype=np.float64)


def kernel_parameters(bandwidth: Array, columns: Columns) -> Array:
    """The parameter h (d,) of every column's kernel, from its bandwidth (d,)."""
    b2 = bandwidth**2
    ordered = 2 * b2 / (1 + 2 * b2 + np.sqrt(1 + 8 * b2))
    most = np.array([(c - 1) / c if c else math.inf for c in columns.levels])
    by_type = {"c": bandwidth, "o": ordered, "u": np.minimum(bandwidth, most)}
    return np.array([max(by_type[kind][i], MIN_BANDWIDTH) for i, kind in enumerate(columns.types)], dtype=np.float64)


class Density(NamedTuple):
    """A kernel density: its data (n, d), the columns' types and their bandwidths (d,)."""

    data: Array
    columns: Columns
    bandwidth: Array

    @classmethod
    def fit(cls, data: Array, columns: Columns) -> Density:
        """The density of data (n, d), n > d."""
        return cls(data, columns, normal_reference(data, columns))

    def log_density(self, x: Array) -> Array:
        """log of (1/n) sum_i prod_s k_s(x_s, X_is) at the rows of x (m, d)."""
        h = kernel_parameters(self.bandwidth, self.columns)
        total = np.zeros((len(x), len(self.data)))
        for s, kind in enumerate(self.columns.types):
            total += _log_kernel(kind, h[s], self.columns.levels[s], x[:, s, None], self.data[None, :, s])
        return np.asarray(logsumexp(total, axis=1) - math.log(len(self.data)))

    def sample(self, count: int, widen: float, rng: Generator) -> Array:
        """Draws (count, d) around random data, with all bandwidths multiplied by `widen`, inside the columns' range."""
        centres = self.data[rng.integers(len(self.data), size=count)]
        h = kernel_parameters(self.bandwidth * widen, self.columns)
        drawn = [
            _draw(kind, h[s], self.columns.levels[s], centres[:, s], rng) for s, kind in enumerate(self.columns.types)
        ]
        return np.stack(drawn, axis=1)


def _log_kernel(kind: str, h: float, levels: int, x: Array, data: Array) -> Array:
    if kind == "c":
        return np.asarray(-0.5 * ((x - data) / h) ** 2 - math.log(math.sqrt(2 * math.pi) * h))
    distance = np.abs(x - data)
    if kind == "o":
        return np.where(distance == 0, math.log1p(-h), math.log(0.5 * (1 - h)) + distance * math.log(h))
    return np.where(distance == 0, math.log1p(-h), math.log(h / (levels - 1)))


def _draw(kind: str, h: float, levels: int, centres: Array, rng: Generator) -> Array:
    u = rng.random(len(centres))
    if kind == "c":  # the normal of that width, cut off at 0 and 1
        low, high = ndtr(-centres / h), ndtr((1 - centres) / h)
        return np.asarray(np.clip(centres + h * ndtri(low + u * (high - low)), 0.0, 1.0))
    weights = np.exp(_log_kernel(kind, h, levels, np.arange(levels, dtype=np.float64)[None, :], centres[:, None]))
    share = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    return np.asarray(np.minimum((u[:, None] > share).sum(axis=1), levels - 1), dtype=np.float64)
