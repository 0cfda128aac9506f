"""Claims of the paper about the share of the tasks that an optimiser wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import over_black_boxes
from compbo.study.outputs.page.answer import FEWEST_TASKS, TOO_FEW, UNDECIDED
from compbo.study.outputs.page.regret_answers import PAPER_COMP_SHARE
from compbo.study.outputs.phrases import with_interval
from compbo.study.outputs.tables.table1 import ALL, SUBTOTAL, TOTAL, Line, contest_rows, paper_numbers
from compbo.words import counted
from tools.claims.judged import FEWER, HOLDS, NOT_RUN, PARTLY, Judged

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

HOW = """\
**Tasks won.** A task is a function in a dimension under an acquisition function, and who has the lowest final regret
wins it (ties are split). Those compete that the paper's Table 1 has in that dimension, and the claim is compared with
the paper's share in the dimensions that are here. It is judged where all of them ran: fewer rivals win more each. The
interval is Student's over the functions, as above."""


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
    Share("... but on 45 % of those in 120 dimensions.", "the same in 120D", 45, "category", "Comp", 120),
    Share(
        "In 100 dimensions the lowest regret is always that of a first-order optimiser.",
        "share of tasks won by first-order optimisers",
        *(100, "order", 1, 100),
    ),
    Share("... and in 25 % of the cases that of CAdam.", "share of tasks won by CAdam", 25, "member", "CAdam", 100),
)


def judged_share(found: Estimate, percent: float) -> str:
    """Whether the share of the tasks won is the paper's, or more.

    Args:
        found: the share here.
        percent: the paper's.

    Returns:
        In a few words.
    """
    if found.tasks < FEWEST_TASKS:
        return TOO_FEW
    if float(found.low) >= percent:
        return HOLDS
    return FEWER if float(found.high) < percent else UNDECIDED


def as_in_the_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """The runs of the optimisers that the paper's Table 1 has in their dimension: it has no ME forms below 80.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A part of them.
    """
    there = set(paper_numbers())
    of_run = zip(rows["category"], rows["order"], rows["member"], rows["dimension"], strict=True)
    return rows[[(Line(category, str(order), member), str(d)) in there for category, order, member, d in of_run]]


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
    keys = ["task", "acquisition", "function", "seed"]
    return contests.assign(won=100.0 * ours).groupby(keys, sort=True)["won"].sum().reset_index()


def _whole(rows: pd.DataFrame) -> list[int]:
    """The dimensions in which all of the paper's optimisers ran."""
    needed: dict[int, set[tuple[str, str]]] = {}
    for line, d in paper_numbers():
        if d != ALL and line.optimiser not in (SUBTOTAL, TOTAL):
            needed.setdefault(int(d), set()).add((line.category, line.optimiser))
    ran = {d: set(zip(here["category"], here["member"], strict=True)) for d, here in rows.groupby("dimension")}
    return sorted(d for d in ran if needed.get(d, {()}) <= ran[d])


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
    there = as_in_the_paper(rows[rows["dimension"].isin(dimensions)])
    if there.empty:
        return Judged(claim.words, claim.compared, NOT_RUN)
    shares = won(there, claim)
    found = over_black_boxes(shares, "won")
    papers = claim.percent if claim.dimension else _papers(dimensions)
    beside = f" (there {papers:.0f} %)" if papers != claim.percent else ""
    each = shares.groupby("function")["won"].mean()
    on = f"{', '.join(f'{d}D' for d in dimensions)}{beside}: {counted(found.runs, 'contest')}"
    said = judged_share(found, papers) if set(dimensions) <= set(whole) else PARTLY
    low, high = max(float(found.low), 0.0), min(float(found.high), 100.0)
    number = with_interval(found._replace(low=low, high=high), 0, " %") if low < high else f"{float(found.value):.0f} %"
    return Judged(claim.words, claim.compared, said, number, on, ", ".join(f"{value:.0f}" for value in sorted(each)))


def _papers(dimensions: list[int]) -> float:
    """The paper's share of the tasks won by compositional optimisers, the mean over some dimensions."""
    numbers = paper_numbers()
    return sum(numbers[Line("Comp", "", TOTAL), str(d)][0] for d in dimensions) / len(dimensions)
