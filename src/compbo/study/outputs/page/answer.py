"""What an answer is, and how the sign of an interval is put into words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import common_blocks, paired_difference
from compbo.study.outputs.axes import PLAIN, VARIANT_WORDS
from compbo.study.outputs.phrases import listed, with_interval
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.figures.pairs import FormPair
    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

FEWEST_TASKS = 5  # black boxes: below it no answer is given, only the numbers
FIRST, COMP = "first", "first-comp"  # the classes that the questions compare
UNDECIDED, TOO_FEW = "cannot be told", "too few data"
MARGIN = 0.05  # of normalised regret: a twentieth of what the initial design leaves; less is no difference that matters
NO_DIFFERENCE = "no difference above"  # how the verdict within a margin begins


class Answer(NamedTuple):
    """A question of the paper, the verdict in a word or two, and sentences with the numbers behind it."""

    question: str
    verdict: str
    sentences: list[str]


def level(margin: float, unit: str = "") -> str:
    """The verdict where an interval with both signs lies within a margin, in this unit."""
    return f"{NO_DIFFERENCE} {margin:g}{unit}"


def decide(found: Estimate, below: str, above: str, margin: float = 0.0, unit: str = "") -> str:
    """`below` if the interval of the difference found lies below 0, `above` if above 0, else UNDECIDED or TOO_FEW.

    margin: `level` instead of UNDECIDED where the whole interval is nearer to 0 than that. unit: of the margin.
    """
    if found.unit == "nothing" or found.tasks < FEWEST_TASKS:
        return TOO_FEW
    if found.high < 0:
        return below
    if found.low > 0:
        return above
    return level(margin, unit) if max(-found.low, found.high) < margin else UNDECIDED


def why_too_few(found: Estimate) -> str:
    """A sentence that says how few data there are in what was found."""
    return (
        f"That is too few data for an answer: {found.tasks} black box{'es' * (found.tasks != 1)}, "
        f"{counted(found.runs, 'run')}; it takes {FEWEST_TASKS} and an interval."
    )


def nothing(question: str, needed: str) -> Answer:
    """The answer to a question that no run here can answer; needed: what would have to be run."""
    return Answer(question, TOO_FEW, [f"Nothing here can answer this: it needs {needed}."])


def by_variant(study: Study) -> list[tuple[str, pd.DataFrame]]:
    """The runs of every variant, the plain functions first, with words for the others."""
    return [("" if v == PLAIN else f"On the {VARIANT_WORDS[v]}: ", study.synthetic(v)) for v in study.variants]


def meaning(said: str, found: Estimate, below: str, above: str) -> str:
    """What `decide` said about the difference found, as a sentence: `below` or `above`, or why neither can be said."""
    if said == TOO_FEW:
        return why_too_few(found)
    if said == UNDECIDED:
        return "The interval holds 0: no difference can be told."
    if said.startswith(NO_DIFFERENCE):
        within = said.removeprefix(NO_DIFFERENCE).strip()
        return f"The interval holds 0 and lies within {within} of it: a difference that matters is ruled out."
    return below if found.high < 0 else above


def both_ran(rows: pd.DataFrame, pairs: list[FormPair]) -> list[FormPair]:
    """The pairs whose two optimisers ran from the same starts in the rows."""
    return [pair for pair in pairs if len(common_blocks(rows, [pair.first, pair.second]))]


def pairs_in_words(rows: pd.DataFrame, pairs: list[FormPair], newer: str) -> list[str]:
    """Sentences that say which of the pairs end lower in the rows, which higher, and which cannot be told apart.

    newer: the name of the newer form.
    """
    words: dict[str, list[str]] = {"lower": [], "higher": [], "open": []}
    for pair in pairs:
        found = paired_difference(rows, pair.second, pair.first)
        side = {"lower": "lower", "higher": "higher"}.get(decide(found, "lower", "higher"), "open")
        words[side].append(f"{pair.title} ({with_interval(found, 3)})")
    parts = [f"{newer} ends {side} for {listed(words[side])}" for side in ("lower", "higher") if words[side]]
    parts += [f"open for {listed(words['open'])}"] if words["open"] else []
    return [f"One by one: {'; '.join(parts)}."] if len(pairs) > 1 else []
