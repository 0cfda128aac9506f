"""The main finding of the rerun in three sentences, for the README: from the same numbers as docs/reproduction.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.aggregate import common_blocks, paired_difference
from compbo.study.outputs.page.answer import TOO_FEW, UNDECIDED
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.claims import CLAIMS, FAILS, HOLDS, Claim, compared, judged

if TYPE_CHECKING:
    import pandas as pd

MARK = "paper"
SAID = {
    HOLDS: "the first is better",
    FAILS: "the first is worse",
    UNDECIDED: "no difference can be told",
    TOO_FEW: "too few runs to tell",
}


def finding(rows: pd.DataFrame) -> str:
    """The finding.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        Three sentences: how many claims hold, what composition is worth, and what the tracker is worth.
    """
    composition = next(claim for claim in CLAIMS if (claim.first, claim.second) == ("first-comp", "first"))
    tracker = next(claim for claim in CLAIMS if claim.second == "AdamOS-FSM")
    return " ".join(
        (
            _count(rows),
            f"First-order compositional optimisers against other first-order ones: {_difference(rows, composition)}.",
            f"CAdam against AdamOS, the same rule without a tracker: {_difference(rows, tracker)}.",
        )
    )


def _count(rows: pd.DataFrame) -> str:
    verdicts = {claim: _verdict(rows, claim) for claim in CLAIMS}
    holds = [claim for claim, said in verdicts.items() if said == HOLDS]
    fails = [claim for claim, said in verdicts.items() if said.startswith("does not hold")]
    named = f" ({'; '.join(compared(claim).replace(' minus ', ' against ') for claim in fails)})" if fails else ""
    dimensions, seeds = sorted(set(rows["dimension"])), counted(rows["seed"].nunique(), "seed")
    return (
        f"On {counted(len(rows), 'run')} in {dimensions[0]} to {dimensions[-1]} dimensions with {seeds}, of the "
        f"paper's {len(CLAIMS)} claims {len(holds)} hold{'s' * (len(holds) == 1)}, "
        f"{len(fails)} do{'es' * (len(fails) == 1)} not{named}, and {len(CLAIMS) - len(holds) - len(fails)} cannot be "
        "told."
    )


def _verdict(rows: pd.DataFrame, claim: Claim) -> str:
    if common_blocks(rows, [claim.first, claim.second], claim.by).empty:
        return TOO_FEW
    return judged(claim, paired_difference(rows, claim.first, claim.second, claim.by))


def _difference(rows: pd.DataFrame, claim: Claim) -> str:
    """The difference over all tasks, and dimension by dimension."""
    each = []
    for dimension in sorted(set(rows["dimension"])):
        part = rows[rows["dimension"] == dimension]
        if not common_blocks(part, [claim.first, claim.second], claim.by).empty:
            found = paired_difference(part, claim.first, claim.second, claim.by)
            each.append(f"{with_interval(found, 3)} in {dimension}D")
    if not each:
        return "not run"
    found = paired_difference(rows, claim.first, claim.second, claim.by)
    words = SAID[judged(claim, found)]
    return f"{with_interval(found, 3)} in normalised final regret, {words} ({', '.join(each)})"
