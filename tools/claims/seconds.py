"""Claims of the paper about the time of a maximisation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.study.outputs.aggregate import over_black_boxes
from compbo.study.outputs.figures.pairs import standard_me_pairs
from compbo.study.outputs.moved import that_moved
from compbo.study.outputs.page.answer import FEWEST_TASKS, TOO_FEW, UNDECIDED, both_ran, decide
from compbo.study.outputs.page.cost_answers import MATCHED, log_ratios, mean_costs
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.claims.judged import FAILS, HOLDS, LESS, MORE, NOT_RUN, Judged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from compbo.study.outputs.statistics.bootstrap import Estimate

COLUMN = "maximise_seconds"
SLOWER = (1.5, 2.0)  # the paper: that many times slower per iteration
MAGNITUDE = (10.0, np.inf)
OTHER_ORDERS = (("L-BFGS-B", "Adam-ERM"), ("CL-BFGS-B", "CAdam"), ("CMA-ES", "Adam-ERM"))
HOW = """\
**Time.** What is compared is the time of one maximisation: the ratio in runs from the same start on the same type of
processor, its geometric mean over pairs of optimisers and over functions, with Student's interval over the functions.
The pairs have the same rule with and without composition, or are a compositional optimiser in both forms. How steeply
time rises is what a maximisation takes in the largest dimension less what it takes in the smallest. The runs were timed
beside others; [below](#cost) is what an idle machine takes."""


class Ratio(NamedTuple):
    """How many times as long the first of each pair takes, and the words for what is compared."""

    compared: str
    logs: pd.DataFrame  # the logarithm (`log`), run by run or rise by rise
    runs: int
    dimensions: list[int]

    @property
    def found(self) -> Estimate:
        """The mean of the logarithm, with its interval."""
        return over_black_boxes(self.logs, "log")


def composed(rows: pd.DataFrame) -> Ratio:
    """Compositional over the same rule without composition.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The ratio, of the runs that all pairs have.
    """
    return _ratio("compositional over the same rule without", rows, _that_ran(rows, MATCHED))


def memory_efficient(rows: pd.DataFrame) -> Ratio:
    """Memory-efficient over standard form.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The ratio where both moved, as in the answer to question 3: a form that stands still saves nothing.
    """
    moved = that_moved(rows)
    pairs = [(pair.second, pair.first) for pair in both_ran(moved, standard_me_pairs(moved))]
    return _ratio("memory-efficient over standard", moved, pairs)


def other_orders(rows: pd.DataFrame) -> Ratio:
    """Second-order methods and CMA-ES over first-order methods.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The ratio, of the runs that all pairs have.
    """
    compared = ", ".join(f"{first} over {second}" for first, second in OTHER_ORDERS)
    return _ratio(f"seconds of {compared}", rows, _that_ran(rows, OTHER_ORDERS))


def growth(rows: pd.DataFrame) -> Ratio:
    """The rise in seconds from the smallest dimension to the largest, with over without composition.

    Args:
        rows: the runs on the plain synthetic functions.

    Returns:
        The ratio of the rises on the same type of processor, of the pairs that ran in both dimensions.
    """
    ran = {d: pairs for d, here in rows.groupby("dimension") if (pairs := _that_ran(here, MATCHED))}
    ends = [min(ran, default=0), max(ran, default=0)]
    pairs = [pair for pair in MATCHED if all(pair in ran.get(d, ()) for d in ends)]
    compared = f"rise from {ends[0]}D to {ends[1]}D in seconds, compositional over the same rule without"
    known = mean_costs(rows[rows["dimension"].isin(ends)], COLUMN)
    known = known[known["optimiser"].isin([name for pair in pairs for name in pair])]
    keys = ["function", "acquisition", "processor"]
    costs = known.groupby([*keys, "optimiser", "dimension"])["cost"].mean().unstack("dimension")
    rises = costs.reindex(columns=ends).diff(axis=1).iloc[:, -1].unstack("optimiser").dropna()
    logs = sum(np.log(rises[first] / rises[second]) for first, second in pairs) / max(len(pairs), 1)
    told = rises.assign(log=logs).reset_index().assign(task=lambda of: of["function"])
    used = known.merge(told[keys]) if ends[0] < ends[1] else known[:0]
    return Ratio(compared, told[: len(used)], len(used), ends)


def _that_ran(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs whose two optimisers ran from the same starts on the same type of processor."""
    return [pair for pair in pairs if len(log_ratios(rows, [pair], COLUMN))]


def _ratio(compared: str, rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> Ratio:
    logs = log_ratios(rows, pairs, COLUMN)
    return Ratio(compared, logs, len(logs), sorted(set(logs["dimension"])))


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


def so_many_times(found: Estimate, times: tuple[float, float]) -> str:
    """Whether the first takes so many times as long.

    Args:
        found: the logarithm of the ratio.
        times: from and to.

    Returns:
        In a few words.
    """
    if found.tasks < FEWEST_TASKS:
        return TOO_FEW
    low, high = np.exp(found.low), np.exp(found.high)
    if high < times[0] or low > times[1]:
        return LESS if high < times[0] else MORE
    return HOLDS if low >= times[0] and high <= times[1] else UNDECIDED


class Time(NamedTuple):
    """A sentence of the paper, the ratio of times that it is about, and how the ratio is judged."""

    words: str
    ratio: Callable[[pd.DataFrame], Ratio]
    judged: Callable[[Estimate], str]


CLAIMS = (
    Time("Compositional methods are slower.", composed, longer),
    Time("... 1.5 to 2 times.", composed, partial(so_many_times, times=SLOWER)),
    Time("Memory-efficient forms are faster than standard ones.", memory_efficient, shorter),
    Time("With the dimension, the time of compositional methods rises more steeply.", growth, longer),
    Time(
        "(C)L-BFGS-B and CMA-ES take an order of magnitude longer than first-order methods.",
        *(other_orders, partial(so_many_times, times=MAGNITUDE)),
    ),
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
    each = made.logs.groupby("function")["log"].mean()
    return Judged(
        claim.words,
        made.compared,
        claim.judged(found),
        with_interval(times, 2),
        f"{', '.join(f'{d}D' for d in made.dimensions)}: {counted(made.runs, 'run')}",
        f"{(each * float(found.value) > 0).sum()} of {found.tasks}",
    )
