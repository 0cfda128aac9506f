"""The main finding of the rerun in three sentences, for the README: from the same numbers as docs/reproduction.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cost import read_csv

from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.claims import regret, scores, seconds, shares
from tools.claims.judged import DOES_NOT, HOLDS, NO_DIFFERENCE, SAID
from tools.claims.regret import CLAIMS, OURS, Claim, compare, each_dimension, verdict

if TYPE_CHECKING:
    import pandas as pd

MARK = "paper"


def finding(rows: pd.DataFrame, tuning: pd.DataFrame) -> str:
    """The finding.

    Args:
        rows: the runs on the plain synthetic functions.
        tuning: the runs on the tuning tasks.

    Returns:
        Three sentences: how many claims hold, what composition is worth, and what the tracker is worth.
    """
    composition = next(claim for claim in CLAIMS if (claim.first, claim.second) == ("first-comp", "first"))
    tracker = next(claim for claim in OURS if claim.second == "AdamOS-FSM")
    return " ".join(
        (
            _count(rows, tuning),
            f"First-order compositional optimisers against other first-order ones: {_difference(rows, composition)}.",
            f"CAdam against AdamOS, the same rule without a tracker: {_difference(rows, tracker)}.",
        )
    )


def _count(rows: pd.DataFrame, tuning: pd.DataFrame) -> str:
    lines = [*regret.judge(rows), *shares.judge(rows), *seconds.judge(rows, read_csv()), *scores.judge(tuning)]
    holds, level = (sum(line.said.startswith(words) for line in lines) for words in (HOLDS, NO_DIFFERENCE))
    fails = [line for line in lines if line.said.startswith(DOES_NOT)]
    named = "; ".join(
        f"{line.compared.replace(' minus ', ' against ')}: {line.said.rpartition(': ')[2]}" for line in fails
    )
    dimensions, seeds = sorted(set(rows["dimension"])), counted(rows["seed"].nunique(), "seed")
    return (
        f"On {counted(len(rows), 'run')} on five functions in {dimensions[0]} to {dimensions[-1]} dimensions with up "
        f"to {seeds}, and {len(tuning)} on {counted(tuning['task'].nunique(), 'tuning task')}, of {len(lines)} "
        f"statements of the paper {holds} hold{'s' * (holds == 1)}, {len(fails)} do{'es' * (len(fails) == 1)} not"
        f"{f' ({named})' if named else ''}, {level} show{'s' * (level == 1)} no difference above a "
        f"twentieth of the scale, and {len(lines) - holds - len(fails) - level} cannot be told."
    )


def _difference(rows: pd.DataFrame, claim: Claim) -> str:
    """The difference where it is judged, and dimension by dimension."""
    made = compare(rows, claim)
    said = verdict(rows, claim, made)
    words = SAID.get(said, said)
    each = ", ".join(f"{number} in {d}D" for d, number in each_dimension(rows, claim).items() if number)
    judged = f"{with_interval(made.found, 3)} in normalised final regret, {words}" if made else words
    return f"{judged} ({each})" if each else judged
