"""The loop of every gradient method, written once.

    G_t        = J_g(x_t; w_t)^T grad f(zeta_t)                 compositional gradient
    x_{t+1}    = rule's move, projected on the box
    u_{t+1}    = tracker's query point                          built from the projected x_{t+1}
    zeta_{t+1} = tracker's blend of zeta_t, g(x_{t+1}; w_{t+1}) and g(u_{t+1}; w_{t+1})

With the MEMORYLESS tracker zeta_t = g(x_t; w_t): the ordinary stochastic gradient. x_{t+1} and u_{t+1} share the draw
and are evaluated in one call, so a query costs one more forward pass in the same batch and no backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.maximizers.climb import Traits
from compbo.maximizers.memory import start_memory
from compbo.maximizers.rules.base import apply
from compbo.maximizers.trackers import MEMORYLESS
from compbo.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.maximizers.climb import Maximisation
    from compbo.maximizers.memory import Memory
    from compbo.maximizers.restarts import RestartBatch
    from compbo.maximizers.rules.base import Rule
    from compbo.maximizers.trackers import Tracker
    from compbo.types import Oracle


class State(NamedTuple):
    """What the gradient at the current points needs: pullback, zeta and, for a non-linear f, its mean utility."""

    pullback: Callable[[Tensor], Tensor]
    zeta: Tensor  # (B, q, K), the drawn columns
    mean_utility: Tensor | None  # (B,), of all columns of zeta

    def gradient(self, oracle: Oracle) -> Tensor:
        """G = J_g^T grad f(zeta), (B, q, d)."""
        return self.pullback(oracle.outer_gradient(self.zeta, self.mean_utility))


@dataclass(frozen=True)
class Ascent:
    """A gradient method: a rule for the gradients and a tracker for E[g]."""

    rule: Rule
    tracker: Tracker = MEMORYLESS

    @property
    def traits(self) -> Traits:
        """First order; a new draw at every step."""
        return Traits(1, self.rule.name, self.tracker.name, self.tracker.remembers, one_draw=False)

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> Status:
        """`budget.steps` steps. Values are those of the step's own minibatch."""
        oracle, last = task.oracle, task.budget.steps
        oracle.start(task.generator)
        tracker = self.tracker.under(oracle.homogeneous_utility)
        state, memory = _begin(oracle, tracker, restarts)
        rule_state = self.rule.init(restarts.x)
        for t in range(1, last + 1):
            if restarts.all_failed:
                break
            restarts.clock.check()
            gradient = state.gradient(oracle)
            move, rule_state = self.rule.move(t, restarts.x, gradient, rule_state)
            x = restarts.leave(gradient, apply(move, restarts.x, task.box))
            if t < last:
                state = _follow(oracle, tracker, memory, restarts, t, x)
            else:  # no gradient is needed any more
                inner = oracle.inner(x, oracle.draw(), gradient_rows=0)
                restarts.arrive(x, oracle.outer(inner.v), restarts.broken(inner))
            restarts.advance()
        return Status.DONE


def _begin(oracle: Oracle, tracker: Tracker, restarts: RestartBatch) -> tuple[State, Memory]:
    """Evaluate x_0; zeta_0 = E[g](x_0)."""
    x, draw = restarts.x, oracle.draw()
    inner = oracle.inner(x, draw, gradient_rows=len(x))
    restarts.arrive(x, oracle.outer(inner.v), restarts.broken(inner))
    restarts.info.start_value = restarts.info.value.clone()
    memory = start_memory(tracker, oracle, x, draw, inner.v)
    return State(inner.pullback, memory.read(draw), memory.mean_utility()), memory


def _follow(oracle: Oracle, tracker: Tracker, memory: Memory, restarts: RestartBatch, t: int, x: Tensor) -> State:
    """Evaluate x_{t+1} and the query together on the next draw, and update zeta."""
    rows, draw = len(x), oracle.draw()
    batch = x if tracker.query is None else torch.cat([x, tracker.query(t, restarts.x, x)])
    inner = oracle.inner(batch, draw, gradient_rows=rows)
    broken = restarts.broken(inner)
    v, v_query = inner.v[:rows], inner.v[rows:]
    if broken is not None:  # a query that has no value is replaced by the point itself
        v_query = torch.where(broken.rows[rows:, None, None], v[: len(v_query)], v_query)
    restarts.arrive(x, oracle.outer(v), broken)
    blend = tracker.blend(t, memory.pool_size / draw.size)
    return State(inner.pullback, memory.update(blend, draw, v, v_query), memory.mean_utility())
