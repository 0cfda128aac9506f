"""The best joint batch over a box with discrete features, from raw batches to the last exchange.

What `optimize_acqf` does, for callers that want all random numbers from one seed and mixed features chosen together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.integrations.botorch.evaluate import values_on_its_own_sample
from compbo.integrations.botorch.samplers import common_seed, with_fixed_samples
from compbo.propose import boltzmann
from compbo.seeds import stream
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from compbo.integrations.botorch.generate import CandidateGenerator

NEAREST = 16  # levels of an axis that an exchange tries


class Axis(NamedTuple):
    """A discrete parameter: the columns of x it takes (one, or a one-hot block) and the rows (m, k) they may hold."""

    columns: tuple[int, ...]
    levels: Tensor

    def nearest(self, x: Tensor) -> Tensor:
        """The level next to each x (..., k); in a one-hot block that is the one with the largest entry."""
        levels = self.levels.to(x)
        return levels[self.distances(x).argmin(-1)]

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
    axes: Sequence[Axis] = (),
    fixed_features: Mapping[int, float] | None = None,
) -> tuple[Tensor, Tensor]:
    """A batch (q, d) in `bounds` (2, d) and its value; what is discrete only takes its levels."""
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
    evaluate = values_on_its_own_sample(with_fixed_samples(acqf, common_seed(generate.seed)))
    start = raw[boltzmann(evaluate(raw), min(restarts, raw_batches), 1.0, random).to(raw.device)]
    ends, values = generate.rounded(rounder)(
        start, acqf, lower_bounds=lower, upper_bounds=upper, fixed_features=fixed or None
    )
    best = int(values.argmax())
    return exchange(evaluate, ends[best], values[best], free)


def snap_to(axes: Sequence[Axis]) -> Callable[[Tensor], Tensor]:
    """x -> the same with every axis at its nearest level."""

    def snap(x: Tensor) -> Tensor:
        snapped = x.clone()
        for axis in axes:
            snapped[..., axis.columns] = axis.nearest(x[..., axis.columns])
        return snapped

    return snap


def exchange(
    evaluate: Callable[[Tensor], Tensor], batch: Tensor, value: Tensor, axes: Sequence[Axis]
) -> tuple[Tensor, Tensor]:
    """Every axis of every point once: its best level with all others as they are.

    A gradient cannot lead from one level to another.
    """
    for point in range(len(batch)):
        for axis in axes:
            columns = list(axis.columns)
            near = axis.distances(batch[point, columns]).argsort()[:NEAREST]
            trials = batch.repeat(len(near), 1, 1)
            trials[:, point, columns] = axis.levels.to(batch)[near]
            found = evaluate(trials)
            if float(found.max()) > float(value):
                batch, value = trials[int(found.argmax())], found.max()
    return batch, value
