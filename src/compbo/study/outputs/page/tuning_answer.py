"""Question 5: compositional optimisers on the tuning tasks, by their scores, model by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.outputs.aggregate import FAIR, common_blocks, over_black_boxes
from compbo.study.outputs.axes import sorted_acquisitions, sorted_optimisers
from compbo.study.outputs.figures.bayesmark import PROBLEMS, final_scores, models_in, scored
from compbo.study.outputs.page.answer import COMP, FIRST, Answer, decide, meaning, nothing
from compbo.study.outputs.phrases import listed, with_interval
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.aggregate import How
    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

POINTS, OF_SCORE = 5.0, " points"  # of 100: less is no difference that matters, as a twentieth of the regret
COMPARED = {COMP: ("CAdam", "NASA", "Nested-MC"), FIRST: ("Adam", "RMSprop", "Rprop")}  # by the paper
PAPER = (
    "The paper compares CAdam, NASA and Nested-MC with Adam, RMSprop and Rprop, under all four acquisition functions. "
    "By mean scores it sees the compositional ones slightly ahead for DT, RF and SVM in regression and for DT and RF "
    "in classification, by other aggregates behind for SVM, kNN and the linear model, and concludes that it depends on "
    "the model and the metric."
)


def as_compared(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the optimisers that the paper compares on tuning tasks."""
    return rows[rows["member"].isin([member for members in COMPARED.values() for member in members])]


def not_run(rows: pd.DataFrame) -> list[str]:
    """The optimisers that the paper compares on tuning tasks and that have no runs in the rows."""
    there = set(rows["member"])
    return [member for members in COMPARED.values() for member in members if member not in there]


def score_difference(rows: pd.DataFrame, how: How = FAIR) -> Estimate:
    """Compositional minus non-compositional final score in the rows (`score_differences`): the mean over black boxes.

    A black box is a model on a data set: the same by another metric is no new one.
    """
    return over_black_boxes(score_differences(rows, how), "score")


def score_differences(rows: pd.DataFrame, how: How = FAIR) -> pd.DataFrame:
    """Compositional minus non-compositional final score (`score`) in the rows, run by run from the same starts.

    how: whether the median member or the best one stands for each of the two.
    """
    both = common_blocks(rows, [FIRST, COMP], "group")
    both = both.assign(function=both["model"].astype(str) + " on " + both["data"].astype(str))
    keys = ["task", "acquisition", "seed", "function"]
    reduce = "median" if how == FAIR else "max"
    sides = [both[both["group"] == group].groupby(keys, sort=True)["score"].agg(reduce) for group in (COMP, FIRST)]
    return (sides[0] - sides[1]).dropna().rename("score").reset_index()


def tuning_sentences(study: Study) -> tuple[Estimate | None, list[str]]:
    """The difference over all tuning tasks (None where there is none), and what it is made of.

    The optimisers that the paper compares stand for their classes where they ran, else all that did.
    """
    everyone = study.tuning[study.tuning["score"].notna()]
    rows = as_compared(everyone)
    if not len(score_differences(rows)):
        rows = everyone
    differences = score_differences(rows)
    whole = over_black_boxes(differences, "score")
    if not whole.runs:
        return None, []
    lead = (
        f"On {counted(differences['task'].nunique(), 'tuning task')} under {_acquisitions(rows)}, the final Bayesmark "
        f"score (100: best known loss, 0: random search) of first-order compositional ({_members(rows, COMP)}) minus "
        f"non-compositional optimisers ({_members(rows, FIRST)}) is {with_interval(whole, 1)}: median members, from "
        f"the same starts, mean over {counted(whole.tasks, 'pair')} of a model and data (each counts once for all "
        "metrics)."
    )
    sentences = [lead]
    others = score_difference(everyone)
    if others.runs and len(everyone) > len(rows):
        sentences.append(f"With all first-order optimisers that ran it is {with_interval(others, 1)}.")
    for problem in PROBLEMS:
        part = scored(study, problem)
        part = part[part["optimiser"].isin(set(rows["optimiser"]))]
        if len(part):
            sentences.append(_by_model(part, problem))
    return whole, sentences


def _members(rows: pd.DataFrame, group: str) -> str:
    """The members of a class that ran."""
    return listed(sorted_optimisers(set(rows.loc[rows["group"] == group, "optimiser"])))


def _acquisitions(rows: pd.DataFrame) -> str:
    """The acquisition functions that were run."""
    return listed([name.upper() for name in sorted_acquisitions(rows["acquisition"])])


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
    turned = found._replace(low=-found.high, high=-found.low)  # a higher score is better
    said = decide(turned, "better", "worse", POINTS, OF_SCORE)
    judged = meaning(said, turned, "Compositional optimisers end higher.", "Compositional optimisers end lower.")
    return Answer(question, said, [sentences[0], judged, *sentences[1:], PAPER])
