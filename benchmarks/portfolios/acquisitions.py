"""Acquisition functions that treat the points of a batch differently."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from compbo.acquisition.integrands import MaxMean
from compbo.types import DTYPE

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.surrogate.posterior import PosteriorSamples


@dataclass(frozen=True)
class Halves(MaxMean):
    """UCB for the first points of a batch, SR for the others (and for pending ones).

    Args:
        points: how many have UCB.
        beta: of UCB.
        apart: whether each part has a maximum of its own, f being the mean of both; else one maximum of all.
    """

    points: int = 4
    beta: float = 2.0
    apart: bool = True
    name: ClassVar[str] = "halves"

    @property
    def _width(self) -> float:
        return math.sqrt(self.beta * math.pi / 2.0)

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:  # noqa: ARG002 - no incumbent
        """mu + sqrt(beta pi / 2) |L z| of the first points, mu + L z of the others."""
        first, others = samples.deviation[:, : self.points], samples.deviation[:, self.points :]
        return samples.mean + torch.cat([first.abs() * self._width, others], 1)

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """As UCB for the first points, as SR for the others."""
        slope = c.clone()
        slope[:, : self.points] *= samples.deviation[:, : self.points].sign() * self._width
        return c, slope

    def utility(self, v: Tensor) -> Tensor:
        """One maximum, or the mean of two."""
        if not self.apart:
            return self.maxima(v)
        return (self.maxima(v[:, : self.points]) + self.maxima(v[:, self.points :])) / 2.0

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:  # noqa: ARG002 - linear
        """The winners of the columns, of all points or of each part."""
        k = zeta.shape[-1]
        if not self.apart:
            return self.winners(zeta, 1.0 / k)
        split = zeta[:, : self.points], zeta[:, self.points :]
        return torch.cat([self.winners(part.contiguous(), 0.5 / k) for part in split], 1)


@dataclass(frozen=True)
class OwnBetas(MaxMean):
    """UCB with a beta of its own for every point.

    Args:
        betas: of the points of the batch; pending points have 2.
    """

    betas: tuple[float, ...] = ()
    name: ClassVar[str] = "own-betas"

    def _width(self, samples: PosteriorSamples) -> Tensor:
        betas = [*self.betas, *([2.0] * (samples.mean.shape[1] - len(self.betas)))]
        return torch.tensor([[math.sqrt(beta * math.pi / 2.0)] for beta in betas], dtype=DTYPE)

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:  # noqa: ARG002 - no incumbent
        """mu + sqrt(beta_j pi / 2) |L z|."""
        return samples.mean + self._width(samples) * samples.deviation.abs()

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """As UCB."""
        return c, samples.deviation.sign() * c * self._width(samples)
