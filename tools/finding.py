"""The main finding of the rerun in three sentences, for the README: from the same numbers as docs/reproduction.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.page.answer import LEVEL
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.claims import (
    CLAIMS,
    HOLDS,
    OURS,
    SAID,
    Claim,
    compare,
    compared,
    each_dimension,
    judged_share,
    share_of_wins,
    verdict,
)

if TYPE_CHECKING:
    import pandas as pd

MARK = "paper"


def finding(rows: pd.DataFrame) -> str:
    """The finding.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        Three sentences: how many claims hold, what composition is worth, and what the tracker is worth.
    """
    composition = next(claim for claim in CLAIMS if (claim.first, claim.second) == ("first-comp", "first"))
    tracker = next(claim for claim in OURS if claim.second == "AdamOS-FSM")
    return " ".join(
        (
            _count(rows),
            f"First-order compositional optimisers against other first-order ones: {_difference(rows, composition)}.",
            f"CAdam against AdamOS, the same rule without a tracker: {_difference(rows, tracker)}.",
        )
    )


def _count(rows: pd.DataFrame) -> str:
    verdicts = {compared(claim).replace(" minus ", " against "): verdict(rows, claim) for claim in CLAIMS}
    if found := share_of_wins(rows):
        verdicts["share of tasks won by compositional optimisers"] = judged_share(found)
    holds, level = (sum(said == words for said in verdicts.values()) for words in (HOLDS, LEVEL))
    fails = {what: said.rpartition(": ")[2] for what, said in verdicts.items() if said.startswith("does not hold")}
    named = f" ({'; '.join(f'{what}: {said}' for what, said in fails.items())})" if fails else ""
    dimensions, seeds = sorted(set(rows["dimension"])), counted(rows["seed"].nunique(), "seed")
    return (
        f"On {counted(len(rows), 'run')} on five functions in {dimensions[0]} to {dimensions[-1]} dimensions with up "
        f"to {seeds}, of {len(verdicts)} statements of the paper {holds} hold{'s' * (holds == 1)}, {len(fails)} "
        f"do{'es' * (len(fails) == 1)} not{named}, {level} show{'s' * (level == 1)} {LEVEL} in normalised final "
        f"regret, and {len(verdicts) - holds - len(fails) - level} cannot be told."
    )


def _difference(rows: pd.DataFrame, claim: Claim) -> str:
    """The difference where it is judged, and dimension by dimension."""
    made, said = compare(rows, claim), verdict(rows, claim)
    words = SAID.get(said, said)
    each = ", ".join(f"{number} in {d}D" for d, number in each_dimension(rows, claim).items() if number)
    judged = f"{with_interval(made.found, 3)} in normalised final regret, {words}" if made else words
    return f"{judged} ({each})" if each else judged
