"""Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019); `torch.optim.Adam` and `AdamW` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule, average, average_square, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Moments(NamedTuple):
    """Running averages m of G and v of G^2."""

    m: Tensor
    v: Tensor

    @classmethod
    def none(cls, x: Tensor) -> Moments:
        """m = v = 0, before the first gradient."""
        return cls(torch.zeros_like(x), torch.zeros_like(x))

    def after(self, gradient: Tensor, beta1: float, beta2: float) -> Moments:
        """m = beta1 m + (1 - beta1) G, v = beta2 v + (1 - beta2) G^2."""
        return Moments(average(self.m, gradient, beta1), average_square(self.v, gradient, beta2))


class AdamState(NamedTuple):
    """The moments, and the products of their beta so far, for the correction of their bias."""

    moments: Moments
    beta1_product: float = 1.0  # 1 before the first step
    beta2_product: float = 1.0  # 1 before the first step


def adam(
    lr: Schedule,
    beta1: Schedule,
    beta2: Schedule,
    weight_decay: float = 0.0,
    eps: float = 1e-8,
    decoupled: bool = False,
) -> Rule:
    """phi1 = m / (1 - beta1^t), phi2 = sqrt(v / (1 - beta2^t)) + eps.

    lr: schedule of the step. beta1, beta2: schedules of the weight of the past in m and v.

    decoupled: AdamW, where weight decay multiplies x by delta_t = 1 - lr_t w_d instead of entering the gradient.
    """

    def init(x: Tensor) -> AdamState:
        return AdamState(Moments.none(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: AdamState) -> tuple[Move, AdamState]:
        rate, b1, b2 = lr(t), beta1(t), beta2(t)
        if not decoupled:
            gradient = decayed(gradient, x, weight_decay)
        now = AdamState(past.moments.after(gradient, b1, b2), past.beta1_product * b1, past.beta2_product * b2)
        phi2 = torch.sqrt(now.moments.v) * (1 - now.beta2_product) ** -0.5 + eps
        delta = 1 - rate * weight_decay if decoupled else 1.0
        return Move(now.moments.m, rate / (1 - now.beta1_product), phi2, delta), now

    return Rule("AdamW" if decoupled else "Adam", init, move)
