"""What a claim of the paper came to, and the words for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.page.answer import MARGIN, NO_DIFFERENCE, TOO_FEW, UNDECIDED, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from compbo.study.outputs.statistics.bootstrap import Estimate

HOLDS, FAILS = "holds", "does not hold: the reverse"
BETTER, WORSE = "does not hold: better", "does not hold: worse"  # of a claim that two are alike
FEWER = "does not hold: fewer"  # of a claim of how many
LESS, MORE = "does not hold: less", "does not hold: more"  # of a claim of how much
NOT_MOVED, NOT_RUN, PARTLY = "cannot be told: one did not move", "not run", "cannot be told: not all members ran"
SAID = {  # verdicts where it is no claim that is judged
    HOLDS: "the first is better",
    FAILS: "the first is worse",
    UNDECIDED: "no difference can be told",
    TOO_FEW: "too few runs to tell",
    NOT_MOVED: "one of both did not move",
}
KINDS = {  # of verdicts, by how they begin; the first that fits
    "lacking": (NOT_RUN, PARTLY, NOT_MOVED, TOO_FEW),
    "holds": (HOLDS,),
    "fails": ("does not hold",),
    "level": (NO_DIFFERENCE,),
    "open": (UNDECIDED,),
}


class Judged(NamedTuple):
    """A claim, what was compared, the number, the verdict, and what else stands beside it: all in words."""

    words: str
    compared: str
    said: str
    number: str = ""
    on: str = ""
    each: str = ""  # the parts of the number, or how many agree with it
    best: str = ""  # the same by the best members

    @property
    def kind(self) -> str:
        """The key of `KINDS`: lacking is what was not run, not in full or too little to be judged."""
        return next(kind for kind, begins in KINDS.items() if self.said.startswith(begins))


def in_words(said: str) -> str:
    """A verdict where it is no claim that is judged."""
    begin, comma, rest = said.partition(",")
    return SAID.get(begin, begin) + comma + rest


def judged_difference(found: Estimate, margin: float = MARGIN, unit: str = "", *, alike: bool = False) -> str:
    """Whether the first is better, or both are alike.

    Args:
        found: first minus second, of what is better the lower it is.
        margin: two are alike where the whole interval is nearer to zero than this, and not alike where all of it is
            farther; no different where it is nearer and has both signs; different by less where it has one.
        unit: of the margin.
        alike: that is what is claimed.

    Returns:
        In a few words.
    """
    said = decide(found, BETTER if alike else HOLDS, WORSE if alike else FAILS, margin, unit)
    if said == TOO_FEW:
        return said
    ends = abs(float(found.low)), abs(float(found.high))
    within = max(ends) < margin
    if not alike:
        return f"{said}, by less than {margin:g}{unit}" if within and said in (HOLDS, FAILS) else said
    if within:
        return HOLDS
    if said == UNDECIDED or min(ends) > margin:
        return said
    return f"{UNDECIDED}: {said.rpartition(': ')[2]}, perhaps by less than {margin:g}{unit}"


def agreeing(each: Sequence[float], whole: float) -> str:
    """How many numbers have the sign of the whole: `4 of 5`."""
    return f"{sum(one * whole > 0 for one in each)} of {len(each)}"


def markdown(lines: Iterable[Judged], head: str, number: str, each: str = "", best: str = "") -> str:
    """A table of what was judged.

    Args:
        lines: its lines.
        head: of the first column.
        number: what the numbers are.
        each: what stands beside them; without it there is no such column.
        best: the last column, as `each`.

    Returns:
        In Markdown.
    """
    fields = {"words": head, "compared": "compared", "number": number, "on": "on", "each": each, "said": "verdict"}
    fields = {field: title for field, title in {**fields, "best": best}.items() if title}
    table = [f"| {' | '.join(fields.values())} |", "|---" * len(fields) + "|"]
    return "\n".join([*table, *(f"| {' | '.join(getattr(line, field) for field in fields)} |" for line in lines)])
