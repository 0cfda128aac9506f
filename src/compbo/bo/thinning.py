"""Which observations a model is fitted to, where there are more than it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.bo.history import Observations


def kept_by_rank(quality: Tensor, most: int) -> Tensor:
    """Which of n values to keep: the best ones, and an even share of the others.

    Args:
        quality: (n,), larger is better.
        most: how many to keep.

    Returns:
        Indices in rising order: all of them, or `most`, half of them the best and half at even ranks of the rest. Equal
        values are taken in the order given.

    >>> kept_by_rank(torch.arange(10.0), 4).tolist()
    [0, 7, 8, 9]
    """
    n = len(quality)
    if n <= most:
        return torch.arange(n)
    order = torch.argsort(quality, descending=True, stable=True)
    best = most - most // 2
    rest = order[best:]
    even = torch.linspace(0, len(rest) - 1, most // 2, dtype=torch.float64).round().long()
    return torch.cat([order[:best], rest[even]]).sort().values


def thinned(observations: Observations, most: int | None) -> Observations:
    """The observations that a model is fitted to.

    Args:
        observations: all, in their canonical order.
        most: how many a model takes; None for all.

    Returns:
        The observations themselves, or `most` of them; pending points all stay. It depends on what is known, not on the
        order of arrival.
    """
    if most is None or len(observations.y) <= most:
        return observations
    kept = kept_by_rank(observations.y, most)
    return observations._replace(x=observations.x[kept], y=observations.y[kept], failed=observations.failed[kept])
