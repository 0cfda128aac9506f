"""Joint batches that Ax asks for one point at a time.

`Client.get_next_trials(4)` generates four trials, one after the other, each with the ones before it pending. The first
one computes a joint batch of four; the rest of it is kept, together with the state that the experiment will be in when
the next point is due: the points observed and pending. It is handed out in that state only. If it is lost (a new
process), the price is one more maximisation.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

MOST_KEPT = 8  # batches that are remembered, each of another experiment
SAME_POINT = 1e-6  # largest difference of a coordinate that went through Ax's transforms and back


class _Rest(NamedTuple):
    """The points of a batch that are still to come, and the state in which the next of them is due."""

    points: Tensor  # (r, d)
    observed: Tensor | None
    pending: Tensor | None
    fixed: dict[int, float]


class BegunBatches:
    """What is left of joint batches, by the state in which it is due.

    >>> begun, batch = BegunBatches(), torch.eye(2)
    >>> begun.put(batch, 1, None, None, None)
    >>> begun.take(1, None, batch[:1], None)
    tensor([[0., 1.]])
    """

    def __init__(self) -> None:
        self._rests: deque[_Rest] = deque(maxlen=MOST_KEPT)

    def put(
        self, batch: Tensor, n: int, observed: Tensor | None, pending: Tensor | None, fixed: dict[int, float] | None
    ) -> None:
        """Keep all but the first n points of a batch; they are due when those n are pending."""
        taken = batch[:n] if pending is None else torch.cat([pending.to(batch), batch[:n]])
        self._rests.append(_Rest(batch[n:], observed, taken, dict(fixed or {})))

    def take(
        self, n: int, observed: Tensor | None, pending: Tensor | None, fixed: dict[int, float] | None
    ) -> Tensor | None:
        """The next n points of a batch that are due in this state; None if there are none."""
        for i, rest in enumerate(self._rests):
            due = _same(rest.observed, observed) and _same(rest.pending, pending) and rest.fixed == (fixed or {})
            if due and len(rest.points) >= n:
                del self._rests[i]
                if len(rest.points) > n:
                    self.put(rest.points, n, observed, pending, fixed)
                return rest.points[:n]
        return None


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    """Whether two sets of points are the same, in any order, up to rounding."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    distance = torch.cdist(a.double(), b.double(), p=torch.inf)
    return bool((distance.amin(0) < SAME_POINT).all() and (distance.amin(1) < SAME_POINT).all())
