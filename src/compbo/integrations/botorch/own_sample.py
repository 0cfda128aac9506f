"""A plain acquisition function on its own base samples: BoTorch's value, up to rounding, by compbo's posterior.

qEI, qPI, qSR and qUCB are compbo's integrands on the base samples of BoTorch's sampler, without autograd. What qLogEI
makes of the samples mu + L z (smooth maximum, log-mean-exp) is written out in `log_ei.py`; where a version of BoTorch
makes something else of them, that is BoTorch's own code, and only the posterior is compbo's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from botorch.sampling.get_sampler import get_sampler
from botorch.sampling.normal import NormalMCSampler

from compbo.acquisition.integrands import UCB, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.integrations.botorch.compat import reductions
from compbo.integrations.botorch.log_ei import FatMaximum, fat_maximum
from compbo.integrations.botorch.samplers import SeededSampler
from compbo.surrogate.posterior import PosteriorSamples, reparameterise
from compbo.types import DTYPE, Draw, Inner

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.integrations.botorch.fast import PlainProblem


def own_sample_oracle(yardstick: Any, problem: PlainProblem, x: Tensor) -> AcquisitionOracle | None:
    """The oracle of a plain problem on its fixed sample, or None if that is not one normal per point.

    yardstick: a private copy, whose sampler may be used. x (B, q, d): some batches.
    """
    z = _base_samples(yardstick, x[:1].nan_to_num())
    if z is None:
        return None
    acquisition, posterior, best = problem
    if isinstance(acquisition, LogEI):
        reduced = ReducedOracle(yardstick, problem, z)
        found = fat_maximum(yardstick, best, reduced.reduced)
        return reduced if found is None else LogEIOracle(yardstick, problem, z, found)
    kind = CentredOracle if isinstance(acquisition, UCB) else AcquisitionOracle
    return kind(acquisition, posterior, OwnSamples(z), best)


def own_values(oracle: AcquisitionOracle, x: Tensor) -> Tensor:
    """alpha (B,) at x (B, q, d) on the oracle's own sample, without gradients; -inf where there is none."""
    points = x.detach().to(device="cpu", dtype=DTYPE)
    return oracle.value(points, oracle.samples.draw()).nan_to_num(nan=-torch.inf)


class OwnSamples:
    """The base samples z (q, K) of BoTorch's sampler, the same at every draw."""

    form = "ERM"

    def __init__(self, z: Tensor) -> None:
        self.width, self.minibatch = z.shape
        self.pool_size = self.minibatch
        self._draw = Draw(z)

    def start(self, generator: Generator) -> None:
        """Nothing is random."""

    def draw(self) -> Draw:
        """All of them."""
        return self._draw

    expectation_draw = draw


def _base_samples(acqf: Any, x: Tensor) -> Tensor | None:
    """z (q, K), pending points included: what BoTorch's sampler multiplies with the factor of the covariance."""
    pending = acqf.X_pending
    with torch.no_grad():
        posterior = acqf.model.posterior(x if pending is None else torch.cat([x, pending.expand(1, -1, -1)], -2))
        sampler = acqf.sampler
        if isinstance(sampler, SeededSampler):
            sampler = get_sampler(posterior, sample_shape=sampler.sample_shape, seed=sampler.seed)
        if not isinstance(sampler, NormalMCSampler) or len(sampler.sample_shape) != 1:
            return None
        sampler._construct_base_samples(posterior=posterior)
    z, (k,) = sampler.base_samples, sampler.sample_shape
    points = posterior.batch_shape.numel() * posterior.event_shape.numel()
    if z is None or len(z) != k or z.numel() != k * points:
        return None
    base: Tensor = z.reshape(k, points).mT.to(DTYPE).contiguous()
    return base


class CentredOracle(AcquisitionOracle):
    """BoTorch's qUCB: deviations from the mean of the samples, mu + L mean(z), instead of from mu."""

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """v (B, q, K) at x (B, q, d) and the way back to x for the first `gradient_rows` batches."""
        rows = len(x) if gradient_rows is None else gradient_rows
        batch = self.posterior(x, rows)
        centre = draw.z.mean(-1, keepdim=True)
        spread = draw.z - centre
        samples = PosteriorSamples(batch.mean.unsqueeze(-1) + batch.factor @ centre, batch.factor @ spread)

        def pullback(c: Tensor) -> Tensor:
            dmean, ddeviation = self.acquisition.inner_vjp(c, samples.of_first(rows), self.best)
            total = dmean.sum(-1)
            return batch.pullback(total, ddeviation @ spread.mT + total.unsqueeze(-1) * centre.mT)

        return Inner(self.acquisition.inner(samples, self.best), pullback, batch.failed, batch.jitter)


class ReducedOracle(AcquisitionOracle):
    """alpha = S(Q(utility(mu + L z))) of `acqf` as one column, differentiated by autograd.

    problem: its parts; utility and reductions are BoTorch's.
    """

    linear_outer = homogeneous_utility = True

    def __init__(self, acqf: Any, problem: PlainProblem, z: Tensor) -> None:
        """z (q, K), pending points included."""
        super().__init__(problem.acquisition, problem.posterior, OwnSamples(z), problem.best)
        self._utility, (self._q_reduction, self._sample_reduction) = acqf._sample_forward, reductions(acqf)

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """alpha (B, 1, 1) and its gradient."""
        rows = len(x) if gradient_rows is None else gradient_rows
        batch = self.posterior(x, rows)
        samples = reparameterise(batch, draw.z).values
        free = samples[:rows].requires_grad_(rows > 0)
        with torch.enable_grad():
            moving = self.reduced(free)
        with torch.no_grad():
            value = torch.cat([moving.detach(), self.reduced(samples[rows:])]) if rows < len(x) else moving.detach()

        def pullback(c: Tensor) -> Tensor:
            (slope,) = torch.autograd.grad(moving, free, c[:, 0, 0], retain_graph=True)
            return batch.pullback(slope.sum(-1), slope @ draw.z.mT)

        return Inner(value[:, None, None], pullback, batch.failed, batch.jitter)

    def reduced(self, samples: Tensor) -> Tensor:
        """Samples (B, q, K) -> alpha (B,)."""
        value: Tensor = self._sample_reduction(self._q_reduction(self._utility(samples.permute(2, 0, 1))))
        return value

    def utility(self, v: Tensor) -> Tensor:
        """alpha, (B, 1)."""
        return v[:, 0]

    def outer(self, v: Tensor) -> Tensor:
        """alpha, (B,)."""
        return v[:, 0, 0]

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:  # noqa: ARG002 - linear
        """1 for every batch."""
        return torch.ones_like(zeta)


class LogEIOracle(ReducedOracle):
    """qLogEI of `acqf` as one column, with the gradient of its fat maximum written out.

    problem: its parts. maximum: what it makes of samples.
    """

    def __init__(self, acqf: Any, problem: PlainProblem, z: Tensor, maximum: FatMaximum) -> None:
        """z (q, K), pending points included."""
        super().__init__(acqf, problem, z)
        self._maximum = maximum

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """alpha (B, 1, 1) and its gradient."""
        rows = len(x) if gradient_rows is None else gradient_rows
        batch = self.posterior(x, rows)
        samples = reparameterise(batch, draw.z).values
        value, slope = self._maximum.value_and_slope(samples[:rows])
        if rows < len(x):
            value = torch.cat([value, self._maximum.value(samples[rows:])])

        def pullback(c: Tensor) -> Tensor:
            scaled = slope * c
            return batch.pullback(scaled.sum(-1), scaled @ draw.z.mT)

        return Inner(value[:, None, None], pullback, batch.failed, batch.jitter)
