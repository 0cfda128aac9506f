"""When failures end a run: too many, or from the very beginning always the same one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compbo.records import COMPLETE, FAIL, last_failure
from compbo.run.result import AlwaysFailsError, TooManyFailuresError
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.run.plan import RunPlan
    from compbo.run.result import Result

FEWEST, FIRST = 3, 5  # the first evaluations must not all fail alike: the initial design, at least 3 and at most 5

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][+-]?\d+)?")


def check_failures(result: Result, plan: RunPlan) -> None:
    """Raise if more evaluations failed than the plan allows, or, without a limit, if the first ones all fail alike."""
    failed = [record for record in result.records if record.state == FAIL]
    if plan.max_failures is not None:
        if len(failed) > plan.max_failures:
            raise TooManyFailuresError(
                "{failed} failed, more than {max_failures:{limit}}; the last one: {message}",
                result,
                failed=counted(len(failed), "evaluation"),
                limit=plan.max_failures,
                message=last_failure(failed),
            )
        return
    enough = min(FIRST, max(FEWEST, result.optimizer.initial_points))
    alike = len({kind_of(record.message) for record in failed}) == 1
    if len(failed) >= enough and alike and not any(record.state == COMPLETE for record in result.records):
        again = " with {retry_failed:{yes}}" if plan.storage is not None else ""
        raise AlwaysFailsError(
            "The first {failed} failed with the same error, so the run stopped: {message}. Repair it and call again"
            + again
            + ", or allow failures with {max_failures:{more}}.",
            result,
            failed[-1].traceback,
            failed=counted(len(failed), "evaluation"),
            message=last_failure(failed).rstrip("."),
            yes=True,
            more=plan.evaluations,
        )


def kind_of(message: str) -> str:
    """A message without the numbers in it: what makes two failures the same.

    >>> kind_of("ValueError: 0.25 is too small") == kind_of("ValueError: 1e-7 is too small")
    True
    """
    return _NUMBER.sub("#", message)
