"""The posterior of a GP with finitely many features, f = s_f phi(x)^T w, as Bayesian linear regression.

At unit output scale, with the features Phi (n, r) of the data and rho = s_n^2 / s_f^2, the weights are
N(m, R R^T), m = (Phi^T Phi + rho I)^-1 Phi^T y, R = sqrt(rho) chol(Phi^T Phi + rho I)^-T. A batch with features phi has
mean phi m and covariance A A^T with A = phi R; a step costs r^2 per point, for any n. On the way back
dA = 2 dSigma A and dphi = dA R^T + dmu m^T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.numerics import Cholesky, cholesky, inverse_of_factor
from compbo.surrogate.kernels import input_scale
from compbo.surrogate.posterior import BatchPosterior, factor_to_covariance_cotangent
from compbo.surrogate.warps import UNWARPED
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.surrogate.features import FeatureKernel
    from compbo.surrogate.warps import InputWarp

# A batch of more points than features has a singular covariance. That much of its mean variance on the diagonal is a
# factor that a gradient can pass through: rounding errors are multiplied by 1e8 on the way, not by 1e16.
NUGGET = 1e-8


class FeaturePosterior:
    """Exact posterior of a GP whose kernel has finitely many features; see `compbo.surrogate.posterior.Posterior`.

    lengthscale (d,). rounder: x -> the nearest valid x, in front of the warp and the kernel.
    """

    extra_points = 0

    def __init__(
        self,
        train_x: Tensor,
        train_y: Tensor,
        *,
        kernel: FeatureKernel,
        lengthscale: Tensor,
        outputscale: float,
        noise: float,
        rounder: Callable[[Tensor], Tensor] | None = None,
        errors: Tensor | None = None,
        warp: InputWarp = UNWARPED,
    ) -> None:
        """train_x (n, d), train_y (n,) minus the mean function; noise and outputscale are variances.

        errors: (n,) variances of single observations beside the noise: with a large one it weighs less. warp: of the
        inputs.
        """
        self.kernel = kernel
        self.rounder = rounder
        self.inputs = input_scale(kernel, lengthscale.to(DTYPE).expand(train_x.shape[-1]), warp=warp)
        self.scale = outputscale**0.5
        phi = self.features(train_x)
        if errors is not None:
            weight = (noise / (noise + errors)).sqrt()
            phi, train_y = weight.unsqueeze(-1) * phi, weight * train_y
        ratio = noise / outputscale
        precision = phi.mT @ phi
        precision.diagonal().add_(ratio)
        self.cholesky: Cholesky = cholesky(precision)
        self.weights = torch.cholesky_solve((phi.mT @ train_y).unsqueeze(-1), self.cholesky.factor).squeeze(-1)  # m
        self.spread = ratio**0.5 * inverse_of_factor(self.cholesky.factor).mT  # R (r, r)

    @property
    def dim(self) -> int:
        """Number d of input dimensions."""
        return len(self.inputs.weights)

    def bytes_per_row(self) -> int:
        """Working memory of one point of a batch: phi, A and their cotangents."""
        return 8 * 4 * len(self.weights)

    def flops_per_row(self) -> float:
        """Operations of phi R for one point of a batch."""
        return 2.0 * len(self.weights) ** 2

    def _round(self, x: Tensor) -> Tensor:
        return x if self.rounder is None else self.rounder(x)

    def features(self, x: Tensor) -> Tensor:
        """phi (..., r) at x (..., d)."""
        return self.kernel.features(self.inputs(self._round(x)))

    def pull(self, x: Tensor, dphi: Tensor) -> Tensor:
        """Cotangent of phi -> cotangent of x; it passes straight through the rounding."""
        rounded = self._round(x)
        return self.inputs.warp.pull(rounded, self.kernel.pull(self.inputs(rounded), dphi) * self.inputs.weights)

    def draw_weights(self, paths: int, generator: Generator) -> Tensor:
        """Weights (S, r) of posterior samples f(x) = phi(x)^T w: m + s_f R e."""
        e = torch.randn(paths, len(self.weights), dtype=DTYPE, generator=generator)
        return torch.addmm(self.weights, e, self.spread.mT, alpha=self.scale)

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        """Posterior of the batches x (B, q, d); the pullback covers the first `gradient_rows` of them."""
        rows, q = x.shape[0] if gradient_rows is None else gradient_rows, x.shape[1]
        phi = self.features(x)
        a = phi @ self.spread
        covariance = a @ a.mT
        nugget = NUGGET if q > len(self.weights) else 0.0
        if nugget:
            diagonal = covariance.diagonal(dim1=-2, dim2=-1)
            diagonal += nugget * diagonal.mean(-1, keepdim=True)
        chol = cholesky(covariance)

        def pullback(dmean: Tensor, dfactor: Tensor) -> Tensor:
            dsigma = factor_to_covariance_cotangent(chol.factor[:rows], dfactor * self.scale)
            if nugget:  # it is a part of the mean of the diagonal, and moves with it
                diagonal = dsigma.diagonal(dim1=-2, dim2=-1)
                diagonal += nugget * diagonal.mean(-1, keepdim=True)
            dphi = 2.0 * dsigma @ a[:rows] @ self.spread.mT + dmean.unsqueeze(-1) * self.weights
            return self.pull(x[:rows], dphi)

        jitter = max(float(self.cholesky.jitter), nugget, float(chol.jitter.max()))
        failed = chol.failed | self.cholesky.failed
        return BatchPosterior(phi @ self.weights, chol.factor * self.scale, failed, jitter, pullback)
