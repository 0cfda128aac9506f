"""Parts of what was tried for many dimensions that register nothing: a mixture of priors, and TuRBO's trust region."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.surrogate.priors import Gamma, LogNormal, PriorSet, dimension_scaled, paper
from compbo.types import DTYPE, Box

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.surrogate.gp import GP

LONGEST, FIRST, SHORTEST = 1.6, 0.8, 0.5**7  # side of the region, in the unit cube
SUCCESSES = 3  # in a row, before the region grows
LEAST_GAIN = 1e-3  # of the size of the best value: less is no success


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


def region_side(losses: Sequence[float], initial: int, q: int, dimensions: int) -> float:
    """The side of TuRBO's trust region after some batches (Eriksson et al., 2019), a function of the losses alone.

    Args:
        losses: in the order of arrival.
        initial: how many of them are the initial design.
        q: points of a batch.
        dimensions: of the space.

    Returns:
        Twice as long after three batches in a row that found something better, half as long after several that did
        not; from the start again when it gets too short.

    >>> region_side([5.0, 4.0, 3.0, 2.0, 1.0, 0.5], 3, 1, 1)
    1.6
    """
    side, successes, failures = FIRST, 0, 0
    patience = math.ceil(max(4.0, dimensions) / q)
    best = min(losses[:initial])
    for start in range(initial, len(losses), q):
        lowest = min(losses[start : start + q])
        if lowest < best - LEAST_GAIN * abs(best):
            successes, failures = successes + 1, 0
        else:
            successes, failures = 0, failures + 1
        best = min(best, lowest)
        if successes == SUCCESSES:
            side, successes = min(2.0 * side, LONGEST), 0
        elif failures == patience:
            side, failures = side / 2.0, 0
        if side < SHORTEST:
            side, successes, failures = FIRST, 0, 0
    return side


def region(gp: GP, centre: Tensor, side: float) -> Box:
    """The box around a centre (d,) whose sides are in the ratio of the lengthscales, within the unit cube."""
    weights = gp.hyperparameters.lengthscale.to(DTYPE)
    half = 0.5 * side * weights / weights.log().mean().exp()
    return Box((centre - half).clamp(0.0, 1.0), (centre + half).clamp(0.0, 1.0))
