"""The posterior of a batch: mean mu (B, q) and Cholesky factor L (B, q, q), with their own backward pass.

`reparameterise` makes samples mu + L z of them. Notation of the backward pass (per restart, cotangents dmu and dL): Phi
is the lower triangle of L^T dL with halved diagonal, S = L^-T Phi L^-1, dSigma = (S + S^T)/2; with U = Ks C^-1 and
Sigma = Kss - U Ks^T, dKs = dmu alpha^T - 2 dSigma U.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch

from compbo.numerics import Cholesky, cholesky, inverse_of_factor, keep_freed_memory, lower_inverse
from compbo.surrogate.kernels import Kernel, input_scale, left_factor, right_factor
from compbo.surrogate.warps import UNWARPED
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from compbo.surrogate.warps import InputWarp

# Rows of the cross-covariance handled at once: about what a second-level cache holds.
CHUNK_ELEMENTS = 400_000
TRIANGULAR_BLOCK = 96  # columns handled at once in a product with a triangular matrix
SKIP_ZEROS_FROM = 2 * TRIANGULAR_BLOCK  # observations from which that product is done by blocks
BACK_BY_BLOCKS_FROM = 516  # the same on the way back in double: the paper's study, up to 515, keeps its bits


def batches_per_chunk(q: int, n: int, pending: int = 0) -> int:
    """How many batches of q points are handled at once, given n observations and pending points beside them."""
    return max(1, CHUNK_ELEMENTS // max(q * n, (q + pending) ** 2))


class BatchPosterior(NamedTuple):
    """mean (B, q), factor (B, q, q), which batches have no factor (B,), the largest jitter used, the way back.

    pullback maps cotangents (dmean, dfactor) of the first `gradient_rows` batches to a gradient in x.
    """

    mean: Tensor
    factor: Tensor
    failed: Tensor  # (B,) True where there is no factor
    jitter: float
    pullback: Callable[[Tensor, Tensor], Tensor]


class Posterior(Protocol):
    """Anything that gives mean and factor of a batch: our GP, a BoTorch model, either with pending points."""

    @property
    def dim(self) -> int:
        """Number d of input dimensions."""
        ...

    @property
    def extra_points(self) -> int:
        """Points (pending ones) that join every batch: mean has q + extra_points entries."""
        ...

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Posterior of the batches x (B, q, d); the pullback covers the first `gradient_rows` of them."""
        ...

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch."""
        ...

    def flops_per_row(self) -> float:
        """Operations of the largest matrix product for one point of a batch."""
        ...


class PosteriorSamples(NamedTuple):
    """Samples f = mu + L z of the posterior at a batch, kept as the two parts."""

    mean: Tensor  # mu (B, q, 1)
    deviation: Tensor  # L z (B, q, K)

    @property
    def values(self) -> Tensor:
        """f = mu + L z (B, q, K), in memory of its own."""
        return self.mean + self.deviation

    def improvement(self, best: float) -> Tensor:
        """f - f* (B, q, K), in memory of its own."""
        return self.values.sub_(best)

    def of_first(self, rows: int) -> PosteriorSamples:
        """The samples of the first `rows` batches."""
        return PosteriorSamples(self.mean[:rows], self.deviation[:rows])


def reparameterise(batch: BatchPosterior, z: Tensor) -> PosteriorSamples:
    """lambda(z) = mu + L z for base samples z (q, K), the same for every batch."""
    return PosteriorSamples(batch.mean.unsqueeze(-1), torch.matmul(batch.factor, z))


def factor_to_covariance_cotangent(factor: Tensor, dfactor: Tensor) -> Tensor:
    """Cotangent of Sigma (..., q, q), symmetric, from the cotangent `dfactor` of its Cholesky factor."""
    phi = torch.matmul(factor.mT, dfactor.tril()).mul_(_half_diagonal(factor.shape[-1]))
    inverse = torch.linalg.solve_triangular(factor, _identity(factor.shape[-1]).expand_as(factor), upper=False)
    s: Tensor = inverse.mT @ phi @ inverse
    return (s + s.mT).mul_(0.5)


@cache
def _identity(q: int) -> Tensor:
    return torch.eye(q, dtype=DTYPE)


@cache
def _half_diagonal(q: int) -> Tensor:
    """Picks the lower triangle with halved diagonal out of a product."""
    return torch.ones(q, q, dtype=DTYPE).tril_() - 0.5 * _identity(q)


class Chunk(NamedTuple):
    """What the backward pass needs of one chunk of batches."""

    points: Tensor  # P (b, q, d), scaled
    slope: Tensor  # dk/dr2 of Ks, up to the kernel's factor (b, q, n)
    weights: Tensor  # U = Ks C^-1 (b, q, n); Ks Linv^T where C is ill-conditioned, completed on the way back
    self_slope: Tensor  # the same for Kss (b, q, q)
    factor: Tensor  # L at unit output scale (b, q, q)


class GPPosterior:
    """Exact posterior of a GP with a stationary ARD kernel, at unit output scale inside.

    rounder: x -> the nearest valid x, in front of the warp and the kernel.

    `inputs` maps points to scaled ones, P = (w(x) - centre) stretch / lengthscale. Outputs are
    output_shift + output_scale * (standard posterior). No tensor of size B q n d is built.
    """

    extra_points = 0
    precision = DTYPE  # of everything that has n columns; the rest is double: see `single.py`
    back_by_blocks_from = BACK_BY_BLOCKS_FROM

    def __init__(
        self,
        train_x: Tensor,
        train_y: Tensor,
        *,
        kernel: Kernel,
        lengthscale: Tensor,
        outputscale: float,
        noise: float,
        centre: Tensor | float = 0.5,
        output_shift: float = 0.0,
        output_scale: float = 1.0,
        rounder: Callable[[Tensor], Tensor] | None = None,
        errors: Tensor | None = None,
        warp: InputWarp = UNWARPED,
    ) -> None:
        """train_x (n, d), train_y (n,) minus the mean function; noise and outputscale are variances.

        errors: (n,) variances of single observations beside the noise; None if there are none. warp: of the inputs.
        """
        keep_freed_memory()
        self.kernel = kernel
        self.rounder = rounder
        self.inputs = input_scale(kernel, lengthscale.to(DTYPE).expand(train_x.shape[-1]), centre, warp)
        self.output_shift = output_shift
        self.scale = output_scale * outputscale**0.5
        self.scaled_train = self.inputs(self.rounded(train_x))  # A (n, d)
        self._train_right = right_factor(self.scaled_train).mT.contiguous()
        # one product with [A, 1] gives W A and the row sums of W
        self._train_and_ones = torch.cat([self.scaled_train, torch.ones_like(self.scaled_train[:, :1])], -1)
        covariance = kernel.evaluate(left_factor(self.scaled_train) @ self._train_right).value
        covariance.diagonal().add_(noise / outputscale if errors is None else (noise + errors) / outputscale)
        self.noise_ratio = noise / outputscale
        self.cholesky: Cholesky = cholesky(covariance)
        factor = self.cholesky.factor
        self.alpha = torch.cholesky_solve(train_y.unsqueeze(-1), factor).squeeze(-1) * output_scale
        # Products with C^-1 need one pass where the factor needs two; the factor is kept for ill-conditioned C.
        self._rounding = torch.finfo(DTYPE).eps * len(train_y) / max(self.noise_ratio, 1e-12)  # of Sigma's entries
        self.well_conditioned = self._rounding < 1e-3 * self.noise_ratio
        self.inverse_factor = inverse_of_factor(factor)
        self.inverse = self.inverse_factor
        if self.well_conditioned:
            lower = lower_inverse(self.inverse_factor)
            self.inverse = lower + lower.tril(-1).mT

    @property
    def dim(self) -> int:
        """Number d of input dimensions."""
        return self.scaled_train.shape[-1]

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch: the slope of Ks, U, and what they are made of."""
        return 8 * 3 * len(self.alpha)

    def flops_per_row(self) -> float:
        """Operations of Ks C^-1 for one point of a batch."""
        return 2.0 * len(self.alpha) ** 2

    def rounded(self, x: Tensor) -> Tensor:
        """The valid points nearest to x (..., d)."""
        return x if self.rounder is None else self.rounder(x)

    def unwarped(self, x: Tensor, gradient: Tensor) -> Tensor:
        """A gradient in the warped points of x (..., d) -> that in x; it passes straight through the rounding."""
        warp = self.inputs.warp
        return gradient if warp is UNWARPED else warp.pull(self.rounded(x), gradient)

    def through_factor(self, half: Tensor) -> Tensor:
        """U = Ks C^-1 (m, n) from half = Ks Linv^T (m, n)."""
        if len(self.alpha) < self.back_by_blocks_from:
            return half @ self.inverse_factor
        return times_lower(half, self.inverse_factor)

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Posterior of the batches x (B, q, d); the gradient passes straight through the rounding."""
        rows = x.shape[0] if gradient_rows is None else gradient_rows
        # where the factor's zeros are not skipped, rows without a gradient cost nothing more as part of the others
        cut = len(x) if rows > 0 and len(self.alpha) < SKIP_ZEROS_FROM else rows
        size = batches_per_chunk(x.shape[1], len(self.alpha))
        means, factors, failures, saved = [], [], [], []
        jitter = float(self.cholesky.jitter)  # of the training data
        for part, with_gradient in parts(x, cut, size):
            mean, chol, chunk = self._forward(part, with_gradient)
            means.append(mean)
            factors.append(chol.factor)
            failures.append(chol.failed)
            jitter = max(jitter, float(chol.jitter.max()))
            if with_gradient:
                saved.append(chunk)

        def pullback(dmean: Tensor, dfactor: Tensor) -> Tensor:
            gradients, start = [], 0
            for chunk in saved:
                stop = min(start + len(chunk.points), rows)
                if start < stop:
                    part = Chunk(*(saved_tensor[: stop - start] for saved_tensor in chunk))
                    gradients.append(self._backward(part, dmean[start:stop], dfactor[start:stop]))
                start = stop
            return self.unwarped(x[:rows], _joined(gradients)) if gradients else torch.zeros_like(x[:0])

        failed = _joined(failures) | self.cholesky.failed
        return BatchPosterior(_joined(means), _joined(factors) * self.scale, failed, jitter, pullback)

    def _forward(self, x: Tensor, with_gradient: bool) -> tuple[Tensor, Cholesky, Chunk]:
        b, q, d = x.shape
        points = self.inputs(self.rounded(x))
        norms = (points * points).sum(-1, keepdim=True)
        left = torch.cat([points, norms, torch.ones_like(norms)], -1).to(self.precision)
        cross = self.kernel.evaluate(left.reshape(b * q, d + 2) @ self._train_right)
        own = self.kernel.evaluate(torch.baddbmm(norms + norms.mT, points, points.mT, alpha=-2.0))
        mean = (cross.value @ self.alpha).reshape(b, q).to(DTYPE).add_(self.output_shift)
        if self.well_conditioned and with_gradient:
            weights = (cross.value @ self.inverse).reshape(b, q, -1)
            covariance = minus_product(own.value, weights, cross.value.reshape(b, q, -1))
        else:
            weights = times_upper(cross.value, self.inverse_factor).reshape(b, q, -1)  # Ks Linv^T
            covariance = minus_product(own.value, weights, weights)
        chol = cholesky(covariance, self._rounding)
        return mean, chol, Chunk(points, cross.slope.reshape(b, q, -1), weights, own.slope, chol.factor)

    def _backward(self, chunk: Chunk, dmean: Tensor, dfactor: Tensor) -> Tensor:
        b, q, d = chunk.points.shape
        dcovariance = factor_to_covariance_cotangent(chunk.factor, dfactor * self.scale)
        weights = chunk.weights
        if not self.well_conditioned:
            weights = self.through_factor(weights.reshape(b * q, -1)).reshape(b, q, -1)
        # dKs = dmu alpha^T - 2 dSigma U, then W = dKs * dk/dr2
        dcross = dmean.to(self.precision).unsqueeze(-1) * self.alpha
        dcross.baddbmm_(dcovariance.to(self.precision), weights, alpha=-2.0)
        w = dcross.mul_(chunk.slope).reshape(b * q, -1)
        # dP = 2 (rowsum(W) P - W A), and twice that for Kss, whose two ends both move
        products = (w @ self._train_and_ones).reshape(b, q, d + 1)
        own = dcovariance.mul_(chunk.self_slope).mul_(2.0)
        rowsum = products[..., d:] + own.sum(-1, keepdim=True)
        pull = (rowsum * chunk.points).sub_(products[..., :d]).baddbmm_(own, chunk.points, alpha=-1.0)
        return pull.mul_(2.0 * self.kernel.slope_factor * self.inputs.weights)


def _joined(chunks: list[Tensor]) -> Tensor:
    return torch.cat(chunks) if len(chunks) > 1 else chunks[0]


def parts(x: Tensor, rows: int, size: int) -> Iterator[tuple[Tensor, bool]]:
    """Chunks of at most `size` batches of x, each either wholly before `rows` (with a gradient) or wholly after."""
    for low, high, with_gradient in ((0, min(rows, len(x)), True), (rows, len(x), False)):
        for start in range(low, high, size):
            yield x[start : min(start + size, high)], with_gradient


def minus_product(covariance: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """covariance (b, q, q) - left right^T, in its precision; the product in that of left and right (b, q, n)."""
    if left.dtype == covariance.dtype:
        return torch.baddbmm(covariance, left, right.mT, alpha=-1.0)
    return covariance - torch.bmm(left, right.mT)


def times_upper(left: Tensor, lower: Tensor) -> Tensor:
    """left @ lower^T by blocks, without the products with the zeros above the diagonal of `lower`."""
    n = len(lower)
    if n < SKIP_ZEROS_FROM:
        return left @ lower.mT
    out = left.new_empty(left.shape)
    for start in range(0, n, TRIANGULAR_BLOCK):
        stop = min(start + TRIANGULAR_BLOCK, n)
        torch.mm(left[:, :stop], lower[start:stop, :stop].mT, out=out[:, start:stop])
    return out


def times_lower(left: Tensor, lower: Tensor) -> Tensor:
    """left @ lower by blocks, without the products with the zeros above the diagonal of `lower`."""
    n = len(lower)
    out = left.new_empty(left.shape)
    for start in range(0, n, TRIANGULAR_BLOCK):
        stop = min(start + TRIANGULAR_BLOCK, n)
        torch.mm(left[:, start:], lower[start:, start:stop], out=out[:, start:stop])
    return out


class PendingPosterior:
    """A posterior whose every batch is joined by pending points that do not move."""

    def __init__(self, posterior: Posterior, pending: Tensor) -> None:
        """pending (p, d)."""
        self.posterior = posterior
        self.pending = pending

    @property
    def dim(self) -> int:
        """Number d of input dimensions."""
        return self.posterior.dim

    @property
    def extra_points(self) -> int:
        """Number p of pending points."""
        return len(self.pending) + self.posterior.extra_points

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch."""
        return self.posterior.bytes_per_row()

    def flops_per_row(self) -> float:
        """Operations of the largest matrix product for one point of a batch."""
        return self.posterior.flops_per_row()

    def joined(self, x: Tensor) -> Tensor:
        """The batches x (B, q, d) with the pending points at their ends, (B, q + p, d)."""
        return torch.cat([x, self.pending.expand(len(x), -1, x.shape[-1])], 1)

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Joint posterior of x and the pending points; the gradient is that of x alone."""
        q = x.shape[1]
        batch = self.posterior(self.joined(x), gradient_rows)
        return batch._replace(pullback=lambda dmean, dfactor: batch.pullback(dmean, dfactor)[:, :q])


def with_pending(posterior: Posterior, pending: Tensor | None) -> Posterior:
    """The posterior joined by pending points (p, d), if there are any."""
    from compbo.surrogate.pending import GPWithPending  # it is built on this module

    if pending is None or len(pending) == 0:
        return posterior
    if isinstance(posterior, GPWithPending):
        return GPWithPending(posterior.posterior, torch.cat([pending, posterior.pending]))
    if isinstance(posterior, GPPosterior):
        return GPWithPending(posterior, pending)
    return PendingPosterior(posterior, pending)


class _MeanAndFactor(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, posterior: Posterior) -> tuple[Tensor, Tensor]:
        batch = posterior(x.detach())
        ctx.pullback = batch.pullback
        return batch.mean, batch.factor

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor, None]:
        return ctx.pullback(*cotangents), None


def mean_and_factor(posterior: Posterior, x: Tensor) -> tuple[Tensor, Tensor]:
    """mu (B, q) and L (B, q, q) at x (B, q, d) as one differentiable operation of autograd."""
    mean, factor = _MeanAndFactor.apply(x, posterior)  # type: ignore[no-untyped-call]
    return mean, factor
