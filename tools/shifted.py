"""The best of the plain functions with the optimum at another place, for docs/reproduction.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy import stats

from compbo.study.outputs.aggregate import blocks
from compbo.study.outputs.phrases import fixed, with_interval
from compbo.study.outputs.statistics.bootstrap import estimate
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

SAME = ["function", "dimension", "acquisition", "optimiser", "seed"]
NOT_RUN = "Not run yet."
HOW = """\
Four of the five functions have their optimum in the middle of the box or where all coordinates are equal, which a
method may find without looking. Here every function has it at a random place instead (`dim16-shifted`): the ten methods
with the lowest regret on the plain functions, UCB and EI together, and six to compare them with; the same acquisition
functions, seeds and methods in both columns."""


def section(plain: pd.DataFrame, shifted: pd.DataFrame) -> list[str]:
    """The section: what is compared, the table, and how alike both orders are.

    Args:
        plain: the runs on the plain functions.
        shifted: those on the shifted ones.

    Returns:
        Paragraphs in Markdown.
    """
    both = plain[[*SAME, "nfr", "task"]].merge(
        shifted[[*SAME, "nfr", "task"]], on=SAME, suffixes=("_plain", "_shifted")
    )
    if both.empty:
        return [NOT_RUN]
    mean = both.groupby("optimiser")[["nfr_plain", "nfr_shifted"]].mean()
    ranks = mean.rank().astype(int)
    lines = ["| method | plain | rank | shifted | rank |", "|---|---|---|---|---|"]
    for name in mean.sort_values("nfr_shifted").index:
        part, cells = both[both["optimiser"] == name], []
        for side in ("plain", "shifted"):
            runs = part.rename(columns={f"task_{side}": "task"})
            found = estimate(runs[f"nfr_{side}"].to_numpy(), blocks(runs))
            cells += [with_interval(found, 3), str(ranks.loc[name, f"nfr_{side}"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [HOW, "\n".join(lines), _alike(mean, counted(len(both), "run"))]


def _alike(mean: pd.DataFrame, runs: str) -> str:
    """How far the order on the plain functions is that on the shifted ones."""
    if len(mean) < 3:
        return f"Over {runs}."
    found = stats.spearmanr(mean["nfr_plain"], mean["nfr_shifted"])
    said = (
        "the order of one says something of the other" if found.pvalue < 0.05 else "one order says nothing of the other"
    )
    return (
        f"Normalised final regret, means over {runs} of {len(mean)} methods. The rank correlation of both columns is "
        f"{fixed(found.statistic)} (p = {found.pvalue:.2g}): {said}."
    )
