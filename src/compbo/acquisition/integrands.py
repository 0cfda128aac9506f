"""Acquisition functions as integrands: an inner map of mu + L z and an outer function of its columns.

alpha(x) = f(E[g(x)]) with the inner columns v_m (q values for sample m). Everything is in standardised units and on
the v-scale: f(v) = link( (1/M) sum_m h(v_m) ), h the utility of a column. `best` is f*, the best observed value;
`samples` are mu + L z; UCB needs the two parts of the sum. An acquisition is frozen data: its parameters and the few
lines of its maths, with their derivatives beside them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import torch

from compbo.inputs import real

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.surrogate.posterior import PosteriorSamples


class Acquisition(Protocol):
    """What an oracle needs of an acquisition function."""

    name: ClassVar[str]
    linear_outer: ClassVar[bool]  # whether f is a mean of utilities: LogEI takes a logarithm of it
    homogeneous_utility: ClassVar[bool]  # whether h(c v) = c h(v) for c > 0: PI's sigmoid is not

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:
        """The columns v (B, q, K) at these samples; best: f*."""
        ...

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:
        """Cotangents of the samples' mean and deviation, both (B, q, K), for the cotangent c on v."""
        ...

    def utility(self, v: Tensor) -> Tensor:
        """h: (B, q, K) -> (B, K)."""
        ...

    def outer(self, v: Tensor) -> Tensor:
        """f: (B, q, K) -> (B,)."""
        ...

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """(M/K) grad f at K of its M columns."""
        ...


def winners(v: Tensor, weight: Tensor | float = 1.0) -> Tensor:
    """Derivative of the maximum of v (B, q, K) over the q points, (B, q, K).

    It is `weight` at the largest value of each column, shared where several are largest, and 0 elsewhere.
    """
    top = v.amax(-2, keepdim=True)
    mask = torch.eq(v, top, out=torch.empty_like(v))
    if float(mask.sum()) != top.numel() or math.isnan(float(top.sum())):  # a tie, or a column without a winner
        mask /= mask.sum(-2, keepdim=True).clamp_min_(1.0)
    return mask.mul_(weight)


def _columns_last(c: Tensor) -> Tensor:
    """c (B, q, K) with neighbouring columns side by side in memory, as in v.

    A cotangent on a pool's zeta has them far apart: to turn it round is faster than an operator on both orders.
    """
    return c if c.is_contiguous() else c.permute(2, 0, 1).flatten(1).mT.contiguous().view_as(c)


def _settle(acquisition: Any, name: str, *, zero_allowed: bool = False) -> None:
    """Keep a parameter of an acquisition as a float; ValueError if it is not a finite positive number (or 0)."""
    given = getattr(acquisition, name)
    number = real(given)
    if not 0 <= number < math.inf or (number == 0 and not zero_allowed):
        sign = ">=" if zero_allowed else ">"
        raise ValueError(f"{type(acquisition).__name__}: {name} must be a finite number {sign} 0, got {given!r}.")
    object.__setattr__(acquisition, name, number)


class ColumnMaxima:
    """max_j v_jm and its derivative, what all utilities are made of, to inherit from."""

    @staticmethod
    def maxima(v: Tensor) -> Tensor:
        """max_j v_jm: (B, q, K) -> (B, K)."""
        return v.amax(-2)

    @staticmethod
    def winners(v: Tensor, weight: Tensor | float = 1.0) -> Tensor:
        """The derivative of `maxima`, times the weight: see `winners`."""
        return winners(v, weight)


class MaxMean(ColumnMaxima):
    """f(v) = (1/M) sum_m max_j v_jm: the outer function of EI, SR and UCB, to inherit from."""

    linear_outer: ClassVar[bool] = True
    homogeneous_utility: ClassVar[bool] = True

    def utility(self, v: Tensor) -> Tensor:
        """max_j v_jm."""
        return self.maxima(v)

    def outer(self, v: Tensor) -> Tensor:
        """Mean of the columns' maxima."""
        return self.utility(v).mean(-1)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:  # noqa: ARG002 - linear
        """1/K at the winner of each column."""
        return self.winners(zeta, 1.0 / zeta.shape[-1])


@dataclass(frozen=True)
class EI(MaxMean):
    """Expected improvement: v = ReLU(mu + L z - f*).

    >>> import torch, compbo
    >>> columns = torch.tensor([[[0.0, 2.0], [1.0, 0.0]]])  # v of one batch (B = 1): 2 points, 2 samples
    >>> compbo.EI().outer(columns)  # the mean of the columns' maxima, 1 and 2
    tensor([1.5000])
    """

    name: ClassVar[str] = "ei"

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:
        """ReLU(mu + L z - f*)."""
        return samples.improvement(best).clamp_min_(0.0)

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:
        """Only improving samples move; the mask is that of the current sample, not of a tracked one."""
        masked = c * (samples.values > best)
        return masked, masked


