"""The demonstration: Levy's function in 16 dimensions, its optimum moved to a random place, against random search."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compbo.run.api import minimize
from compbo.seeds import numpy_stream
from compbo.space import Float, Space

if TYPE_CHECKING:
    from rich.console import Group

    from compbo.run.result import Result

DIMENSIONS = 16
BATCH = 8
EVALUATIONS = 192
BOUND = 10.0


@dataclass(frozen=True)
class ShiftedLevy:
    """Levy's function with its minimum, 0, at `optimum` instead of (1, ..., 1)."""

    optimum: tuple[float, ...]

    @classmethod
    def seeded(cls, seed: int, dimensions: int = DIMENSIONS) -> ShiftedLevy:
        """The optimum uniform in the middle 80 % of the box."""
        draw = numpy_stream(seed, "demo", "optimum").uniform(-0.8 * BOUND, 0.8 * BOUND, dimensions)
        return cls(tuple(float(x) for x in draw.round(3)))

    @property
    def space(self) -> Space:
        """The box [-10, 10]^d."""
        return Space({f"x{i}": Float(-BOUND, BOUND) for i in range(1, len(self.optimum) + 1)})

    def __call__(self, params: dict[str, Any]) -> float:
        """sin^2(pi w_1) + sum (w_i - 1)^2 (1 + 10 sin^2(pi w_i + 1)) + (w_d - 1)^2 (1 + sin^2(2 pi w_d))."""
        w: list[float] = [1.0 + (x - o) / 4.0 for x, o in zip(params.values(), self.optimum, strict=True)]
        middle = sum((v - 1.0) ** 2 * (1.0 + 10.0 * math.sin(math.pi * v + 1.0) ** 2) for v in w[:-1])
        last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
        return math.sin(math.pi * w[0]) ** 2 + middle + last


@dataclass(frozen=True)
class Demo:
    """What the demonstration shows: the result, and the values of compbo and of random search.

    The best possible value is 0, so every value is a regret.
    """

    result: Result
    random: tuple[float, ...]  # regret of random search after every evaluation
    compbo: tuple[float, ...]  # regret of compbo after every evaluation


def run_demo(evaluations: int = EVALUATIONS, batch_size: int = BATCH, seed: int = 0, **options: Any) -> Demo:
    """The demonstration: compbo and random search on the same function, with the same number of evaluations.

    batch_size, seed, options: as for `minimize`.
    """
    levy = ShiftedLevy.seeded(seed)
    result = minimize(levy, levy.space, evaluations=evaluations, batch_size=batch_size, seed=seed, **options)
    draws = numpy_stream(seed, "demo", "random search").uniform(-BOUND, BOUND, (evaluations, len(levy.optimum)))
    random = [levy(dict(zip(levy.space.names, point.tolist(), strict=True))) for point in draws]
    values = [math.inf if record.value is None else record.value for record in result.records]
    return Demo(result, _best_so_far(random), _best_so_far(values))


def regret_table(demo: Demo) -> Group:
    """The best point, and the regret of both methods as the evaluations go by."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("after", justify="right")
    table.add_column("regret of compbo", justify="right")
    table.add_column("of random search", justify="right")
    total = len(demo.compbo)
    for count in sorted({total // 8, total // 4, total // 2, total}):
        table.add_row(str(count), f"{demo.compbo[count - 1]:.4g}", f"{demo.random[count - 1]:.4g}")
    best = demo.result.best_params or {}
    values = " ".join(f"{value:.3f}" for value in best.values())
    return Group(table, Text(f"best point  {values}"), Text(f"best value  {demo.result.best_value:.6g} (possible: 0)"))


def _best_so_far(values: list[float]) -> tuple[float, ...]:
    return tuple(min(values[: i + 1]) for i in range(len(values)))
