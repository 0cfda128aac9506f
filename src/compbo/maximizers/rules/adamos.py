"""AdamOS: Adam with the schedules of CAdam (Tutunov et al., 2020); the rule of CAdam and CAdam-ME."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.maximizers.rules.adam import Moments
from compbo.maximizers.rules.base import Move, Rule

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


def adamos(lr: Schedule, gamma1: Schedule, gamma2: Schedule, eps: float = 1e-8) -> Rule:
    """m = g1_t m + (1-g1_t) G, v = g2_t v + (1-g2_t) G^2, eta_t = lr_t sqrt(1-g2_t) / (1-g1_t), phi2 = sqrt(v) + eps.

    lr: schedule of the step. gamma1, gamma2: schedules of g1 and g2.

    With the schedules of the paper sqrt(1-g2_t)/(1-g1_t) is sqrt(lr) t^(-gamma2_d/2): the "bias correction" only
    turns the step into lr^1.5 t^-(alpha_d + gamma2_d/2).
    """

    def move(t: int, x: Tensor, gradient: Tensor, past: Moments) -> tuple[Move, Moments]:
        del x
        g1, g2 = gamma1(t), gamma2(t)
        now = past.after(gradient, g1, g2)
        return Move(now.m, lr(t) * (1 - g2) ** 0.5 / (1 - g1), torch.sqrt(now.v) + eps), now

    return Rule("AdamOS", Moments.none, move)
