"""Stationary kernels as functions of the squared distance of scaled inputs.

Inputs are scaled by stretch / lengthscale (`input_scale`), so that the formulas below have no constant left: r2 is the
squared distance of scaled inputs. A warp, if there is one, comes before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.surrogate.features import COSINE, LINEAR, FeatureKernel
from compbo.surrogate.warps import UNWARPED

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.surrogate.warps import InputWarp


class KernelValue(NamedTuple):
    """The value k(r2) at unit output scale, and its slope dk/d(r2) up to the factor `slope_factor` of the kernel."""

    value: Tensor
    slope: Tensor


class Kernel(NamedTuple):
    """A stationary kernel, by its name: the stretch of its inputs, and `evaluate`, its value and slope in r2.

    slope_factor: what the slope of `evaluate` has to be multiplied by. `evaluate` overwrites r2.
    """

    name: str
    stretch: float
    slope_factor: float
    evaluate: Callable[[Tensor], KernelValue]


class InputScale(NamedTuple):
    """How inputs enter a kernel: P = (w(x) - centre) stretch / lengthscale, w the warp. The centre keeps P small."""

    centre: Tensor | float
    weights: Tensor  # stretch / lengthscale (d,)
    warp: InputWarp = UNWARPED  # w

    def __call__(self, x: Tensor) -> Tensor:
        """P of inputs x (..., d)."""
        return (self.warp.forward(x) - self.centre) * self.weights


def input_scale(
    kernel: Kernel | FeatureKernel,
    lengthscale: Tensor,
    centre: Tensor | float = 0.5,
    warp: InputWarp = UNWARPED,
) -> InputScale:
    """The scale of a kernel with these lengthscales (d,) and this warp; the default centre is that of the unit cube."""
    return InputScale(centre, kernel.stretch / lengthscale, warp)


def _matern52(r2: Tensor) -> KernelValue:
    """k = (1 + s + s^2/3) exp(-s), s = sqrt(r2) = sqrt(5) r; dk/d(r2) = -(1 + s) exp(-s) / 6, finite at 0."""
    s = r2.clamp_min_(0.0).sqrt()
    e = s.neg().exp_()
    slope = torch.addcmul(e, s, e, out=s)
    return KernelValue(torch.addcmul(slope, e, r2, value=1.0 / 3.0, out=r2), slope)


def _squared_exponential(r2: Tensor) -> KernelValue:
    """k = exp(-r2), r2 = r^2 / 2; dk/d(r2) = -k."""
    value = r2.clamp_min_(0.0).neg_().exp_()
    return KernelValue(value, value)


MATERN52 = Kernel("matern52", 5.0**0.5, -1.0 / 6.0, _matern52)
SQUARED_EXPONENTIAL = Kernel("se", 0.5**0.5, -1.0, _squared_exponential)

KERNELS: dict[str, Kernel | FeatureKernel] = {
    kernel.name: kernel for kernel in (MATERN52, SQUARED_EXPONENTIAL, LINEAR, COSINE)
}


def get_kernel(name: str) -> Kernel | FeatureKernel:
    """The kernel of that name: a stationary one, or one of finitely many features."""
    try:
        return KERNELS[name]
    except (KeyError, TypeError):
        raise ValueError(f"kernel {name!r} is unknown; choose one of {', '.join(KERNELS)}.") from None


def left_factor(p: Tensor) -> Tensor:
    """p (..., m, d) -> (..., m, d + 2): with `right_factor`, one matrix product gives all squared distances."""
    norms = (p * p).sum(-1, keepdim=True)
    return torch.cat([p, norms, torch.ones_like(norms)], -1)


def right_factor(a: Tensor) -> Tensor:
    """(..., n, d) -> (..., n, d + 2), so that left_factor(p) @ right_factor(a)^T = |p|^2 + |a|^2 - 2 p a^T."""
    norms = (a * a).sum(-1, keepdim=True)
    return torch.cat([-2.0 * a, torch.ones_like(norms), norms], -1)
