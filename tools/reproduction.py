"""docs/reproduction.md and its figures, from results/: the paper beside what was run here.

python -m tools.reproduction
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cost import CSV as COSTS
from benchmarks.cost import read_csv
from benchmarks.made_of import KEY, made_of
from benchmarks.readme import PAGE as README
from benchmarks.readme import filled

from compbo.study.outputs.axes import PLAIN, SHIFTED, sorted_acquisitions
from compbo.study.outputs.compact import from_bytes
from compbo.study.outputs.figures.canvas import save, styled
from compbo.study.outputs.figures.cost import read_memory
from compbo.study.outputs.page.answers import answers
from compbo.study.outputs.runs import NothingToShowError, Study, study_of
from compbo.study.outputs.several import merged
from compbo.study.outputs.tables import table1
from compbo.study.outputs.tables.render import to_markdown
from compbo.study.outputs.write import summary_words, write_figures
from compbo.words import counted
from tools import controls, cost, moved, needs, shifted, tuned
from tools.claims import ratios, regret, scores, seconds, shares
from tools.claims.judged import markdown
from tools.finding import MARK, brief, finding

if TYPE_CHECKING:
    import pandas as pd

    from tools.claims.judged import Judged

ROOT = Path(__file__).parents[1]
RESULTS = tuple(ROOT / "results" / f"{name}.parquet" for name in ("paper", "high-dimensions", "tuning"))
SOURCES = (*RESULTS, COSTS)  # of the figures
CONTROLLED = ROOT / "results" / "controls.parquet"
ELSEWHERE = ROOT / "results" / "shifted.parquet"
PAGE = ROOT / "docs" / "reproduction.md"
CHOOSING = ROOT / "docs" / "choosing.md"
CHOICE = (
    *(("zeroth", "random"), ("first", "zeroth"), ("first", "second"), ("first-comp", "first")),
    *(("CAdam", "Adam-FSM"), ("CAdam", "AdamOS-FSM")),
)
FIGURES = ROOT / "docs" / "reproduction"
WHOLE = 16  # the dimension in which every class has all of its members
IN_WHOLE = {  # drawn from the runs in that dimension: elsewhere a class would be another one
    "regret-by-class": "The classes in 16 dimensions, by their median member and in the paper's way.",
    "final-regret": "Every method in 16 dimensions.",
}
DRAWN = {
    "dimension-by-acquisition": "By dimension and acquisition function; above 16 dimensions only some members ran.",
    "fsm-against-erm": "Both forms of the first-order rules.",
    "standard-against-me": "Standard and memory-efficient forms.",
    "log-regret": "Every method on every function, on a logarithmic scale.",
    "critical-difference": "Mean ranks of the methods that ran the same tasks.",
    "bayesmark": "The tuning tasks: scores of compositional and other first-order optimisers by model.",
    "bayesmark-boxes": "The same, by the best, the median and the mean member of both classes.",
}
SHOWN_FIRST = "regret-by-class"
COST = "cost"
BEST = "by the best members"  # a column
MEMORY = ROOT / "benchmarks" / "memory.csv"


def page(study: Study, controlled: pd.DataFrame, elsewhere: pd.DataFrame) -> str:
    """The whole document but the figures.

    Args:
        study: the results.
        controlled: the runs that the controls compare, compact.
        elsewhere: the runs on the shifted functions, compact.

    Returns:
        Markdown.
    """
    rows = study.synthetic(PLAIN)
    parts = [
        written("intro"),
        "## In short",
        "\n".join(f"- {sentence}" for sentence in (*finding(rows, study.tuning, read_csv()), moved.caution(rows))),
        f"Below zero the first of two ends at the lower regret. {regret.PART}: only some members of a class ran there.",
        f"![{SHOWN_FIRST}](reproduction/{SHOWN_FIRST}.png)",
        IN_WHOLE[SHOWN_FIRST],
        summary_words(study),
        what_ran(rows, study.tuning),
        "## Claim by claim",
        *_claims(rows, study.tuning),
        moved.HOW,
        moved.table(rows),
        "## Fair controls",
        controls.HOW,
        controls.controls_table(controlled),
        *tuned.section(tuned.read_csv()),
        "## The optimum elsewhere",
        *shifted.section(rows, study_of(elsewhere).synthetic(SHIFTED)),
        "## The paper's five questions",
        *(_answer(number, answer) for number, answer in enumerate(answers(study, read_memory(MEMORY)), 1)),
        "Seconds of the runs were taken beside other runs; those of an idle machine are [below](#cost).",
        "## Table 1 beside the paper's",
        _table1(study),
        "## Cost",
        *cost.section(read_csv()),
        "## What was not run",
        *needs.section(
            merged([study.table, controlled, elsewhere]),
            [path.relative_to(ROOT).as_posix() for path in (*RESULTS, CONTROLLED, ELSEWHERE)],
        ),
        "## Figures",
        *figures({path.stem for path in FIGURES.glob("*.png")} - {COST, SHOWN_FIRST}),
        "## Run it again",
        written("again"),
    ]
    return "\n\n".join(parts) + "\n"


def written(name: str) -> str:
    """A part of the page that is written by hand, beside the results."""
    return (ROOT / "results" / f"{name}.md").read_text(encoding="utf-8").rstrip()


def figures(stems: set[str]) -> list[str]:
    """The section of the figures.

    Args:
        stems: of the files that were drawn.

    Returns:
        Paragraphs in Markdown: what a figure shows, and the pictures of it.
    """
    paragraphs = []
    for name, words in {**IN_WHOLE, **DRAWN}.items():
        longer = [other for other in DRAWN if other != name and other.startswith(name)]
        mine = sorted(stem for stem in stems if stem.startswith(name) and not stem.startswith(tuple(longer)))
        paragraphs += [words, *(f"![{stem}](reproduction/{stem}.png)" for stem in mine)] if mine else []
    return paragraphs


def _claims(rows: pd.DataFrame, tuning: pd.DataFrame) -> list[str]:
    """What the paper says, group by group: how it is judged, and the verdicts."""
    says = "the paper says"
    return [
        f"{regret.HOW} {regret.left(rows)}",
        _regret_table(regret.judge(rows), says),
        regret.OURS_HOW,
        _regret_table(regret.ours_judged(rows), "what is changed"),
        "Dimension by dimension:",
        regret.by_dimension(rows),
        regret.AFTER,
        ratios.HOW,
        ratios.table(rows),
        shares.HOW,
        markdown(shares.judge(rows), says, "here", "function by function"),
        seconds.HOW,
        markdown(seconds.judge(read_csv()), says, "here", "pair by pair"),
        " ".join([scores.HOW, scores.at_the_ceiling(tuning)]).rstrip(),
        markdown(scores.judge(tuning), says, "difference in score", "black boxes of the same sign", BEST),
    ]


def _regret_table(lines: list[Judged], head: str) -> str:
    return markdown(lines, head, "difference in NFR", "functions of the same sign", BEST)


def what_ran(synthetic: pd.DataFrame, tuning: pd.DataFrame) -> str:
    """How many runs there are of what.

    Args:
        synthetic: the runs on the plain synthetic functions.
        tuning: the runs on the tuning tasks.

    Returns:
        A table in Markdown: a line for every dimension, and for the tuning tasks, a column for every acquisition
        function.
    """
    columns = [*sorted_acquisitions({*synthetic["acquisition"], *tuning["acquisition"]}), ""]
    groups = [(f"five functions in {d}D", rows) for d, rows in synthetic.groupby("dimension")]
    if len(tuning):
        groups.append((counted(tuning["task"].nunique(), "tuning task"), tuning))
    lines = [
        f"| runs | {' | '.join(f'under {name.upper()}' if name else 'without one' for name in columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for words, rows in groups:
        cells = [_runs(rows[rows["acquisition"] == name]) for name in columns]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _runs(rows: pd.DataFrame) -> str:
    """`525 (3 seeds)`, or `180 (1 to 3 seeds)` where not all methods have the same number of them; empty without."""
    if rows.empty:
        return ""
    seeds = rows.groupby(["task", "optimiser"])["seed"].nunique()
    fewest, most = int(seeds.min()), int(seeds.max())
    return f"{len(rows)} ({f'{fewest} to ' if fewest < most else ''}{counted(most, 'seed')})"


def _answer(number: int, answer: object) -> str:
    question, verdict, sentences = answer  # type: ignore[misc]
    return f"**{number}. {question}** *{verdict}.* " + " ".join(sentences)


def _table1(study: Study) -> str:
    try:
        (made,) = table1.table1(study).values()
    except NothingToShowError as reason:
        return str(reason)
    return to_markdown(made).rstrip()


def _compress(path: Path) -> None:
    """Give a picture a palette of 256 colours, a third of the size; k-means keeps the colours of thin lines."""
    from PIL import Image, PngImagePlugin

    with Image.open(path) as picture:
        smaller = picture.convert("RGB").quantize(256, kmeans=3)
    info = PngImagePlugin.PngInfo()
    info.add_text(KEY, made_of(*SOURCES))
    smaller.save(path, optimize=True, pnginfo=info)


def committed() -> Study:
    """The runs of the paper's methods that are committed.

    Returns:
        All of them, as one study.
    """
    return study_of(merged([from_bytes(path.read_bytes(), str(path)) for path in RESULTS]))


def committed_controls() -> pd.DataFrame:
    """The committed runs that the controls compare.

    Returns:
        Those that were made for them and those in 16 dimensions of the study itself, compact.
    """
    tables = [from_bytes(path.read_bytes(), str(path)) for path in (CONTROLLED, RESULTS[0])]
    return controls.controlled(merged(tables))


def committed_shifted() -> pd.DataFrame:
    """The committed runs on the shifted functions.

    Returns:
        All of them, compact.
    """
    return from_bytes(ELSEWHERE.read_bytes(), str(ELSEWHERE))


def readme(text: str, study: Study) -> str:
    """The README with the main finding, in brief, brought up to date.

    Args:
        text: of the README.
        study: the results.

    Returns:
        The new text.
    """
    return filled(text, MARK, " ".join(brief(study.synthetic(PLAIN), study.tuning, read_csv())))


def choosing(text: str, study: Study) -> str:
    """The page on how to choose with its table of maximizers brought up to date.

    Args:
        text: of the page.
        study: the results.

    Returns:
        The new text.
    """
    rows = study.synthetic(PLAIN)
    told = [claim for claim in (*regret.CLAIMS, *regret.OURS) if (claim.first, claim.second) in CHOICE]
    return filled(text, "maximizers", f"\n\n{regret.by_dimension(rows, told)}\n\n{regret.AFTER}\n\n")


def main() -> None:
    """Write the figures, the page, the finding in the README, and the table of the page on how to choose."""
    study = committed()
    for old in FIGURES.glob("*"):
        old.unlink()
    whole = study_of(study.table[study.table["dimension"] == WHOLE])
    write_figures(whole, FIGURES, tuple(IN_WHOLE), formats=("png",))
    write_figures(study, FIGURES, tuple(DRAWN), formats=("png",))
    (FIGURES / "index.md").unlink()
    if costs := read_csv():
        with styled():
            save(cost.draw(costs), FIGURES, COST, ("png",))
    for path in FIGURES.glob("*.png"):
        _compress(path)
    README.write_text(readme(README.read_text(encoding="utf-8"), study), encoding="utf-8", newline="\n")
    CHOOSING.write_text(choosing(CHOOSING.read_text(encoding="utf-8"), study), encoding="utf-8", newline="\n")
    PAGE.write_text(page(study, committed_controls(), committed_shifted()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
