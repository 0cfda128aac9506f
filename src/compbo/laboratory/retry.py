"""`compbo retry`: failed trials of a stored run, pending again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.records import FAIL, RUNNING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.storage import StoredRun


def retry_failed(run: StoredRun, numbers: Sequence[int] | None = None) -> dict[int, int]:
    """The new numbers of failed trials of a run, by the old ones, after they were asked for again.

    numbers: which; None: all.

    ValueError, and nothing changed, if one of them has not failed.
    """
    contents = run.contents()
    states = {record.number: record.state for record in contents.records}
    for number in numbers or ():
        if number in contents.replaced:
            raise ValueError(f"trial {number} was replaced already, by trial {contents.now(number)}.")
        if states.get(number) != FAIL:
            became = {RUNNING: "is pending"}.get(states.get(number, ""), contents.history.fate(number))
            raise ValueError(f"trial {number} has not failed: it {became}.")
    return run.retry(dict.fromkeys(numbers) if numbers else None)
