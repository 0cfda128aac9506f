"""The best of the plain functions with the optimum at another place, for docs/reproduction.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy import stats

from compbo.study.outputs.phrases import fixed, with_interval
from compbo.study.outputs.statistics.student import mean_over_tasks
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

SAME = ["function", "dimension", "acquisition", "optimiser", "seed"]
NOT_RUN = "Not run yet."
HOW = """\
Four of the five functions have their optimum in the middle of the box or where all coordinates are equal, which a
method may find without looking. Here every function has it at a random place instead (`dim16-shifted`). Normalised
final regrets: both columns have the same functions, acquisition functions and seeds, those that all methods in the
table have run. In brackets are 95 % intervals by Student's t over the functions: how far functions differ, which all
methods share, so that ranks are surer than they look. Ten of the methods are in it because they were the best on the
plain functions under UCB and EI: some of them must fall back."""


def section(plain: pd.DataFrame, shifted: pd.DataFrame) -> list[str]:
    """The section: what is compared, the table, and how alike both orders are.

    Args:
        plain: the runs on the plain functions.
        shifted: those on the shifted ones.

    Returns:
        Paragraphs in Markdown.
    """
    both = plain[[*SAME, "nfr"]].merge(shifted[[*SAME, "nfr"]], on=SAME, suffixes=("_plain", "_shifted"))
    methods = both.groupby([name for name in SAME if name != "optimiser"])["optimiser"].transform("nunique")
    both = both[methods == both["optimiser"].nunique()]
    if both.empty:
        return [NOT_RUN]
    mean = both.groupby("optimiser")[["nfr_plain", "nfr_shifted"]].mean()
    ranks = mean.rank().astype(int)
    lines = ["| method | plain | rank | shifted | rank |", "|---|---|---|---|---|"]
    for name in mean.sort_values("nfr_shifted").index:
        part, cells = both[both["optimiser"] == name], []
        for side in ("plain", "shifted"):
            found = mean_over_tasks(part[f"nfr_{side}"].to_numpy(), part["function"].to_numpy())
            cells += [with_interval(found, 3), str(ranks.loc[name, f"nfr_{side}"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    under = " and ".join(name.upper() for name in sorted(set(both["acquisition"])))
    return [HOW, "\n".join(lines), _alike(mean, f"{counted(len(both), 'run')} under {under}")]


def _alike(mean: pd.DataFrame, runs: str) -> str:
    """How far the order on the plain functions is that on the shifted ones."""
    if len(mean) < 3:
        return f"Over {runs}."
    found = stats.spearmanr(mean["nfr_plain"], mean["nfr_shifted"])
    related = "the orders are related" if found.statistic > 0 else "the order is reversed"
    said = related if found.pvalue < 0.05 else "whether the orders are related cannot be told"
    return (
        f"Means over {runs}, {len(mean)} methods. The rank correlation of both columns is {fixed(found.statistic)} "
        f"(p = {found.pvalue:.2g}): {said}."
    )
