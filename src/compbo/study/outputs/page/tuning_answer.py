"""Question 5: compositional optimisers on the tuning tasks, by their scores, model by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.aggregate import FAIR, common_blocks
from compbo.study.outputs.figures.bayesmark import PROBLEMS, final_scores, models_in, scored
from compbo.study.outputs.page.answer import COMP, FIRST, TOO_FEW, Answer, decide, nothing, why_too_few
from compbo.study.outputs.phrases import listed, with_interval
from compbo.study.outputs.runs import blocks
from compbo.study.outputs.statistics.student import mean_over_tasks
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate


PAPER = (
    "The paper sees compositional methods slightly ahead for DT, RF and SVM in regression and for DT and RF in "
    "classification, and no clear difference elsewhere."
)


def score_difference(rows: pd.DataFrame) -> Estimate:
    """Compositional minus non-compositional final score in the rows, from the same starts: the mean over tasks.

    The median member stands for each of the two.
    """
    both = common_blocks(rows, [FIRST, COMP], "group")
    keys = ["task", "acquisition", "seed"]
    sides = [both[both["group"] == group].groupby(keys, sort=True)["score"].median() for group in (COMP, FIRST)]
    difference = (sides[0] - sides[1]).dropna().rename("score").reset_index()
    return mean_over_tasks(difference["score"].to_numpy(), blocks(difference))


def tuning_sentences(study: Study) -> tuple[Estimate | None, list[str]]:
    """The difference over all tuning tasks (None where there is none), and what it is made of."""
    rows = study.tuning[study.tuning["score"].notna()]
    whole = score_difference(rows)
    if not whole.runs:
        return None, []
    lead = (
        f"On {counted(whole.tasks, 'task')} (tuning task × acquisition), the final Bayesmark score (100: best known "
        f"loss, 0: random search) of first-order compositional minus non-compositional optimisers is "
        f"{with_interval(whole, 1)}: median members, from the same starts, mean over tasks."
    )
    sentences = [lead]
    if whole.unit != "nothing" and whole.low <= 0 <= whole.high:
        sentences.append("The interval holds 0: no difference can be told.")
    for problem in PROBLEMS:
        part = scored(study, problem)
        if len(part):
            sentences.append(_by_model(part, problem))
    return whole, sentences


def _by_model(rows: pd.DataFrame, problem: str) -> str:
    scores = [f"{with_interval(final_scores(rows, group, FAIR), 0)}" for group in (COMP, FIRST)]
    found = [(model, score_difference(rows[rows["model"] == model])) for model in models_in(rows)]
    words = [f"{model} {with_interval(one, 1)}" for model, one in found if one.runs]
    return (
        f"{problem.capitalize()}: the median score is {scores[0]} with and {scores[1]} without composition; the "
        f"difference by model: {listed(words, most=9)}."
    )


def noisy_tasks(study: Study) -> Answer:
    """The answer to question 5."""
    question = (
        "How do compositional optimisers perform when optimising real-world black-box functions with noisy evaluations?"
    )
    found, sentences = tuning_sentences(study)
    if found is None:
        return nothing(question, "finished runs of first-order optimisers of both kinds on the same tuning tasks")
    said = decide(found._replace(low=-found.high, high=-found.low), "better", "worse")
    sentences.append(PAPER)
    if said == TOO_FEW:
        sentences.append(why_too_few(found))
    return Answer(question, said, sentences)
