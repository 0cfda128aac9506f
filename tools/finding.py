"""The main finding of the rerun in a few sentences: for docs/reproduction.md, and in brief for the README."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from compbo.study.outputs.page.answer import COMP, FIRST, MARGIN, decide
from compbo.study.outputs.page.tuning_answer import COMPARED, OF_SCORE, POINTS, as_compared, score_difference
from compbo.study.outputs.phrases import listed, with_interval
from compbo.words import counted
from tools.claims import regret, scores, seconds, shares
from tools.claims.judged import in_words
from tools.claims.ratios import ratio
from tools.claims.regret import CLAIMS, OURS, Claim, compare, each_dimension, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from benchmarks.cost import Cost

    from tools.claims.judged import Judged

MARK = "paper"
UNDER = "ucb"
COMPOSITION = next(claim for claim in CLAIMS if (claim.first, claim.second) == ("first-comp", "first"))
TRACKER = next(claim for claim in OURS if claim.second == "AdamOS-FSM")


def finding(rows: pd.DataFrame, tuning: pd.DataFrame, idle: Sequence[Cost]) -> list[str]:
    """The finding, sentence by sentence.

    Args:
        rows: the runs on the plain synthetic functions.
        tuning: the runs on the tuning tasks.
        idle: maximisations alone on an idle machine.

    Returns:
        How many claims hold and which do not; what composition is worth, the tracker, and composition in tuning.
    """
    return [
        *_count(rows, tuning, idle),
        *_ratios(rows),
        f"First-order compositional optimisers against other first-order ones: {_difference(rows, COMPOSITION)}.",
        f"CAdam against AdamOS, the same rule without a tracker: {_difference(rows, TRACKER)}.",
        *_scores(tuning),
    ]


def brief(rows: pd.DataFrame, tuning: pd.DataFrame, idle: Sequence[Cost]) -> list[str]:
    """The same in three sentences.

    Args:
        rows: the runs on the plain synthetic functions.
        tuning: the runs on the tuning tasks.
        idle: maximisations alone on an idle machine.

    Returns:
        How many claims hold; what the rule and the tracker of CAdam are worth in many dimensions, and composition in
        tuning.
    """
    kinds = Counter(line.kind for line in _judged(rows, tuning, idle))
    counts = (
        f"Of {sum(kinds.values())} statements of the paper {kinds['holds']} hold, {kinds['fails']} do not, "
        f"{kinds['level']} show no difference of note, and for {kinds['open'] + kinds['lacking']} our "
        f"{len(rows) + len(tuning)} runs do not suffice."
    )
    return [counts, *_ratios(rows), *_scores(tuning)]


def _ratios(rows: pd.DataFrame) -> list[str]:
    """What the rule and the tracker of CAdam are worth in the two largest dimensions, as ratios."""
    under = rows[rows["acquisition"] == UNDER]
    dimensions = sorted(set(under["dimension"]))[-2:]
    parts = []
    for other in ("Adam-FSM", "AdamOS-FSM"):
        found = [ratio(under[under["dimension"] == d], "CAdam", other) for d in dimensions]
        if not found or None in found:
            return []
        parts.append(listed([one.words.strip("*") for one in found if one]))
    where = f"Under {UNDER.upper()} in {listed([f'{d}D' for d in dimensions])}"
    to_adam, to_adamos = parts
    rest = f"and at {to_adamos} times that of AdamOS, which is the same rule without a tracker."
    return [f"{where}, CAdam ends at {to_adam} times the regret of Adam, {rest}"]


def _judged(rows: pd.DataFrame, tuning: pd.DataFrame, idle: Sequence[Cost]) -> list[Judged]:
    return [*regret.judge(rows), *shares.judge(rows), *seconds.judge(idle), *scores.judge(tuning)]


def _count(rows: pd.DataFrame, tuning: pd.DataFrame, idle: Sequence[Cost]) -> list[str]:
    lines = _judged(rows, tuning, idle)
    kinds = Counter(line.kind for line in lines)
    where = ""
    if known := sorted(set(rows["dimension"])):
        where = f" in {known[0]} to {known[-1]} dimensions with up to {counted(rows['seed'].nunique(), 'seed')}"
    ran = (
        f"{counted(len(rows), 'run')} on five functions{where} and {len(tuning)} on "
        f"{counted(tuning['task'].nunique(), 'tuning task')}"
    )
    failing = "; ".join(
        f"\u201c{line.words.rstrip('.')}\u201d ({line.number})" for line in lines if line.kind == "fails"
    )
    counts = (
        f"Of {len(lines)} statements of the paper, {kinds['holds']} hold{'s' * (kinds['holds'] == 1)} in {ran}, "
        f"{kinds['fails']} do{'es' * (kinds['fails'] == 1)} not, {kinds['level']} show{'s' * (kinds['level'] == 1)} no "
        f"difference above {MARGIN:g} of the regret that the initial design leaves (5 points of a score), "
        f"{kinds['open']} cannot be told, and {kinds['lacking']} were not run, not in full, too little, or with "
        "methods that did not move."
    )
    return [counts, *([f"What does not hold: {failing}."] if failing else [])]


def _scores(tuning: pd.DataFrame) -> list[str]:
    """What composition is worth on the tuning tasks, between the optimisers that the paper compares there."""
    rows = as_compared(tuning[tuning["score"].notna()])
    found = score_difference(rows)
    if not found.runs:
        return []
    turned = found._replace(low=-found.high, high=-found.low)  # a higher score is better
    said = decide(turned, "better with composition", "worse with composition", POINTS, OF_SCORE)
    compositional, others = (listed(COMPARED[group]) for group in (COMP, FIRST))
    lead = (
        f"On {counted(rows['task'].nunique(), 'tuning task')} the score (100: the best known loss, 0: random search) of"
    )
    return [f"{lead} {compositional} minus that of {others} is {with_interval(found, 1)} points, {said}."]


def _difference(rows: pd.DataFrame, claim: Claim) -> str:
    """The difference where it is judged, and dimension by dimension."""
    made = compare(rows, claim)
    words = in_words(verdict(rows, claim, made))
    each = ", ".join(f"{number} in {d}D" for d, number in each_dimension(rows, claim).items() if number)
    judged = f"{with_interval(made.found, 3)} in normalised final regret, {words}" if made else words
    return f"{judged} ({each})" if each else judged
