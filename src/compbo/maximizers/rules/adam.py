"""Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019); `torch.optim.Adam` and `AdamW` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Moments(NamedTuple):
    """Running averages m of G and v of G^2, and the products of their beta so far (for the bias correction)."""

    m: Tensor
    v: Tensor
    beta1_product: float = 1.0
    beta2_product: float = 1.0


def adam(
    lr: Schedule,
    beta1: Schedule,
    beta2: Schedule,
    weight_decay: float = 0.0,
    eps: float = 1e-8,
    decoupled: bool = False,
) -> Rule:
    """phi1 = m / (1 - beta1^t), phi2 = sqrt(v / (1 - beta2^t)) + eps.

    decoupled: AdamW, where weight decay multiplies x by delta_t = 1 - lr_t w_d instead of entering the gradient.
    """

    def init(x: Tensor) -> Moments:
        return Moments(torch.zeros_like(x), torch.zeros_like(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: Moments) -> tuple[Move, Moments]:
        rate, b1, b2 = lr(t), beta1(t), beta2(t)
        if not decoupled:
            gradient = decayed(gradient, x, weight_decay)
        past.m.lerp_(gradient, 1 - b1)
        past.v.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
        product1, product2 = past.beta1_product * b1, past.beta2_product * b2
        phi2 = past.v.sqrt().mul_((1 - product2) ** -0.5).add_(eps)
        delta = 1 - rate * weight_decay if decoupled else 1.0
        return Move(past.m, rate / (1 - product1), phi2, delta), Moments(past.m, past.v, product1, product2)

    return Rule(init, move)
