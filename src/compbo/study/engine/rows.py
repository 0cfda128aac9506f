"""The row of a cell: what is known before it runs, how it ended, when and where.

Every failed row is made by `failed_row`, for all that may notice a failure: the cell itself, the process that watches
it, the launcher and the driver.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from compbo.study.engine import environment
from compbo.study.results import schema
from compbo.threads import allowed_threads

if TYPE_CHECKING:
    from compbo.study.cell import Cell

ERROR_KEPT, TRACEBACK_KEPT = 500, 20_000  # characters


class Timing(NamedTuple):
    """When a cell began, and how long it took.

    Args:
        started: its first moment.
        seconds: wall clock.
        cpu_seconds: processor time; None: not known.
    """

    started: datetime
    seconds: float = 0.0
    cpu_seconds: float | None = None


def identity(cell: Cell) -> schema.Row:
    """What is known of a cell before it runs.

    Args:
        cell: the experiment.

    Returns:
        The columns from `cell` to `initial`.

    >>> from compbo.study.cell import Cell, MethodSpec
    >>> identity(Cell("levy-2", 2, MethodSpec("bohb"), seed=7, batch=4, steps=3, initial=1))["seed"]
    7
    """
    return {
        "cell": cell.hash,
        "definition": cell.definition,
        "task": cell.task,
        "dimension": cell.dimension,
        "kind": cell.method.kind,
        "acquisition": cell.method.acquisition,
        "optimiser": cell.method.optimiser,
        "hyperparameters": json.dumps(dict(cell.method.hyperparameters)),
        "seed": cell.seed,
        "batch": cell.batch,
        "steps": cell.steps,
        "initial": cell.initial,
    }


def done_row(cell: Cell, columns: schema.Row, timing: Timing) -> schema.Row:
    """The row of a cell that came to its end.

    Args:
        cell: the experiment.
        columns: what it found out.
        timing: when, and how long.

    Returns:
        All columns.
    """
    ending = {"status": schema.DONE, "error": "", "traceback": ""}
    return {**identity(cell), **ending, **columns, **_circumstances(timing)}


def failed_row(cell: Cell, error: str, traceback: str = "", timing: Timing | None = None) -> schema.Row:
    """The row of a cell that did not come to its end.

    Args:
        cell: the experiment.
        error: why, in one line.
        traceback: where, if that is known.
        timing: None: it is not known when the cell began; the row has the present time.

    Returns:
        The columns that there are.
    """
    words = {"error": storable_text(error, ERROR_KEPT), "traceback": storable_text(traceback, TRACEBACK_KEPT)}
    ending = {"status": schema.FAILED, **words}
    return {**identity(cell), **ending, **_circumstances(timing or Timing(datetime.now(UTC)))}


def _circumstances(timing: Timing) -> schema.Row:
    """The columns about time and place."""
    return {
        "started": timing.started.isoformat(timespec="seconds"),
        "seconds": timing.seconds,
        "cpu_seconds": timing.cpu_seconds,
        "threads": allowed_threads(),
        "versions": environment.versions_json(),
        "machine": environment.machine_json(),
    }


def storable_text(text: str, most: int) -> str:
    """Text that can be written as UTF-8, and is not too long.

    Args:
        text: any.
        most: characters; of a longer text the beginning and the end are kept.

    Returns:
        The text.

    >>> storable_text("abcdefgh", 4)
    'ab ... gh'
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"
