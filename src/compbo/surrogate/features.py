"""Kernels of finitely many features, k(P, P') = phi(P)^T phi(P'): linear and cosine, of the paper's pilot.

P are scaled inputs, as for the stationary kernels (`kernels.input_scale`). A Gaussian process with r features is
Bayesian linear regression in phi: `feature_posterior.py` works with r x r matrices, not with the kernel.

- linear: phi = (1, P), so k = 1 + P^T P', P = (x - 1/2) / lengthscale: GPyTorch's `LinearKernel` of centred inputs,
  plus a constant.
- cosine: phi = (1, cos a, sin a), a = sum_k P_k, so k = 1 + cos(a - a'), P = pi (x - 1/2) / lengthscale: one wave, plus
  a constant. In one dimension the wave is GPyTorch's `CosineKernel`. In several, that one takes the cosine of the
  distance, which is not a covariance there: its matrices have negative eigenvalues.

The constant 1 stands for the mean that GPyTorch's models learn: a plane or a wave need not be 0 where the mean of the
data is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class FeatureKernel(NamedTuple):
    """A kernel of finitely many features, by its name: the stretch of its inputs, phi, and the way back.

    features: P (..., d) -> phi (..., r). pull: (P, cotangent of phi) -> cotangent of P.
    """

    name: str
    stretch: float
    features: Callable[[Tensor], Tensor]
    pull: Callable[[Tensor, Tensor], Tensor]


def _linear(p: Tensor) -> Tensor:
    """phi = (1, P)."""
    return torch.cat([torch.ones_like(p[..., :1]), p], -1)


def _pull_linear(p: Tensor, dphi: Tensor) -> Tensor:
    del p
    return dphi[..., 1:]


def _cosine(p: Tensor) -> Tensor:
    """phi = (1, cos a, sin a), a = sum_k P_k."""
    angle = p.sum(-1, keepdim=True)
    return torch.cat([torch.ones_like(angle), angle.cos(), angle.sin()], -1)


def _pull_cosine(p: Tensor, dphi: Tensor) -> Tensor:
    """The same in every dimension: cos(a) dphi_3 - sin(a) dphi_2."""
    _, cosine, sine = _cosine(p).unbind(-1)
    along = cosine * dphi[..., 2] - sine * dphi[..., 1]
    return along.unsqueeze(-1).expand_as(p)


LINEAR = FeatureKernel("linear", 1.0, _linear, _pull_linear)
COSINE = FeatureKernel("cosine", math.pi, _cosine, _pull_cosine)


def lengthscale_slope(kernel: FeatureKernel, p: Tensor, lower: Tensor) -> Tensor:
    """d/d log lengthscale (d,) of tr(M K) / 2, K = phi phi^T, from P (n, d) and the lower triangle of a symmetric M.

    kernel: has the features phi.

    The cotangent of phi is M phi, and dP/d log lengthscale = -P.
    """
    return -(input_slope(kernel, p, lower) * p).sum(0)


def input_slope(kernel: FeatureKernel, p: Tensor, lower: Tensor) -> Tensor:
    """d/dP (n, d) of tr(M K) / 2, for the same kernel, P and lower triangle as in `lengthscale_slope`."""
    phi = kernel.features(p)
    dphi = lower @ phi + lower.mT @ phi - lower.diagonal().unsqueeze(-1) * phi
    return kernel.pull(p, dphi)
