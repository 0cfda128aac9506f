"""BoTorch's qLogEI on given samples, with its gradient written out: the same number, to rounding, without autograd.

With y = (f - f*) / tau_r and l = log tau_r (softplus(y) + 0.1 / (1 + y^2)) of every sample f of every point, and M the
largest l of a sample, its utility is the fat maximum h = M + tau_m log sum_j p_j, p = 2 / (2 + 2 r + r^2) at
r_j = (M - l_j) / tau_m; the value is log mean exp h over the samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.acquisition.integrands import FAT_TAIL
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

ROUNDING = 1e-9  # how far the value, a logarithm, may be from BoTorch's


class FatMaximum(NamedTuple):
    """log mean exp of the utilities h; tau_relu and tau_max as in BoTorch, best: f*."""

    tau_relu: float
    tau_max: float
    best: float

    def value(self, samples: Tensor) -> Tensor:
        """alpha (B,) of samples mu + L z (B, q, K)."""
        return self._joined(samples)[0]

    def value_and_slope(self, samples: Tensor) -> tuple[Tensor, Tensor]:
        """alpha (B,) of samples mu + L z (B, q, K), and its derivative in them, (B, q, K)."""
        alpha, h, y, square, fat, behind, share, total = self._joined(samples)
        # dh/dl = (1 + r) p^2 / sum p, and the rest to the largest, whose M is in every term
        weight = share.square_().mul_(behind.add(1.0)).div_(total)
        rest = 1.0 - weight.sum(-2, keepdim=True)
        largest = behind == 0.0
        weight += largest * (rest / largest.sum(-2, keepdim=True))
        slope = y.sigmoid().sub_(y.mul(2.0 * FAT_TAIL).div_(square.square_())).div_(fat.mul_(self.tau_relu))
        return alpha, weight.mul_(slope).mul_(torch.softmax(h, -1))

    def _joined(self, samples: Tensor) -> tuple[Tensor, ...]:
        y = (samples - self.best).div_(self.tau_relu)
        square = (y * y).add_(1.0)
        fat = torch.nn.functional.softplus(y).add_(FAT_TAIL / square)
        logarithm = fat.log()
        top = logarithm.amax(-2, keepdim=True)
        behind = torch.sub(top, logarithm, out=logarithm).div_(self.tau_max)
        share = 2.0 / torch.addcmul(behind.mul(2.0).add_(2.0), behind, behind)
        total = share.sum(-2, keepdim=True)
        h = total.log().mul_(self.tau_max).add_(top).add_(math.log(self.tau_relu))
        alpha = torch.logsumexp(h, -1).squeeze(-1).sub_(math.log(samples.shape[-1]))
        return alpha, h, y, square, fat, behind, share, total


def fat_maximum(acqf: Any, best: float, reduced: Callable[[Tensor], Tensor]) -> FatMaximum | None:
    """What `acqf`, a qLogEI, makes of samples; None if BoTorch makes something else of them in this version.

    best: f*. reduced: what BoTorch makes of them, (B, q, K) -> (B,).
    """
    found = FatMaximum(float(acqf.tau_relu), float(getattr(acqf, "tau_max", math.nan)), best)
    steps = torch.logspace(-9, 1, 63, dtype=DTYPE)
    trial = best + torch.cat([-steps, steps]).reshape(3, 6, 7).roll(1, 0)
    near = (found.value(trial) - reduced(trial)).abs() <= ROUNDING
    return found if bool(near.all()) else None
