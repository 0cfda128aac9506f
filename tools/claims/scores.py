"""Claims of the paper about the scores on the tuning tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.axes import CLASSIFICATION_TASKS, REGRESSION_TASKS
from compbo.study.outputs.page.answer import LEVEL
from compbo.study.outputs.page.tuning_answer import score_difference, score_differences
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.claims.judged import NO_DIFFERENCE, NOT_RUN, Judged, judged_difference

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

POINTS = 5  # of 100, as the margin of regret is a twentieth
HOW = f"""\
**Tuning tasks.** What is compared is the last Bayesmark score, 100 for the best known loss and 0 for random search:
compositional minus other first-order optimisers, by the median member of each class, from the same starts; above zero
composition is ahead. The interval is Student's over the pairs of a model and data, and each counts once: the same by
another metric is no new one. A claim about one model, which has two or three data sets here, is judged in regression
and classification together where the paper says the same of both. Alike, or no different, is a whole interval nearer to
zero than {POINTS} points."""


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
    Score("... for random forests, in both problems.", models=("rf",)),
    Score("... for support vector machines, in regression.", REGRESSION_TASKS, ("svm",)),
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
    said = judged_difference(lower_is_better, POINTS, alike=claim.alike)
    return (
        f"{NO_DIFFERENCE} {POINTS} points" if said == LEVEL else said.replace(f"than {POINTS}", f"than {POINTS} points")
    )


def judge(rows: pd.DataFrame) -> list[Judged]:
    """Every claim about scores.

    Args:
        rows: the runs on the tuning tasks.

    Returns:
        A line for each.
    """
    return [_line(rows[rows["score"].notna()], claim) for claim in CLAIMS]


def _line(rows: pd.DataFrame, claim: Score) -> Judged:
    if claim.problem:
        rows = rows[rows["problem"] == claim.problem]
    if claim.models:
        rows = rows[rows["model"].isin(claim.models)]
    found = score_difference(rows)
    if not found.runs:
        return Judged(claim.words, claim.compared, NOT_RUN)
    differences = score_differences(rows)
    each = differences.groupby("function")["score"].mean()
    return Judged(
        claim.words,
        claim.compared,
        judged_score(claim, found),
        with_interval(found, 1),
        f"{counted(differences['task'].nunique(), 'task')}: {counted(found.runs, 'run')}",
        f"{(each * float(found.value) > 0).sum()} of {found.tasks}",
    )
