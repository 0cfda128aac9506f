"""RMSprop (Tieleman and Hinton, 2012); `torch.optim.RMSprop` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Averages(NamedTuple):
    """Running averages of G^2 and G, and the momentum buffer."""

    square: Tensor
    mean: Tensor
    buffer: Tensor


def rmsprop(
    lr: Schedule,
    alpha: float = 0.99,
    momentum: float = 0.0,
    centering: bool = False,
    weight_decay: float = 0.0,
    eps: float = 1e-8,
) -> Rule:
    """phi1 = G, phi2 = sqrt(v) + eps with v = alpha v + (1 - alpha) G^2 (centred: v - (average of G)^2).

    Momentum averages the ratio: m = rho m + phi1 / phi2. The paper's sum weights the oldest square most; this is
    PyTorch's, which weights the newest.
    """

    def init(x: Tensor) -> Averages:
        return Averages(torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: Averages) -> tuple[Move, Averages]:
        gradient = decayed(gradient, x, weight_decay)
        past.square.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        if centering:
            past.mean.lerp_(gradient, 1 - alpha)
            phi2 = past.square.addcmul(past.mean, past.mean, value=-1).sqrt_().add_(eps)
        else:
            phi2 = past.square.sqrt().add_(eps)
        if momentum == 0:
            return Move(gradient, lr(t), phi2), past
        past.buffer.mul_(momentum).addcdiv_(gradient, phi2)
        return Move(past.buffer, lr(t)), past

    return Rule(init, move)
