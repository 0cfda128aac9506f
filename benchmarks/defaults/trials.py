"""Parts of what was tried that register nothing: a mixture of priors, TuRBO's trust region, another kernel."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from benchmarks.league.peers.turbo import TrustRegion, sides
from compbo.surrogate.kernels import Kernel, KernelValue
from compbo.surrogate.priors import Gamma, LogNormal, PriorSet, dimension_scaled, paper
from compbo.types import Box

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.surrogate.gp import GP


class Mixture(NamedTuple):
    """The density of two priors, each with half of the weight."""

    one: Gamma
    other: LogNormal

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """log((p + q) / 2)."""
        return np.asarray(np.logaddexp(self.one.log_density(x), self.other.log_density(x)) - math.log(2.0))

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of both slopes, weighted by their share of the density."""
        share = 1.0 / (1.0 + np.exp(self.other.log_density(x) - self.one.log_density(x)))
        return np.asarray(share * self.one.slope(x) + (1.0 - share) * self.other.slope(x))

    @property
    def middle(self) -> float:
        """That of the first."""
        return self.one.middle


def either_lengthscale(dimensions: int) -> PriorSet:
    """Those of the paper, with lengthscale ~ an even mixture of the paper's prior and the dimension-scaled one."""
    other = dimension_scaled(dimensions).lengthscale
    assert isinstance(other, LogNormal)
    return paper(dimensions)._replace(lengthscale=Mixture(Gamma(3.0, 6.0), other))


def trust_region(losses: Sequence[float], initial: int, q: int, dimensions: int) -> TrustRegion:
    """TuRBO's trust region after some batches, a function of the losses alone.

    Args:
        losses: in the order of arrival.
        initial: how many of them are the initial design.
        q: points of a batch.
        dimensions: of the space.

    Returns:
        Its state. A region that is over begins anew around the best point.

    >>> trust_region([5.0, 4.0, 3.0, 2.0], 1, 1, 2).length
    1.6
    """
    first = TrustRegion(failures_to_shrink=math.ceil(max(4.0, dimensions) / q), best=min(losses[:initial]))
    region = first
    for start in range(initial, len(losses), q):
        region = region.after(losses[start : start + q])
        if region.is_over:
            region = replace(first, best=region.best)
    return region


def box_around(centre: Tensor, length: float, gp: GP) -> Box:
    """The box around a centre (d,) of a base side, longer where the model changes slowly, within the unit cube."""
    half = 0.5 * sides(length, gp.hyperparameters.lengthscale)
    return Box((centre - half).clamp(0.0, 1.0), (centre + half).clamp(0.0, 1.0))


def _matern32(r2: Tensor) -> KernelValue:
    """k = (1 + s) exp(-s), s = sqrt(r2) = sqrt(3) r; dk/d(r2) = -exp(-s) / 2."""
    s = r2.clamp_min_(0.0).sqrt()
    e = s.neg().exp()
    return KernelValue(torch.addcmul(e, s, e), e)


MATERN32 = Kernel("matern32", 3.0**0.5, -0.5, _matern32)
