"""Claims of the paper about the normalised final regret on synthetic functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import FAIR, PAPER, common_blocks, paired_difference, whole_classes
from compbo.study.outputs.axes import CLASSES
from compbo.study.outputs.figures.pairs import all_pairs_difference, erm_fsm_pairs
from compbo.study.outputs.moved import that_moved
from compbo.study.outputs.page.answer import LEVEL, MARGIN, both_ran
from compbo.study.outputs.phrases import fixed, listed, with_interval
from compbo.words import counted
from tools.claims.judged import NOT_MOVED, NOT_RUN, PARTLY, SAID, Judged, judged_difference

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from compbo.study.outputs.aggregate import How
    from compbo.study.outputs.statistics.bootstrap import Estimate

NAMES = {
    "RS": "random batches (RS)",
    "bohb": "BOHB",
    "thompson-decoupled": "Thompson sampling (decoupled)",
    "thompson-function": "Thompson sampling (function-space)",
    "thompson-weight": "Thompson sampling (weight-space)",
    "random-search": "uniform points",
    "ucb": "UCB",
    "sr": "SR",
    "pi": "PI",
}
PART, STILL = "\u2021", "\u2020"  # marks in the table by dimension


class Claim(NamedTuple):
    """A sentence of the paper, and the difference in normalised final regret by which it is judged.

    by: "group" compares classes by their median member, "optimiser" two methods, "form" the rules in both forms (FSM
    and ERM), "under" the first-order compositional optimisers under two acquisition functions. The claim holds where
    the interval of first minus second lies below zero, or, of a claim that two are `alike`, nearer to zero than
    `MARGIN`. any_acquisition: one of both has no acquisition function; the other's median over them stands for it.
    """

    words: str
    first: str
    second: str
    by: str = "group"
    alike: bool = False
    any_acquisition: bool = False


CLAIMS = (
    Claim("Gradient-based approaches outperform zeroth-order methods: first-order ones.", "first", "zeroth"),
    Claim("... and second-order ones.", "second", "zeroth"),
    Claim("Evolutionary strategies perform comparably to random batches.", "zeroth", "random", alike=True),
    Claim("L-BFGS-B is consistently outperformed by first-order methods.", "first", "second"),
    Claim("... and CL-BFGS-B by compositional ones.", "first-comp", "second-comp"),
    Claim("First-order compositional optimisers outperform the other first-order ones.", "first-comp", "first"),
    Claim("The FSM version outperforms the ERM version.", "FSM", "ERM", by="form"),
    Claim("BOHB is similar to random batches.", "bohb", "RS", by="optimiser", alike=True, any_acquisition=True),
    *(
        Claim(words, "Adam-FSM", f"thompson-{flavour}", by="optimiser", any_acquisition=True)
        for words, flavour in (
            ("Thompson sampling has difficulty beyond 8 to 10 dimensions: decoupled.", "decoupled"),
            ("... function-space.", "function"),
            ("... weight-space.", "weight"),
        )
    ),
    Claim("PI yields higher regrets than UCB, with first-order compositional optimisers.", "ucb", "pi", by="under"),
    Claim("... and than SR.", "sr", "pi", by="under"),
    Claim(
        "Memory-efficient forms perform comparably to standard ones: CAdam.",
        "CAdam-ME",
        "CAdam",
        by="optimiser",
        alike=True,
    ),
    Claim("... NASA.", "NASA-ME", "NASA", by="optimiser", alike=True),
    Claim("... Nested-MC.", "Nested-MC-ME", "Nested-MC", by="optimiser", alike=True),
)
OURS = (  # the same rule with and without composition; the paper has no word on them
    Claim("The tracker, with the rule the same.", "CAdam", "AdamOS-FSM", by="optimiser"),
    Claim("The paper's strongest against Adam.", "CAdam", "Adam-FSM", by="optimiser"),
    Claim("Nested Monte Carlo against Adam.", "Nested-MC", "Adam-FSM", by="optimiser"),
    Claim("Composition in zeroth-order methods.", "zeroth-comp", "zeroth"),
    Claim("BOHB against points without a model.", "bohb", "random-search", by="optimiser"),
)
HOW = f"""\
What is compared is the normalised final regret (NFR), the last regret in units of that of the initial design, run by
run from the same start points; below zero the first one ends lower. ERM, FSM and ME are [forms of the acquisition
function](notation.md), RS takes the best of random batches, the other names are optimisers of [the
catalogue](catalogue.md). Of a class the paper takes the *best* member at every step, which favours the class with more
members; here its median member stands for it, and the last column has the difference between the best final ones. A
class is judged in the dimensions where all of its members ran, and an optimiser where it moved at all in half of its
asks. BOHB and Thompson sampling, which have no acquisition function, are compared with the other's median over them.

