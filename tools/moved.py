"""Which optimisers moved at all, dimension by dimension: a comparison with one that stood still is none of regret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.axes import sorted_optimisers
from compbo.study.outputs.moved import still_share, that_moved
from compbo.study.outputs.phrases import listed

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 0.1  # an optimiser is listed if it stood still in more of its asks than this, in some dimension
HOW = f"""\
**Who moved.** After every ask a second opinion says whether the maximisation ended where it began though something
better was near ([verdicts](verdicts.md)). Below is the share of the asks that did not move, of the optimisers with
more than {100 * SHOWN:.0f} % in some dimension. In many dimensions the gradient at random points is small. The steps
of SCGA, NASA and NASA-ME are proportional to it, and L-BFGS-B and CL-BFGS-B stop where it is small. The paper tuned
every optimiser for every task, here each has one setting; what tuning adds is among the [fair
controls](#fair-controls). RS, which draws batches and climbs nothing, is left out."""


def caution(rows: pd.DataFrame) -> str:
    """How far the runs are from the paper's, in a sentence or two.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        That nothing was tuned, and who then stands still.
    """
    words = "The paper tuned every optimiser for every task; here each has one setting, that of the catalogue."
    moving = that_moved(rows)[["dimension", "optimiser"]].value_counts()
    still = rows[["dimension", "optimiser"]].value_counts().index.difference(moving.index)
    parts = [
        f"{listed(sorted_optimisers(names), most=len(names))} in {dimension}D"
        for dimension, names in still.to_frame(index=False).groupby("dimension")["optimiser"]
    ]
    return f"{words} With it, more than half of the asks of {listed(parts)} did not move at all." if parts else words


def table(rows: pd.DataFrame) -> str:
    """The optimisers that did not move in some dimension.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown, a column per dimension.
    """
    dimensions = sorted(set(rows["dimension"]))
    lines = ["| optimiser | " + " | ".join(f"{d}D" for d in dimensions) + " |", "|---" * (len(dimensions) + 1) + "|"]
    for name in sorted_optimisers(rows["optimiser"][rows["optimiser"] != "RS"]):
        parts = [rows[(rows["optimiser"] == name) & (rows["dimension"] == d)] for d in dimensions]
        if max(still_share(part) for part in parts) > SHOWN:
            shares = [f"{100 * still_share(part):.0f} %" if len(part) else "" for part in parts]
            lines.append(f"| {name} | {' | '.join(shares)} |")
    return "\n".join(lines)
