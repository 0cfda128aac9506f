"""The section of docs/defaults.md on how far an ascent goes, and from how many starts: from results/effort.parquet."""

from __future__ import annotations

import re

import pandas as pd

from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import ROOT
from benchmarks.defaults.variants import settings_of
from compbo.study.outputs.compact import finished
from compbo.words import counted

RESULTS = ROOT / "results" / "effort.parquet"
BEGIN, END = "<!-- effort -->", "<!-- /effort -->"
BASE = "64 steps from 32 starts"
KINDS = {  # by the task
    r"wide_tasks:\w+_4": "4D",
    r"wide_tasks:\w+_20": "20D",
    r"wide_tasks:\w+_40": "40D",
    r"tasks:\w+_(60|100)": "60D and 100D",
}


def effort_of(stored: str) -> str:
    """The numbers of a maximisation, in words.

    Args:
        stored: the settings of a cell.

    Returns:
        For example "64 steps from 32 starts".
    """
    settings = settings_of(stored)
    return f"{counted(settings.budget.steps, 'step')} from {counted(settings.starts.restarts, 'start')}"


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The runs, methods named by their numbers.

    Args:
        table: of the cells of effort.toml.

    Returns:
        The same with the kind of each task in a column of its own.
    """
    rows = finished(table)
    return rows.assign(
        optimiser=[effort_of(stored) for stored in rows["hyperparameters"]],
        kind=[
            next(kind for like, kind in KINDS.items() if re.fullmatch(rf"benchmarks\.defaults\.{like}", task))
            for task in rows["task"]
        ],
    )


def effort_table(table: pd.DataFrame) -> str:
    """Every number of steps and starts in units of the default, by the dimension of the tasks, in Markdown.

    Args:
        table: of `named`.

    Returns:
        A row for every pair of numbers, a column for every kind of tasks and size of a batch that was run.
    """
    sizes = [(kind, batch) for kind in KINDS.values() for batch in (8, 1)]
    parts = {
        f"{kind}, {counted(batch, 'point')}": table[(table["batch"] == batch) & (table["kind"] == kind)]
        for kind, batch in sizes
    }
    return kinds_table({title: part for title, part in parts.items() if len(part)}, BASE)


def time_table(table: pd.DataFrame) -> str:
    """The processor time of whole runs in units of the default's, in Markdown.

    Args:
        table: of `named`.

    Returns:
        A row for every pair of numbers, the shortest first: medians over the runs in batches of 8.
    """
    seconds = table[table["batch"] == 8].pivot_table("cpu_seconds", ["task", "seed"], "optimiser")
    shares = seconds.div(seconds[BASE], axis=0).median().sort_values()
    lines = ["| maximisation | time of a run |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {share:.2f} |" for name, share in shares.items())])
