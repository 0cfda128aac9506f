"""The library as it comes, and the same with one option changed: what a choice of the defaults is worth."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import compbo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Method, Point
    from compbo.study.tasks import Task

# Options of `compbo.Optimizer` by the name of the method; everything else is the default.
VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "compbo": {},
        "compbo-plain": {"outputs": "none", "acquisition": "ucb"},
        "compbo-outputs-none": {"outputs": "none"},
        "compbo-outputs-log": {"outputs": "log"},
        "compbo-ucb": {"acquisition": "ucb"},
        "compbo-sr": {"acquisition": "sr"},
        "compbo-logei": {"acquisition": "logei"},
        "compbo-ucb-sr-logei": {"acquisition": ("ucb", "sr", "logei")},
        "compbo-cadam": {"maximizer": "CAdam"},
        "compbo-adam": {"maximizer": "Adam-ERM"},
        "compbo-random": {"maximizer": "RS"},
        "compbo-around-90": {"starts": compbo.StartPolicy(around_incumbents=0.9)},
        "compbo-dimension-scaled": {"priors": "dimension-scaled"},
    }
)


class DefaultMethod:
    """`compbo.Optimizer` with its defaults, but for the options of a variant.

    Args:
        cell: the experiment; its batch and its seed are used.
        task: of the cell.
        options: of `compbo.Optimizer`.
    """

    def __init__(self, cell: Cell, task: Task, options: Mapping[str, Any]) -> None:
        self._optimizer = compbo.Optimizer(
            task.space,
            batch_size=cell.batch,
            seed=cell.seed,
            initial_points=1,  # the initial design is told, the same to every method
            **options,
        )

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        return self._optimizer.ask(count)

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._optimizer.tell(points, losses)

    @property
    def last_ask(self) -> Mapping[str, Any]:
        """The telemetry of the last ask."""
        return self._optimizer.telemetry[-1].to_dict()


def make_variant(name: str) -> Callable[[Cell, Task], Method]:
    """What makes the method of a variant.

    Args:
        name: a key of `VARIANTS`.

    Returns:
        A function of a cell and its task.
    """

    def make(cell: Cell, task: Task) -> Method:
        return DefaultMethod(cell, task, VARIANTS[name])

    return make
