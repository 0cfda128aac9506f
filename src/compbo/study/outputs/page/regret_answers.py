"""Questions 1 and 2: finite sums, and compositional optimisers, by the regret on functions whose optimum is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.aggregate import common_blocks, paired_difference, whole_classes
from compbo.study.outputs.axes import PLAIN
from compbo.study.outputs.figures.pairs import all_pairs_difference, erm_fsm_pairs
from compbo.study.outputs.page.answer import (
    COMP,
    FIRST,
    MARGIN,
    Answer,
    both_ran,
    by_variant,
    decide,
    meaning,
    nothing,
    pairs_in_words,
)
from compbo.study.outputs.phrases import listed, with_interval
from compbo.study.outputs.tables.table1 import contest_rows, entry
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.runs import Study

PAPER_COMP_SHARE = 67  # % of the tasks won by compositional optimisers, in the paper
CONTROLS = (("CAdam", "AdamOS-FSM"), ("CAdam", "AdamOS-ERM"), ("Nested-MC", "Adam-FSM"))  # the same rule, no tracker


def finite_sums(study: Study) -> Answer:
    """The answer to question 1."""
    question = (
        "Do Finite-Sum Minimisation acquisition functions provide any benefits compared to the more frequently-used "
        "Empirical Risk Minimisation versions?"
    )
    verdict, sentences = "", []
    for where, rows in by_variant(study):
        pairs = both_ran(rows, erm_fsm_pairs(rows))
        if not pairs:
            continue
        found = all_pairs_difference(rows, pairs)
        said = decide(found, "yes", "no, the reverse", MARGIN)
        verdict = verdict or said
        lead = (
            f"{where}With {counted(len(pairs), 'rule')} in both forms, FSM minus ERM in normalised final regret is "
            f"{with_interval(found, 3)} on average over the {counted(found.tasks, 'function')} that all of them ran, "
            "run by run from the same start."
        )
        sentences += [
            lead,
            meaning(said, found, "FSM ends lower.", "ERM ends lower."),
            *pairs_in_words(rows, pairs, "FSM"),
        ]
    if not sentences:
        return nothing(question, "finished runs of a first-order optimiser in both forms on the same tasks")
    return Answer(question, verdict, [*sentences, "The paper sees a small advantage of FSM for every optimiser."])


def compositional(study: Study) -> Answer:
    """The answer to question 2."""
    question = "Do compositional optimisers provide any advantages over non-compositional optimisers?"
    verdict, sentences = "", []
    for where, rows in by_variant(study):
        whole = whole_classes(rows, (COMP, FIRST))
        found = paired_difference(whole, COMP, FIRST, "group")
        if not found.runs:
            continue
        said = decide(found, "yes", "no, the reverse", MARGIN)
        verdict = verdict or said
        lead = (
            f"{where}Fairly compared, by the median member of each class, first-order compositional minus "
            f"first-order non-compositional optimisers in normalised final regret is {with_interval(found, 3)} over "
            f"{counted(found.tasks, 'function')}{_where_whole(rows, whole)}."
        )
        sentences += [
            lead,
            meaning(said, found, "Compositional optimisers end lower.", "Non-compositional optimisers end lower."),
            *_parts_in_words(whole, "dimension", "D"),
            *_parts_in_words(whole, "acquisition", ""),
            *_controls(rows),
        ]
    if not sentences:
        return nothing(question, "finished runs of first-order optimisers of both kinds on the same tasks")
    return Answer(question, verdict, [*sentences, *_wins(study)])


def _where_whole(rows: pd.DataFrame, whole: pd.DataFrame) -> str:
    """Which dimensions have all members of both classes, if not all have."""
    kept, known = sorted(set(whole["dimension"])), set(rows["dimension"])
    return f" in {listed([f'{d}D' for d in kept])}, where all members ran" if len(kept) < len(known) else ""


def _parts_in_words(rows: pd.DataFrame, by: str, suffix: str) -> list[str]:
    """The same difference for every dimension or acquisition function, if there are several."""
    values = sorted(set(rows[by]) - {""})
    if len(values) < 2:
        return []
    found = [(value, paired_difference(rows[rows[by] == value], COMP, FIRST, "group")) for value in values]
    known = [f"{str(value).upper()}{suffix} {with_interval(one, 3)}" for value, one in found if one.runs]
    return [f"By {by}: {listed(known)}."]


def _controls(rows: pd.DataFrame) -> list[str]:
    """Compositional optimisers against the same rule without a tracker: what composition alone adds."""
    words = []
    for first, second in CONTROLS:
        found = paired_difference(rows, first, second)
        if found.runs:
            where = listed([f"{d}D" for d in sorted(set(common_blocks(rows, [first, second])["dimension"]))])
            words.append(f"{first} minus {second} {with_interval(found, 3)} ({where})")
    return [f"Against the same rule without tracking: {'; '.join(words)}."] if words else []


def _wins(study: Study) -> list[str]:
    """A sentence with the paper's measure, which says that it is the paper's."""
    if PLAIN not in study.variants:
        return []
    rows = contest_rows(study.synthetic(PLAIN))
    ours = rows[rows["category"] == "Comp"]
    if not len(ours):
        return []
    best = entry(ours).best
    of_paper = rows[rows["category"].isin(["Comp", "NonComp"])]
    members = of_paper.groupby(["dimension", "category"])["optimiser"].nunique().unstack(fill_value=0)
    fields = [f"{row.get('Comp', 0)} against {row.get('NonComp', 0)} in {d}D" for d, row in members.iterrows()]
    share = (
        f"The paper's measure, which favours the class with more members: a compositional optimiser is the best of all "
        f"on {with_interval(best, 0, ' %')} of the tasks ({PAPER_COMP_SHARE} % in the paper). Compositional optimisers "
        f"that compete here, against others: {listed(fields)}."
    )
    return [share]
