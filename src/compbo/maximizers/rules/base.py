"""What a rule is: a pair of functions that turn the gradients so far into the next move.

Every rule of the paper is an instance of one update (general scheme of the appendices, with the projection P the paper
leaves out and the averaging that NASA adds):

    x_{t+1} = (1 - tau_t) x_t + tau_t P( delta_t x_t + eta_t phi1_t / phi2_t )

A rule sees t, x_t and the gradient G_t; it knows nothing of samples, columns and boxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.types import Box

RuleState = Any  # what one rule keeps of the past gradients: a tensor, or a NamedTuple of them, shaped like x


class Move(NamedTuple):
    """The terms phi1, phi2, eta, delta and tau of the update, under their names in the paper."""

    phi1: Tensor
    eta: float
    phi2: Tensor | None = None  # None: 1
    delta: float = 1.0
    tau: float = 1.0


class Rule(NamedTuple):
    """What a method does with its gradients, as a value.

    name: as the catalogue shows it. init: x_0 -> state. move: (t, x_t, G_t, state) -> (move, new state), t from 1;
    the tensors it is given stay as they are. Restarts do not mix: one that fails does not disturb the others.
    """

    name: str
    init: Callable[[Tensor], RuleState]
    move: Callable[[int, Tensor, Tensor, RuleState], tuple[Move, RuleState]]

    @staticmethod
    def only(state: RuleState, rows: Tensor) -> RuleState:
        """What the rule keeps of these restarts (their indices)."""
        if isinstance(state, torch.Tensor):
            return state[rows]
        if isinstance(state, tuple):
            return state._make(Rule.only(part, rows) for part in state)  # type: ignore[attr-defined]
        return state


def apply(move: Move, x: Tensor, box: Box) -> Tensor:
    """x_{t+1} from x = x_t, the move and the box."""
    kept = x if move.delta == 1.0 else move.delta * x
    if move.phi2 is None:
        target = box.project(torch.add(kept, move.phi1, alpha=move.eta))
    else:
        target = box.project(torch.addcdiv(kept, move.phi1, move.phi2, value=move.eta))
    return target if move.tau == 1.0 else torch.lerp(x, target, move.tau)


def average(past: Tensor, new: Tensor, beta: float) -> Tensor:
    """beta past + (1 - beta) new."""
    return torch.lerp(past, new, 1 - beta)


def average_square(past: Tensor, new: Tensor, beta: float) -> Tensor:
    """beta past + (1 - beta) new^2."""
    return torch.addcmul(beta * past, new, new, value=1 - beta)


def decayed(gradient: Tensor, x: Tensor, weight_decay: float) -> Tensor:
    """G - w_d x, from the gradient G: the penalty w_d |x|^2 / 2 of PyTorch's `weight_decay`, under ascent."""
    return gradient if weight_decay == 0 else torch.sub(gradient, x, alpha=weight_decay)
