"""What the commands of `compbo study` print: tables for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from compbo.console import out
from compbo.study.engine.estimate import duration_in_words
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.engine.status import StudyStatus
    from compbo.study.grid.captions import CaptionCount
    from compbo.study.grid.counts import CellCount
    from compbo.study.tuner.status import TuningStatus

FAILURES_SHOWN = 20


def print_presets(presets: Mapping[str, str]) -> None:
    """Print names and descriptions of grids, as a table.

    Args:
        presets: descriptions by name.
    """
    from rich.table import Table

    table = Table("preset", "what it is", box=None, pad_edge=False, header_style="bold")
    for name, about in presets.items():
        table.add_row(name, about)
    out.print(table)


def print_counts(counts: Sequence[CellCount]) -> None:
    """Print how many cells there are by family of tasks, as a table.

    Args:
        counts: a row of the table each.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "tasks", "acquisitions", "optimisers", "seeds", "cells"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for count in counts:
        table.add_row(*(str(entry) for entry in count))
    table.add_row("[bold]in all[/]", "", "", "", "", f"[bold]{sum(count.cells for count in counts)}[/]")
    out.print(table)


def print_captions(counts: Sequence[CaptionCount]) -> None:
    """Print what the captions of the paper count beside what these cells are, as a table.

    Args:
        counts: a row of the table each.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("experiments", "in the paper", "here"):
        table.add_column(column, justify="left" if column == "experiments" else "right", no_wrap=True)
    for count in counts:
        table.add_row(*(str(entry) for entry in count))
    out.print()
    out.print(table)


def cells_as_json(cells: Sequence[Cell], *, summary: bool) -> str:
    """Cells for a program.

    Args:
        cells: any.
        summary: leave the cells out, and give their number only.

    Returns:
        JSON.

    >>> cells_as_json([], summary=True)
    '{"count": 0, "cells": []}'
    """
    rows = [] if summary else [{"cell": cell.hash, "name": cell.name, **cell.to_dict()} for cell in cells]
    return json.dumps({"count": len(cells), "cells": rows})


def status_as_json(study: StudyStatus, tuning: TuningStatus, workers: int) -> str:
    """The status for a program.

    Args:
        study: of the cells.
        tuning: of the tuning.
        workers: how many the times left are for.

    Returns:
        JSON.
    """
    content: dict[str, Any] = {
        "total": study.total,
        "done": len(study.done),
        "failed": len(study.failed),
        "left": len(study.left),
        "seconds_spent": study.seconds_spent,
        "seconds_left": _shared(study.seconds_left, workers),
        "owner": study.owner,
        "tuning": {**tuning._asdict(), "seconds_left": _shared(tuning.seconds_left, workers)},
        "damaged": {str(path): reason for path, reason in study.damaged.items()},
        "failures": [{"cell": f.cell.hash, "name": f.cell.name, "error": f.error} for f in study.failed],
    }
    return json.dumps(content)


def print_status(study: StudyStatus, tuning: TuningStatus, workers: int) -> None:
    """Print the status as a table, then damaged files and failed cells, a line each.

    Args:
        study: of the cells.
        tuning: of the tuning.
        workers: how many the times left are for.
    """
    from rich.markup import escape
    from rich.table import Table

    with_workers = f"with {counted(workers, 'worker')}"
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_row("done", f"{len(study.done)} of {study.total}")
    table.add_row("failed", f"[red]{len(study.failed)}[/]" if study.failed else "0")
    table.add_row("left", str(len(study.left)))
    table.add_row("time of the cells so far", duration_in_words(study.seconds_spent))
    if study.left:
        table.add_row(f"time left {with_workers}", duration_in_words(_shared(study.seconds_left, workers)))
    if tuning.problems:
        table.add_row("tuned", f"{tuning.tuned} of {counted(tuning.problems, 'problem')}")
        table.add_row("configurations judged", f"{tuning.judged} of {tuning.configurations}")
        if tuning.judged < tuning.configurations:
            left = duration_in_words(_shared(tuning.seconds_left, workers))
            table.add_row(f"time of tuning left {with_workers}", left)
    table.add_row("running now", escape(study.owner) if study.owner else "no")
    out.print(table)
    _print_troubles(study)


def _print_troubles(study: StudyStatus) -> None:
    from rich.markup import escape

    for path, reason in study.damaged.items():
        out.print(f"[red]damaged[/] {escape(str(path))}: {escape(reason)}; the next run sets it aside", soft_wrap=True)
    for failed in study.failed[:FAILURES_SHOWN]:
        out.print(f"[red]failed[/] {escape(failed.cell.name)}: {escape(failed.error)}", soft_wrap=True)
    if len(study.failed) > FAILURES_SHOWN:
        out.print(f"... and {len(study.failed) - FAILURES_SHOWN} more (--json lists all)")


def _shared(seconds: float | None, workers: int) -> float | None:
    return None if seconds is None else seconds / workers
