"""The frame of all maximizers: a climb, and what runs it within a budget.

A method is a climb: a callable that moves the restarts until it is done. A limit is not an error: the trace says which
restarts it stopped and holds the best so far.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import torch

from compbo.maximizers.budget import Clock, OutOfMemory, OutOfTime, fits, memory_watched
from compbo.maximizers.restarts import RestartBatch, values_on_fixed_draw
from compbo.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Generator, Tensor

    from compbo.types import Box, Budget, Oracle, Trace

logger = logging.getLogger(__name__)


class Traits(NamedTuple):
    """What a climb is: the columns of the catalogue that are read off it."""

    order: Literal[0, 1, 2]  # 0: values only, 1: gradients, 2: gradients and curvature
    rule: str  # name of the update rule or method
    tracker: str = "none"  # name of the tracker
    remembers: bool = False  # whether zeta is kept on all columns
    one_draw: bool = True  # whether the whole run sees one draw, so that values and ranks compare


class Climb(Protocol):
    """A method with its numbers settled."""

    @property
    def traits(self) -> Traits:
        """What the climb is: its order, rule and tracker."""
        ...

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> Status | Sequence[Status]:
        """Start the oracle and move the restarts; how they ended, all alike or one by one."""
        ...


class Maximisation(NamedTuple):
    """One call of a maximizer: oracle (what is climbed), budget (how long), box (bounds), generator (randomness)."""

    oracle: Oracle
    budget: Budget
    box: Box
    generator: Generator


def run_within(
    climb: Climb,
    oracle: Oracle,
    x0: Tensor,
    *,
    budget: Budget,
    box: Box,
    generator: Generator,
    record: bool = False,
) -> Trace:
    """The trace of a climb from the start points x0 (B, q, d), inside the box and within the budget.

    record: also keep the value (T, B) and the point (T, B, q, d) after every step.
    """
    task = Maximisation(oracle, budget, box, generator)
    restarts = RestartBatch(box.project(x0), Clock(budget.seconds), record)
    if not fits(oracle, len(x0), budget, climb.traits.remembers):
        return _start_points(task, restarts)
    ending: Status | Sequence[Status]
    try:
        with memory_watched():
            ending = climb(task, restarts)
    except OutOfTime:
        ending = Status.TIME
    except OutOfMemory as error:
        logger.warning("Stopped after %d steps: %s", restarts.info.steps, error)
        ending = Status.MEMORY
    if ending is Status.MEMORY and bool(restarts.info.start_value.isnan().all()):
        return _start_points(task, restarts)
    return restarts.trace(ending)


def _start_points(task: Maximisation, restarts: RestartBatch) -> Trace:
    """The trace of a maximisation that does not fit: the start points, with their values if those can be computed."""
    value = _start_values(task, restarts.x)
    restarts.best_value, restarts.info.value, restarts.info.start_value = value, value.clone(), value.clone()
    return restarts.trace(Status.MEMORY)


def _start_values(task: Maximisation, x: Tensor) -> Tensor:
    """Values at the start points, in chunks of restarts that fit into memory; NaN if not even one fits."""
    rows = len(x)
    while rows > 0:
        if fits(task.oracle, rows, task.budget):
            try:
                with memory_watched():
                    task.oracle.start(task.generator)
                    return torch.cat([values_on_fixed_draw(task.oracle, part).value for part in torch.split(x, rows)])
            except OutOfMemory as error:
                logger.warning("%d start points at a time do not fit: %s", rows, error)
        rows //= 2
    return x.new_full((len(x),), torch.nan)
