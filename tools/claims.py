"""The claims of the paper, and whether they hold: the tables of docs/reproduction.md that judge them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import common_blocks, paired_difference, whole_classes
from compbo.study.outputs.axes import CLASSES
from compbo.study.outputs.figures.pairs import all_pairs_difference, erm_fsm_pairs
from compbo.study.outputs.page.answer import LEVEL, MARGIN, TOO_FEW, UNDECIDED, both_ran, decide
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.moved import stood_still

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

HOLDS, FAILS = "holds", "does not hold: the reverse"
NO_DIFFERENCE, DISAGREE = f"does not hold: {LEVEL}", "cannot be told: the functions disagree"
NOT_MOVED, NOT_RUN = "cannot be told: one did not move", "not run"
SAID = {  # verdicts where it is no claim that is judged
    HOLDS: "the first is better",
    FAILS: "the first is worse",
    NO_DIFFERENCE: LEVEL,
    UNDECIDED: "no difference can be told",
    DISAGREE: "the functions disagree",
    NOT_MOVED: "one of both did not move",
    TOO_FEW: "too few runs to tell",
}
PART, STILL = "*", "\u2020"  # marks in the table by dimension


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
    Claim("Gradient-based approaches outperform zeroth-order methods.", "first", "zeroth"),
    Claim("Second-order methods achieve lower regret than zeroth-order ones.", "second", "zeroth"),
    Claim("Evolutionary strategies perform comparably to random batches.", "zeroth", "random", alike=True),
    Claim("(C)L-BFGS-B is consistently outperformed by first-order methods.", "first", "second"),
    Claim("... and so is its compositional form, by compositional first-order methods.", "first-comp", "second-comp"),
    Claim("First-order compositional optimisers outperform the other first-order ones.", "first-comp", "first"),
    Claim("The FSM version outperforms the ERM version.", "FSM", "ERM", by="form"),
    Claim("BOHB is similar to random batches.", "bohb", "RS", by="optimiser", alike=True, any_acquisition=True),
    Claim(
        "Thompson sampling has difficulty beyond 8 to 10 dimensions.",
        *("Adam-FSM", "thompson-decoupled"),
        by="optimiser",
        any_acquisition=True,
    ),
    Claim("PI yields higher regrets than UCB, with first-order compositional optimisers.", "ucb", "pi", by="under"),
    Claim("... and than SR.", "sr", "pi", by="under"),
    Claim("Memory-efficient CAdam is as good as CAdam.", "CAdam-ME", "CAdam", by="optimiser", alike=True),
    Claim("Memory-efficient NASA is as good as NASA.", "NASA-ME", "NASA", by="optimiser", alike=True),
    Claim("Memory-efficient Nested-MC is as good as it.", "Nested-MC-ME", "Nested-MC", by="optimiser", alike=True),
)
OURS = (  # the same rule with and without composition; the paper has no word on them
    Claim("The tracker, with the rule the same.", "CAdam", "AdamOS-FSM", by="optimiser"),
    Claim("The paper's strongest against Adam.", "CAdam", "Adam-FSM", by="optimiser"),
    Claim("Nested Monte Carlo against Adam.", "Nested-MC", "Adam-FSM", by="optimiser"),
    Claim("Composition in zeroth-order methods.", "zeroth-comp", "zeroth"),
    Claim("BOHB against points without a model.", "bohb", "random-search", by="optimiser"),
)
HOW = f"""\
A difference below zero means that the first one ends at a lower normalised regret. Classes are compared fairly, by
their median member, run by run from the same start points, and in the dimensions where all of their members ran. The
95 % interval is Student's over tasks (a function in a dimension under an acquisition function); as the functions are
five only, the next column says on how many of them the mean lies on the same side. A claim *holds* where the interval
lies on its side of zero and so do at least four fifths of the functions. Two methods are *alike*, and a claim of a
difference *does not hold*, where the whole interval is nearer to zero than {MARGIN}: a twentieth of the regret that
the initial design leaves."""
AFTER = f"""\
{PART} not all members of both classes ran there, so that the medians are those of other classes: not judged.
{STILL} one of both did not move in more than half of its asks: not judged."""
OURS_HOW = "Not claims of the paper, but what they rest on: the same rule with and without composition."
AGREE = 0.8  # of the functions


class Comparison(NamedTuple):
    """What a claim is judged by."""

    found: Estimate
    agreeing: int  # functions on the side of the mean
    functions: int


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
        pairs = both_ran(rows, erm_fsm_pairs(rows))
        names = [name for pair in pairs for name in (pair.first, pair.second)]
        return rows[rows["optimiser"].isin(names)]
    return common_blocks(rows, [claim.first, claim.second], claim.by)


def judged_rows(rows: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """The runs that a claim is judged by.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        Those of the dimensions in which all members of its classes ran, and both sides moved.
    """
    whole = whole_classes(rows, (claim.first, claim.second)) if claim.by == "group" else rows
    there = compared_rows(whole, claim)
    if claim.by == "form":
        return common_blocks(there, sorted(set(there["optimiser"])))
    still = {d for d in set(there["dimension"]) if _stood_still(there[there["dimension"] == d], claim)}
    return there[~there["dimension"].isin(still)]


def _stood_still(rows: pd.DataFrame, claim: Claim) -> bool:
    return claim.by != "form" and any(stood_still(rows[rows[claim.by] == side]) for side in (claim.first, claim.second))


def difference(rows: pd.DataFrame, claim: Claim) -> Estimate:
    """First minus second in normalised final regret.

    Args:
        rows: of `compared_rows`.
        claim: of the paper.

    Returns:
        With its interval.
    """
    if claim.by == "form":
        return all_pairs_difference(rows, both_ran(rows, erm_fsm_pairs(rows)))
    return paired_difference(rows, claim.first, claim.second, claim.by)


def compare(rows: pd.DataFrame, claim: Claim) -> Comparison | None:
    """What a claim is judged by.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        The difference and how many functions agree with it; None where nothing can be judged.
    """
    there = judged_rows(rows, claim)
    if there.empty:
        return None
    found = difference(there, claim)
    each = [float(difference(part, claim).value) for _, part in there.groupby("function")]
    return Comparison(found, sum(one * found.value > 0 for one in each), len(each))


def judged(claim: Claim, made: Comparison) -> str:
    """Whether a claim holds.

    Args:
        claim: of the paper.
        made: the comparison.

    Returns:
        In a few words.
    """
    said = decide(made.found, HOLDS, FAILS, MARGIN)
    if said == LEVEL:
        return HOLDS if claim.alike else NO_DIFFERENCE
    if said in (HOLDS, FAILS) and made.agreeing < AGREE * made.functions:
        return DISAGREE
    if claim.alike and said in (HOLDS, FAILS):
        return "does not hold: better" if said == HOLDS else "does not hold: worse"
    return said


def verdict(rows: pd.DataFrame, claim: Claim) -> str:
    """Whether a claim holds, or why that cannot be told.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        In a few words.
    """
    made = compare(rows, claim)
    if made is None:
        return NOT_RUN if compared_rows(rows, claim).empty else NOT_MOVED
    return judged(claim, made)


def compared(claim: Claim) -> str:
    """What a claim compares.

    Args:
        claim: of the paper.

    Returns:
        In words, "first order minus zeroth order".
    """
    names = [claim.first, claim.second]
    if claim.by == "group":
        names = [CLASSES[name] for name in names]
    elif claim.by == "under":
        names = [name.upper() for name in names]
    return f"{names[0]} minus {names[1]}"


def claims_table(rows: pd.DataFrame) -> str:
    """Every claim of the paper with its number.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown.
    """
    return _table(rows, CLAIMS, "the paper says", {})


def ours_table(rows: pd.DataFrame) -> str:
    """What the paper has no word on, with its number.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown.
    """
    return _table(rows, OURS, "what is changed", SAID)


def _table(rows: pd.DataFrame, told: Iterable[Claim], head: str, words: Mapping[str, str]) -> str:
    lines = [f"| {head} | compared | difference in final regret | on | functions | verdict |", "|---" * 6 + "|"]
    for claim in told:
        made, said = compare(rows, claim), verdict(rows, claim)
        said = words.get(said, said)
        if made is None:
            lines.append(f"| {claim.words} | {compared(claim)} | | | | {said} |")
            continue
        where = ", ".join(f"{d}D" for d in sorted(set(judged_rows(rows, claim)["dimension"])))
        on = f"{where}: {counted(made.found.tasks, 'task')}, {counted(made.found.runs, 'run')}"
        agree = f"{made.agreeing} of {made.functions}"
        number = with_interval(made.found, 3)
        lines.append(f"| {claim.words} | {compared(claim)} | {number} | {on} | {agree} | {said} |")
    return "\n".join(lines)


def each_dimension(rows: pd.DataFrame, claim: Claim) -> dict[int, str]:
    """The difference dimension by dimension, with a mark where it is not judged.

    Args:
        rows: the runs on the plain synthetic functions.
        claim: of the paper.

    Returns:
        The number of every dimension; empty where none was run.
    """
    whole = whole_classes(rows, (claim.first, claim.second)) if claim.by == "group" else rows
    numbers = {}
    for d in sorted(set(rows["dimension"])):
        part = compared_rows(rows[rows["dimension"] == d], claim)
        mark = PART * (d not in set(whole["dimension"])) + STILL * _stood_still(part, claim)
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
