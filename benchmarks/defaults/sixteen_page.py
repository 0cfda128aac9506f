"""The section of docs/defaults.md on batches of 16, from results/sixteen.parquet, named by their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import ROOT
from benchmarks.defaults.variants import DEFAULT

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "sixteen.parquet"
BEGIN, END = "<!-- sixteen -->", "<!-- /sixteen -->"


def sixteen_table(table: pd.DataFrame) -> str:
    """Other acquisition functions in units of the default, in Markdown.

    Args:
        table: of the cells of sixteen.toml, named by their settings.

    Returns:
        A row for every portfolio; a column for the development tasks and one for many kinds of functions.
    """
    wide = table["task"].str.contains("wide_tasks")
    return kinds_table({"development tasks": table[~wide], "functions in 20D": table[wide]}, DEFAULT)
