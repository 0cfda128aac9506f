"""The library as it comes, and the same with one option changed: what a choice of the defaults is worth."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import compbo
from compbo.study.cell import Pairs, sorted_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
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
        "compbo-ucb4-sr": {"acquisition": (compbo.UCB(4.0), "sr")},
        "compbo-ucb05-sr": {"acquisition": (compbo.UCB(0.5), "sr")},
        "compbo-cadam": {"maximizer": "CAdam"},
        "compbo-adam": {"maximizer": "Adam-ERM"},
        "compbo-random": {"maximizer": "RS"},
        "compbo-adamos": {"maximizer": "AdamOS-ERM"},
        "compbo-sox": {"maximizer": "SOX"},
        "compbo-msvr": {"maximizer": "MSVR"},
        "compbo-race": {"starts": compbo.StartPolicy(race=True)},
        "compbo-race-polish": {"starts": compbo.StartPolicy(race=True, polish=True)},
        "compbo-around-90": {"starts": compbo.StartPolicy(around_incumbents=0.9)},
        "compbo-cadam-90": {"maximizer": "CAdam", "starts": compbo.StartPolicy(around_incumbents=0.9)},
        "compbo-adamos-90": {"maximizer": "AdamOS-ERM", "starts": compbo.StartPolicy(around_incumbents=0.9)},
        "compbo-dimension-scaled": {"priors": "dimension-scaled"},
        "compbo-warped": {"inputs": "warped"},
        "compbo-no-levels": {"starts": compbo.StartPolicy(levels=False)},
        "compbo-model-128": {"model_points": 128},
    }
)


FROM_CELL = ("batch_size", "seed", "direction")
UNNAMED = {"inputs": compbo.Settings.LATER["inputs"]}  # so that cells from before this option are the same as now


def settings_of(variant: str) -> Pairs:
    """Every setting of a variant as JSON. They are part of a cell: when a default changes, so does the cell.

    Args:
        variant: a key of `VARIANTS`.

    Returns:
        As `settings_with`.

    >>> dict(settings_of("compbo-outputs-none"))["outputs"]
    '"none"'
    """
    return settings_with(**VARIANTS[variant])


def settings_with(**changed: Any) -> Pairs:
    """Every setting of the default with some of them changed, as JSON.

    Args:
        changed: options of `compbo.Settings`.

    Returns:
        The settings by name, except those that a cell has as fields of its own and later options that are not used.
    """
    # The initial design is told, the same to every method.
    settings = compbo.Settings(initial_points=1, **changed).to_dict()
    named = {name: value for name, value in settings.items() if UNNAMED.get(name, ...) != value}
    return sorted_pairs({name: json.dumps(value) for name, value in named.items() if name not in FROM_CELL})


class DefaultMethod:
    """`compbo.Optimizer` with the settings of a variant.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    def __init__(self, cell: Cell, task: Task) -> None:
        written = {name: json.loads(str(value)) for name, value in cell.method.hyperparameters}
        settings = compbo.Settings.from_dict(
            {**written, "batch_size": cell.batch, "seed": cell.seed, "direction": "minimize"}
        )
        self._optimizer = compbo.Optimizer(task.space, **vars(settings))

    @property
    def settings(self) -> compbo.Settings:
        """What determines the suggestions, beside the space and the history."""
        return self._optimizer.settings

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        return list(self._optimizer.ask(count))

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._optimizer.tell(points, losses)

    @property
    def last_ask(self) -> Mapping[str, Any]:
        """The telemetry of the last ask."""
        return self._optimizer.telemetry[-1].to_dict()


class SequentialMethod(DefaultMethod):
    """The library as it comes, asked for one point after the other: sequential-greedy batches.

    Every point is chosen beside the earlier ones of its batch, which are pending.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    def ask(self, count: int) -> list[Point]:
        """The next points, one by one."""
        return [point for _ in range(count) for point in super(SequentialMethod, self).ask(1)]
