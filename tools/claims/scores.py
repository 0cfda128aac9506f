"""Claims of the paper about the scores on the tuning tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.axes import REGRESSION_TASKS
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
composition is ahead. Each task counts once in Student's interval; a model on the same data by another metric is another
task, though not a very different one. A claim about one model is judged on regression and classification together, as
either alone has too few tasks. Alike, or no different, is a whole interval nearer to zero than {POINTS} points."""


class Score(NamedTuple):
    """A sentence of the paper on the score with and without composition, for a problem or for a model (None: all).

    The claim holds where the interval of the difference lies above zero, or, of a claim that the classes are `alike`,
    nearer to zero than `POINTS`.
    """

    words: str
    problem: str | None = None
    model: str | None = None
    alike: bool = False


CLAIMS = (
    Score("In regression both perform comparably.", problem=REGRESSION_TASKS, alike=True),
    Score("Composition is slightly better for decision trees.", model="dt"),
    Score("... and for random forests.", model="rf"),
    Score("Both are comparable for support vector machines.", model="svm", alike=True),
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
    return f"{NO_DIFFERENCE} {POINTS} points" if said == LEVEL else said


def judge(rows: pd.DataFrame) -> list[Judged]:
    """Every claim about scores.

    Args:
        rows: the runs on the tuning tasks.

    Returns:
        A line for each.
    """
    return [_line(rows[rows["score"].notna()], claim) for claim in CLAIMS]


def _line(rows: pd.DataFrame, claim: Score) -> Judged:
    for column, wanted in (("problem", claim.problem), ("model", claim.model)):
        rows = rows if wanted is None else rows[rows[column] == wanted]
    compared = f"compositional minus other first-order optimisers, {claim.problem or str(claim.model).upper()}"
    found = score_difference(rows)
    if not found.runs:
        return Judged(claim.words, compared, NOT_RUN)
    each = score_differences(rows).groupby("task")["score"].mean()
    agree = int((each * float(found.value) > 0).sum())
    on = f"{counted(found.tasks, 'task')}: {counted(found.runs, 'run')}"
    return Judged(
        claim.words, compared, judged_score(claim, found), with_interval(found, 1), on, f"{agree} of {found.tasks}"
    )
