"""Rprop (Riedmiller and Braun, 1993); `torch.optim.Rprop` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Steps(NamedTuple):
    """The step size of every coordinate and the gradient of the last step (0 where its sign had turned)."""

    size: Tensor
    gradient: Tensor


def rprop(
    lr: Schedule,
    eta_minus: float = 0.5,
    eta_plus: float = 1.2,
    smallest: float = 1e-6,
    largest: float = 0.25,
) -> Rule:
    """phi1 = sign(G) times a step per coordinate: eta_plus larger while the sign holds, eta_minus smaller if it turns.

    lr: schedule of the first step and of the decay. smallest, largest: limits of a step.

    Steps start at lr_1; the schedule's decay, lr_t / lr_1, multiplies the move. The paper prints sign ascent with one
    global step; PyTorch's rule keeps a step per coordinate, and its largest step of 50 is here 0.25, a quarter of the
    unit cube.
    """

    def init(x: Tensor) -> Steps:
        return Steps(torch.full_like(x, lr(1)), torch.zeros_like(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: Steps) -> tuple[Move, Steps]:
        del x
        agreement = gradient * past.gradient
        turned = agreement < 0
        growth = torch.ones_like(gradient).masked_fill(agreement > 0, eta_plus).masked_fill(turned, eta_minus)
        size = torch.clamp(growth * past.size, smallest, largest)
        followed = gradient.masked_fill(turned, 0.0)
        return Move(torch.sign(followed) * size, lr(t) / lr(1)), Steps(size, followed)

    return Rule("Rprop", init, move)
