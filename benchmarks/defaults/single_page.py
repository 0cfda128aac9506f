"""The section of docs/defaults.md on few points at a time, from results/single.parquet."""

from __future__ import annotations

import re

import pandas as pd

import compbo
from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import ROOT
from benchmarks.defaults.variants import DEFAULT, settings_of, words
from compbo.acquisition.portfolio import DEFAULT as PORTFOLIO
from compbo.study.outputs.compact import finished
from compbo.words import counted

RESULTS = ROOT / "results" / "single.parquet"
BEGIN, END = "<!-- single -->", "<!-- /single -->"
# What is the default where: it has other functions for single points, among choices alone.
IN_BATCHES, OF_SINGLES = (
    words(compbo.Settings(acquisition=members)) for members in (PORTFOLIO.members, PORTFOLIO.alone)
)
SEVERAL, ONE, MANY, OURS = "several choices", "one choice", "functions in 4D", "development tasks"
CHOICES = (SEVERAL, ONE)
KINDS = {  # by the task
    r"mixed_tasks:mixed_\d+": SEVERAL,
    r"special_tasks:\w+": SEVERAL,
    r"mixed_tasks:choice_\d+": ONE,
    r"wide_tasks:\w+": MANY,
    r"tasks:\w+": OURS,
}


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The runs, with what the table needs to know of each.

    Args:
        table: of the cells.

    Returns:
        The same with methods named by their settings and the kind of a task in a column of its own.
    """
    names = [
        words(settings_of(stored), batch=int(batch)) if "acquisition" in stored else method
        for stored, batch, method in zip(table["hyperparameters"], table["batch"], table["optimiser"], strict=True)
    ]
    kinds = [_kind(task) for task in table["task"]]
    rows = table.assign(optimiser=names, kind=kinds)
    single_default = pd.Series(kinds, rows.index).isin(CHOICES).map({True: OF_SINGLES, False: IN_BATCHES})
    same = (rows["batch"] == 1) & (rows["optimiser"] == single_default)
    rows["optimiser"] = rows["optimiser"].mask(same, DEFAULT)
    return finished(rows).drop_duplicates(["task", "seed", "batch", "optimiser"])


def _kind(task: str) -> str:
    for pattern, kind in KINDS.items():
        if re.fullmatch(rf"benchmarks\.defaults\.{pattern}", task):
            return kind
    raise ValueError(f"{task} is of no kind that the table knows: {', '.join(KINDS)}.")


def single_table(table: pd.DataFrame) -> str:
    """Every method in units of the default, by the kind of space and the points of an ask, in Markdown.

    Args:
        table: of `named`.

    Returns:
        A row for every method, the best with choices and one point first; intervals are by a bootstrap over the tasks.
    """
    columns = ((SEVERAL, 1), (ONE, 1), (MANY, 1), (OURS, 1), (SEVERAL, 2), (SEVERAL, 4))
    kinds = {
        f"{kind}, {counted(batch, 'point')}": table[(table["kind"] == kind) & (table["batch"] == batch)]
        for kind, batch in columns
    }
    return kinds_table(kinds, DEFAULT)
