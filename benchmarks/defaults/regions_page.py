"""The section of docs/defaults.md on trust regions in many dimensions, from results/regions.parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.defaults.dimensions_page import NAMES
from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import ROOT
from benchmarks.defaults.variants import DEFAULT
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "regions.parquet"
BEGIN, END = "<!-- regions -->", "<!-- /regions -->"


def regions_table(table: pd.DataFrame) -> str:
    """Trust regions and other trials in units of the default, in Markdown.

    Args:
        table: of the cells of regions.toml, named by their settings.

    Returns:
        A row for every trial, a column for every size of a batch.
    """
    sizes = sorted(set(table["batch"]), reverse=True)
    parts = {counted(int(q), "point"): table[table["batch"] == q] for q in sizes}
    return kinds_table(parts, DEFAULT, {**NAMES, "turbo": "TuRBO"})
