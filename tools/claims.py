"""The claims of the paper, and whether they hold: the tables of docs/reproduction.md that judge them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import common_blocks, paired_difference
from compbo.study.outputs.axes import CLASSES
from compbo.study.outputs.page.answer import TOO_FEW, UNDECIDED, decide
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

HOLDS, FAILS = "holds", "does not hold: the reverse"


class Claim(NamedTuple):
    """A sentence of the paper, and the difference in normalised final regret by which it is judged.

    by: "group" compares classes by their median member, "optimiser" two methods. The claim holds where the interval of
    first minus second lies below zero, or, of a claim that two are `alike`, where it contains zero and is narrow.
    """

    words: str
    first: str
    second: str
    by: str = "group"
    alike: bool = False


CLAIMS = (
    Claim("Gradient-based approaches outperform zeroth-order methods.", "first", "zeroth"),
    Claim("Second-order methods achieve lower regret than zeroth-order ones.", "second", "zeroth"),
    Claim("Evolutionary strategies perform comparably to random batches.", "zeroth", "random", alike=True),
    Claim("(C)L-BFGS-B is consistently outperformed by first-order methods.", "first", "second"),
    Claim("... and so is its compositional form, by compositional first-order methods.", "first-comp", "second-comp"),
    Claim("First-order compositional optimisers outperform the other first-order ones.", "first-comp", "first"),
    Claim("The same, by the paper's strongest: CAdam against Adam.", "CAdam", "Adam-FSM", by="optimiser"),
    Claim("The tracker, with the rule the same: CAdam against AdamOS.", "CAdam", "AdamOS-FSM", by="optimiser"),
    Claim("Compositional evaluation helps zeroth-order methods.", "zeroth-comp", "zeroth"),
    Claim("BOHB performs like random search.", "bohb", "random-search", by="optimiser", alike=True),
    Claim("Memory-efficient CAdam is as good as CAdam.", "CAdam-ME", "CAdam", by="optimiser", alike=True),
    Claim("Memory-efficient NASA is as good as NASA.", "NASA-ME", "NASA", by="optimiser", alike=True),
)
HOW = """\
A difference below zero means that the first one ends at a lower regret. Classes are compared fairly, by their median
member, run by run from the same start points. A claim *holds* where the 95 % interval lies on its side of zero; two
methods are *alike* where the interval contains zero and is at most 0.1 wide. A median moves with the members that have
run: in 16 dimensions a class has all of them, in 60 and 100 those of the preset `high-dimensions`, as in Table 1."""
NARROW = 0.05  # half the interval of a difference of normalised regrets, below which two methods are called alike


def judged(claim: Claim, found: Estimate) -> str:
    """Whether a claim holds.

    Args:
        claim: of the paper.
        found: the difference, with its interval.

    Returns:
        In a few words.
    """
    said = decide(found, HOLDS, FAILS)
    if not claim.alike or said == TOO_FEW:
        return said
    if said == UNDECIDED:
        return HOLDS if float(found.high - found.low) < 2 * NARROW else UNDECIDED
    return "does not hold: better" if said == HOLDS else "does not hold: worse"


def compared(claim: Claim) -> str:
    """What a claim compares.

    Args:
        claim: of the paper.

    Returns:
        In words, "first order minus zeroth order".
    """
    names = [CLASSES.get(name, name) if claim.by == "group" else name for name in (claim.first, claim.second)]
    return f"{names[0]} minus {names[1]}"


def claims_table(rows: pd.DataFrame) -> str:
    """Every claim with its number.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown.
    """
    lines = ["| the paper says | compared | difference in final regret | on | verdict |", "|---|---|---|---|---|"]
    for claim in CLAIMS:
        words = compared(claim)
        if common_blocks(rows, [claim.first, claim.second], claim.by).empty:
            lines.append(f"| {claim.words} | {words} | | | not run |")
            continue
        found = paired_difference(rows, claim.first, claim.second, claim.by)
        on = f"{counted(found.tasks, 'task')}, {counted(found.runs, 'run')}"
        lines.append(f"| {claim.words} | {words} | {with_interval(found, 3)} | {on} | {judged(claim, found)} |")
    return "\n".join(lines)


def by_dimension(rows: pd.DataFrame, told: Iterable[Claim] = CLAIMS) -> str:
    """The same differences, dimension by dimension.

    Args:
        rows: the runs on the plain synthetic functions.
        told: the claims to be told of.

    Returns:
        A table in Markdown.
    """
    dimensions = sorted(set(rows["dimension"]))
    lines = ["| difference | " + " | ".join(f"{d}D" for d in dimensions) + " |", "|---" * (len(dimensions) + 1) + "|"]
    for claim in told:
        numbers = []
        for d in dimensions:
            part = rows[rows["dimension"] == d]
            missing = common_blocks(part, [claim.first, claim.second], claim.by).empty
            numbers.append(
                "" if missing else with_interval(paired_difference(part, claim.first, claim.second, claim.by), 3)
            )
        lines.append(f"| {compared(claim)} | " + " | ".join(numbers) + " |")
    return "\n".join(lines)