@dataclass(frozen=True)
class SR(MaxMean):
    """Simple regret: v = mu + L z.

    >>> import compbo
    >>> compbo.Settings(acquisition="sr").acquisition
    SR()
    """

    name: ClassVar[str] = "sr"

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:  # noqa: ARG002 - SR has no incumbent
        """v = mu + L z."""
        return samples.values

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Mean and deviation move v one to one."""
        return c, c


@dataclass(frozen=True)
class UCB(MaxMean):
    """Upper confidence bound: v = mu + sqrt(beta pi / 2) |L z|, centred on mu as in the paper.

    Args:
        beta: how much the uncertainty counts, from 0 on.

    >>> import compbo
    >>> compbo.Settings(acquisition=compbo.UCB(beta=0.5)).acquisition
    UCB(beta=0.5)
    """

    beta: float = 2.0
    name: ClassVar[str] = "ucb"

    def __post_init__(self) -> None:
        """Refuse a beta that is negative or not a finite number."""
        _settle(self, "beta", zero_allowed=True)

    @property
    def width(self) -> float:
        """sqrt(beta pi / 2)."""
        return math.sqrt(self.beta * math.pi / 2.0)

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:  # noqa: ARG002 - UCB has no incumbent
        """v = mu + sqrt(beta pi / 2) |L z|."""
        return torch.add(samples.mean, samples.deviation.abs(), alpha=self.width)

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """The cotangent of the deviation has the sign of the deviation."""
        return c, samples.deviation.sign().mul_(_columns_last(c)).mul_(self.width)


@dataclass(frozen=True)
class PI(ColumnMaxima):
    """Probability of improvement, smoothed: v = (mu + L z - f*) / tau, f = (1/M) sum_m max_j Sig(v_jm).

    Args:
        tau: temperature of the sigmoid Sig; the smaller, the nearer to a step.

    >>> import torch, compbo
    >>> compbo.PI().outer(torch.zeros(1, 2, 4))  # every sample is as good as the best value
    tensor([0.5000])
    """

    tau: float = 1e-3
    name: ClassVar[str] = "pi"
    linear_outer: ClassVar[bool] = True
    homogeneous_utility: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a tau that is not a finite positive number."""
        _settle(self, "tau")

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:
        """(mu + L z - f*) / tau."""
        return samples.improvement(best).div_(self.tau)

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """c / tau."""
        scaled = c / self.tau
        return scaled, scaled

    def utility(self, v: Tensor) -> Tensor:
        """max_j Sig(v_jm)."""
        return self.maxima(v).sigmoid_()

    def outer(self, v: Tensor) -> Tensor:
        """Mean of the columns' utilities."""
        return self.utility(v).mean(-1)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:  # noqa: ARG002 - linear
        """Sig'(max_j) / K at the winner of each column."""
        s = self.utility(zeta).unsqueeze(-2)
        return self.winners(zeta, s * (1.0 - s) / zeta.shape[-1])


FAT_TAIL = 0.1  # weight of the Cauchy tail in the fat softplus (Ament et al., 2023)


@dataclass(frozen=True)
class LogEI(ColumnMaxima):
    """log EI: v is the fat softplus of mu + L z - f*, f = log (1/M) sum_m max_j v_jm.

    The outer function is not linear in the expectation: a small minibatch is biased. The gradient divides by the
    tracked expectation, so that steps do not vanish where EI is tiny. The tail of v falls as tau^3 / y^2, so v does
    not underflow for any finite mu + L z - f*, and the expectation can be tracked on v.

    Args:
        tau: temperature of the softplus; the smaller, the nearer to EI.

    >>> import torch, compbo
    >>> compbo.LogEI().outer(torch.ones(1, 2, 4))  # log 1
    tensor([0.])
    """

    tau: float = 1e-6
    name: ClassVar[str] = "logei"
    linear_outer: ClassVar[bool] = False
    homogeneous_utility: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse a tau that is not a finite positive number."""
        _settle(self, "tau")

    def inner(self, samples: PosteriorSamples, best: float) -> Tensor:
        """tau (softplus(y) + 0.1 / (1 + y^2)), y = (mu + L z - f*) / tau."""
        y = samples.improvement(best).div_(self.tau)
        tail = FAT_TAIL / (1.0 + y * y)
        return torch.nn.functional.softplus(y).add_(tail).mul_(self.tau)

    def inner_vjp(self, c: Tensor, samples: PosteriorSamples, best: float) -> tuple[Tensor, Tensor]:
        """c (Sig(y) - 0.2 y / (1 + y^2)^2)."""
        y = samples.improvement(best).div_(self.tau)
        slope = y.sigmoid() - 2.0 * FAT_TAIL * y / (1.0 + y * y) ** 2
        scaled = c * slope
        return scaled, scaled

    def utility(self, v: Tensor) -> Tensor:
        """max_j v_jm."""
        return self.maxima(v)

    def outer(self, v: Tensor) -> Tensor:
        """log of the mean of the columns' maxima."""
        return self.utility(v).mean(-1).clamp_min_(_TINY).log_()

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """(1/K) / mean utility at the winner of each column, 0 where f is flat; the mean is that of all columns."""
        mean = self.utility(zeta).mean(-1) if mean_utility is None else mean_utility
        slope = torch.where(mean > _TINY, 1.0 / (zeta.shape[-1] * mean), 0.0)
        return self.winners(zeta, slope[:, None, None])


# Below this the logarithm is cut off. No v is that small, but a tracker that takes differences (SCSC, MSVR) may leave a
# mean of 0 or less; squares of the quotient stay finite.
_TINY = 1e-100