The interval is Student's with 95 % over the functions, and each counts once: the same function under another
acquisition function or in another dimension is no new one. So with five functions it is wide. A claim *holds* where
the interval lies on its side of zero and does not where it lies on the other. That two are alike holds where the whole
interval is nearer to zero than {MARGIN}, a twentieth of the regret that the initial design leaves, and does not where
all of it is farther. Where a claim says that one is better, an interval within that margin with both signs says
*{LEVEL}*: a smaller one is neither confirmed nor refuted. The margin is absolute, and where nearly
all of the regret is gone no difference is that large."""
AFTER = f"""\
{PART} not all members of a class, or not all rules in both forms, ran there: another comparison, not judged.

{STILL} one of both did not move in more than half of its asks: not judged."""
OURS_HOW = "What these rest on: composition alone where the rule is the same, and what else is often compared."


class Comparison(NamedTuple):
    """What a claim is judged by."""

    rows: pd.DataFrame
    found: Estimate
    agreeing: int  # functions whose mean has the sign of the whole


def compared_rows(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The runs as a claim compares them.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        Those of its two sides from the same starts.
    """
    if claim.by == "under":
        of_class = rows[rows["group"] == "first-comp"]
        rows = of_class.assign(under=of_class["acquisition"], acquisition="")
    if claim.any_acquisition:
        rows = rows.assign(acquisition="")
    if claim.by == "form":
        return rows[rows["optimiser"].isin(_of_pairs(rows))]
    return common_blocks(rows, [claim.first, claim.second], claim.by)


def _of_pairs(rows: pd.DataFrame) -> list[str]:
    """The rules that ran in both forms from the same starts, in both."""
    return [name for pair in both_ran(rows, erm_fsm_pairs(rows)) for name in (pair.first, pair.second)]


