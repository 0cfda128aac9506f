"""Development tasks in mixed spaces, drawn at random: `mixed_0`, `mixed_1` and so on.

Two tasks made by hand can be sure of the wrong thing; what a choice of the defaults is worth in mixed spaces is judged
on many of them. Each has two to six real numbers, one to four whole ones, two to four choices of three to six, and none
to three switches. The number of a task draws its kind as well:

- `own bowls` (0, 3, 6, ...): a bowl in the numbers whose place depends on the first choice; costs of pairs of choices;
- `shared bowl` (1, 4, 7, ...): one bowl for all choices, which add costs and ripples of their own;
- `network` (2, 5, 8, ...): a random network of 24 waves of all parameters, in which choices shift the phases.

Most spaces of users have fewer choices. Each of `choice_0`, `choice_1` and so on has one, of two to four functions of
the kinds of `wide_tasks` in three to six dimensions, which share their numbers; the best of one is the best of all.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.defaults import wide_tasks
from benchmarks.defaults.wide_tasks import FAMILIES
from compbo.space import Bool, Categorical, Float, Int, Space
from compbo.study.tasks import FunctionTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Loss = Callable[[NDArray[np.float64], NDArray[np.int64]], float]  # numbers in the unit cube, choices and switches

KINDS = ("own bowls", "shared bowl", "network")
LEVELS = 12  # of a whole number
WAVES = 24
SCALED_BY = 256  # uniform points


@cache
def _sizes(number: int) -> tuple[int, int, tuple[int, ...], int]:
    """Real numbers, whole ones, alternatives of every choice, switches."""
    drawn = np.random.default_rng([4021, number])
    reals, wholes = int(drawn.integers(2, 7)), int(drawn.integers(1, 5))
    choices = tuple(int(drawn.integers(3, 7)) for _ in range(int(drawn.integers(2, 5))))
    return reals, wholes, choices, int(drawn.integers(0, 4))


def _space(number: int) -> Space:
    reals, wholes, choices, switches = _sizes(number)
    return Space(
        {
            **{f"x{i}": Float(0.0, 1.0) for i in range(reals)},
            **{f"n{i}": Int(0, LEVELS - 1) for i in range(wholes)},
            **{f"c{i}": Categorical([f"c{i}{k}" for k in range(count)]) for i, count in enumerate(choices)},
            **{f"s{i}": Bool() for i in range(switches)},
        }
    )


def _bowls(number: int, own: bool) -> Loss:
    """Bowls and costs; the best choices cost nothing. own: a place for every alternative of the first choice."""
    reals, wholes, choices, switches = _sizes(number)
    drawn = np.random.default_rng([4022, number])
    counts = (*choices, *(2,) * switches)
    best = [int(drawn.integers(count)) for count in counts]
    place = drawn.uniform(0.1, 0.9, (counts[0], reals + wholes))
    place[:, reals:] = np.round(place[:, reals:] * (LEVELS - 1)) / (LEVELS - 1)
    weight = np.exp(drawn.uniform(-1.0, 1.0, reals + wholes))
    ripple = drawn.uniform(0.0, 0.2, counts[0])
    pairs = [(i, (i + 1) % len(counts)) for i in range(len(counts))] if len(counts) > 1 else []
    alone = [drawn.uniform(0.1, 0.6, count) for count in counts]
    together = [drawn.uniform(0.0, 0.5, (counts[i], counts[j])) for i, j in pairs]
    for i, costs in enumerate(alone):
        costs[best[i]] = 0.0
    for (i, j), costs in zip(pairs, together, strict=True):
        costs[best[i], best[j]] = 0.0

    def loss(u: NDArray[np.float64], picked: NDArray[np.int64]) -> float:
        away = u - place[picked[0] if own else 0]
        bowl = float(weight @ away**2) + float(ripple[picked[0]] * (1 - np.cos(4 * math.pi * away)).mean())
        cost = sum(float(costs[k]) for costs, k in zip(alone, picked, strict=True))
        cost += sum(float(costs[picked[i], picked[j]]) for (i, j), costs in zip(pairs, together, strict=True))
        return 2.0 * bowl + cost

    return loss


def _network(number: int) -> Loss:
    """Waves whose phases depend on the choices and whose sizes fall with their frequency. The smallest is not known."""
    reals, wholes, choices, switches = _sizes(number)
    drawn = np.random.default_rng([4023, number])
    frequency = drawn.normal(0.0, 2.0, (WAVES, reals + wholes))
    size = drawn.normal(0.0, 1.0, WAVES) / np.sqrt(1.0 + (frequency**2).sum(1))
    phase = drawn.uniform(0.0, 2.0 * math.pi, WAVES)
    shifts = [drawn.normal(0.0, 0.7, (count, WAVES)) for count in (*choices, *(2,) * switches)]

    def loss(u: NDArray[np.float64], picked: NDArray[np.int64]) -> float:
        shift = sum(by[k] for by, k in zip(shifts, picked, strict=True))
        return float(size @ np.cos(frequency @ u + phase + shift))

    return loss


@cache
def _loss(number: int) -> Loss:
    kind = number % len(KINDS)
    return _network(number) if kind == 2 else _bowls(number, own=kind == 0)


class _Loss:
    """The loss of a task, made when it is first needed: tasks are pickled, functions made by functions are not."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, params: Mapping[str, Any]) -> float:
        reals, wholes, choices, switches = _sizes(self.number)
        numbers = [params[f"x{i}"] for i in range(reals)] + [params[f"n{i}"] / (LEVELS - 1) for i in range(wholes)]
        picked = [int(params[f"c{i}"][-1]) for i in range(len(choices))] + [
            int(params[f"s{i}"]) for i in range(switches)
        ]
        return _loss(self.number)(np.array(numbers), np.array(picked))


