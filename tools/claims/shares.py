"""Claims of the paper about the share of the tasks that an optimiser wins."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from compbo.maximizers import CATALOGUE
from compbo.study.outputs.aggregate import each_black_box, over_black_boxes
from compbo.study.outputs.axes import method_axes
from compbo.study.outputs.page.answer import FEWEST_TASKS, TOO_FEW, UNDECIDED
from compbo.study.outputs.page.regret_answers import PAPER_COMP_SHARE
from compbo.study.outputs.phrases import with_interval
from compbo.study.outputs.runs import BLOCK
from compbo.study.outputs.tables.table1 import Line, contest_rows, paper_numbers
from compbo.words import counted
from tools.claims.judged import FEWER, HOLDS, NOT_RUN, PARTLY, Judged

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

DIMENSIONS = (16, 40, 60, 80, 100, 120)  # of the paper
CONFIDENCE = 0.95
HOW = """\
**Tasks won.** A task is a function in a dimension under an acquisition function, and who has the lowest final regret
from the same start wins it (ties are split). Those compete that the paper's Table 1 has in that dimension: below 80
dimensions no memory-efficient forms, so the shares are not those of [our Table 1](#table-1-beside-the-papers), where
they compete too. Only contests that all of them entered are counted: with fewer rivals each would win more often.
The interval is Student's over the functions, as above; where every function has 0 % or every one 100 %, it is the exact
binomial one. That something is always so does not hold if it is not so once."""


class Share(NamedTuple):
    """A sentence of the paper: optimisers with a `value` in a `column` of Table 1 win so many percent of the tasks."""

    words: str
    compared: str
    percent: int
    column: str
    value: object
    dimensions: tuple[int, ...]


_COMP = "share of tasks won by compositional optimisers"
CLAIMS = (
    Share(
        f"A compositional optimiser is the best of all on {PAPER_COMP_SHARE} % of the tasks in 16 to 120 dimensions.",
        *(_COMP, PAPER_COMP_SHARE, "category", "Comp", DIMENSIONS),
    ),
    *(
        Share(
            f"A compositional optimiser is the best of all on {percent} % of the tasks in {d} dimensions.",
            *(_COMP, percent, "category", "Comp", (d,)),
        )
        for d, percent in ((16, 80), (60, 55), (100, 65))
    ),
    Share(
        "In 100 dimensions the lowest regret is always that of a first-order optimiser.",
        *("share of tasks won by first-order optimisers", 100, "order", 1, (100,)),
    ),
    Share(
        "In 100 dimensions CAdam is the best of all on 25 % of the tasks (20 % in Table 1).",
        *("share of tasks won by CAdam", 20, "member", "CAdam", (100,)),
    ),
    Share(
        "In 120 dimensions optimisers without composition are the best on 55 % of the tasks.",
        *("share of tasks won by optimisers without composition", 55, "category", "NonComp", (120,)),
    ),
)


def ends(found: Estimate) -> tuple[float, float]:
    """The interval of a share in percent, within 0 and 100.

    Args:
        found: the share, with Student's interval over the functions.

    Returns:
        Where all functions have 0 or all have 100, the exact interval (Clopper and Pearson) of so many of a kind.
    """
    low, high = max(float(found.low), 0.0), min(float(found.high), 100.0)
    if low == high and low in (0.0, 100.0) and found.tasks:
        least = 100.0 * ((1.0 - CONFIDENCE) / 2.0) ** (1.0 / found.tasks)
        return (least, 100.0) if low else (0.0, 100.0 - least)
    return low, high


def judged_share(found: Estimate, percent: float) -> str:
    """Whether the share of the tasks won is the paper's, or more.

    Args:
        found: the share here.
        percent: the paper's; 100 means always.

    Returns:
        In a few words.
    """
    if found.tasks < FEWEST_TASKS:
        return TOO_FEW
    if percent == 100:
        return HOLDS if float(found.value) == 100 else FEWER
    low, high = ends(found)
    if low >= percent:
        return HOLDS
    return FEWER if high < percent else UNDECIDED


@lru_cache(maxsize=1)
def rivals() -> dict[int, frozenset[str]]:
    """The optimisers that the paper's Table 1 has in each dimension: it has no ME forms below 80."""
    there = set(paper_numbers())
    axes = {name: method_axes(name) for name in CATALOGUE}
    return {
        d: frozenset(
            name for name, its in axes.items() if (Line(its.category, str(its.order), its.member), str(d)) in there
        )
        for d in DIMENSIONS
    }


def as_in_the_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """The runs of the optimisers that the paper's Table 1 has in their dimension.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A part of them.
    """
    known = rivals()
    competing = [name in known.get(d, ()) for name, d in zip(rows["optimiser"], rows["dimension"], strict=True)]
    return rows.loc[competing]


def whole_contests(rows: pd.DataFrame) -> pd.DataFrame:
    """The runs of the contests in which all rivals took part.

    Args:
        rows: of `as_in_the_paper`.

    Returns:
        A part of them.
    """
    there = rows.groupby([*BLOCK, "seed"])["optimiser"].transform("nunique")
    return rows[there == rows["dimension"].map({d: len(names) for d, names in rivals().items()})]


def won(rows: pd.DataFrame, claim: Share) -> pd.DataFrame:
    """The share of each contest that the optimisers of a claim win, in percent (`won`).

    Args:
        rows: of `as_in_the_paper`.
        claim: of the paper.

    Returns:
        A row for each task and seed.
    """
    contests = contest_rows(rows)
    ours = contests["won"].where(contests[claim.column] == claim.value, 0.0)
    keys = [*BLOCK, "function", "seed"]
    percent = contests.assign(won=100.0 * ours).groupby(keys, sort=True)["won"].sum()
    return percent.round(9).reset_index()  # thirds of a tie that all are ours make 100


def judge(rows: pd.DataFrame) -> list[Judged]:
    """Every claim about tasks won.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A line for each.
    """
    return [_line(as_in_the_paper(rows), claim) for claim in CLAIMS]


def _line(rows: pd.DataFrame, claim: Share) -> Judged:
    there = rows[rows["dimension"].isin(claim.dimensions)]
    if there.empty:
        return Judged(claim.words, claim.compared, NOT_RUN)
    whole = whole_contests(there)
    in_full = set(whole["dimension"]) == set(claim.dimensions)
    shares = won(whole if in_full else there, claim)
    found = over_black_boxes(shares, "won")
    low, high = ends(found)
    where = ", ".join(f"{d}D" for d in sorted(set(there["dimension"])))
    return Judged(
        claim.words,
        claim.compared,
        judged_share(found, claim.percent) if in_full else PARTLY,
        with_interval(found._replace(low=low, high=high), 0, " %"),
        f"{where}: {counted(len(shares), 'contest')}",
        ", ".join(f"{value:.0f}" for value in sorted(each_black_box(shares, "won").values())),
    )
