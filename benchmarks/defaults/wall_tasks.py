"""Development tasks with walls: most points violate a constraint, and the penalty is a hundred to ten thousand costs.

Tasks of the study by their import path, as those of `benchmarks.defaults.tasks`: the transform of the values is chosen
on them. `beam` and `gearbox` are known problems of mechanical design, here with whole numbers and in boxes of our own;
their smallest costs are those of searches over all whole numbers (SLSQP in the others, from several starts).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.space import Float, Int, Space
from compbo.study.tasks import FunctionTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

BEAM_OPTIMUM = 1.8812386932770537  # weld and width 4/16 inch, length 2.9879, depth 8.1976
GEARBOX_OPTIMUM = (
    2584.1275124793293  # 13 teeth, face 6, module 0.62611, lengths 6.9348 and 7.7170, shafts 3.3565, 5.2881
)
LARGEST = 100.0  # of a violation: beyond it the penalty is constant
CLIFF, STEEPNESS = 1e4, 1e5  # of the walls of `cliffs`: their height, and what they rise by behind it


def beam(seed: int) -> FunctionTask:  # noqa: ARG001 - no noise
    """The cost of a welded beam (Ragsdell and Phillips, 1976); weld and width in sixteenths of an inch."""
    space = Space({"weld": Int(2, 32), "length": Float(0.1, 10.0), "depth": Float(0.1, 10.0), "width": Int(2, 32)})
    return _design("beam", space, beam_cost, BEAM_OPTIMUM)


def gearbox(seed: int) -> FunctionTask:  # noqa: ARG001 - no noise
    """The weight of a speed reducer (Golinski, 1970) with a whole number of teeth."""
    space = Space(
        {
            "face": Float(3.0, 6.0),
            "module": Float(0.6, 0.9),
            "teeth": Int(12, 32),
            "length1": Float(6.0, 11.0),
            "length2": Float(6.0, 11.0),
            "shaft1": Float(3.0, 5.0),
            "shaft2": Float(5.0, 6.5),
        }
    )
    return _design("gearbox", space, gearbox_cost, GEARBOX_OPTIMUM)


def cliffs(seed: int) -> FunctionTask:  # noqa: ARG001 - no noise
    """A rotated bowl in six dimensions, whose cost differs by a few per cent, and three walls close to its bottom."""
    numbers = np.random.default_rng(53)
    place = numbers.uniform(0.3, 0.7, 6)
    rotation = np.linalg.qr(numbers.standard_normal((6, 6)))[0]
    walls = numbers.standard_normal((3, 6))
    walls /= np.linalg.norm(walls, axis=1, keepdims=True)
    weight, gaps = 30.0 ** (np.arange(6) / 5), numbers.uniform(0.05, 0.3, 3)
    space = Space({f"x{i}": Float(0.0, 1.0) for i in range(6)})

    def loss(params: Mapping[str, Any]) -> float:
        away = np.array([params[f"x{i}"] for i in range(6)]) - place
        behind = float(np.maximum(walls @ away - gaps, 0.0).sum())
        cost = 100.0 + float(weight @ (rotation @ away) ** 2)
        return cost if behind == 0.0 else cost + CLIFF + STEEPNESS * behind

    return FunctionTask(f"{__name__}:cliffs", space, loss, optimum=100.0)


def _design(
    name: str, space: Space, cost_of: Callable[..., tuple[float, NDArray[np.float64]]], optimum: float
) -> FunctionTask:
    """The task of a cost with constraints g <= 0: what violates them multiplies the cost by up to 10,000."""

    def loss(params: Mapping[str, Any]) -> float:
        cost, constraints = cost_of(*(params[part] for part in space.names))
        return float(cost * (1.0 + 100.0 * min(float(np.maximum(constraints, 0.0).sum()), LARGEST)))

    return FunctionTask(f"{__name__}:{name}", space, loss, optimum=optimum)


def beam_cost(weld: float, length: float, depth: float, width: float) -> tuple[float, NDArray[np.float64]]:
    """Cost and constraints g <= 0 of a beam with these numbers."""
    h, b = weld / 16, width / 16
    load, reach, young, shear_modulus = 6000.0, 14.0, 30e6, 12e6
    cost = 1.10471 * h * h * length + 0.04811 * depth * b * (reach + length)
    arm = math.sqrt(length**2 / 4 + ((h + depth) / 2) ** 2)
    polar = 2 * math.sqrt(2) * h * length * (length**2 / 12 + ((h + depth) / 2) ** 2)
    primary, secondary = load / (math.sqrt(2) * h * length), load * (reach + length / 2) * arm / polar
    shear = math.sqrt(primary**2 + primary * secondary * length / arm + secondary**2)
    bending, sag = 6 * load * reach / (b * depth**2), 4 * load * reach**3 / (young * depth**3 * b)
    slender = 1 - depth / (2 * reach) * math.sqrt(young / (4 * shear_modulus))
    buckling = 4.013 * young * depth * b**3 / 6 / reach**2 * slender
    return cost, np.array([shear / 13_600, bending / 30_000, h / b, sag / 0.25, load / buckling]) - 1


def gearbox_cost(
    face: float, module: float, teeth: float, length1: float, length2: float, shaft1: float, shaft2: float
) -> tuple[float, NDArray[np.float64]]:
    """Weight and constraints g <= 0 of a gearbox with these numbers."""
    gear = 0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
    bores = 1.508 * face * (shaft1**2 + shaft2**2)
    shafts = 7.4777 * (shaft1**3 + shaft2**3) + 0.7854 * (length1 * shaft1**2 + length2 * shaft2**2)
    wheel = module * teeth
    limits = [
        27 / (wheel * face * module),
        397.5 / (face * wheel**2),
        1.93 * length1**3 / (wheel * shaft1**4),
        1.93 * length2**3 / (wheel * shaft2**4),
        math.hypot(745 * length1 / wheel, math.sqrt(16.9e6)) / (110 * shaft1**3),
        math.hypot(745 * length2 / wheel, math.sqrt(157.5e6)) / (85 * shaft2**3),
        wheel / 40,
        5 * module / face,
        face / (12 * module),
        (1.5 * shaft1 + 1.9) / length1,
        (1.1 * shaft2 + 1.9) / length2,
    ]
    return gear - bores + shafts, np.array(limits) - 1