def whole_rows(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The runs in the dimensions where all members of the claim's classes ran, or all rules in both forms.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        All of them for a claim about two optimisers.
    """
    if claim.by == "group":
        return whole_classes(rows, (claim.first, claim.second))
    if claim.by == "form":
        return common_blocks(rows, _of_pairs(rows))
    return rows


def judged_rows(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The runs that a claim is judged by.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        Those of the dimensions in which all members of its classes ran, and both sides moved.
    """
    there = compared_rows(whole_rows(rows, claim), claim)
    moved = compared_rows(whole_rows(that_moved(rows), claim), claim)
    return there[there["dimension"].isin(set(moved["dimension"]))]


def difference(rows: pd.DataFrame, claim: Claim, how: How = FAIR) -> Estimate:
    """First minus second in normalised final regret.

    Args:
        rows: of `compared_rows`.
        claim: of the paper.
        how: the median or the best member of a class.

    Returns:
        With its interval.
    """
    if claim.by == "form":
        return all_pairs_difference(rows, both_ran(rows, erm_fsm_pairs(rows)))
    return paired_difference(rows, claim.first, claim.second, claim.by, how=how)


def compare(rows: pd.DataFrame, claim: Claim) -> Comparison | None:
    """What a claim is judged by.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        The difference and on how many functions it has its sign; None where nothing can be judged.
    """
    there = judged_rows(rows, claim)
    if there.empty:
        return None
    found = difference(there, claim)
    each = [float(difference(part, claim).value) for _, part in there.groupby("function")]
    return Comparison(there, found, sum(one * float(found.value) > 0 for one in each))


def verdict(rows: pd.DataFrame, claim: Claim, made: Comparison | None) -> str:
    """Whether a claim holds, or why that cannot be told.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.
        made: what `compare` made of them.

    Returns:
        In a few words.
    """
    if made is not None:
        return judged_difference(made.found, alike=claim.alike)
    if compared_rows(rows, claim).empty:
        return NOT_RUN
    return PARTLY if compared_rows(whole_rows(rows, claim), claim).empty else NOT_MOVED


def compared(claim: Claim) -> str:
    """What a claim compares.

    Args:
        claim: of the paper.

    Returns:
        In words, "first order minus zeroth order".
    """
    first, second = (
        CLASSES[name] if claim.by == "group" else NAMES.get(name, name) for name in (claim.first, claim.second)
    )
    return f"{first} minus {second}"


def judge(rows: pd.DataFrame, told: Iterable[Claim] = CLAIMS) -> list[Judged]:
    """Every claim about regret.

    Args:
        rows: the runs on the plain synthetic functions.
        told: the claims.

    Returns:
        A line for each.
    """
    return [_line(rows, claim) for claim in told]


def _line(rows: pd.DataFrame, claim: Claim) -> Judged:
    made = compare(rows, claim)
    said = verdict(rows, claim, made)
    if made is None:
        return Judged(claim.words, compared(claim), said)
    where = ", ".join(f"{d}D" for d in sorted(set(made.rows["dimension"])))
    best = difference(made.rows, claim, PAPER) if claim.by == "group" else None
    return Judged(
        claim.words,
        compared(claim),
        said,
        with_interval(made.found, 3),
        f"{where}: {counted(made.found.runs, 'run')}",
        f"{made.agreeing} of {made.found.tasks}",
        f"{with_interval(best, 3)}: {judged_difference(best, alike=claim.alike)}" if best else "",
    )


def ours_judged(rows: pd.DataFrame) -> list[Judged]:
    """What the paper has no word on.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A line for each, with verdicts that say what was found, not that it holds.
    """
    return [line._replace(said=SAID.get(line.said, line.said)) for line in judge(rows, OURS)]


def left(rows: pd.DataFrame) -> str:
    """How much of the regret is left on each function.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A sentence.
    """
    medians = rows.groupby("function")["nfr"].median().sort_values()
    words = [f"{fixed(value, 3)} on {function}" for function, value in medians.items()]
    return f"The median run of all ends at an NFR of {listed(words)}."


def each_dimension(rows: pd.DataFrame, claim: Claim) -> dict[int, str]:
    """The difference dimension by dimension, with a mark where it is not judged.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        The number of every dimension; empty where none was run.
    """
    whole, moving = (
        set(compared_rows(some, claim)["dimension"]) for some in (whole_rows(rows, claim), that_moved(rows))
    )
    numbers = {}
    for d in sorted(set(rows["dimension"])):
        part = compared_rows(rows[rows["dimension"] == d], claim)
        mark = PART * (d not in whole) + STILL * (d not in moving)
        numbers[d] = "" if part.empty else with_interval(difference(part, claim), 3) + mark
    return numbers


def by_dimension(rows: pd.DataFrame, told: Iterable[Claim] = (*CLAIMS, *OURS)) -> str:
    """The same differences, dimension by dimension, with marks where they are not judged.

    Args:
        rows: the runs on the plain synthetic functions.
        told: the claims to be told of.

    Returns:
        A table in Markdown.
    """
    dimensions = sorted(set(rows["dimension"]))
    lines = ["| difference | " + " | ".join(f"{d}D" for d in dimensions) + " |", "|---" * (len(dimensions) + 1) + "|"]
    lines += [f"| {compared(claim)} | {' | '.join(each_dimension(rows, claim).values())} |" for claim in told]
    return "\n".join(lines)
