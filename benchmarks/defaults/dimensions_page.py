"""The section of docs/defaults.md on what was tried for many dimensions, from results/dimensions.parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.defaults.page import ROOT
from benchmarks.defaults.wide_page import PEERS, wide_table

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "dimensions.parquet"
BEGIN, END = "<!-- dimensions -->", "<!-- /dimensions -->"
NAMES = {
    "dimensions-mixture": "either lengthscale a priori: half of the paper's prior, half of the dimension-scaled one",
    "dimensions-evidence": "the prior set with more evidence at each ask",
    "dimensions-region": "all batches in a trust region",
    "dimensions-smoothed": "incumbents by the posterior mean, not by the values",
    "dimensions-half-region": "SR's batches in a trust region, UCB's anywhere",
}


def dimensions_tables(table: pd.DataFrame) -> str:
    """Every trial in units of the default, without and with noise, in Markdown.

    Args:
        table: of the cells of dimensions.toml, named by their settings.

    Returns:
        Two tables.
    """
    noisy = table["task"].str.contains("_normal|_student")
    return "\n\n".join(
        (
            wide_table(table[~noisy], {**PEERS, **NAMES}),
            "With noise of 1 % and 10 % of the range, Gaussian and heavy-tailed:",
            wide_table(table[noisy], {**PEERS, **NAMES}),
        )
    )
