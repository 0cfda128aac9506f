"""Claims of the paper about the time of a maximisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.study.outputs.figures.pairs import standard_me_pairs
from compbo.study.outputs.moved import that_moved
from compbo.study.outputs.page.answer import TOO_FEW, UNDECIDED, both_ran, decide
from compbo.study.outputs.page.cost_answers import MATCHED, log_ratios
from compbo.study.outputs.phrases import with_interval
from compbo.study.outputs.statistics.student import mean_over_tasks
from compbo.words import counted
from tools.claims.judged import FAILS, HOLDS, LESS, MORE, NOT_RUN, Judged

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

COLUMN = "maximise_seconds"
SLOWER = (1.5, 2.0)  # the paper: that many times slower per iteration
HOW = """\
**Time.** What is compared is the time of one maximisation: the ratio in runs from the same start on the same type of
processor, its geometric mean over pairs of optimisers and over functions, with Student's interval over the functions.
The pairs have the same rule with and without composition, or are a compositional optimiser in both forms. The runs were
timed beside others; [below](#cost) is what an idle machine takes."""


class Ratio(NamedTuple):
    """How many times as long the first of each pair takes, and the words for what is compared."""

    compared: str
    found: Estimate  # of the logarithm
    on: str
    agree: str


def composed(rows: pd.DataFrame) -> Ratio:
    """Compositional over the same rule without composition.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The ratio, of the runs that all pairs have.
    """
    return _ratio("compositional over the same rule without", log_ratios(rows, _matched(rows), COLUMN))


def memory_efficient(rows: pd.DataFrame) -> Ratio:
    """Memory-efficient over standard form.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The ratio where both moved, as in the answer to question 3: a form that stands still saves nothing.
    """
    moved = that_moved(rows)
    pairs = [(pair.second, pair.first) for pair in both_ran(moved, standard_me_pairs(moved))]
    return _ratio("memory-efficient over standard", log_ratios(moved, pairs, COLUMN))


def growth(rows: pd.DataFrame) -> Ratio:
    """How many times as large as in the smallest dimension the ratio of `composed` is in the largest.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The mean over functions, of the pairs that ran in both dimensions.
    """
    ran = {d: _matched(here) for d, here in rows.groupby("dimension") if _matched(here)}
    ends = sorted({min(ran, default=0), max(ran, default=0)})
    pairs = [pair for pair in MATCHED if all(pair in ran.get(d, ()) for d in ends)]
    logs = log_ratios(rows[rows["dimension"].isin(ends)], pairs, COLUMN)
    sides = logs.groupby(["function", "acquisition", "dimension"])["log"].mean().unstack("dimension")
    rises = sides.reindex(columns=ends).diff(axis=1).iloc[:, -1].dropna()
    compared = f"the same ratio in {' over that in '.join(f'{d}D' for d in reversed(ends))}"
    return _over_functions(compared, rises.groupby("function").mean(), len(logs), ends)


def _matched(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """The pairs of the same rule with and without composition that ran from the same starts."""
    return [pair for pair in MATCHED if len(log_ratios(rows, [pair], COLUMN))]


def _ratio(compared: str, logs: pd.DataFrame) -> Ratio:
    means = logs.groupby(["function", "task", "acquisition"])["log"].mean().groupby("function").mean()
    return _over_functions(compared, means, len(logs), sorted(set(logs["dimension"])))


def _over_functions(compared: str, means: pd.Series[float], runs: int, dimensions: list[int]) -> Ratio:
    found = mean_over_tasks(means.to_numpy(dtype=float), list(means.index))._replace(runs=runs if len(means) else 0)
    agree = int((means * float(found.value) > 0).sum())
    on = f"{', '.join(f'{d}D' for d in dimensions)}: {counted(runs, 'run')}"
    return Ratio(compared, found, on, f"{agree} of {found.tasks}")


def longer(found: Estimate) -> str:
    """Whether the first takes longer.

    Args:
        found: the logarithm of the ratio.

    Returns:
        In a few words.
    """
    return decide(found, FAILS, HOLDS)


def shorter(found: Estimate) -> str:
    """Whether the first takes less long.

    Args:
        found: the logarithm of the ratio.

    Returns:
        In a few words.
    """
    return decide(found, HOLDS, FAILS)


def that_many_times(found: Estimate) -> str:
    """Whether the first takes `SLOWER` times as long.

    Args:
        found: the logarithm of the ratio.

    Returns:
        In a few words.
    """
    if decide(found, "", "") == TOO_FEW:
        return TOO_FEW
    low, high = np.exp(found.low), np.exp(found.high)
    if high < SLOWER[0] or low > SLOWER[1]:
        return LESS if high < SLOWER[0] else MORE
    return HOLDS if low >= SLOWER[0] and high <= SLOWER[1] else UNDECIDED


class Time(NamedTuple):
    """A sentence of the paper, the ratio of times that it is about, and how the ratio is judged."""

    words: str
    ratio: Callable[[pd.DataFrame], Ratio]
    judged: Callable[[Estimate], str]


CLAIMS = (
    Time("Compositional methods are slower.", composed, longer),
    Time("... 1.5 to 2 times.", composed, that_many_times),
    Time("Memory-efficient forms are faster than standard ones.", memory_efficient, shorter),
    Time("The time of compositional methods rises more steeply with the dimension.", growth, longer),
)


def judge(rows: pd.DataFrame) -> list[Judged]:
    """Every claim about time.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        A line for each.
    """
    return [_line(claim, claim.ratio(rows)) for claim in CLAIMS]


def _line(claim: Time, made: Ratio) -> Judged:
    found = made.found
    if not found.runs:
        return Judged(claim.words, made.compared, NOT_RUN)
    times = found._replace(value=np.exp(found.value), low=np.exp(found.low), high=np.exp(found.high))
    return Judged(claim.words, made.compared, claim.judged(found), with_interval(times, 2), made.on, made.agree)
