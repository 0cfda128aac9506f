"""Claims of the paper about the normalised final regret on synthetic functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import FAIR, PAPER, common_blocks, paired_difference, whole_classes
from compbo.study.outputs.axes import CLASSES
from compbo.study.outputs.figures.pairs import all_pairs_difference, erm_fsm_pairs
from compbo.study.outputs.moved import that_moved
from compbo.study.outputs.page.answer import MARGIN, both_ran, level
from compbo.study.outputs.phrases import fixed, listed, with_interval
from compbo.words import counted
from tools.claims.judged import NOT_MOVED, NOT_RUN, PARTLY, Judged, agreeing, in_words, judged_difference

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
    dimensions: those that the sentence is about; all where it names none.
    """

    words: str
    first: str
    second: str
    by: str = "group"
    alike: bool = False
    any_acquisition: bool = False
    dimensions: tuple[int, ...] = ()


FORMS_IN = (80, 100, 120)  # the dimensions of the paper's figure of standard and memory-efficient forms
CLAIMS = (
    Claim("First-order methods outperform zeroth-order ones.", "first", "zeroth"),
    Claim("Second-order methods outperform zeroth-order ones.", "second", "zeroth"),
    Claim("Evolutionary strategies perform comparably to random batches.", "zeroth", "random", alike=True),
    Claim("L-BFGS-B is consistently outperformed by first-order methods.", "first", "second"),
    Claim("CL-BFGS-B is consistently outperformed by first-order compositional ones.", "first-comp", "second-comp"),
    Claim("First-order compositional optimisers outperform the other first-order ones.", "first-comp", "first"),
    Claim("The FSM version outperforms the ERM version.", "FSM", "ERM", by="form"),
    Claim("BOHB is similar to random batches.", "bohb", "RS", by="optimiser", alike=True, any_acquisition=True),
    *(
        Claim(words, "Adam-FSM", f"thompson-{flavour}", by="optimiser", any_acquisition=True)
        for words, flavour in (
            ("Decoupled Thompson sampling has difficulty beyond 8 to 10 dimensions.", "decoupled"),
            ("Function-space Thompson sampling has difficulty beyond 8 to 10 dimensions.", "function"),
            ("Weight-space Thompson sampling has difficulty beyond 8 to 10 dimensions.", "weight"),
        )
    ),
    Claim("PI yields higher regrets than UCB, with first-order compositional optimisers.", "ucb", "pi", by="under"),
    Claim("PI yields higher regrets than SR, with first-order compositional optimisers.", "sr", "pi", by="under"),
    *(
        Claim(
            f"{name}-ME performs comparably to {name} in 80 to 120 dimensions.",
            *(f"{name}-ME", name, "optimiser", True, False, FORMS_IN),
        )
        for name in ("CAdam", "NASA", "Nested-MC")
    ),
    Claim(
        "CAdam loses a little by the memory-efficient form in 80 to 120 dimensions.",
        *("CAdam", "CAdam-ME", "optimiser", False, False, FORMS_IN),
    ),
    *(
        Claim(
            f"{name} gains a little by the memory-efficient form in 80 to 120 dimensions.",
            *(f"{name}-ME", name, "optimiser", False, False, FORMS_IN),
        )
        for name in ("NASA", "Nested-MC")
    ),
)
OURS = (  # the same rule with and without composition; the paper has no word on them
    Claim("The tracker, with the rule the same.", "CAdam", "AdamOS-FSM", by="optimiser"),
    Claim("The paper's strongest against Adam.", "CAdam", "Adam-FSM", by="optimiser"),
    Claim("Nested Monte Carlo against Adam.", "Nested-MC", "Adam-FSM", by="optimiser"),
    Claim("Composition in zeroth-order methods.", "zeroth-comp", "zeroth"),
    *(
        Claim("The memory-efficient form in every dimension.", f"{name}-ME", name, by="optimiser")
        for name in ("CAdam", "NASA", "Nested-MC")
    ),
    Claim("BOHB against points without a model.", "bohb", "random-search", by="optimiser"),
)
HOW = f"""\
What is compared is the normalised final regret (NFR), the last regret in units of that of the initial design, run by
run from the same start points; below zero the first one ends lower. ERM, FSM and ME are [forms of the acquisition
function](notation.md), RS takes the best of random batches, the other names are optimisers of [the
catalogue](catalogue.md). Of a class the paper takes the *best* member at every step, which favours the class with more
members; here its median member stands for it, and the last column has the difference between the best final ones. A
class is judged in the dimensions where all of its members ran, and an optimiser where it moved at all in half of its
asks; a sentence that names dimensions, in these. BOHB and Thompson sampling, which have no acquisition function, are
compared with the other's median over them.

The interval is Student's with 95 % over the functions, and each counts once: the same function under another
acquisition function or in another dimension is no new one. So with five functions it is wide. A claim *holds* where
the interval lies on its side of zero and does not where it lies on the other; *by less than {MARGIN}*, a twentieth of
the regret that the initial design leaves, where all of it is nearer to zero than that. That two are alike holds where
the whole interval is nearer to zero than {MARGIN}, and does not where all of it is farther. Where a claim says that one
is better, an interval within that margin with both signs says *{level(MARGIN)}*: a smaller one is neither confirmed
nor refuted. The margin is absolute, and where nearly all of the regret is gone no difference is that large: the
[ratios](#claim-by-claim) below show these. No interval is corrected for how many claims there are."""
AFTER = f"""\
{PART} not all members of a class, or not all rules in both forms, ran there: another comparison, not judged.

{STILL} one of both did not move in more than half of its asks: not judged."""
OURS_HOW = "Beside these sentences: composition alone where the rule is the same, and what else is often compared."


class Comparison(NamedTuple):
    """What a claim is judged by."""

    rows: pd.DataFrame
    found: Estimate
    agreeing: str  # how many functions have the sign of the whole


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


def meant(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The runs in the dimensions that a claim is about.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        All of them where it names none.
    """
    return rows[rows["dimension"].isin(claim.dimensions)] if claim.dimensions else rows


def judged_rows(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The runs that a claim is judged by.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        Those of the dimensions in which all members of its classes ran, and both sides moved.
    """
    rows = meant(rows, claim)
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
    return Comparison(there, found, agreeing(each, float(found.value)))


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
    rows = meant(rows, claim)
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
        made.agreeing,
        f"{with_interval(best, 3)}: {judged_difference(best, alike=claim.alike)}" if best else "",
    )


def ours_judged(rows: pd.DataFrame) -> list[Judged]:
    """What the paper has no word on.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A line for each, with verdicts that say what was found, not that it holds.
    """
    return [line._replace(said=in_words(line.said)) for line in judge(rows, OURS)]


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
    differences = {}
    for claim in told:  # some are about the same difference
        differences.setdefault(frozenset((claim.first, claim.second)), (compared(claim), claim))
    lines += [
        f"| {words} | {' | '.join(each_dimension(rows, claim).values())} |" for words, claim in differences.values()
    ]
    return "\n".join(lines)
