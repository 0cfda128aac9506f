"""Priors over the hyperparameters: log density and its derivative, in two named sets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor


class Prior(Protocol):
    """A density over positive numbers."""

    def log_density(self, x: Tensor) -> Tensor:
        """log p(x), elementwise."""
        ...

    def slope(self, x: Tensor) -> Tensor:
        """d log p / dx, elementwise."""
        ...

    @property
    def mean(self) -> float:
        """Expected value (of the logarithm, exponentiated, where the mean itself is far out in the tail)."""
        ...

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Independent draws (count,)."""
        ...


class Gamma(NamedTuple):
    """Gamma(concentration, rate)."""

    concentration: float
    rate: float

    def log_density(self, x: Tensor) -> Tensor:
        """a log b - log Gamma(a) + (a - 1) log x - b x."""
        a, b = self
        return a * math.log(b) - math.lgamma(a) + (a - 1.0) * x.log() - b * x

    def slope(self, x: Tensor) -> Tensor:
        """(a - 1)/x - b."""
        return (self.concentration - 1.0) / x - self.rate

    @property
    def mean(self) -> float:
        """a / b."""
        return self.concentration / self.rate

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Draws by inversion, so that they come from the generator passed."""
        from scipy.special import gammaincinv

        u = torch.rand(count, dtype=torch.float64, generator=generator)
        return torch.as_tensor(gammaincinv(self.concentration, u.numpy())) / self.rate


class LogNormal(NamedTuple):
    """LogNormal(location, scale) of the logarithm."""

    location: float
    scale: float

    def log_density(self, x: Tensor) -> Tensor:
        """-log x - log(s sqrt(2 pi)) - (log x - m)^2 / (2 s^2)."""
        m, s = self
        log = x.log()
        return -log - math.log(s * math.sqrt(2.0 * math.pi)) - (log - m) ** 2 / (2.0 * s * s)

    def slope(self, x: Tensor) -> Tensor:
        """-(1 + (log x - m) / s^2) / x."""
        m, s = self
        return -(1.0 + (x.log() - m) / (s * s)) / x

    @property
    def mean(self) -> float:
        """The median: the mean is far out in the tail for a wide scale."""
        return math.exp(self.location)

    def sample(self, count: int, generator: Generator) -> Tensor:
        """exp(m + s N(0, 1))."""
        normal = torch.randn(count, dtype=torch.float64, generator=generator)
        return (self.location + self.scale * normal).exp()


class PriorSet(NamedTuple):
    """Priors of lengthscale, output scale and noise for inputs of d dimensions."""

    lengthscale: Prior
    outputscale: Prior
    noise: Prior


def paper(dimensions: int) -> PriorSet:  # noqa: ARG001 - the paper's priors do not depend on d
    """lengthscale ~ Gamma(3, 6), output scale ~ Gamma(2, 0.15), noise ~ Gamma(1.1, 0.05)."""
    return PriorSet(Gamma(3.0, 6.0), Gamma(2.0, 0.15), Gamma(1.1, 0.05))


def dimension_scaled(dimensions: int) -> PriorSet:
    """lengthscale ~ LogNormal(sqrt 2 + log(d)/2, sqrt 3): lengthscales grow as sqrt d (Hvarfner et al., 2024)."""
    lengthscale = LogNormal(math.sqrt(2.0) + 0.5 * math.log(dimensions), math.sqrt(3.0))
    return PriorSet(lengthscale, Gamma(2.0, 0.15), LogNormal(-4.0, 1.0))


PRIOR_SETS = {"paper": paper, "dimension-scaled": dimension_scaled}


def get_priors(name: str, dimensions: int) -> PriorSet:
    """The prior set of that name for inputs of d dimensions."""
    try:
        return PRIOR_SETS[name](dimensions)
    except KeyError:
        raise ValueError(f"prior set {name!r} is unknown; choose one of {', '.join(PRIOR_SETS)}.") from None
