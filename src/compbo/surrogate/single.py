"""A posterior whose products with the observations are made in single precision, where the condition of C allows it.

What has n columns is single: Ks, its slope, V = Ks Linv^T and what the backward pass makes of them. Hyperparameters, C
and its factor are computed in double and then rounded; points, the covariance of a batch, its factor and all results
stay double. C^-1 is not used: products with its factor Linv err by eps / sqrt(noise ratio), those with C^-1 by
eps / noise ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.numerics import JITTER_LADDER
from compbo.surrogate.pending import GPWithPending
from compbo.surrogate.posterior import SKIP_ZEROS_FROM, GPPosterior

if TYPE_CHECKING:
    from compbo.surrogate.posterior import Posterior

SINGLE = torch.float32
MOST_ROUNDING = 8.0  # times the noise ratio; batches were as good at 6 times it, and worse at 600 times


def rounding_in_single(gp: GPPosterior) -> float:
    """About how far rounding moves the entries of a posterior covariance at unit output scale in single precision.

    gp: whose covariance. Squared distances, differences of squared norms, are off by eps |a|^2; products with Linv,
    whose norm is at most 1 / sqrt(noise ratio), by eps times that.
    """
    largest = float((gp.scaled_train * gp.scaled_train).sum(-1).max())
    return float(torch.finfo(SINGLE).eps * (largest + max(gp.noise_ratio, 1e-12) ** -0.5))


def is_safe_in_single(gp: GPPosterior) -> bool:
    """Whether rounding is not far above the variance left at an observation of gp, its noise ratio."""
    return not bool(gp.cholesky.failed) and rounding_in_single(gp) < MOST_ROUNDING * gp.noise_ratio


def in_single(posterior: Posterior) -> Posterior:
    """The posterior in single precision: of our GP, alone or beside pending points, where that is safe.

    Any other comes back as it is.
    """
    if isinstance(posterior, GPWithPending):
        gp = in_single(posterior.posterior)
        return posterior.over(gp) if isinstance(gp, SinglePosterior) else posterior
    return SinglePosterior(posterior) if type(posterior) is GPPosterior and is_safe_in_single(posterior) else posterior


def is_single(posterior: Posterior) -> bool:
    """Whether the posterior, alone or beside pending points, is in single precision."""
    alone = posterior.posterior if isinstance(posterior, GPWithPending) else posterior
    return isinstance(alone, SinglePosterior)


class SinglePosterior(GPPosterior):
    """The posterior of `gp` with everything that has n columns in single precision."""

    precision = SINGLE
    back_by_blocks_from = SKIP_ZEROS_FROM

    def __init__(self, gp: GPPosterior) -> None:
        self.__dict__.update(vars(gp))
        self.alpha, self.inverse_factor = gp.alpha.to(SINGLE), gp.inverse_factor.to(SINGLE)
        self._train_right, self._train_and_ones = gp._train_right.to(SINGLE), gp._train_and_ones.to(SINGLE)
        self.well_conditioned, self.inverse = False, self.inverse_factor
        self._rounding = rounding_in_single(gp) / JITTER_LADDER[-1]  # the top of the ladder reaches it

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch."""
        return super().bytes_per_row() // 2
