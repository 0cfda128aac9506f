"""Leave-one-out cross-validation of a Gaussian process in closed form (Rasmussen and Williams, 2006, 5.4.2).

With C = s_f^2 K + s_n^2 I + E, the prediction of observation i from all others is normal with

    mu_i = y_i - [C^-1 y]_i / [C^-1]_ii,   s_i^2 = 1 / [C^-1]_ii

its own noise included. Hyperparameters, input warp, output transform and standardisation stay those of the fit to all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.numerics import cholesky, inverse_of_factor
from compbo.surrogate.features import FeatureKernel
from compbo.surrogate.kernels import input_scale, left_factor, right_factor

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.surrogate.gp import GP


class LeftOut(NamedTuple):
    """What all other observations predict of each: mean mu (n,) and standard deviation s (n,), standardised."""

    mean: Tensor
    deviation: Tensor


def leave_one_out(gp: GP) -> LeftOut:
    """The prediction of every observation of a fitted model from all others."""
    inverse_factor = inverse_of_factor(cholesky(_covariance(gp)).factor)
    diagonal = inverse_factor.square().sum(0)  # of C^-1 = L^-T L^-1
    alpha = inverse_factor.mT @ (inverse_factor @ gp.train_y)
    return LeftOut(gp.train_y - alpha / diagonal, diagonal.rsqrt())


def _covariance(gp: GP) -> Tensor:
    """C (n, n)."""
    lengthscale, outputscale, noise, warp = gp.hyperparameters
    inputs = input_scale(gp.kernel, lengthscale, warp=warp)(gp.train_x)
    if isinstance(gp.kernel, FeatureKernel):
        phi = gp.kernel.features(inputs)
        k = phi @ phi.mT
    else:
        k = gp.kernel.evaluate(left_factor(inputs) @ right_factor(inputs).mT).value
    covariance = outputscale * k
    covariance.diagonal().add_(noise if gp.errors is None else noise + gp.errors)
    return covariance
