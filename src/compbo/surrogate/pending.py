"""The posterior of a GP whose every batch is joined by pending points, computed once for all batches.

Pending points do not move: their products with the observations (n of them) are made once, so that a batch costs as
much as without them. With x the batch, p the pending points, U = K C^-1 and cotangent dSigma of the joint covariance,

    Sigma_xp = K_xp - U_x K_p^T,   dK_x = dmu_x alpha^T - 2 (dSigma_xx U_x + dSigma_xp U_p),   dK_xp = 2 dSigma_xp.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.numerics import Cholesky, cholesky
from compbo.surrogate.kernels import KernelValue, left_factor, right_factor
from compbo.surrogate.posterior import (
    BatchPosterior,
    batches_per_chunk,
    factor_to_covariance_cotangent,
    minus_product,
    parts,
    times_upper,
)
from compbo.types import DTYPE

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.surrogate.posterior import GPPosterior


class _Fixed(NamedTuple):
    """What the pending points bring to every batch."""

    points: Tensor  # (p, d), scaled
    right: Tensor  # (d + 2, p), right factor of their distances
    mean: Tensor  # (p,)
    values: Tensor  # K_p (p, n)
    weights: Tensor  # U_p = K_p C^-1 (p, n)
    half: Tensor  # V_p = K_p Linv^T (p, n)
    covariance: Tensor  # Sigma_pp (p, p) at unit output scale


class _Chunk(NamedTuple):
    """What the backward pass needs of one chunk of batches."""

    points: Tensor  # P (b, q, d), scaled
    slope: Tensor  # dk/dr2 of K_x (b, q, n), up to the kernel's factor
    weights: Tensor  # U_x (b, q, n); V_x = K_x Linv^T where C is ill-conditioned, completed on the way back
    self_slope: Tensor  # of K_xx (b, q, q)
    beside_slope: Tensor  # of K_xp (b, q, p)
    factor: Tensor  # L (b, q + p, q + p) at unit output scale


class GPWithPending:
    """The joint posterior of a batch and of pending points that do not move, the batch first.

    Args:
        posterior: of the GP.
        pending: (p, d).
    """

    def __init__(self, posterior: GPPosterior, pending: Tensor) -> None:
        self.posterior = posterior
        self.pending = pending
        points = posterior.inputs(pending if posterior.rounder is None else posterior.rounder(pending))
        values = posterior.kernel.evaluate(left_factor(points) @ posterior._train_right).value
        own = posterior.kernel.evaluate(left_factor(points) @ right_factor(points).mT).value
        half = times_upper(values, posterior.inverse_factor)
        self._fixed = _Fixed(
            points,
            right_factor(points).mT.contiguous(),
            values @ posterior.alpha + posterior.output_shift,
            values,
            half @ posterior.inverse_factor,
            half,
            own - half @ half.mT,
        )

    def over(self, posterior: GPPosterior) -> GPWithPending:
        """The same pending points beside the same posterior in another precision; their own part stays as it is."""
        other = copy(self)
        other.posterior = posterior
        return other

    @property
    def dim(self) -> int:
        """Number d of input dimensions."""
        return self.posterior.dim

    @property
    def extra_points(self) -> int:
        """Number p of pending points."""
        return len(self.pending)

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch."""
        return self.posterior.bytes_per_row()

    def flops_per_row(self) -> float:
        """Operations of the largest matrix product for one point of a batch."""
        return self.posterior.flops_per_row()

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Joint posterior of the batches x (B, q, d) and the pending points; the gradient is that of x alone."""
        gp = self.posterior
        rows = len(x) if gradient_rows is None else gradient_rows
        means, factors, saved = [], [], []
        for part, with_gradient in parts(x, rows, batches_per_chunk(x.shape[1], len(gp.alpha), len(self.pending))):
            mean, chol, chunk = self._forward(part, with_gradient)
            means.append(mean)
            factors.append(chol)
            if with_gradient:
                saved.append(chunk)

        def pullback(dmean: Tensor, dfactor: Tensor) -> Tensor:
            sizes = [len(chunk.points) for chunk in saved]
            cotangents = zip(saved, torch.split(dmean, sizes), torch.split(dfactor, sizes), strict=True)
            gradients = [self._backward(*of_chunk) for of_chunk in cotangents]
            return gp.unwarped(x[:rows], torch.cat(gradients)) if gradients else torch.zeros_like(x[:0])

        jitter = max(float(chol.jitter.max()) for chol in (gp.cholesky, *factors))
        return BatchPosterior(
            torch.cat(means),
            torch.cat([chol.factor for chol in factors]) * gp.scale,
            torch.cat([chol.failed for chol in factors]) | gp.cholesky.failed,
            jitter,
            pullback,
        )

    def _forward(self, x: Tensor, with_gradient: bool) -> tuple[Tensor, Cholesky, _Chunk]:
        gp, fixed = self.posterior, self._fixed
        b, q, _ = x.shape
        points = gp.inputs(x if gp.rounder is None else gp.rounder(x))
        left = left_factor(points)
        cross = _reshaped(gp.kernel.evaluate(left.flatten(0, 1).to(gp.precision) @ gp._train_right), b)
        own = gp.kernel.evaluate(left @ right_factor(points).mT)
        beside = _reshaped(gp.kernel.evaluate(left.flatten(0, 1) @ fixed.right), b)
        if gp.well_conditioned and with_gradient:
            weights, other, pending = cross.value @ gp.inverse, cross.value, fixed.values
        else:
            weights = times_upper(cross.value.flatten(0, 1), gp.inverse_factor).reshape(b, q, -1)
            other, pending = weights, fixed.half
        covariance = x.new_empty(b, q + len(self.pending), q + len(self.pending))
        covariance[:, :q, :q] = minus_product(own.value, weights, other)
        covariance[:, :q, q:] = beside.value - weights @ pending.to(gp.precision).mT
        covariance[:, q:, :q] = covariance[:, :q, q:].mT
        covariance[:, q:, q:] = fixed.covariance
        chol = cholesky(covariance, gp._rounding)
        mean = torch.cat([(cross.value @ gp.alpha).to(DTYPE) + gp.output_shift, fixed.mean.expand(b, -1)], 1)
        return mean, chol, _Chunk(points, cross.slope, weights, own.slope, beside.slope, chol.factor)

    def _backward(self, chunk: _Chunk, dmean: Tensor, dfactor: Tensor) -> Tensor:
        gp, fixed = self.posterior, self._fixed
        b, q, d = chunk.points.shape
        dcovariance = factor_to_covariance_cotangent(chunk.factor, dfactor * gp.scale)[:, :q]
        dself, dbeside = dcovariance[..., :q], dcovariance[..., q:]
        pending = (fixed.weights if gp.well_conditioned else fixed.half).to(gp.precision)
        pulled = (dbeside.to(gp.precision) @ pending).baddbmm_(dself.to(gp.precision), chunk.weights)
        if not gp.well_conditioned:
            pulled = gp.through_factor(pulled.flatten(0, 1)).reshape(b, q, -1)
        # dK_x, then W = dK * dk/dr2 for the observations, the batch itself and the pending points
        dcross = (dmean[:, :q, None].to(gp.precision) * gp.alpha).sub_(pulled, alpha=2.0)
        products = (dcross.mul_(chunk.slope).flatten(0, 1) @ gp._train_and_ones).reshape(b, q, d + 1)
        own = dself.mul(chunk.self_slope).mul_(2.0)
        beside = dbeside.mul(chunk.beside_slope).mul_(2.0)
        # dP = 2 (rowsum(W) P - W A); of the batch itself both ends move
        rowsum = products[..., d:] + own.sum(-1, keepdim=True) + beside.sum(-1, keepdim=True)
        pull = (rowsum * chunk.points).sub_(products[..., :d]).baddbmm_(own, chunk.points, alpha=-1.0)
        return pull.sub_(beside @ fixed.points).mul_(2.0 * gp.kernel.slope_factor * gp.inputs.weights)


def _reshaped(kernel_value: KernelValue, b: int) -> KernelValue:
    """Value and slope (b q, m) as (b, q, m)."""
    value, slope = kernel_value
    return KernelValue(value.reshape(b, -1, value.shape[-1]), slope.reshape(b, -1, slope.shape[-1]))
