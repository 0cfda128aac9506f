"""Which optimisers moved at all, dimension by dimension: a comparison with one that stood still is none of regret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from compbo.bo.verdict import Verdict
from compbo.study.outputs.axes import sorted_optimisers

if TYPE_CHECKING:
    import pandas as pd

HALF = 0.5  # of the asks: more than that, and a method is called one that did not move
SHOWN = 0.1  # an optimiser is listed if it stood still in more of its asks than this, in some dimension
HOW = f"""\
**Who moved.** After every ask a second opinion says whether the maximisation ended where it began though something
better was near ([verdicts](verdicts.md)). The share of the asks that did not move, of the optimisers with more than
{100 * SHOWN:.0f} % in some dimension. Their step is proportional to the gradient, or stops where it is small, and in
many dimensions it is small at random points. The paper tuned such numbers for every task; here every optimiser has one
setting. What a claim says of a method that stood still in more than half of its asks is marked \u2020, not judged."""


def still_share(rows: pd.DataFrame) -> float:
    """The share of the asks of the rows that did not move; 0 without asks."""
    counts = [json.loads(text) for text in rows["verdicts"]]
    asks = sum(sum(one.values()) for one in counts)
    return sum(one.get(Verdict.DID_NOT_MOVE, 0) for one in counts) / asks if asks else 0.0


def stood_still(rows: pd.DataFrame) -> bool:
    """Whether the methods of the rows, together, did not move in more than half of their asks."""
    return still_share(rows) > HALF


def table(rows: pd.DataFrame) -> str:
    """The optimisers that did not move in some dimension.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown, a column per dimension.
    """
    dimensions = sorted(set(rows["dimension"]))
    lines = ["| optimiser | " + " | ".join(f"{d}D" for d in dimensions) + " |", "|---" * (len(dimensions) + 1) + "|"]
    for name in sorted_optimisers(rows["optimiser"]):
        parts = [rows[(rows["optimiser"] == name) & (rows["dimension"] == d)] for d in dimensions]
        if max(still_share(part) for part in parts) > SHOWN:
            shares = [f"{100 * still_share(part):.0f} %" if len(part) else "" for part in parts]
            lines.append(f"| {name} | {' | '.join(shares)} |")
    return "\n".join(lines)
