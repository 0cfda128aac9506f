"""The section of docs/defaults.md on other portfolios, from results/portfolios.csv.

python -m benchmarks.portfolios.page
"""

from __future__ import annotations

import pandas as pd

from benchmarks.defaults.page import SMALLEST
from benchmarks.portfolios.measure import load
from benchmarks.portfolios.policies import VARIANTS
from benchmarks.why.page import PAGE, Difference, ratios

BEGIN, END = "<!-- portfolios -->", "<!-- /portfolios -->"
BASE = "default"


def effects(rows: pd.DataFrame) -> list[Difference]:
    """The regret of every variant in units of the default's, on the tasks and seeds that both ran, the best first.

    Args:
        rows: of one kind of runs.
    """
    floored = rows.assign(last=rows["last"].clip(lower=SMALLEST * rows["first"]), setting=rows["variant"])
    found = []
    for name in floored["variant"].unique():
        both = floored[floored["variant"].isin([BASE, name])]
        complete = both.groupby(["task", "seed"])["variant"].transform("nunique") == both["variant"].nunique()
        found += [d for d in ratios(both[complete], BASE) if d.setting == name]
    return sorted(found, key=lambda d: d.middle)


def table_of(rows: pd.DataFrame, title: str) -> str:
    """The effects in Markdown.

    Args:
        rows: of one kind of runs.
        title: of the column of the variants.

    Returns:
        A table, a row for every variant.
    """
    lines = [f"| {title} | regret / the default's | 95 % interval | runs |", "|---|---|---|---|"]
    counts = rows["variant"].value_counts()
    lines += [
        f"| {VARIANTS[d.setting].words} | {d.middle:.2f} | {d.low:.2f} to {d.high:.2f} | {counts[d.setting]} |"
        for d in effects(rows)
    ]
    return "\n".join(lines)


def section() -> str:
    """Three tables: batches of 8, of 8 beside pending points, of one point."""
    table = pd.DataFrame(load())
    parts = []
    for (q, pending), rows in table.groupby(["q", "pending"], sort=False):
        beside = f", beside {pending * q} pending" if pending else ""
        parts.append(table_of(rows, f"batches of {q}{beside}, {rows['task'].nunique()} tasks"))
    return "\n\n".join(reversed(parts))


def filled(text: str) -> str:
    """The page's text with the tables of the committed file between the marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{section()}\n\n{END}{rest.partition(END)[2]}"


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
