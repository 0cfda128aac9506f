"""The averaged rule of NASA (Ghadimi, Ruszczynski and Wang, 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.maximizers.rules.base import Move, Rule

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.maximizers.schedules import Schedule


def averaged(tau: Schedule, a: float, beta: float) -> Rule:
    """m = (1 - a tau_t) m + a tau_t G_t, then x + tau_t (P(x + m / beta) - x), m_0 = 0.

    tau: schedule of tau_t.

    G_t is taken at (x_t, zeta_t), the paper's general scheme; the original algorithm uses zeta_{t-1}.
    """

    def init(x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    def move(t: int, x: Tensor, gradient: Tensor, m: Tensor) -> tuple[Move, Tensor]:
        del x
        m = torch.lerp(m, gradient, a * tau(t))
        return Move(m, 1 / beta, tau=tau(t)), m

    return Rule("averaged", init, move)
