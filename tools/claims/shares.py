"""Claims of the paper about the share of the tasks that an optimiser wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.page.answer import TOO_FEW, UNDECIDED
from compbo.study.outputs.page.regret_answers import PAPER_COMP_SHARE
from compbo.study.outputs.phrases import with_interval
from compbo.study.outputs.tables.table1 import contest_rows, entry
from compbo.words import counted
from tools.claims.judged import FEWER, HOLDS, NOT_RUN, PARTLY, Judged

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

HOW = """\
**Tasks won.** A task is a function in a dimension under an acquisition function, and who has the lowest final regret
wins it (ties are split). The interval is a bootstrap over tasks, and the claim is compared with the paper's share. It
is judged in the dimensions where all optimisers ran that ran in any: fewer rivals win more each."""


class Share(NamedTuple):
    """A sentence of the paper: optimisers with a `value` in a `column` of Table 1 win so many percent of the tasks."""

    words: str
    compared: str
    percent: int
    column: str
    value: object
    dimension: int | None = None  # None: all


CLAIMS = (
    Share(
        f"A compositional optimiser is the best of all on {PAPER_COMP_SHARE} % of the tasks.",
        "share of tasks won by compositional optimisers",
        *(PAPER_COMP_SHARE, "category", "Comp"),
    ),
    Share("... and on 65 % of those in 100 dimensions.", "the same in 100D", 65, "category", "Comp", 100),
    Share(
        "In 100 dimensions the lowest regret is always that of a first-order optimiser.",
        "share of tasks won by first-order optimisers",
        *(100, "order", 1, 100),
    ),
    Share("... and in 25 % of the cases that of CAdam.", "share of tasks won by CAdam", 25, "member", "CAdam", 100),
)


def judged_share(found: Estimate, percent: int) -> str:
    """Whether the share of the tasks won is the paper's, or more.

    Args:
        found: the share here.
        percent: the paper's.

    Returns:
        In a few words.
    """
    if found.unit == "nothing":
        return TOO_FEW
    if float(found.low) >= percent:
        return HOLDS
    return FEWER if float(found.high) < percent else UNDECIDED


def share_of_wins(rows: pd.DataFrame, claim: Share) -> Estimate | None:
    """The share of the tasks that the optimisers of a claim win among the paper's, in percent.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        The mean over dimensions, as in Table 1; None where none of them ran.
    """
    contests = contest_rows(rows)
    ours = contests[(contests[claim.column] == claim.value) & (contests["category"] != "extended")]
    return entry(ours).best if len(ours) else None


def _whole(rows: pd.DataFrame) -> list[int]:
    """The dimensions in which all of the paper's optimisers ran that ran in any."""
    members = rows[rows["category"].isin(["NonComp", "Comp"])].groupby("dimension")["optimiser"].nunique()
    return sorted(members.index[members == members.max()])


def judge(rows: pd.DataFrame) -> list[Judged]:
    """Every claim about tasks won.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A line for each.
    """
    return [_line(rows, claim) for claim in CLAIMS]


def _line(rows: pd.DataFrame, claim: Share) -> Judged:
    whole = _whole(rows)
    dimensions = whole if claim.dimension is None else [claim.dimension]
    there = rows[rows["dimension"].isin(dimensions)]
    found = share_of_wins(there, claim)
    if found is None:
        return Judged(claim.words, claim.compared, NOT_RUN)
    said = judged_share(found, claim.percent) if set(dimensions) <= set(whole) else PARTLY
    on = f"{', '.join(f'{d}D' for d in dimensions)}: {counted(found.runs, 'contest')}"
    return Judged(claim.words, claim.compared, said, with_interval(found, 0, " %"), on)
