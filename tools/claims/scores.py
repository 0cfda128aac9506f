"""Claims of the paper about the scores on the tuning tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import PAPER, each_black_box, over_black_boxes
from compbo.study.outputs.axes import CLASSIFICATION_TASKS, REGRESSION_TASKS
from compbo.study.outputs.page.tuning_answer import (
    COMPARED,
    OF_SCORE,
    POINTS,
    as_compared,
    not_run,
    score_difference,
    score_differences,
)
from compbo.study.outputs.phrases import listed, with_interval
from compbo.words import counted
from tools.claims.judged import NOT_RUN, PARTLY, Judged, agreeing, judged_difference

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

CEILING = 95.0  # of 100
HOW = f"""\
**Tuning tasks.** What is compared is the last Bayesmark score, 100 for the best known loss and 0 for random search:
{listed(COMPARED["first-comp"])} minus {listed(COMPARED["first"])}, as the paper does, but under UCB and EI alone. The
median member stands for each side, from the same starts, and in the last column the best; above zero composition is
ahead. The interval is Student's over the pairs of a model and data, and each counts once: the same by another metric
is no new one. Here a model has two or three data sets, which are too few for a verdict; the numbers are shown. Alike,
or no different, is a whole interval nearer to zero than {POINTS:g} points. Where the paper says two things, as of SVM
in classification (alike in the text, behind in a caption), the text of its summary is taken."""


class Score(NamedTuple):
    """A sentence of the paper on the score with and without composition, for a problem or for models (None: all).

    The claim holds where the interval of the difference lies above zero, or, of a claim that the classes are `alike`,
    nearer to zero than `POINTS`.
    """

    words: str
    problem: str | None = None
    models: tuple[str, ...] | None = None
    alike: bool = False

    @property
    def compared(self) -> str:
        """What is compared, in words."""
        models = [", ".join(self.models)] if self.models else []
        where = [*models, *([self.problem] if self.problem else [])]
        return f"compositional minus other first-order optimisers: {', '.join(where)}"


CLAIMS = (
    Score("In regression both perform comparably.", problem=REGRESSION_TASKS, alike=True),
    Score("Composition is slightly better for decision trees, in both problems.", models=("dt",)),
    Score("Composition is slightly better for random forests, in both problems.", models=("rf",)),
    Score("Composition is slightly better for support vector machines, in regression.", REGRESSION_TASKS, ("svm",)),
    Score("In classification both are comparable for support vector machines.", CLASSIFICATION_TASKS, ("svm",), True),
    Score(
        "In regression both are equivalent for kNN, Lasso, linear models and AdaBoost.",
        *(REGRESSION_TASKS, ("knn", "lasso", "linear", "ada"), True),
    ),
)


def judged_score(claim: Score, found: Estimate) -> str:
    """Whether a claim holds.

    Args:
        claim: of the paper.
        found: the score with composition minus that without.

    Returns:
        In a few words.
    """
    lower_is_better = found._replace(value=-found.value, low=-found.high, high=-found.low)
    return judged_difference(lower_is_better, POINTS, OF_SCORE, alike=claim.alike)


def judge(rows: pd.DataFrame) -> list[Judged]:
    """Every claim about scores.

    Args:
        rows: the runs on the tuning tasks.

    Returns:
        A line for each.
    """
    known = as_compared(rows[rows["score"].notna()])
    return [_line(known, claim) for claim in CLAIMS]


def _line(rows: pd.DataFrame, claim: Score) -> Judged:
    if claim.problem:
        rows = rows[rows["problem"] == claim.problem]
    if claim.models:
        rows = rows[rows["model"].isin(claim.models)]
    differences = score_differences(rows)
    found = over_black_boxes(differences, "score")
    if not found.runs:
        return Judged(claim.words, claim.compared, NOT_RUN)
    best = score_difference(rows, PAPER)
    return Judged(
        claim.words,
        claim.compared,
        PARTLY if not_run(rows) else judged_score(claim, found),
        with_interval(found, 1),
        f"{counted(differences['task'].nunique(), 'task')}: {counted(found.runs, 'start')}",
        agreeing(list(each_black_box(differences, "score").values()), float(found.value)),
        f"{with_interval(best, 1)}: {judged_score(claim, best)}",
    )


def at_the_ceiling(rows: pd.DataFrame) -> str:
    """Where all optimisers end near the best known loss, so that no difference can show.

    Args:
        rows: the runs on the tuning tasks.

    Returns:
        A sentence; empty if there is no such black box.
    """
    known = as_compared(rows[rows["score"].notna()])
    means = known.groupby(["model", "data", "optimiser"])["score"].mean().groupby(["model", "data"]).min()
    there = [f"{model}-{data}" for (model, data), least in means.items() if least >= CEILING]
    return f"On {listed(there)} all of them end above {CEILING:g}: no difference can show there." if there else ""
