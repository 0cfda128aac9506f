"""Rounded parameters in a maximisation: other levels and choices where it begins, and a search over them at its end.

A small perturbation does not flip a switch, and a gradient says nothing about another choice. With
`StartPolicy.levels` some batches begin at other levels than the incumbents', and the chosen batch moves from level to
level while that pays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from compbo.maximizers.budget import Clock
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Generator, Tensor

    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.bo.choice import Chosen
    from compbo.types import Budget, Draw

    Neighbours = Callable[[Tensor], Tensor]  # x (d,) -> (m, d): one rounded parameter one level away

SWITCHED = 1.0  # rounded parameters that are drawn again on average, where there are more than two
MOST_SWITCHED = 0.5  # probability for one of them
MOST_MOVES = 256  # moves that are tried at once; in all, ROUNDS times this number
ROUNDS = 8  # moves of a point, at most
TURNS = 2  # of every point, where there are more moves than can be tried
ROUNDING = 1e-9  # relative to a value of at least 1: a smaller gain is none


def switched(x: Tensor, rounded: Tensor, generator: Generator) -> Tensor:
    """Points x (..., d) of the unit cube with some of their rounded parameters drawn again, uniformly.

    rounded (d,): the number of the rounded parameter that a column belongs to; -1 where it is not rounded.
    """
    count = int(rounded.max()) + 1
    drawn = torch.rand((*x.shape[:-1], count), dtype=DTYPE, generator=generator) < min(MOST_SWITCHED, SWITCHED / count)
    again = torch.where(rounded >= 0, drawn[..., rounded.clamp_min(0)], False)
    return torch.where(again, torch.rand(x.shape, dtype=DTYPE, generator=generator), x)


def moves_from(batch: Tensor, neighbours: Neighbours, generator: Generator) -> Tensor:
    """The batch (q, d) with one rounded parameter of one point a level up or down, or at another choice: (S, q, d).

    All there are, or a random selection of them.
    """
    near = [neighbours(point) for point in batch]
    moved = torch.arange(len(batch)).repeat_interleave(torch.tensor([len(p) for p in near]))
    points = torch.cat(near)
    some = selection(len(points), MOST_MOVES, generator)
    return with_points(batch, moved[some], points[some])


def moves_of(batch: Tensor, i: int, neighbours: Neighbours, most: int, generator: Generator) -> Tensor:
    """The batch (q, d) with point i at one of its neighbours, at most `most` of them: (S, q, d)."""
    points = neighbours(batch[i])
    points = points[selection(len(points), most, generator)]
    return with_points(batch, torch.full((len(points),), i), points)


def selection(count: int, most: int, generator: Generator) -> Tensor:
    """The numbers below `count`, or `most` of them, drawn at random."""
    return torch.arange(count) if count <= most else torch.randperm(count, generator=generator)[:most]


def with_points(batch: Tensor, replaced: Tensor, points: Tensor) -> Tensor:
    """Copies (m, q, d) of a batch; in each the point of index `replaced` (m,) gives way to one of points (m, d)."""
    copies = batch.repeat(len(points), 1, 1)
    copies[torch.arange(len(points)), replaced] = points
    return copies


def moved_by_levels(
    oracle: AcquisitionOracle,
    chosen: Chosen,
    common: Draw,
    neighbours: Neighbours,
    generator: Generator,
    budget: Budget,
) -> Chosen:
    """The chosen batch after moves to other levels and choices: each point in turn makes its best one, while one gains.

    Args:
        oracle: the acquisition function.
        chosen: the best batch of the ascent.
        common: the sample on which values are compared.
        neighbours: of a point.
        generator: for the selection of moves, where there are many.
        budget: what is left of it; no move begins after its seconds.

    Returns:
        The same with another batch and value, or as it was.
    """
    clock = Clock(budget.seconds)
    q = len(chosen.batch)
    most = max(1, min(MOST_MOVES, ROUNDS * MOST_MOVES // (TURNS * q)))  # of a turn, so that the last point has its own
    tried = stayed = 0  # moves; turns in a row in which none gained
    for turn in range(ROUNDS * q):
        if clock.expired() or stayed == q or tried >= ROUNDS * MOST_MOVES or not math.isfinite(chosen.value):
            break
        moves = moves_of(chosen.batch, turn % q, neighbours, most, generator)
        values = oracle.value(moves, common)
        values = values.masked_fill(values.isnan(), -math.inf)
        top = int(values.argmax())
        tried += len(moves)
        stayed += 1
        if float(values[top]) > chosen.value + ROUNDING * max(1.0, abs(chosen.value)):
            chosen, stayed = chosen._replace(batch=moves[top], value=float(values[top])), 0
    return chosen
