"""The section of docs/defaults.md on transforms of the values, from results/outputs.parquet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.defaults.page import ROOT, effects, normalised_regrets, table_of

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "outputs.parquet"
BEGIN, END = "<!-- outputs -->", "<!-- /outputs -->"
BASE = "Yeo-Johnson around the median"
EVIDENCE = "Yeo-Johnson or the fitted logarithm, by evidence"
NAMES = {  # of the transforms, by the setting `outputs`
    "order": "Yeo-Johnson, the fitted logarithm or ranks, by the order of the best",
    "evidence": EVIDENCE,
    "log-fitted": "logarithm of the distance to the best, fitted floor",
    "yeo-johnson": BASE,
    "log": "logarithm of the distance to the best",
    "ranks": "ranks as normal quantiles",
    "half-rank": "ranks of the worse half",
    "half-rank-yj": "ranks of the worse half, then Yeo-Johnson",
    "power": "Box-Cox of the distance to the best",
    "yj-twice": "Yeo-Johnson, twice",
    "top": "Yeo-Johnson around the better half",
    "top-better": "Yeo-Johnson around and of the better half",
    "tail-yj": "logarithm of the poor values, then Yeo-Johnson",
}
WALLS = ("beam", "cliffs", "gearbox", "joint")
MIXED = ("blend", "switches")


def named(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose methods are named by their transform.

    Args:
        table: of cells.

    Returns:
        The same with other names in the column `optimiser`.
    """
    settings = table["hyperparameters"].map(lambda stored: json.loads(json.loads(stored)["outputs"]))
    return table.assign(optimiser=settings.map(NAMES))


def outputs_tables(table: pd.DataFrame) -> str:
    """The transforms in units of Yeo-Johnson: with walls, in mixed spaces without them, on the other tasks.

    On the held-out tasks of the league, in units of the choice by evidence.

    Args:
        table: of the cells of outputs.toml.

    Returns:
        The tables in Markdown.
    """
    rows = named(table)
    short = rows["task"].str.rpartition(":")[2]
    held_out = ~rows["task"].str.contains(":")
    groups = {
        "Walls of penalties:": (short.isin(WALLS), BASE, "Yeo-Johnson's"),
        "Mixed spaces without walls:": (short.isin(MIXED), BASE, "Yeo-Johnson's"),
        "The development tasks of above:": (~short.isin(WALLS + MIXED) & ~held_out, BASE, "Yeo-Johnson's"),
        "The tasks of the league, held out until the choice by order was made:": (
            held_out,
            EVIDENCE,
            "by evidence",
        ),
    }
    parts = []
    for title, (chosen, base, unit) in groups.items():
        regret = normalised_regrets(rows[chosen])
        parts += [title, table_of(effects(regret, base), regret, base, unit)]
    return "\n\n".join(parts)
