"""The section of docs/defaults.md on kernels, from results/kernels.parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import ROOT

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "kernels.parquet"
BEGIN, END = "<!-- kernels -->", "<!-- /kernels -->"
BASE = "Matern-5/2: the default"
NAMES = {"compbo": BASE, "kernels-se": "squared exponential", "kernels-32": "Matern-3/2"}


def kernels_table(table: pd.DataFrame) -> str:
    """The kernels in units of the default's, without and with noise, in Markdown.

    Args:
        table: of the cells of kernels.toml.

    Returns:
        A row for every kernel.
    """
    rows = table.assign(optimiser=table["optimiser"].map(NAMES))
    noisy = rows["task"].str.contains("_normal|_student")
    return kinds_table({"20D": rows[~noisy], "noise, 10D and 20D": rows[noisy]}, BASE)
