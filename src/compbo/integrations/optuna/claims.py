"""No two trials evaluate the same point, even if their processes did not see each other's points.

Processes that decide at the same time may see different histories and arrive at the same point. So a trial first claims
its point, then looks, and makes the claim final if it finds no rival:

- a finished trial, a final claim, or the claim of an earlier trial with the same point wins: decide again;
- the claim of a later trial that is not final is waited for. Either its process looked after we had claimed, and gives
  way, or it looked before, and makes its claim final; then we give way.

A rival that does neither for a while is dead, and will not evaluate the point.

Where trials have parameters outside the common space, none of this is needed: they differ in those.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from compbo.bo.history import Point
    from compbo.integrations.optuna.trials import StudyView

LOOKS_AT_A_RIVAL = 150  # after which it is taken for dead
PAUSE = 0.02  # seconds between two looks


def holds(point: Point, number: int, look: Callable[[], StudyView]) -> bool:
    """Whether trial `number`, which has claimed the point, may make the claim final; look: reads the study anew."""
    for _ in range(LOOKS_AT_A_RIVAL):
        view = look()
        if view.repeats_allowed:
            return True
        rivals = {n for n, other in view.pending.items() if other == point}
        if any(n < number or n in view.final for n in rivals):
            return False
        if any(evaluation.params == point for evaluation in view.evaluations):
            return False
        if not rivals:
            return True
        time.sleep(PAUSE)
    return True
