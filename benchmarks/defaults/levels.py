"""What was tried for batches in spaces with whole numbers, switches and choices.

A plugin of the study: `--plugin benchmarks.defaults.levels --grid benchmarks/defaults/levels.toml`. Method
`levels-NAME` is the default with another search over levels or other acquisition functions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from unittest.mock import patch

import compbo
from compbo.bo.levels import ROUNDING, ROUNDS, moves_from
from compbo.maximizers.budget import Clock
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method

if TYPE_CHECKING:
    from torch import Generator

    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.bo.choice import Chosen
    from compbo.bo.levels import Neighbours
    from compbo.study.methods.method import Point
    from compbo.types import Budget, Draw


def moved_as_a_whole(
    oracle: AcquisitionOracle,
    chosen: Chosen,
    common: Draw,
    neighbours: Neighbours,
    generator: Generator,
    budget: Budget,
) -> Chosen:
    """As earlier versions did: of all moves of all points the best one is made, at most eight of them.

    Args:
        oracle: the acquisition function.
        chosen: the best batch of the ascent.
        common: the sample on which values are compared.
        neighbours: of a point.
        generator: for the selection of moves, where there are many.
        budget: what is left of it.

    Returns:
        The same with another batch and value, or as it was.
    """
    clock = Clock(budget.seconds)
    for _ in range(ROUNDS):
        if clock.expired() or not math.isfinite(chosen.value):
            break
        moves = moves_from(chosen.batch, neighbours, generator)
        values = oracle.value(moves, common).nan_to_num(nan=-math.inf)
        top = int(values.argmax())
        if float(values[top]) <= chosen.value + ROUNDING * max(1.0, abs(chosen.value)):
            break
        chosen = chosen._replace(batch=moves[top], value=float(values[top]))
    return chosen


class AsAWhole(DefaultMethod):
    """The default with the earlier search over levels.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        with patch("compbo.bo.propose.moved_by_levels", moved_as_a_whole):
            return super().ask(count)


FARTHER = settings_with(acquisition=(compbo.UCB(4.0), "sr"))
register_method("levels-as-a-whole", MethodKind(AsAWhole, options=settings_with()))
register_method("levels-ucb4-sr", MethodKind(DefaultMethod, options=FARTHER))
register_method("levels-logei", MethodKind(DefaultMethod, options=settings_with(acquisition="logei")))
