"""Claims of the paper about the time and the memory of a maximisation, by what was measured on an idle machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.study.outputs.page.answer import FEWEST_TASKS, TOO_FEW, UNDECIDED, decide
from compbo.study.outputs.page.cost_answers import MATCHED
from compbo.study.outputs.phrases import fixed, listed, with_interval
from compbo.study.outputs.statistics.student import mean_over_tasks
from compbo.words import counted
from tools.claims.judged import FAILS, HOLDS, LESS, MORE, NOT_RUN, Judged, judged_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.cost import Cost

    from compbo.study.outputs.statistics.bootstrap import Estimate

    Pairs = Sequence[tuple[str, str]]

SLOWER = (1.5, 2.0)  # the paper: that many times slower per iteration
MAGNITUDE = (10.0, np.inf)
ALIKE = 1.25  # times: nearer than that counts as equal
FORMS = (("CAdam-ME", "CAdam"), ("NASA-ME", "NASA"), ("Nested-MC-ME", "Nested-MC"))
OTHER_ORDERS = (("L-BFGS-B", "Adam-ERM"), ("CL-BFGS-B", "Adam-ERM"), ("CMA-ES", "Adam-ERM"))
TO_ERM = (("CAdam", "AdamOS-ERM"), ("Nested-MC", "Adam-ERM"), ("SCGA", "SGA-ERM"), ("NASA", "SGA-ERM"))
ME_TO_ERM = (("CAdam-ME", "AdamOS-ERM"), ("Nested-MC-ME", "Adam-ERM"), ("NASA-ME", "SGA-ERM"))
HOW = f"""\
**Time and memory.** What is compared is one maximisation of UCB alone on an idle machine, in six dimensions
([all of them](#cost)): of each pair of optimisers, how many times the seconds or the megabytes of the second the first
one takes. A pair is a compositional optimiser and the one without composition whose rule is nearest, or two forms. The
number is the geometric mean over pairs and dimensions. Student's interval is over the dimensions: it does not say what
other pairs would give, and a verdict names the pairs where it is not true. Of a claim that both take as much,
nearer to 1 than {ALIKE} times is equal. How time rises is the difference of the slopes from each dimension to the next,
with the interval over these steps."""


class Spent(NamedTuple):
    """A sentence of the paper, the pairs of optimisers it is about, and how their ratio is judged."""

    words: str
    compared: str
    pairs: Pairs
    judged: Callable[[Estimate], str]
    of: str = "seconds"  # or megabytes


more = partial(decide, below=FAILS, above=HOLDS)  # whether the first takes more, by the logarithm of the ratio
less = partial(decide, below=HOLDS, above=FAILS)


def equal(found: Estimate) -> str:
    """Whether both take as much.

    Args:
        found: the logarithm of the ratio.

    Returns:
        In a few words.
    """
    return judged_difference(found, float(np.log(ALIKE)), alike=True).replace(f"{np.log(ALIKE):g}", f"{ALIKE} times")


def so_many_times(found: Estimate, times: tuple[float, float]) -> str:
    """Whether the first takes so many times as much.

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


CLAIMS = (
    Spent("Compositional methods are slower.", "seconds with composition over without", MATCHED, more),
    Spent(
        "Compositional methods are 1.5 to 2 times slower.",
        *("seconds with composition over without", MATCHED, partial(so_many_times, times=SLOWER)),
    ),
    Spent("Memory-efficient forms are faster than standard ones.", "seconds of ME over standard", FORMS, less),
    Spent(
        "(C)L-BFGS-B and CMA-ES take an order of magnitude longer than first-order methods without composition.",
        *("seconds over those of Adam-ERM", OTHER_ORDERS, partial(so_many_times, times=MAGNITUDE)),
    ),
    Spent("Composition needs more memory than ERM.", "megabytes over those of ERM", TO_ERM, more, "megabytes"),
    Spent(
        "Memory-efficient forms need as much memory as ERM.",
        *("megabytes of ME over those of ERM", ME_TO_ERM, equal, "megabytes"),
    ),
)
RISE = "With the dimension, the time of compositional methods rises more steeply."


def judge(idle: Sequence[Cost]) -> list[Judged]:
    """Every claim about time and memory.

    Args:
        idle: maximisations alone on an idle machine.

    Returns:
        A line for each.
    """
    return [*(_line(claim, idle) for claim in CLAIMS), _rise(idle)]


def _table(idle: Sequence[Cost], pairs: Pairs, of: str) -> tuple[list[int], np.ndarray]:
    """The dimensions in which all of the pairs were measured, and what they took: (pair, dimension, side)."""
    spent = {(cost.maximizer, cost.dimension): float(getattr(cost, of)) for cost in idle}
    names = {name for pair in pairs for name in pair}
    dimensions = [d for d in sorted({d for _, d in spent}) if all((name, d) in spent for name in names)]
    return dimensions, np.array([[[spent[name, d] for name in pair] for d in dimensions] for pair in pairs])


def _where(dimensions: Sequence[int], pairs: Pairs) -> str:
    return f"{dimensions[0]}D to {dimensions[-1]}D: {counted(len(pairs), 'pair')}"


def _line(claim: Spent, idle: Sequence[Cost]) -> Judged:
    dimensions, spent = _table(idle, claim.pairs, claim.of)
    if not dimensions:
        return Judged(claim.words, claim.compared, NOT_RUN)
    logs = np.log(spent[:, :, 0] / spent[:, :, 1])
    found = mean_over_tasks(logs.mean(axis=0), dimensions)
    times = found._replace(value=np.exp(found.value), low=np.exp(found.low), high=np.exp(found.high))
    each = zip(claim.pairs, np.exp(logs.mean(axis=1)), strict=True)
    holding = {
        first: claim.judged(mean_over_tasks(pair, dimensions)).startswith(HOLDS)
        for (first, _), pair in zip(claim.pairs, logs, strict=True)
    }
    return Judged(
        claim.words,
        claim.compared,
        _with_exceptions(claim.judged(found), holding),
        f"{with_interval(times, 2)} times",
        _where(dimensions, claim.pairs),
        ", ".join(f"{first} {fixed(value, 2)}" for (first, _), value in each),
    )


def _with_exceptions(said: str, holding: Mapping[str, bool]) -> str:
    """A verdict on all pairs together, with the pairs of which it is not true."""
    if said in (TOO_FEW, UNDECIDED):
        return said
    holds = said.startswith(HOLDS)
    others = [name for name, one in holding.items() if one != holds]
    return said if not others else f"{said}, not for {listed(others)}" if holds else f"{said}, but for {listed(others)}"


def _rise(idle: Sequence[Cost]) -> Judged:
    """The slopes of seconds over dimensions, with minus without composition."""
    compared = "milliseconds more for each dimension, with minus without composition"
    dimensions, spent = _table(idle, MATCHED, "seconds")
    if len(dimensions) < 2:
        return Judged(RISE, compared, NOT_RUN)
    slopes = 1000.0 * np.diff(spent[:, :, 0] - spent[:, :, 1], axis=1) / np.diff(dimensions)
    found = mean_over_tasks(slopes.mean(axis=0), dimensions[1:])
    wholes = 1000.0 * (spent[:, -1] - spent[:, 0]) @ [1.0, -1.0] / (dimensions[-1] - dimensions[0])
    each = [f"{first} {fixed(value, 2)}" for (first, _), value in zip(MATCHED, wholes, strict=True)]
    return Judged(
        RISE, compared, more(found), f"{with_interval(found, 2)} ms", _where(dimensions, MATCHED), ", ".join(each)
    )
