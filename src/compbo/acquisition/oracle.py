"""The oracle: one acquisition function, in one form, over one posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.acquisition.samples import Sampled
from compbo.surrogate.posterior import reparameterise
from compbo.types import POOL_FORMS, Draw, Inner, zeta_at_once

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.samples import Samples
    from compbo.surrogate.posterior import BatchPosterior, Posterior


VALUE_ELEMENTS = 1_000_000  # of v held at once where only values are wanted


class AcquisitionOracle(Sampled):
    """draw / inner / outer of f(E[g(x)]): see `compbo.types.Oracle`, which it implements."""

    def __init__(self, acquisition: Acquisition, posterior: Posterior, samples: Samples, best: float) -> None:
        """best: f*, the best observed value in the posterior's units."""
        super().__init__(samples)
        self.acquisition = acquisition
        self.posterior = posterior
        self.best = best

    @property
    def linear_outer(self) -> bool:
        """Whether f is a mean of the columns' utilities."""
        return self.acquisition.linear_outer

    @property
    def homogeneous_utility(self) -> bool:
        """Whether h(c v) = c h(v) for c > 0."""
        return self.acquisition.homogeneous_utility

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """v (B, q, K) at x (B, q, d) and the way back to x for the first `gradient_rows` batches."""
        rows = x.shape[0] if gradient_rows is None else gradient_rows
        batch = self.posterior(x, rows)
        samples = reparameterise(batch, draw.z)
        v = self.acquisition.inner(samples, self.best)

        def pullback(c: Tensor) -> Tensor:
            dmean, ddeviation = self.acquisition.inner_vjp(c, samples.of_first(rows), self.best)
            return batch.pullback(dmean.sum(-1), torch.matmul(ddeviation, draw.z.mT))

        return Inner(v, pullback, batch.failed, batch.jitter, lambda other: self._v_of(batch, other))

    def _v_of(self, batch: BatchPosterior, draw: Draw) -> Tensor:
        """v (B, q, K) of a batch on the samples of the draw."""
        return self.acquisition.inner(reparameterise(batch, draw.z), self.best)

    def utility(self, v: Tensor) -> Tensor:
        """h: the utility of every column."""
        return self.acquisition.utility(v)

    def outer(self, v: Tensor) -> Tensor:
        """f over the columns given."""
        return self.acquisition.outer(v)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """(M/K) grad f at the columns given: the draw samples the outer sum as well, the paper's f_nu with nu = w."""
        return self.acquisition.outer_gradient(zeta, mean_utility)

    def value(self, x: Tensor, draw: Draw) -> Tensor:
        """f(g(x)) on the samples given, (B,), a few batches at a time; NaN where there is no posterior."""
        width = draw.z.shape[0]
        size = max(1, VALUE_ELEMENTS // (width * max(width, draw.size)))  # v, and the factors
        return torch.cat([self._value(part, draw) for part in torch.split(x, size)])

    def _value(self, x: Tensor, draw: Draw) -> Tensor:
        inner = self.inner(x, draw, gradient_rows=0)
        return torch.where(inner.failed, torch.nan, self.outer(inner.v))

    def bytes_needed(self, restarts: int, tracked: bool = False) -> int:
        """The pool, zeta on all of its columns; of x and u the minibatch's columns, factors and the posterior's rows.

        That is a bound: columns that are never drawn are not made. Where f is not linear all are made at first: L z,
        its absolute value and v exist side by side, for the restarts that are made at once.
        """
        width, k, m = self.samples.width, self.samples.minibatch, self.pool_size
        pool = 8 * width * m if self.samples.form in POOL_FORMS else 0
        zeta = restarts * width * m if tracked else 0
        at_once = tracked and not self.linear_outer
        made = zeta_at_once(restarts, width * m) * width * m if at_once else 0
        evaluated = 2 if tracked else 1
        rows = evaluated * restarts * width * (self.posterior.bytes_per_row() + 8 * 6 * max(k, width))
        return pool + 8 * 3 * made + (8 * zeta if made < zeta else 0) + rows
