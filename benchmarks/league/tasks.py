"""Tasks of the league that the study does not have: two classics in few dimensions, two mixed spaces.

The defaults were chosen on other tasks (benchmarks/defaults/tasks.py).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compbo.space import Bool, Categorical, Float, Int, Space
from compbo.study.tasks import FunctionTask
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COATINGS, SHAPES = ("none", "zinc", "tin", "nickel", "epoxy"), ("round", "square", "hexagon", "star")


@cache
def _botorch(name: str) -> Any:
    from botorch import test_functions

    return getattr(test_functions, name)()


def _classic(name: str, function: str, optimum: float) -> FunctionTask:
    lower, upper = _botorch(function).bounds.tolist()
    space = Space({f"x{i + 1}": Float(a, b) for i, (a, b) in enumerate(zip(lower, upper, strict=True))})

    def loss(params: Mapping[str, Any]) -> float:
        return float(_botorch(function).evaluate_true(torch.tensor(list(params.values()), dtype=DTYPE)))

    return FunctionTask(name, space, loss, optimum=optimum)


def branin() -> FunctionTask:
    """Branin's function: three equal minima in two dimensions."""
    return _classic("branin-2", "Branin", 0.39788735772973816)


def hartmann() -> FunctionTask:
    """Hartmann's function in six dimensions."""
    return _classic("hartmann-6", "Hartmann", -3.322368011391339)


def pressure_vessel() -> FunctionTask:
    """The cost of a pressure vessel (Sandgren, 1990): two thicknesses in sixteenths of an inch, a radius, a length.

    What the four constraints are violated by, each in units of its bound, multiplies the cost. The smallest cost is
    that of the literature, 6059.714.
    """
    space = Space({"shell": Int(1, 99), "head": Int(1, 99), "radius": Float(10.0, 200.0), "length": Float(10.0, 200.0)})

    def loss(params: Mapping[str, Any]) -> float:
        shell, head = 0.0625 * params["shell"], 0.0625 * params["head"]
        r, length = params["radius"], params["length"]
        volume = math.pi * r**2 * length + 4.0 / 3.0 * math.pi * r**3
        cost = 0.6224 * shell * r * length + 1.7781 * head * r**2 + 3.1661 * shell**2 * length + 19.84 * shell**2 * r
        violated = (0.0193 * r / shell - 1, 0.00954 * r / head - 1, 1_296_000 / volume - 1, length / 240 - 1)
        return float(cost * (1 + 10 * sum(max(v, 0.0) for v in violated)))

    return FunctionTask("pressure-vessel", space, loss, optimum=6059.714335)


def machine() -> FunctionTask:
    """Settings of a machine: four real numbers, three whole ones, two choices and a switch.

    A bowl in the numbers, whose place depends on the shape, with ripples; every coating under every shape, and the
    switch under every coating, add a cost. The best of all combinations costs nothing.
    """
    numbers = np.random.default_rng(2107)
    place = numbers.uniform(0.2, 0.8, (len(SHAPES), 7))
    place[:, 4:] = np.round(place[:, 4:] * 20) / 20  # where whole numbers are
    coating = numbers.uniform(0.1, 1.0, (len(COATINGS), len(SHAPES)))
    coating[2, 3] = 0.0
    switch = numbers.uniform(0.05, 0.5, (len(COATINGS), 2))
    switch[2, 1] = 0.0
    space = Space(
        {
            **{f"x{i + 1}": Float(0.0, 1.0) for i in range(4)},
            **{f"n{i + 1}": Int(0, 20) for i in range(3)},
            "coating": Categorical(COATINGS),
            "shape": Categorical(SHAPES),
            "switch": Bool(),
        }
    )

    def loss(params: Mapping[str, Any]) -> float:
        shape, coat = SHAPES.index(params["shape"]), COATINGS.index(params["coating"])
        reals, wholes = [params[f"x{i + 1}"] for i in range(4)], [params[f"n{i + 1}"] / 20 for i in range(3)]
        away = np.array([*reals, *wholes]) - place[shape]
        bowl = float((away**2).sum() + 0.05 * (1 - np.cos(6 * math.pi * away)).mean())
        return 4 * bowl + float(coating[coat, shape] + switch[coat, int(params["switch"])])

    return FunctionTask("machine-10", space, loss, optimum=0.0)


MIXED = ("machine-10", "pressure-vessel")
TASKS: dict[str, Callable[[int], FunctionTask]] = {
    "branin-2": lambda seed: branin(),  # noqa: ARG005
    "hartmann-6": lambda seed: hartmann(),  # noqa: ARG005
    "machine-10": lambda seed: machine(),  # noqa: ARG005
    "pressure-vessel": lambda seed: pressure_vessel(),  # noqa: ARG005
}
