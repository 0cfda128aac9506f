"""After a run that stopped: where it is kept, and the command that goes on."""

from __future__ import annotations

import shlex
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.records import FAIL, RUNNING
from compbo.run.result import AlwaysFailsError, TooManyFailuresError
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.cli.optimize import OptimizeRequest
    from compbo.run.result import Result, RunError

RESCUE = "compbo-run"  # name of the file in which an interrupted run without a storage is saved


def how_to_resume(request: OptimizeRequest, storage: Any, result: Result, error: RunError | None = None) -> str:
    """A line that says where the run is and how to resume it; without a storage, the run is saved first.

    request: what the command asked for. error: why it stopped, if it did.
    """
    done = sum(record.state != RUNNING for record in result.records)
    if done == 0:
        return "Nothing was evaluated yet."
    words, how = [Path(sys.argv[0]).name, *sys.argv[1:]], "with"
    if isinstance(error, TooManyFailuresError):
        failed = sum(record.state == FAIL for record in result.records)
        words, how = with_option(words, "--max-failures", str(2 * failed)), "with a higher --max-failures"
    elif isinstance(error, AlwaysFailsError):
        words, how = with_option(words, "--retry-failed"), "when it is repaired, with"
    place = request.storage
    if place is None:
        place = _rescue(storage, request.study_name)
        words = with_option(words, "--storage", place)
    are = "is" if done == 1 else "are"
    saved = f"{done} of {counted(request.evaluations or done, 'evaluation')} {are} saved in {place}."
    return f"{saved} Resume {how}:\n{shlex.join(words)}"


def with_option(words: Sequence[str], flag: str, *value: str) -> list[str]:
    """The words of a command with an option (its flag and value) at the end, in the place of the one that they have.

    >>> with_option(["run", "--limit", "1", "x", "--limit=2"], "--limit", "9")
    ['run', 'x', '--limit', '9']
    """
    kept: list[str] = []
    skip = 0
    for word in words:
        if skip:
            skip -= 1
        elif word == flag:
            skip = len(value)
        elif not word.startswith(f"{flag}="):
            kept.append(word)
    return [*kept, flag, *value]


def _rescue(storage: Any, study_name: str) -> str:
    """Save a run that is in memory only; the name of the file."""
    from compbo.storage import copy_run

    names = (Path(f"{RESCUE}{'' if number == 1 else f'-{number}'}.db") for number in count(1))
    path = next(name for name in names if not name.exists())
    copy_run(storage, study_name, path)
    return str(path)