class _Choice:
    """One function of several, in units of its median over uniform points, and what the choice of it costs."""

    def __init__(self, number: int) -> None:
        drawn = np.random.default_rng([4024, number])
        self.dimension = int(drawn.integers(3, 7))
        self.names = sorted(drawn.choice(sorted(FAMILIES), int(drawn.integers(2, 5)), replace=False).tolist())
        self.functions = [getattr(wide_tasks, f"{name}_{self.dimension}") for name in self.names]
        points = [{f"x{i}": float(u) for i, u in enumerate(row)} for row in drawn.random((SCALED_BY, self.dimension))]
        self.medians = [float(np.median([task.function(point) for point in points])) for task in self.functions]
        self.costs = drawn.uniform(0.02, 0.3, len(self.names))
        self.costs[int(drawn.integers(len(self.names)))] = 0.0

    def __call__(self, params: Mapping[str, Any]) -> float:
        k = self.names.index(params["function"])
        numbers = {f"x{i}": params[f"x{i}"] for i in range(self.dimension)}
        return float(self.functions[k].function(numbers) / self.medians[k] + self.costs[k])


@cache
def _choice(number: int) -> _Choice:
    return _Choice(number)


def __getattr__(name: str) -> FunctionTask:
    """The task `mixed_NUMBER` or `choice_NUMBER`."""
    family, _, number = name.rpartition("_")
    if family not in ("mixed", "choice") or not number.isdecimal():
        raise AttributeError(f"no mixed development task {name!r}; they are mixed_0, choice_0 and so on.")
    if family == "choice":
        loss = _choice(int(number))
        numbers = {f"x{i}": Float(0.0, 1.0) for i in range(loss.dimension)}
        space = Space({**numbers, "function": Categorical(loss.names)})
        return FunctionTask(f"{__name__}:{name}", space, loss, optimum=0.0)
    optimum = None if int(number) % len(KINDS) == 2 else 0.0
    return FunctionTask(f"{__name__}:{name}", _space(int(number)), _Loss(int(number)), optimum=optimum)
