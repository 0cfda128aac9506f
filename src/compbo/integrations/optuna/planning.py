"""Which trial evaluates what, without a lock.

The numbers of trials are unique in a storage, so they decide: trials are cut into blocks of `batch_size` consecutive
numbers, a block has one joint batch, and a trial takes the point at its own place in it. Whoever finds no batch makes
one, as the first undecided trial of the block would: from what is finished and pending outside the block. Two
processes that do so at the same moment see the same history, compute the same batch and take different places.

Undecided trials of earlier blocks are about to get their points from the same rule; they are worked out here, and
pending, before our own. (Only recent ones: a process that was killed in between leaves its trial undecided for ever.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.integrations.optuna.history import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from compbo.integrations.optuna.history import History, Point
    from compbo.optimizer import Optimizer
    from compbo.propose import Telemetry

RECENT = 32  # how many numbers back an undecided trial is taken for one that is being decided right now


def first_of_block(number: int, batch_size: int) -> int:
    """The number of the first trial that shares a joint batch with this one."""
    return number - number % batch_size


class Decision(NamedTuple):
    """The point of a trial; plan and telemetry if they were made for it."""

    point: Point
    plan: Plan | None = None
    telemetry: Telemetry | None = None


def decide(
    number: int, batch_size: int, look: Callable[[], History], make_optimizer: Callable[[History], Optimizer]
) -> Decision:
    """The point of trial `number`. look: the history now; it is asked again after every piece of long work.

    With a batch_size of 1 it is decided by itself, whatever was planned.
    """
    settled: dict[int, Point] = {}  # undecided trials of earlier blocks, worked out here
    first = first_of_block(number, batch_size)
    while True:
        history = look()
        stored = [plan for plan in history.plans if plan.anchor >= first and plan.covers(number)]
        if stored and batch_size > 1:
            return Decision(max(stored, key=lambda plan: plan.anchor).point_of(number))
        waiting = [u for u in sorted(history.undecided) if number - RECENT <= u < first and u not in settled]
        target = waiting[0] if waiting else number
        anchor = _anchor(target, batch_size, history.undecided)
        pending = {**{u: p for u, p in settled.items() if u in history.undecided}, **history.pending}
        history.pending = {n: point for n, point in pending.items() if not anchor <= n <= target}
        optimizer = make_optimizer(history)
        plan = Plan(anchor, optimizer.ask(batch_size - anchor % batch_size))
        if target == number:
            return Decision(plan.point_of(number), plan, optimizer.telemetry[-1])
        settled |= {u: plan.point_of(u) for u in history.undecided if u < first and plan.covers(u)}


def _anchor(number: int, batch_size: int, undecided: set[int]) -> int:
    """The first of the undecided trials that lie directly before this one in its block; itself if there is none."""
    anchor = number
    while anchor % batch_size and anchor - 1 in undecided:
        anchor -= 1
    return anchor
