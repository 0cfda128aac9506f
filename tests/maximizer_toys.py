"""Small oracles with everything written out, for the tests of the maximizers."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from compbo.types import DTYPE, Draw, Inner

CENTRE = 0.6


class Toy:
    """v_jk = m(x_j) + s(x_j) z_jk, f(v) = mean_k max_j v_jk; fresh samples, or a pool if `pool` is given.

    m(x) = -|x - 0.6|^2, s(x) = spread + slope |x|^2. `breaks` says which batches have no posterior.
    """

    linear_outer = homogeneous_utility = True

    def __init__(
        self,
        q: int,
        *,
        K: int = 4,
        pool: int | None = None,
        spread: float = 0.1,
        slope: float = 0.05,
        breaks: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.q, self.K, self.pool, self.spread, self.slope, self.breaks = q, K, pool, spread, slope, breaks
        self.calls: list[tuple[int, int]] = []  # rows and gradient rows of every evaluation
        self.points: list[Tensor] = []
        self.bytes_per_restart = 1

    @property
    def pool_size(self) -> int:
        return self.K if self.pool is None else self.pool

    def start(self, generator: Generator) -> None:
        self.generator = generator
        self.fixed: Draw | None = None
        if self.pool is not None:
            self.z = torch.randn(self.q, self.pool, dtype=DTYPE, generator=generator)

    def draw(self) -> Draw:
        if self.pool is None:
            return Draw(torch.randn(self.q, self.K, dtype=DTYPE, generator=self.generator))
        columns = torch.randperm(self.pool, generator=self.generator)[: self.K]
        return Draw(self.z[:, columns], columns)

    def expectation_draw(self) -> Draw:
        return self.draw() if self.pool is None else Draw(self.z, torch.arange(self.pool))

    def fixed_draw(self) -> Draw:
        if self.fixed is None:
            self.fixed = self.draw()
        return self.fixed

    def mean(self, x: Tensor) -> Tensor:
        return -((x - CENTRE) ** 2).sum(-1, keepdim=True)

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        rows = len(x) if gradient_rows is None else gradient_rows
        self.calls.append((len(x), rows))
        self.points.append(x)
        failed = torch.zeros(len(x), dtype=torch.bool) if self.breaks is None else self.breaks(x)
        v = self.mean(x) + (self.spread + self.slope * (x**2).sum(-1, keepdim=True)) * draw.z
        v = torch.where(failed[:, None, None], torch.nan, v)

        def pullback(c: Tensor) -> Tensor:
            assert len(c) == rows
            point = x[:rows]
            along_mean = c.sum(-1, keepdim=True) * -2 * (point - CENTRE)
            along_spread = (c * draw.z).sum(-1, keepdim=True) * 2 * self.slope * point
            return along_mean + along_spread

        return Inner(v, pullback, failed, 0.0)

    def utility(self, v: Tensor) -> Tensor:
        return v.amax(-2)

    def outer(self, v: Tensor) -> Tensor:
        return self.utility(v).mean(-1)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        assert mean_utility is None or not self.linear_outer
        winner = torch.nn.functional.one_hot(zeta.argmax(-2), zeta.shape[-2]).movedim(-1, -2)
        return winner.to(zeta.dtype) / zeta.shape[-1]

    def bytes_needed(self, restarts: int, tracked: bool = False) -> int:
        return self.bytes_per_restart * restarts


class LogToy(Toy):
    """f(v) = log mean_k max_j v_jk of positive columns: f needs the mean utility of all columns."""

    linear_outer = False

    def mean(self, x: Tensor) -> Tensor:
        return 3.0 + super().mean(x)

    def outer(self, v: Tensor) -> Tensor:
        return super().outer(v).log()

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        gradient = super().outer_gradient(zeta, mean_utility)
        mean = self.utility(zeta).mean(-1) if mean_utility is None else mean_utility
        return gradient / mean[:, None, None]


class BiasedToy(Toy):
    """q independent copies of: g(x; w) = x (1 + sigma w), f(y) = y - c y^2 / 2, best at x = 1 / c.

    E[f(g(x; w))] = x - c x^2 (1 + sigma^2) / 2 is best at 1 / (c (1 + sigma^2)): who takes zeta = g(x; w) ends there.
    """

    homogeneous_utility = False
    sigma, c = 0.8, 2.0
    optimum = 1 / c
    biased_optimum = 1 / (c * (1 + sigma**2))

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        factor = 1 + self.sigma * draw.z
        return Inner(x * factor, lambda c: (c * factor).sum(-1, keepdim=True), torch.zeros(len(x)) > 0, 0.0)

    def utility(self, v: Tensor) -> Tensor:
        return (v - self.c * v**2 / 2).sum(-2)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        return (1 - self.c * zeta) / zeta.shape[-1]


class RidgeToy(Toy):
    """Two points and a maximum whose winner matters: f(v) = mean_k max_j (m_j(x) + s(x_j) z_jk).

    m_0 = 1 - |x_0 - near|^2 and m_1 = 0.9 - |x_1 - near|^2 - |x_0 - far|^2 disagree about x_0, and s(x_j) = spread +
    slope mean(x_j) draws a point up only in the columns that it wins, those with a large z.
    """

    near, far = 0.35, 0.55

    def mean(self, x: Tensor) -> Tensor:
        first, second = x[:, :1], x[:, 1:]
        alone = 1 - ((first - self.near) ** 2).sum(-1, keepdim=True)
        coupled = 0.9 - ((second - self.near) ** 2 + (first - self.far) ** 2).sum(-1, keepdim=True)
        return torch.cat([alone, coupled], dim=1)

    def deviation(self, x: Tensor) -> Tensor:
        return self.spread + self.slope * x.mean(-1, keepdim=True)

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        point = x if gradient_rows is None else x[:gradient_rows]

        def pullback(c: Tensor) -> Tensor:
            total = c.sum(-1, keepdim=True)
            gradient = (c * draw.z).sum(-1, keepdim=True) * self.slope / x.shape[-1] - 2 * total * (point - self.near)
            gradient[:, :1] -= 2 * total[:, 1:] * (point[:, :1] - self.far)
            return gradient

        return Inner(self.mean(x) + self.deviation(x) * draw.z, pullback, torch.zeros(len(x)) > 0, 0.0)

    def expected(self, x: Tensor) -> Tensor:
        """E_z[f], the expected maximum of two independent normals (Clark, 1961)."""
        mean, deviation = self.mean(x)[..., 0], self.deviation(x)[..., 0]
        apart = torch.linalg.vector_norm(deviation, dim=-1)
        lead = (mean[:, 0] - mean[:, 1]) / apart
        first, second = torch.special.ndtr(lead), torch.special.ndtr(-lead)
        return mean[:, 0] * first + mean[:, 1] * second + apart * torch.exp(-(lead**2) / 2) / math.sqrt(2 * math.pi)

    def of_expectation(self, x: Tensor) -> Tensor:
        """f(E_z[v]) = max_j m_j, best with value 1 at x_0 = near."""
        return self.mean(x).amax(-2)[:, 0]


class HeavyPoolToy(LogToy):
    """f(v) = log mean_k min_j v_jk over a pool, v_jk = a_k (1 - (x_j - t_jk)^2), concave in x.

    Columns that weigh more (a_k = exp(1.5 y_k)) want larger x (t_jk = 0.4 + 0.15 y_k + 0.1 y_jk). Who divides by the
    mean of the few drawn columns takes weight from just these, and ends too low.
    """

    def start(self, generator: Generator) -> None:
        super().start(generator)
        y = torch.randn(self.q + 1, self.pool_size, dtype=DTYPE, generator=seeded(1))
        self.weight, self.target = torch.exp(1.5 * y[0]), 0.4 + 0.15 * y[0] + 0.1 * y[1:]

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        point = x if gradient_rows is None else x[:gradient_rows]
        weight, target = self.weight[draw.columns], self.target[:, draw.columns]

        def pullback(c: Tensor) -> Tensor:
            return (-2 * c * weight * (point - target)).sum(-1, keepdim=True)

        return Inner(weight * (1 - (x - target) ** 2), pullback, torch.zeros(len(x)) > 0, 0.0)

    def utility(self, v: Tensor) -> Tensor:
        return v.amin(-2)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        mean = self.utility(zeta).mean(-1) if mean_utility is None else mean_utility
        lowest = torch.nn.functional.one_hot(zeta.argmin(-2), zeta.shape[-2]).movedim(-1, -2)
        return lowest / (zeta.shape[-1] * mean[:, None, None])


def starts(restarts: int, q: int, d: int, seed: int = 0) -> Tensor:
    """Start points (B, q, d) in the unit cube."""
    return torch.rand(restarts, q, d, dtype=DTYPE, generator=torch.Generator().manual_seed(seed))


def seeded(seed: int = 0) -> Generator:
    return torch.Generator().manual_seed(seed)
