"""The section of docs/defaults.md on batches in mixed spaces, from results/levels.parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import ROOT
from benchmarks.defaults.variants import DEFAULT
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "levels.parquet"
BEGIN, END = "<!-- levels -->", "<!-- /levels -->"
NAMES = {
    "compbo": DEFAULT,
    "levels-as-a-whole": "eight moves for the whole batch, the best of all points each time",
    "levels-ucb4-sr": 'acquisition=[UCB(beta=4.0), "sr"]',
    "levels-logei": 'acquisition="logei"',
}


def levels_table(table: pd.DataFrame) -> str:
    """What was tried for batches in mixed spaces in units of the default, in Markdown.

    Args:
        table: of the cells of levels.toml.

    Returns:
        A row for every trial, a column for every size of a batch.
    """
    rows = table.assign(optimiser=table["optimiser"].map(NAMES))
    sizes = sorted(set(rows["batch"]), reverse=True)
    return kinds_table({counted(q, "point"): rows[rows["batch"] == q] for q in sizes}, DEFAULT)
