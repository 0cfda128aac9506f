"""Which trial evaluates what, without a lock.

The numbers of trials are unique in a storage, so they decide: trials are cut into blocks of `batch_size` consecutive
numbers, a block has one joint batch, and a trial takes the point at its own place in it. A trial that finds no batch
makes one, as the first undecided trial of the block would: from what is finished and pending outside the block. Two
processes that do so at the same moment see the same history, compute the same batch and take different places.

Undecided trials of earlier blocks are about to get their points from the same rule; they are worked out here, and
pending, before our own. (Only recent ones: a process that was killed in between leaves its trial undecided for ever.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.integrations.optuna.trials import JointBatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from compbo.bo.history import History, Point
    from compbo.bo.suggest import Suggestion
    from compbo.bo.telemetry import Telemetry
    from compbo.integrations.optuna.trials import StudyView

RECENT = 32  # how many numbers back an undecided trial is taken for one that is being decided right now


def first_of_block(number: int, batch_size: int) -> int:
    """The number of the first trial that shares a joint batch of batch_size trials with trial `number`."""
    return number - number % batch_size


class Decision(NamedTuple):
    """The point of a trial; the joint batch and its telemetry if they were made for it."""

    point: Point
    batch: JointBatch | None = None
    telemetry: Telemetry | None = None


def decide(
    number: int, batch_size: int, look: Callable[[], StudyView], suggest: Callable[[History, int], Suggestion]
) -> Decision:
    """The point of trial `number`. With a batch_size of 1 it does not depend on batches that were planned before.

    Args:
        number: of the trial.
        batch_size: trials that share a joint batch.
        look: the study now; it is asked again after every piece of long work.
        suggest: a joint batch of that many points for a history.
    """
    settled: dict[int, Point] = {}  # undecided trials of earlier blocks, worked out here
    first = first_of_block(number, batch_size)
    while True:
        view = look()
        stored = [batch for batch in view.batches if batch.anchor >= first and batch.covers(number)]
        if stored and batch_size > 1:
            return Decision(max(stored, key=lambda batch: batch.anchor).point_of(number))
        waiting = [u for u in sorted(view.undecided) if number - RECENT <= u < first and u not in settled]
        target = waiting[0] if waiting else number
        anchor = _anchor(target, batch_size, view.undecided)
        pending = {**{u: p for u, p in settled.items() if u in view.undecided}, **view.pending}
        outside = {n: point for n, point in pending.items() if not anchor <= n <= target}
        points, telemetry = suggest(view.history(outside), batch_size - anchor % batch_size)
        batch = JointBatch(anchor, points)
        if target == number:
            return Decision(batch.point_of(number), batch, telemetry)
        settled |= {u: batch.point_of(u) for u in view.undecided if u < first and batch.covers(u)}


def _anchor(number: int, batch_size: int, undecided: AbstractSet[int]) -> int:
    """The first of the undecided trials that lie directly before this one in its block; itself if there is none."""
    anchor = number
    while anchor % batch_size and anchor - 1 in undecided:
        anchor -= 1
    return anchor
