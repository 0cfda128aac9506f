"""The loop of every gradient method, written once.

    G_t        = J_g(x_t; w_t)^T grad f(zeta_t)                 compositional gradient
    x_{t+1}    = rule's move, projected on the box
    u_{t+1}    = tracker's query point                          built from the projected x_{t+1}
    zeta_{t+1} = tracker's blend of zeta_t, g(x_{t+1}; w_{t+1}) and g(u_{t+1}; w_{t+1})

With the MEMORYLESS tracker zeta_t = g(x_t; w_t): the ordinary stochastic gradient. x_{t+1} and u_{t+1} share the draw
and are evaluated in one call, so a query costs one more forward pass in the same batch and no backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    from compbo.maximizers.rules.base import Rule, RuleState
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

    def only(self, rows: Tensor) -> State:
        """The state of these restarts (their indices); the backward pass is still that of all."""
        everyone, whole = self.pullback, torch.zeros_like(self.zeta)

        def pullback(c: Tensor) -> Tensor:
            return everyone(whole.index_copy(0, rows, c))[rows]

        mean = None if self.mean_utility is None else self.mean_utility[rows]
        return State(pullback, self.zeta[rows], mean)


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
        task.oracle.start(task.generator)
        way, last = Way.begin(self, task, restarts), task.budget.steps
        while way.t < last and not restarts.all_failed:
            way.step(last=way.t + 1 == last)
        return Status.DONE


@dataclass
class Way:
    """An ascent on its way: everything that its next step needs. Restarts can leave it between two steps."""

    ascent: Ascent  # rule and tracker
    task: Maximisation  # oracle, budget, box and generator
    restarts: RestartBatch  # that it moves
    tracker: Tracker  # in the form that it has under the oracle's utility
    memory: Memory  # zeta
    state: State  # at the current points
    rule_state: RuleState  # what the rule keeps of the past
    t: int = 0  # steps made

    @classmethod
    def begin(cls, ascent: Ascent, task: Maximisation, restarts: RestartBatch) -> Way:
        """The ascent of the restarts before its first step; the task's oracle has been started."""
        tracker = ascent.tracker.under(task.oracle.homogeneous_utility)
        state, memory = _begin(task.oracle, tracker, restarts)
        return cls(ascent, task, restarts, tracker, memory, state, ascent.rule.init(restarts.x))

    def step(self, last: bool = False) -> None:
        """One step of all restarts; last: none follows, so that no gradient is needed at its end."""
        oracle, restarts, t = self.task.oracle, self.restarts, self.t + 1
        restarts.clock.check()
        gradient = self.state.gradient(oracle)
        del self.state  # before the next one takes as much memory
        move, self.rule_state = self.ascent.rule.move(t, restarts.x, gradient, self.rule_state)
        x = restarts.leave(gradient, apply(move, restarts.x, self.task.box))
        if not last:
            self.state = _follow(oracle, self.tracker, self.memory, restarts, t, x)
        else:
            inner = oracle.inner(x, oracle.draw(), gradient_rows=0)
            restarts.arrive(x, oracle.outer(inner.v), restarts.broken(inner))
        restarts.advance()
        self.t = t

    def only(self, rows: Tensor) -> Way:
        """The way of these restarts (their indices) alone, from here on; the others are not moved any more."""
        memory, state = self.memory.only(rows), self.state.only(rows)
        rule_state = self.ascent.rule.only(self.rule_state, rows)
        return replace(self, restarts=self.restarts.only(rows), memory=memory, state=state, rule_state=rule_state)


def _begin(oracle: Oracle, tracker: Tracker, restarts: RestartBatch) -> tuple[State, Memory]:
    """Evaluate x_0; zeta_0 = E[g](x_0)."""
    x, draw = restarts.x, oracle.draw()
    inner = oracle.inner(x, draw, gradient_rows=len(x))
    restarts.arrive(x, oracle.outer(inner.v), restarts.broken(inner))
    restarts.info.start_value = restarts.info.value.clone()
    memory = start_memory(tracker, oracle, x, draw, inner)
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
