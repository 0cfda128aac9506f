"""What a claim of the paper came to, and the words for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.page.answer import LEVEL, MARGIN, TOO_FEW, UNDECIDED, decide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.study.outputs.statistics.bootstrap import Estimate

HOLDS, FAILS = "holds", "does not hold: the reverse"
BETTER, WORSE = "does not hold: better", "does not hold: worse"  # of a claim that two are alike
FEWER = "does not hold: fewer"  # of a claim of how many
LESS, MORE = "does not hold: less", "does not hold: more"  # of a claim of how much
NOT_MOVED, NOT_RUN, PARTLY = "cannot be told: one did not move", "not run", "cannot be told: not all members ran"
DOES_NOT, NO_DIFFERENCE = "does not hold", LEVEL.rpartition(" ")[0]  # how the verdicts of these kinds begin
SAID = {  # verdicts where it is no claim that is judged
    HOLDS: "the first is better",
    FAILS: "the first is worse",
    UNDECIDED: "no difference can be told",
    TOO_FEW: "too few runs to tell",
    NOT_MOVED: "one of both did not move",
}


class Judged(NamedTuple):
    """A claim, what was compared, the number, the verdict, and what else stands beside it: all in words."""

    words: str
    compared: str
    said: str
    number: str = ""
    on: str = ""
    agree: str = ""  # functions or tasks on the side of the number
    best: str = ""  # the same by the best members


def judged_difference(found: Estimate, margin: float = MARGIN, *, alike: bool = False) -> str:
    """Whether the first is better, or both are alike.

    Args:
        found: first minus second, of what is better the lower it is.
        margin: two are alike where the whole interval is nearer to zero than this, and not alike where all of it is
            farther; no different where it is nearer and has both signs.
        alike: that is what is claimed.

    Returns:
        In a few words.
    """
    if not alike:
        return decide(found, HOLDS, FAILS, margin)
    said = decide(found, BETTER, WORSE, margin)
    if said in (TOO_FEW, UNDECIDED):
        return said
    ends = abs(float(found.low)), abs(float(found.high))
    if max(ends) < margin:
        return HOLDS
    return said if min(ends) > margin else f"{UNDECIDED}: {said.rpartition(': ')[2]}, perhaps by less than {margin}"


def markdown(lines: Iterable[Judged], head: str, number: str, agree: str = "", best: str = "") -> str:
    """A table of what was judged.

    Args:
        lines: its lines.
        head: of the first column.
        number: what the numbers are.
        agree: what agrees with them; without it there is no such column.
        best: the last column, as `agree`.

    Returns:
        In Markdown.
    """
    fields = {"words": head, "compared": "compared", "number": number, "on": "on", "agree": agree, "said": "verdict"}
    fields = {field: title for field, title in {**fields, "best": best}.items() if title}
    table = [f"| {' | '.join(fields.values())} |", "|---" * len(fields) + "|"]
    return "\n".join([*table, *(f"| {' | '.join(getattr(line, field) for field in fields)} |" for line in lines)])
