"""The best joint batch over a box with discrete features, from raw batches to the last exchange.

What `optimize_acqf` does, for callers that want all random numbers from one seed and mixed features chosen together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.bo.starts import boltzmann
from compbo.integrations.botorch.climb import Problem
from compbo.seeds import stream
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from compbo.integrations.botorch.generate import CandidateGenerator

NEAREST = 16  # levels of an axis that an exchange tries
SAME_POINT = 1e-9  # points that are no further apart, in units of the bounds


class DiscreteAxis(NamedTuple):
    """A discrete parameter: the columns of x it takes (one, or a one-hot block) and the rows (m, k) they may hold.

    The levels of a single column ascend.
    """

    columns: tuple[int, ...]
    levels: Tensor

    def nearest(self, x: Tensor) -> Tensor:
        """The level next to each x (..., k); in a one-hot block that is the one with the largest entry."""
        levels = self.levels.to(x)
        if len(self.columns) > 1:
            return levels[self.distances(x).argmin(-1)]
        ascending = levels[:, 0]  # perhaps a million of them: no distance to each
        return ascending[torch.bucketize(x, (ascending[1:] + ascending[:-1]) / 2)]

    def distances(self, x: Tensor) -> Tensor:
        """Squared distances (..., m) of x (..., k) to the levels."""
        return (x.unsqueeze(-2) - self.levels.to(x)).square().sum(-1)


def best_batch(
    acqf: Any,
    bounds: Tensor,
    q: int,
    generate: CandidateGenerator,
    *,
    raw_batches: int,
    restarts: int,
    axes: Sequence[DiscreteAxis] = (),
    fixed_features: Mapping[int, float] | None = None,
    known: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """A batch (q, d) in `bounds` (2, d) and its value; what is discrete only takes its levels.

    acqf: is maximised by `generate` from `restarts` of the raw_batches. axes: the discrete features. fixed_features:
    index -> value.

    A batch that repeats one of the `known` points (n, d) is taken only if no other was met.
    """
    fixed = dict(fixed_features or {})
    free = [axis for axis in axes if not set(axis.columns) & set(fixed)]
    rounder = snap_to(free) if free else None
    random = stream(generate.seed, "start points", q)
    lower, upper = bounds
    unit = torch.rand(raw_batches, q, bounds.shape[1], dtype=DTYPE, generator=random).to(bounds)
    raw = lower + (upper - lower) * unit
    for index, value in fixed.items():
        raw[..., index] = value
    raw = raw if rounder is None else rounder(raw)
    evaluate = Problem.of(acqf, generate.seed, raw).values
    start = raw[boltzmann(evaluate(raw), min(restarts, raw_batches), 1.0, random).to(raw.device)]
    ends, values = replace(generate, rounder=rounder)(
        start, acqf, lower_bounds=lower, upper_bounds=upper, fixed_features=fixed or None
    )
    met = torch.cat([ends, start])

    def new_values(x: Tensor) -> Tensor:
        """-inf where a point is known."""
        return evaluate(x) if known is None else evaluate(x).masked_fill(_repeats(x, known, upper - lower), -torch.inf)

    found = new_values(met)
    best = int(found.argmax() if bool((found > -torch.inf).any()) else values.argmax())
    return exchange(new_values, met[best], found[best], free)


def _repeats(x: Tensor, known: Tensor, scale: Tensor) -> Tensor:
    """Which of the batches x (B, q, d) hold a known point (n, d), up to rounding."""
    scale = torch.where(scale > 0, scale, 1.0)
    distances = torch.cdist(x / scale, (known.to(x) / scale).expand(len(x), -1, -1), p=torch.inf)
    return (distances < SAME_POINT).flatten(1).any(1).cpu()


def snap_to(axes: Sequence[DiscreteAxis]) -> Callable[[Tensor], Tensor]:
    """x -> the same x with each of the discrete axes at its nearest level."""

    def snap(x: Tensor) -> Tensor:
        snapped = x.clone()
        for axis in axes:
            snapped[..., axis.columns] = axis.nearest(x[..., axis.columns])
        return snapped

    return snap


def exchange(
    evaluate: Callable[[Tensor], Tensor], batch: Tensor, value: Tensor, axes: Sequence[DiscreteAxis]
) -> tuple[Tensor, Tensor]:
    """The batch (q, d) and its value after one round: each of the axes of each point at its best level, one by one.

    evaluate: batches (B, q, d) -> values (B,).

    A gradient cannot lead from one level to another.
    """
    for point in range(len(batch)):
        for axis in axes:
            columns = list(axis.columns)
            nearest = axis.distances(batch[point, columns]).argsort()[:NEAREST]
            trials = batch.repeat(len(nearest), 1, 1)
            trials[:, point, columns] = axis.levels.to(batch)[nearest]
            found = evaluate(trials)
            if float(found.max()) > float(value):
                batch, value = trials[int(found.argmax())], found.max()
    return batch, value
