"""The initial design: the points before there is a model."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import torch

from compbo.bo.history import point_key
from compbo.seeds import next_seed, stream
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from compbo.bo.history import History, Point
    from compbo.bo.settings import Settings
    from compbo.space import Space

BLOCK = 64  # points drawn at a time
MOST_MISSES = 4096  # points in a row that were seen before: the space is taken for used up, and one is repeated


def design_size(space: Space, settings: Settings) -> int:
    """Points of the initial design: two per dimension, at most 16, at least one batch, unless the number was given."""
    if settings.initial_points is not None:
        return settings.initial_points
    return max(settings.batch_size, min(2 * space.dim, 16), 2)


def design_points(space: Space, settings: Settings, history: History, count: int) -> list[Point]:
    """The first `count` points of the seeded sequence that the history does not have.

    Where points may repeat, those that follow in the sequence.
    """
    sequence = _sequence(space, settings)
    if history.repeats_allowed:
        return list(islice(sequence, history.size, history.size + count))
    seen = {point_key(point) for point in history.points}
    points: list[Point] = []
    misses = 0
    while len(points) < count:
        point = next(sequence)
        fresh = point_key(point) not in seen
        misses = 0 if fresh else misses + 1
        if fresh or misses > MOST_MISSES:
            seen.add(point_key(point))
            points.append(point)
    return points


def _sequence(space: Space, settings: Settings) -> Iterator[Point]:
    """The design of the seed, without end."""
    generator = stream(settings.seed, "initial design", settings.initial_design)
    blocks = _sobol(space, generator) if settings.initial_design == "sobol" else _uniform(space, generator)
    for block in blocks:
        yield from space.from_unit(block)


def _uniform(space: Space, generator: torch.Generator) -> Iterator[Tensor]:
    while True:
        yield torch.rand(BLOCK, space.dim, dtype=DTYPE, generator=generator)


def _sobol(space: Space, generator: torch.Generator) -> Iterator[Tensor]:
    most = torch.quasirandom.SobolEngine.MAXDIM
    if space.dim > most:
        raise ValueError(
            f'A Sobol sequence has at most {most} dimensions, the space has {space.dim}: set initial_design="uniform".'
        )
    engine = torch.quasirandom.SobolEngine(space.dim, scramble=True, seed=next_seed(generator))  # type: ignore[no-untyped-call]
    while True:
        yield engine.draw(BLOCK, dtype=DTYPE)
