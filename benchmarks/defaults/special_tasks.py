"""Development tasks with whole numbers and choices, and with noise: what the default does there is chosen on them.

Tasks of the study by their import path, as those of `benchmarks.defaults.tasks`: `blend`, `joint` and `switches` are
mixed; `griewank_normal10_20` is a loss of that module with noise of 10 % of its range, Gaussian (normal) or Student's t
with two degrees of freedom (student). The range is that over 2000 uniform points; what is judged is the loss without
noise.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks.defaults import tasks
from compbo.seeds import numpy_stream
from compbo.space import Bool, Categorical, Float, Int, Space
from compbo.study.tasks import FunctionTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOISES = ("normal", "student")
RANGE_POINTS = 2000  # uniform points over which the range of a loss is taken
SOLVENTS, CATALYSTS, VESSELS = ("water", "ethanol", "acetone", "hexane"), ("iron", "cobalt", "copper"), ("a", "b", "c")


def blend(seed: int) -> FunctionTask:  # noqa: ARG001 - no noise
    """Three choices, two whole numbers and three real ones: the best numbers depend on the choices, which interact."""
    numbers = np.random.default_rng(31)
    place = numbers.uniform(0.1, 0.9, (len(SOLVENTS), 3))
    stirring, passes = numbers.integers(1, 10, len(CATALYSTS)), numbers.integers(1, 6, len(VESSELS))
    cost = numbers.uniform(0.1, 1.0, (len(SOLVENTS), len(CATALYSTS), len(VESSELS)))
    cost[1, 2, 0] = 0.0
    space = Space(
        {
            "solvent": Categorical(SOLVENTS),
            "catalyst": Categorical(CATALYSTS),
            "vessel": Categorical(VESSELS),
            "stirring": Int(0, 10),
            "passes": Int(1, 6),
            **{f"x{i}": Float(0.0, 1.0) for i in range(3)},
        }
    )

    def loss(params: Mapping[str, Any]) -> float:
        s, c, v = (
            SOLVENTS.index(params["solvent"]),
            CATALYSTS.index(params["catalyst"]),
            VESSELS.index(params["vessel"]),
        )
        away = np.array([params[f"x{i}"] for i in range(3)]) - place[s]
        turns, rounds = (params["stirring"] - stirring[c]) / 10, (params["passes"] - passes[v]) / 5
        bowl = float((away**2).sum()) + (turns + 0.5 * away[0]) ** 2 + (rounds - 0.5 * away[1]) ** 2
        return 3.0 * bowl + float(cost[s, c, v])

    return FunctionTask(f"{__name__}:blend", space, loss, optimum=0.0)


def joint(seed: int) -> FunctionTask:  # noqa: ARG001 - no noise
    """The cost of a bolted joint: bolts, plies and rows are whole numbers; what is too weak multiplies the cost.

    The smallest cost is the best of a search over all whole numbers.
    """
    space = Space(
        {
            "bolts": Int(2, 60),
            "plies": Int(1, 80),
            "rows": Int(1, 6),
            "diameter": Float(2.0, 30.0),
            "width": Float(20.0, 300.0),
        }
    )

    def loss(params: Mapping[str, Any]) -> float:
        return joint_cost(*(params[name] for name in space.names))

    return FunctionTask(f"{__name__}:joint", space, loss, optimum=JOINT_OPTIMUM)


JOINT_OPTIMUM = 179.81386751243608  # 3 bolts, 47 plies, 6 rows, diameter 28.369, width 56.738


def joint_cost(bolts: float, plies: float, rows: float, diameter: float, width: float) -> float:
    """Of a joint with these numbers."""
    thickness = 0.25 * plies
    cost = 0.02 * width * thickness * 10 + bolts * (0.5 + 0.01 * diameter**2) + 3.0 * rows + 0.05 * width
    shear = 6_000 / (bolts * diameter**2 * 2.5)
    bearing = 6_000 / (bolts * diameter * thickness * 6.0)
    tension = 6_000 / (max(width - bolts / rows * diameter, 1.0) * thickness * 12.0)
    spacing = 3.0 * diameter * bolts / rows / width
    return float(cost * (1.0 + 10.0 * sum(max(share - 1.0, 0.0) for share in (shear, bearing, tension, spacing))))


def switches(seed: int) -> FunctionTask:  # noqa: ARG001 - no noise
    """Eight switches that interact in pairs, and four real numbers whose best values depend on two of the switches."""
    numbers = np.random.default_rng(37)
    alone, together = numbers.normal(0, 0.3, 8), np.triu(numbers.normal(0, 0.3, (8, 8)), 1)
    place = numbers.uniform(0.15, 0.85, (2, 2, 4))

    def cost(on: np.ndarray) -> float:
        return float(alone @ on + on @ together @ on)

    least = min(cost(np.array(on)) for on in itertools.product((-1, 1), repeat=8))
    space = Space({**{f"s{i}": Bool() for i in range(8)}, **{f"x{i}": Float(0.0, 1.0) for i in range(4)}})

    def loss(params: Mapping[str, Any]) -> float:
        on = np.array([1 if params[f"s{i}"] else -1 for i in range(8)])
        away = np.array([params[f"x{i}"] for i in range(4)]) - place[int(params["s0"]), int(params["s1"])]
        return cost(on) - least + 4.0 * float((away**2).sum())

    return FunctionTask(f"{__name__}:switches", space, loss, optimum=0.0)


@dataclass(frozen=True)
class NoisyTask:
    """A loss of `benchmarks.defaults.tasks` with noise that depends on the seed and the point only.

    Args:
        family: of that module.
        dimension: d.
        kind: of the noise, one of `NOISES`.
        percent: its scale, in percent of the range of the loss.
        seed: of the noise.
    """

    family: str
    dimension: int
    kind: str
    percent: int
    seed: int
    noisy = True
    reference = None

    @property
    def name(self) -> str:
        """The spec."""
        return f"{__name__}:{self.family}_{self.kind}{self.percent}_{self.dimension}"

    @property
    def _exact(self) -> FunctionTask:
        task: FunctionTask = getattr(tasks, f"{self.family}_{self.dimension}")
        return task

    @property
    def space(self) -> Space:
        """The unit cube."""
        return self._exact.space

    @property
    def direction(self) -> Literal["minimize"]:
        """A loss."""
        return "minimize"

    @property
    def optimum(self) -> float | None:
        """Of the loss without noise."""
        return self._exact.optimum

    def true_value(self, params: Mapping[str, Any]) -> float:
        """The loss of a point (params) without noise."""
        return self._exact.evaluate(params)

    def evaluate(self, params: Mapping[str, Any]) -> float:
        """The loss of a point (params) with noise."""
        stream = numpy_stream(self.seed, "noise", self.name, list(params.values()))
        drawn = stream.standard_t(2) if self.kind == "student" else stream.standard_normal()
        return self.true_value(params) + self.percent / 100 * _range(self.family, self.dimension) * float(drawn)

    def generalisation(self, params: Mapping[str, Any]) -> None:  # noqa: ARG002
        """None: there is no held-out data."""
        return


@cache
def _range(family: str, d: int) -> float:
    """Of a loss over uniform points."""
    loss, _ = tasks.FAMILIES[family]
    evaluate = loss(d)
    return float(np.ptp([evaluate(u) for u in np.random.default_rng(41).random((RANGE_POINTS, d))]))


def __getattr__(name: str) -> Callable[[int], NoisyTask]:
    """The noisy task `family_noisePERCENT_dimension`, as a function of the seed."""
    match = re.fullmatch(rf"({'|'.join(tasks.FAMILIES)})_({'|'.join(NOISES)})(\d+)_(\d+)", name)
    if match is None:
        raise AttributeError(f"no development task {name!r}; noisy ones are written as griewank_normal10_20.")
    family, kind, percent, d = match.groups()
    return lambda seed: NoisyTask(family, int(d), kind, int(percent), seed)
