"""Adadelta (Zeiler, 2012); `torch.optim.Adadelta` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Squares(NamedTuple):
    """Running averages of G^2 and of the squared moves."""

    gradient: Tensor
    move: Tensor


def adadelta(lr: Schedule, rho: float = 0.9, weight_decay: float = 0.0, eps: float = 1e-6) -> Rule:
    """phi1 = sqrt(D + eps) / sqrt(E + eps) G with E, D the running averages of G^2 and phi1^2.

    The paper's closed form drops the recursion of D; this keeps it, as Zeiler and PyTorch do.
    """

    def init(x: Tensor) -> Squares:
        return Squares(torch.zeros_like(x), torch.zeros_like(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: Squares) -> tuple[Move, Squares]:
        gradient = decayed(gradient, x, weight_decay)
        past.gradient.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        phi1 = past.move.add(eps).sqrt_().div_(past.gradient.add(eps).sqrt_()).mul_(gradient)
        past.move.mul_(rho).addcmul_(phi1, phi1, value=1 - rho)
        return Move(phi1, lr(t)), past

    return Rule(init, move)
