"""No point twice: a point of a batch that was evaluated, or is pending, gives way to the best one that was not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import FreshSamples
from compbo.bo.history import point_key
from compbo.bo.starts import around
from compbo.surrogate.posterior import with_pending
from compbo.types import Box
from compbo.words import counted

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.bo.history import History, Point
    from compbo.bo.propose import AcquisitionProblem
    from compbo.space import Space

CANDIDATES = 256  # to replace one point by, where the space is too large to be searched whole
ENUMERABLE = 4096  # a space of at most this many points is searched whole


class Distinct(NamedTuple):
    """Valid points; how many of them are replaced; and a note that says so, to be added to a reason."""

    points: list[Point]
    replaced: int
    note: str


def distinct_points(
    space: Space, history: History, batch: Tensor, problem: AcquisitionProblem, *, noisy: bool, generator: Generator
) -> Distinct:
    """The batch (q, d) as valid points; one that was evaluated, is pending or stands twice in it is replaced.

    problem: what was maximised; a replacement has the best value of it beside the rest of the batch.
    noisy: noise was declared, so that repeating an evaluation is legitimate, unless it failed.
    """
    points = space.from_unit(batch)
    if history.repeats_allowed:
        return Distinct(points, 0, "")
    taken = _taken(history, noisy=noisy)
    replaced, repeated = 0, 0
    for i, point in enumerate(points):
        if point_key(point) in taken:
            substitute = _substitute(space, i, points, taken, problem, generator)
            if substitute is None:
                repeated += 1
            else:
                replaced += 1
                points[i] = substitute
        if not noisy:
            taken.add(point_key(points[i]))
    note = f"; replaced {counted(replaced, 'repeated point')}" if replaced else ""
    note += f"; the space is exhausted: {counted(repeated, 'point')} repeated" if repeated else ""
    return Distinct(points, replaced, note)


def _taken(history: History, *, noisy: bool) -> set[str]:
    """Keys of the points that may not be suggested: with noise only those that failed."""
    if noisy:
        return {point_key(evaluation.params) for evaluation in history.evaluations if evaluation.failed}
    return {point_key(point) for point in history.points}


def _substitute(
    space: Space, index: int, points: list[Point], taken: set[str], problem: AcquisitionProblem, generator: Generator
) -> Point | None:
    """The unseen point with the best joint value beside the rest of the batch, or None if there is none."""
    replaced = space.to_unit([points[index]])
    candidates = [
        point for point in _candidates(space, replaced, problem.rounded, generator) if point_key(point) not in taken
    ]
    if not candidates:
        return None
    beside = space.to_unit([point for i, point in enumerate(points) if i != index])
    if problem.pending is not None:
        beside = torch.cat([problem.pending, beside])
    posterior = with_pending(problem.posterior, beside)
    oracle = AcquisitionOracle(problem.acquisition, posterior, FreshSamples(1 + posterior.extra_points), problem.best)
    oracle.start(generator)
    values = oracle.value(space.to_unit(candidates).unsqueeze(1), oracle.draw())
    return candidates[int(values.nan_to_num(-math.inf).argmax())]


def _candidates(space: Space, centre: Tensor, rounded: Tensor | None, generator: Generator) -> list[Point]:
    """Points to replace one by: the whole space if it is small, otherwise neighbours and uniform ones, each once."""
    if space.size is not None and space.size <= ENUMERABLE:
        return list(space.grid())
    neighbours = around(centre, (CANDIDATES // 2, 1), Box.unit(space.dim), generator, rounded).squeeze(1)
    anywhere = space.sample_unit((CANDIDATES // 2,), generator)
    points = space.from_unit(torch.cat([neighbours, anywhere]))
    return list({point_key(point): point for point in points}.values())
