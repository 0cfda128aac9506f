"""RMSprop (Tieleman and Hinton, 2012); `torch.optim.RMSprop` to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.rules.base import Move, Rule, average, average_square, decayed

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


class Averages(NamedTuple):
    """Running averages of G^2 and G, and the momentum buffer."""

    square: Tensor  # of G^2
    mean: Tensor  # of G
    buffer: Tensor


def rmsprop(
    lr: Schedule,
    alpha: float = 0.99,
    momentum: float = 0.0,
    centering: bool = False,
    weight_decay: float = 0.0,
    eps: float = 1e-8,
) -> Rule:
    """phi1 = G, phi2 = sqrt(v) + eps with v = alpha v + (1 - alpha) G^2.

    lr: schedule of the step. centering: v - (average of G)^2 in place of v. momentum: rho. weight_decay: w_d of
    `decayed`.

    Momentum averages the ratio: m = rho m + phi1 / phi2. The paper's sum weights the oldest square most; this is
    PyTorch's, which weights the newest.
    """

    def init(x: Tensor) -> Averages:
        return Averages(torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x))

    def move(t: int, x: Tensor, gradient: Tensor, past: Averages) -> tuple[Move, Averages]:
        gradient = decayed(gradient, x, weight_decay)
        square, mean = average_square(past.square, gradient, alpha), past.mean
        variance = square
        if centering:
            mean = average(past.mean, gradient, alpha)
            variance = torch.addcmul(square, mean, mean, value=-1).clamp_min_(0.0)  # rounding may leave less than 0
        phi2 = torch.sqrt(variance) + eps
        if momentum == 0:
            return Move(gradient, lr(t), phi2), Averages(square, mean, past.buffer)
        buffer = momentum * past.buffer + gradient / phi2
        return Move(buffer, lr(t)), Averages(square, mean, buffer)

    return Rule("RMSprop", init, move)
