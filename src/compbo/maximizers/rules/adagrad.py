"""Adagrad (Duchi, Hazan and Singer, 2011); `torch.optim.Adagrad` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.maximizers.rules.base import Move, Rule, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


def adagrad(lr: Schedule, initial_accumulator: float = 0.0, weight_decay: float = 0.0, eps: float = 1e-10) -> Rule:
    """phi1 = G, phi2 = sqrt(delta + sum of G^2) + eps.

    lr: schedule of the step. initial_accumulator: delta. weight_decay: w_d of `decayed`.
    """

    def init(x: Tensor) -> Tensor:
        return torch.full_like(x, initial_accumulator)

    def move(t: int, x: Tensor, gradient: Tensor, squares: Tensor) -> tuple[Move, Tensor]:
        gradient = decayed(gradient, x, weight_decay)
        squares = torch.addcmul(squares, gradient, gradient)
        return Move(gradient, lr(t), torch.sqrt(squares) + eps), squares

    return Rule("Adagrad", init, move)
