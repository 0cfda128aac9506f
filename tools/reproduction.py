"""docs/reproduction.md and its figures, from results/: the paper beside what was run here.

python -m tools.reproduction
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import common_blocks, paired_difference
from compbo.study.outputs.axes import CLASSES, PLAIN
from compbo.study.outputs.compact import from_bytes
from compbo.study.outputs.page.answer import TOO_FEW, UNDECIDED, decide
from compbo.study.outputs.page.answers import answers
from compbo.study.outputs.phrases import with_interval
from compbo.study.outputs.runs import NothingToShowError, Study, study_of
from compbo.study.outputs.tables import table1
from compbo.study.outputs.tables.render import to_markdown
from compbo.study.outputs.write import summary_words, write_figures
from compbo.words import counted
from tools import controls

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

ROOT = Path(__file__).parents[1]
RESULTS = tuple(ROOT / "results" / f"{name}.parquet" for name in ("paper", "high-dimensions", "tuning"))
CONTROLLED = ROOT / "results" / "controls.parquet"
PAGE = ROOT / "docs" / "reproduction.md"
FIGURES = ROOT / "docs" / "reproduction"
DRAWN = (
    "regret-by-class",
    "final-regret",
    "fsm-against-erm",
    "standard-against-me",
    "log-regret",
    "critical-difference",
)
HOLDS, FAILS = "holds", "does not hold: the reverse"


class Claim(NamedTuple):
    """A sentence of the paper, and the difference in normalised final regret by which it is judged.

    by: "group" compares classes by their median member, "optimiser" two methods. The claim holds where the interval of
    first minus second lies below zero, or, of a claim that two are `alike`, where it contains zero and is narrow.
    """

    words: str
    first: str
    second: str
    by: str = "group"
    alike: bool = False


CLAIMS = (
    Claim("Gradient-based approaches outperform zeroth-order methods.", "first", "zeroth"),
    Claim("Second-order methods achieve lower regret than zeroth-order ones.", "second", "zeroth"),
    Claim("Evolutionary strategies perform comparably to random batches.", "zeroth", "random", alike=True),
    Claim("(C)L-BFGS-B is consistently outperformed by first-order methods.", "first", "second"),
    Claim("... and so is its compositional form, by compositional first-order methods.", "first-comp", "second-comp"),
    Claim("First-order compositional optimisers outperform the other first-order ones.", "first-comp", "first"),
    Claim("The same, by the paper's strongest: CAdam against Adam.", "CAdam", "Adam-FSM", by="optimiser"),
    Claim("The tracker, with the rule the same: CAdam against AdamOS.", "CAdam", "AdamOS-FSM", by="optimiser"),
    Claim("Compositional evaluation helps zeroth-order methods.", "zeroth-comp", "zeroth"),
    Claim("BOHB performs like random search.", "bohb", "random-search", by="optimiser", alike=True),
    Claim("Memory-efficient CAdam is as good as CAdam.", "CAdam-ME", "CAdam", by="optimiser", alike=True),
    Claim("Memory-efficient NASA is as good as NASA.", "NASA-ME", "NASA", by="optimiser", alike=True),
)
HOW = """\
A difference below zero means that the first one ends at a lower regret. Classes are compared fairly, by their median
member, run by run from the same start points. A claim *holds* where the 95 % interval lies on its side of zero; two
methods are *alike* where the interval contains zero and is at most 0.1 wide."""
NARROW = 0.05  # half the interval of a difference of normalised regrets, below which two methods are called alike


def judged(claim: Claim, found: Estimate) -> str:
    """Whether a claim holds.

    Args:
        claim: of the paper.
        found: the difference, with its interval.

    Returns:
        In a few words.
    """
    said = decide(found, HOLDS, FAILS)
    if not claim.alike or said == TOO_FEW:
        return said
    if said == UNDECIDED:
        return HOLDS if float(found.high - found.low) < 2 * NARROW else UNDECIDED
    return "does not hold: better" if said == HOLDS else "does not hold: worse"


def compared(claim: Claim) -> str:
    """What a claim compares.

    Args:
        claim: of the paper.

    Returns:
        In words, "first order minus zeroth order".
    """
    names = [CLASSES.get(name, name) if claim.by == "group" else name for name in (claim.first, claim.second)]
    return f"{names[0]} minus {names[1]}"


def claims_table(rows: pd.DataFrame) -> str:
    """Every claim with its number.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown.
    """
    lines = ["| the paper says | compared | difference in final regret | on | verdict |", "|---|---|---|---|---|"]
    for claim in CLAIMS:
        words = compared(claim)
        if common_blocks(rows, [claim.first, claim.second], claim.by).empty:
            lines.append(f"| {claim.words} | {words} | | | not run |")
            continue
        found = paired_difference(rows, claim.first, claim.second, claim.by)
        on = f"{counted(found.tasks, 'task')}, {counted(found.runs, 'run')}"
        lines.append(f"| {claim.words} | {words} | {with_interval(found, 3)} | {on} | {judged(claim, found)} |")
    return "\n".join(lines)


def by_dimension(rows: pd.DataFrame) -> str:
    """The same differences, dimension by dimension.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A table in Markdown.
    """
    dimensions = sorted(set(rows["dimension"]))
    lines = ["| difference | " + " | ".join(f"{d}D" for d in dimensions) + " |", "|---" * (len(dimensions) + 1) + "|"]
    for claim in CLAIMS:
        numbers = []
        for d in dimensions:
            part = rows[rows["dimension"] == d]
            missing = common_blocks(part, [claim.first, claim.second], claim.by).empty
            numbers.append(
                "" if missing else with_interval(paired_difference(part, claim.first, claim.second, claim.by), 3)
            )
        lines.append(f"| {compared(claim)} | " + " | ".join(numbers) + " |")
    return "\n".join(lines)


def page(study: Study, controlled: pd.DataFrame) -> str:
    """The whole document but the figures.

    Args:
        study: the results.
        controlled: the runs of the controls, compact.

    Returns:
        Markdown.
    """
    rows = study.synthetic(PLAIN)
    parts = [
        (ROOT / "results" / "intro.md").read_text(encoding="utf-8").rstrip(),
        f"{summary_words(study)} {_by_acquisition(rows)}",
        "## Claim by claim",
        HOW,
        claims_table(rows),
        "Dimension by dimension:",
        by_dimension(rows),
        "## Fair controls",
        controls.HOW,
        controls.controls_table(controlled),
        "## The paper's five questions",
        *(_answer(number, answer) for number, answer in enumerate(answers(study), 1)),
        "## Table 1 beside the paper's",
        _table1(study),
        "## Figures",
        *(f"![{path.stem}](reproduction/{path.name})" for path in sorted(FIGURES.glob("*.png"))),
    ]
    return "\n\n".join(parts) + "\n"


def _by_acquisition(rows: pd.DataFrame) -> str:
    counts = rows.groupby(["dimension", "acquisition"]).size()
    words = [
        f"{number} in {d}D under {str(name).upper() or 'no acquisition function'}"
        for (d, name), number in counts.items()
    ]
    return "Runs on the synthetic functions: " + ", ".join(words) + "."


def _answer(number: int, answer: object) -> str:
    question, verdict, sentences = answer  # type: ignore[misc]
    return f"**{number}. {question}** *{verdict}.* " + " ".join(sentences)


def _table1(study: Study) -> str:
    try:
        (made,) = table1.table1(study).values()
    except NothingToShowError as reason:
        return str(reason)
    return to_markdown(made).rstrip()


def committed() -> Study:
    """The runs of the paper's methods that are committed.

    Returns:
        All of them, as one study.
    """
    import pandas as pd

    tables = [from_bytes(path.read_bytes(), str(path)) for path in RESULTS]
    return study_of(pd.concat(tables, ignore_index=True))


def main() -> None:
    """Write the figures and the page."""
    study = committed()
    for old in FIGURES.glob("*"):
        old.unlink()
    write_figures(study, FIGURES, DRAWN, formats=("png",))
    (FIGURES / "index.md").unlink()
    PAGE.write_text(page(study, from_bytes(CONTROLLED.read_bytes(), str(CONTROLLED))), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
