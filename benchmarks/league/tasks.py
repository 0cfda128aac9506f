"""Tasks of the league that the study does not have: two classics in few dimensions, five mixed spaces.

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


def _rosenbrock(x: float, y: float) -> float:
    return (100 * (y - x**2) ** 2 + (x - 1) ** 2) / 300


def _camel(x: float, y: float) -> float:
    return ((4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2) / 10


def _beale(x: float, y: float) -> float:
    return ((1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2) / 50


def sums(choices: int) -> FunctionTask:
    """Func2C or Func3C (Ru et al., Bayesian optimisation over multiple continuous and categorical inputs, 2020).

    Two numbers in [-2, 2] and two or three choices of three, five and four, which decide what is added up:
    Rosenbrock's function, the six-hump camel, Beale's function. The best is the camel, as often as it can be had.
    """
    seconds = ["rosenbrock", "camel", "beale", "beale 3", "beale 4"]
    space = Space(
        {
            "first": Categorical(["rosenbrock", "camel", "beale"]),
            "second": Categorical(seconds),
            **({"third": Categorical(["camel", "rosenbrock", "beale", "beale again"])} if choices == 3 else {}),
            "x": Float(-2.0, 2.0),
            "y": Float(-2.0, 2.0),
        }
    )
    functions = {"rosenbrock": _rosenbrock, "camel": _camel, "beale": _beale}
    weights = {"rosenbrock": 2.0, "camel": 5.0}

    def loss(params: Mapping[str, Any]) -> float:
        at = params["x"], params["y"]
        first, second = (params[name].split()[0] for name in ("first", "second"))
        value = functions[first](*at) + functions[second](*at)
        if choices == 3:
            third = params["third"].split()[0]
            value += weights.get(third, seconds.index(params["second"])) * functions[third](*at)
        return float(value)

    return FunctionTask(f"func{choices}c", space, loss, optimum=CAMEL * (2 if choices == 2 else 7))


CAMEL = -0.10316284534898774  # the smallest value of its tenth
SWITCHES = 20


def ackley_switches() -> FunctionTask:
    """Ackley's function of 20 switches and three numbers; its best place is drawn at random."""
    drawn = np.random.default_rng(2111)
    on, place = drawn.integers(0, 2, SWITCHES).astype(bool), drawn.uniform(-0.8, 0.8, 3)
    space = Space({**{f"s{i + 1}": Bool() for i in range(SWITCHES)}, **{f"x{i + 1}": Float(-1, 1) for i in range(3)}})

    def loss(params: Mapping[str, Any]) -> float:
        wrong = np.array([params[f"s{i + 1}"] for i in range(SWITCHES)]) != on
        z = np.concatenate([wrong.astype(float), np.array([params[f"x{i + 1}"] for i in range(3)]) - place])
        root, mean = np.sqrt((z**2).mean()), np.cos(2 * np.pi * z).mean()
        return float(20 * (1 - np.exp(-0.2 * root)) + math.e - np.exp(mean))

    return FunctionTask("ackley-switches-23", space, loss, optimum=0.0)


MIXED = ("machine-10", "pressure-vessel", "func2c", "func3c", "ackley-switches-23")
TASKS: dict[str, Callable[[int], FunctionTask]] = {
    "branin-2": lambda seed: branin(),  # noqa: ARG005
    "hartmann-6": lambda seed: hartmann(),  # noqa: ARG005
    "machine-10": lambda seed: machine(),  # noqa: ARG005
    "pressure-vessel": lambda seed: pressure_vessel(),  # noqa: ARG005
    "func2c": lambda seed: sums(2),  # noqa: ARG005
    "func3c": lambda seed: sums(3),  # noqa: ARG005
    "ackley-switches-23": lambda seed: ackley_switches(),  # noqa: ARG005
}
