"""Adadelta (Zeiler, 2012); `torch.optim.Adadelta` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule, average_square, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Squares(NamedTuple):
    """Running averages of G^2 and of the squared moves."""

    gradient: Tensor  # of G
    move: Tensor


def adadelta(lr: Schedule, rho: float = 0.9, weight_decay: float = 0.0, eps: float = 1e-6) -> Rule:
    """phi1 = sqrt(D + eps) / sqrt(E + eps) G with E, D the running averages of G^2 and phi1^2.

    lr: schedule of the step. rho: weight of the past in both averages. weight_decay: w_d of `decayed`.

    The paper's closed form drops the recursion of D; this keeps it, as Zeiler and PyTorch do.
    """

    def init(x: Tensor) -> Squares:
        return Squares(torch.zeros_like(x), torch.zeros_like(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: Squares) -> tuple[Move, Squares]:
        gradient = decayed(gradient, x, weight_decay)
        square = average_square(past.gradient, gradient, rho)
        phi1 = torch.sqrt(past.move + eps) / torch.sqrt(square + eps) * gradient
        return Move(phi1, lr(t)), Squares(square, average_square(past.move, phi1, rho))

    return Rule("Adadelta", init, move)
