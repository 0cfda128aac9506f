"""Priors over the hyperparameters: log density and its derivative, in three named sets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CHOICE_STRETCH = 8.0  # of the lengthscales of choices and switches


class Prior(Protocol):
    """A density over positive numbers."""

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """log p(x), elementwise."""
        ...

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """d log p / dx, elementwise."""
        ...

    @property
    def middle(self) -> float:
        """A typical value."""
        ...


class Gamma(NamedTuple):
    """Gamma(concentration, rate)."""

    concentration: float
    rate: float

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """a log b - log Gamma(a) + (a - 1) log x - b x."""
        a, b = self
        return a * math.log(b) - math.lgamma(a) + (a - 1.0) * np.log(x) - b * x

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """(a - 1)/x - b."""
        return (self.concentration - 1.0) / x - self.rate

    @property
    def middle(self) -> float:
        """The mean a / b."""
        return self.concentration / self.rate


class LogNormal(NamedTuple):
    """LogNormal(location, scale) of the logarithm."""

    location: float
    scale: float

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """-log x - log(s sqrt(2 pi)) - (log x - m)^2 / (2 s^2)."""
        m, s = self
        log = np.log(x)
        return -log - math.log(s * math.sqrt(2.0 * math.pi)) - (log - m) ** 2 / (2.0 * s * s)

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """-(1 + (log x - m) / s^2) / x."""
        m, s = self
        return -(1.0 + (np.log(x) - m) / (s * s)) / x

    @property
    def middle(self) -> float:
        """The median: the mean is far out in the tail for a wide scale."""
        return math.exp(self.location)


class PriorSet(NamedTuple):
    """Priors of lengthscale, output scale and noise (outputscale is a variance) for inputs of d dimensions.

    choice: of the lengthscales of choices and switches; None: as those of the others.
    """

    lengthscale: Prior
    outputscale: Prior
    noise: Prior
    choice: Prior | None = None

    def of_lengthscales(self, dimensions: int, choices: Sequence[int]) -> list[tuple[Prior, NDArray[np.intp]]]:
        """Every prior of lengthscales with the columns it is for; choices: columns of choices and switches."""
        if self.choice is None or not choices:
            return [(self.lengthscale, np.arange(dimensions))]
        of_choices = np.array(choices, np.intp)
        others = np.setdiff1d(np.arange(dimensions), of_choices)
        return [(self.lengthscale, others), (self.choice, of_choices)]


def paper(dimensions: int) -> PriorSet:  # noqa: ARG001 - the paper's priors do not depend on d
    """lengthscale ~ Gamma(3, 6), output scale ~ Gamma(2, 0.15), noise ~ Gamma(1.1, 0.05), in all dimensions."""
    return PriorSet(Gamma(3.0, 6.0), Gamma(2.0, 0.15), Gamma(1.1, 0.05))


def shared_choices(dimensions: int) -> PriorSet:
    """Those of the paper, with lengthscale ~ Gamma(3, 6 / 8) for choices and switches: eight times as long.

    Two choices lie sqrt 2 apart, two positions of a switch 1. At the paper's mean of 1/2 their values are nearly
    independent, and every combination of choices is learnt apart from the others. Here what is learnt at one choice
    counts for the others, until the values say otherwise.

    Args:
        dimensions: d.

    Returns:
        The set, with a prior for choices.
    """
    alike = paper(dimensions)
    return alike._replace(choice=Gamma(3.0, 6.0 / CHOICE_STRETCH))


def dimension_scaled(dimensions: int) -> PriorSet:
    """lengthscale ~ LogNormal(sqrt 2 + log(d)/2, sqrt 3) in d dimensions (Hvarfner et al., 2024).

    Lengthscales grow as sqrt d.
    """
    lengthscale = LogNormal(math.sqrt(2.0) + 0.5 * math.log(dimensions), math.sqrt(3.0))
    return PriorSet(lengthscale, Gamma(2.0, 0.15), LogNormal(-4.0, 1.0))


PRIOR_SETS = {"shared-choices": shared_choices, "paper": paper, "dimension-scaled": dimension_scaled}


def get_priors(name: str, dimensions: int) -> PriorSet:
    """The prior set of that name for inputs of d dimensions."""
    try:
        return PRIOR_SETS[name](dimensions)
    except (KeyError, TypeError):
        raise ValueError(f"prior set {name!r} is unknown; choose one of {', '.join(PRIOR_SETS)}.") from None
