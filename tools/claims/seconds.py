"""Claims of the paper about the time of a maximisation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.study.outputs.aggregate import over_black_boxes
from compbo.study.outputs.figures.pairs import standard_me_pairs
from compbo.study.outputs.moved import that_moved
from compbo.study.outputs.page.answer import FEWEST_TASKS, TOO_FEW, UNDECIDED, both_ran, decide
from compbo.study.outputs.page.cost_answers import MATCHED, log_ratios
from compbo.study.outputs.phrases import with_interval
from compbo.words import counted
from tools.claims.judged import FAILS, HOLDS, LESS, MORE, NOT_RUN, Judged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from benchmarks.cost import Cost

    from compbo.study.outputs.statistics.bootstrap import Estimate

COLUMN = "maximise_seconds"
SLOWER = (1.5, 2.0)  # the paper: that many times slower per iteration
MAGNITUDE = (10.0, np.inf)
OTHER_ORDERS = (("L-BFGS-B", "Adam-ERM"), ("CL-BFGS-B", "Adam-ERM"), ("CMA-ES", "Adam-ERM"))
HOW = """\
**Time.** What is compared is the time of one maximisation: the ratio in runs from the same start on the same type of
processor, its geometric mean over pairs of optimisers and over functions, with Student's interval over the functions.
The pairs have the same rule with and without composition, or are a compositional optimiser in both forms. The runs were
timed beside others, in stretches, so how time rises from dimension to dimension is taken from [an idle
machine](#cost): the slope of seconds over dimensions, with the interval over the pairs."""


class Timed(NamedTuple):
    """What was timed: the runs on the plain synthetic functions, and maximisations alone on an idle machine."""

    rows: pd.DataFrame
    idle: Sequence[Cost]


class Ratio(NamedTuple):
    """How many times as long the first of each pair takes, and the words for what is compared."""

    compared: str
    logs: pd.DataFrame  # the logarithm (`log`), run by run, or pair by pair as if each were a function
    on: str

    @property
    def found(self) -> Estimate:
        """The mean of the logarithm, with its interval."""
        return over_black_boxes(self.logs, "log")


def composed(timed: Timed) -> Ratio:
    """Compositional over the same rule without composition.

    Args:
        timed: what was timed.

    Returns:
        The ratio, of the runs that all pairs have.
    """
    return _ratio("compositional over the same rule without", timed.rows, _that_ran(timed.rows, MATCHED))


def memory_efficient(timed: Timed) -> Ratio:
    """Memory-efficient over standard form.

    Args:
        timed: what was timed.

    Returns:
        The ratio where both moved, as in the answer to question 3: a form that stands still saves nothing.
    """
    moved = that_moved(timed.rows)
    pairs = [(pair.second, pair.first) for pair in both_ran(moved, standard_me_pairs(moved))]
    return _ratio("memory-efficient over standard", moved, pairs)


def other_orders(timed: Timed) -> Ratio:
    """Second-order methods and CMA-ES over a first-order method.

    Args:
        timed: what was timed.

    Returns:
        The ratio, of the runs that all pairs have.
    """
    compared = ", ".join(f"{first} over {second}" for first, second in OTHER_ORDERS)
    return _ratio(f"seconds of {compared}", timed.rows, _that_ran(timed.rows, OTHER_ORDERS))


def growth(timed: Timed) -> Ratio:
    """The slope of seconds over dimensions, with over without composition.

    Args:
        timed: what was timed.

    Returns:
        The ratio of the slopes of each pair on an idle machine.
    """
    import pandas as pd

    known = {cost.maximizer for cost in timed.idle}
    pairs = [pair for pair in MATCHED if known.issuperset(pair)]
    names = [" / ".join(pair) for pair in pairs]
    logs = [np.log(_slope(timed.idle, first) / _slope(timed.idle, second)) for first, second in pairs]
    dimensions = sorted({cost.dimension for cost in timed.idle})
    return Ratio(
        "seconds more for each dimension, compositional over the same rule without",
        pd.DataFrame({"task": names, "function": names, "acquisition": "ucb", "log": logs}),
        f"{dimensions[0]}D to {dimensions[-1]}D: {counted(len(pairs), 'pair')}" if dimensions else "",
    )


def _slope(idle: Sequence[Cost], maximizer: str) -> float:
    """Seconds of a maximisation over dimensions, by least squares."""
    points = [(cost.dimension, cost.seconds) for cost in idle if cost.maximizer == maximizer]
    return float(np.polyfit(*zip(*points, strict=True), 1)[0])


def _that_ran(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs whose two optimisers ran from the same starts on the same type of processor."""
    return [pair for pair in pairs if len(log_ratios(rows, [pair], COLUMN))]


def _ratio(compared: str, rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> Ratio:
    logs = log_ratios(rows, pairs, COLUMN)
    where = ", ".join(f"{d}D" for d in sorted(set(logs["dimension"])))
    return Ratio(compared, logs, f"{where}: {counted(len(logs), 'run')}")


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
    ratio: Callable[[Timed], Ratio]
    judged: Callable[[Estimate], str]


CLAIMS = (
    Time("Compositional methods are slower.", composed, longer),
    Time("... 1.5 to 2 times.", composed, partial(so_many_times, times=SLOWER)),
    Time("Memory-efficient forms are faster than standard ones.", memory_efficient, shorter),
    Time("With the dimension, the time of compositional methods rises more steeply.", growth, longer),
    Time(
        "(C)L-BFGS-B and CMA-ES take an order of magnitude longer than first-order methods without composition.",
        *(other_orders, partial(so_many_times, times=MAGNITUDE)),
    ),
)


def judge(rows: pd.DataFrame, idle: Sequence[Cost]) -> list[Judged]:
    """Every claim about time.

    Args:
        rows: the runs on the plain synthetic functions.
        idle: maximisations alone on an idle machine.

    Returns:
        A line for each.
    """
    return [_line(claim, claim.ratio(Timed(rows, idle))) for claim in CLAIMS]


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
        made.on,
        f"{(each * float(found.value) > 0).sum()} of {found.tasks}",
    )
