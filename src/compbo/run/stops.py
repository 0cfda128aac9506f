"""When a run ends before its evaluations are used up: a target, a time limit, a callback, Ctrl-C.

A callback stops a run by returning `compbo.STOP`:

>>> import compbo
>>> compbo.STOP
<CallbackAnswer.STOP: 'stop'>
>>> compbo.minimize(lambda p: p["n"], {"n": compbo.Int(1, 9)}, evaluations=9, callback=lambda _: compbo.STOP).stopped
<Stopped.CALLBACK: 'stopped by the callback'>
"""

from __future__ import annotations

import logging
import os
import time
from enum import Enum, StrEnum
from typing import TYPE_CHECKING

from compbo.bo.history import sign_of
from compbo.records import RUNNING
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.bo.history import Direction
    from compbo.run.plan import RunPlan
    from compbo.run.result import Result

log = logging.getLogger("compbo")


class CallbackAnswer(Enum):
    """What a callback of `minimize` or `maximize` may return."""

    STOP = "stop"


STOP = CallbackAnswer.STOP


class Stopped(StrEnum):
    """Why a run ended.

    >>> import compbo
    >>> result = compbo.minimize(lambda p: p["n"], {"n": compbo.Int(1, 3)}, evaluations=3, target=3)
    >>> result.stopped is compbo.Stopped.TARGET, str(result.stopped)
    (True, 'target reached')
    """

    EVALUATIONS = "evaluations used up"
    TARGET = "target reached"
    TIME = "time limit"
    CALLBACK = "stopped by the callback"
    INTERRUPTED = "interrupted"


class StopRules:
    """The target, in this direction, and the time limit of a plan; the clock begins now."""

    def __init__(self, plan: RunPlan, direction: Direction) -> None:
        self._target = plan.target
        self._sign = sign_of(direction)
        self._deadline = None if plan.time_limit is None else time.monotonic() + plan.time_limit

    @property
    def seconds_left(self) -> float | None:
        """Until the time limit, at least 0; None if there is none."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def reason(self, best_value: float | None) -> Stopped | None:
        """Why the run ends now; None if it goes on. best_value: so far, if there is one."""
        if self._target is not None and best_value is not None and self._sign * (best_value - self._target) >= 0:
            return Stopped.TARGET
        return Stopped.TIME if self.seconds_left == 0.0 else None


def say_interrupted(result: Result, plan: RunPlan) -> None:
    """Say in the log, where Python shows warnings on stderr, what the result of a plan has and how to resume."""
    done = sum(record.state != RUNNING for record in result.records)
    after = f"Interrupted after {done} of {counted(plan.evaluations, 'evaluation')}"
    if plan.storage is None:
        resume = (
            "the result has them, but nothing is stored: with storage='run.db' the same call again resumes. "
            "This run goes on by ask and tell: result.optimizer"
        )
    else:
        place = f"storage={str(plan.storage)!r}" if isinstance(plan.storage, str | os.PathLike) else "the storage"
        resume = f"the result has them, and so has {place}: the same call again resumes"
    log.warning("%s; %s.", after, resume)
