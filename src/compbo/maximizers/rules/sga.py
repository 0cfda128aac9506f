"""Stochastic gradient ascent (Robbins and Monro, 1951) with momentum; `torch.optim.SGD` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.maximizers.rules.base import Move, Rule, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


def sga(
    lr: Schedule, momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False, weight_decay: float = 0.0
) -> Rule:
    """phi1 = G, or with momentum rho and dampening Delta: m = rho m + (1 - Delta) G (m = G at t = 1).

    lr: schedule of the step. weight_decay: w_d of `decayed`.

    nesterov: phi1 = G + rho m. PyTorch refuses a dampened Nesterov step; the tuning table asks for it and it is
    well defined.
    """

    def init(x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    def move(t: int, x: Tensor, gradient: Tensor, m: Tensor) -> tuple[Move, Tensor]:
        gradient = decayed(gradient, x, weight_decay)
        if momentum == 0:
            return Move(gradient, lr(t)), m
        m = gradient if t == 1 else torch.add(momentum * m, gradient, alpha=1 - dampening)
        phi1 = torch.add(gradient, m, alpha=momentum) if nesterov else m
        return Move(phi1, lr(t)), m

    return Rule("SGA", init, move)
