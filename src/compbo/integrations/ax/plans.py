"""Joint batches that Ax asks for one point at a time.

`Client.get_next_trials(4)` generates four trials, one after the other, each with the ones before it pending. The rest
of a joint batch is kept until the experiment has moved on: it belongs to a state, the points observed and pending, and
is taken in that state only. Losing it (a new process) costs a new maximisation and nothing else.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

KEPT = 8  # plans of so many experiments are remembered
SAME = 1e-6  # points that went through Ax's transforms and back


class _Plan(NamedTuple):
    rest: Tensor  # (r, d)
    observed: Tensor | None
    pending: Tensor | None
    fixed: dict[int, float]


class Plans:
    """What is left of joint batches, by the state in which it is valid."""

    def __init__(self) -> None:
        self._plans: deque[_Plan] = deque(maxlen=KEPT)

    def put(
        self, batch: Tensor, n: int, observed: Tensor | None, pending: Tensor | None, fixed: dict[int, float] | None
    ) -> None:
        """Keep all but the first n points of a batch; they are due once those n are pending."""
        taken = batch[:n] if pending is None else torch.cat([pending.to(batch), batch[:n]])
        self._plans.append(_Plan(batch[n:], observed, taken, dict(fixed or {})))

    def take(
        self, n: int, observed: Tensor | None, pending: Tensor | None, fixed: dict[int, float] | None
    ) -> Tensor | None:
        """The next n points of a batch that was begun in this state; None if there is none."""
        for i, plan in enumerate(self._plans):
            same = _same(plan.observed, observed) and _same(plan.pending, pending) and plan.fixed == (fixed or {})
            if same and len(plan.rest) >= n:
                del self._plans[i]
                if len(plan.rest) > n:
                    self.put(plan.rest, n, observed, pending, fixed)
                return plan.rest[:n]
        return None


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    """Whether two sets of points are the same, in any order, up to rounding."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    distance = torch.cdist(a.double(), b.double(), p=torch.inf)
    return bool((distance.amin(0) < SAME).all() and (distance.amin(1) < SAME).all())
