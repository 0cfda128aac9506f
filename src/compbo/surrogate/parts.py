"""Which observations a model rests on, where there are more than it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

INCUMBENTS = 8  # best observations near which the others are kept


def kept_by_rank(quality: Tensor, most: int | None) -> Tensor:
    """Which of n values to keep: the best ones, and an even share of the others.

    Args:
        quality: (n,), larger is better.
        most: how many to keep; None for all.

    Returns:
        Indices in rising order: all of them, or `most`, half of them the best and half at even ranks of the rest. Equal
        values are taken in the order given.

    >>> kept_by_rank(torch.arange(10.0), 4).tolist()
    [0, 7, 8, 9]
    """
    n = len(quality)
    if most is None or n <= most:
        return torch.arange(n)
    order = torch.argsort(quality, descending=True, stable=True)
    best = most - most // 2
    rest = order[best:]
    even = torch.linspace(0, len(rest) - 1, most // 2, dtype=torch.float64).round().long()
    return torch.cat([order[:best], rest[even]]).sort().values


def evenly_by_rank(y: Tensor, most: int) -> Tensor:
    """Which of n observations to fit hyperparameters to: `most` of them at even ranks of y (n,), or all.

    A part chosen for its values would have other hyperparameters than the whole: more of the best observations, which
    lie close together, make lengthscales shorter.

    >>> evenly_by_rank(torch.tensor([3.0, 0.0, 4.0, 1.0, 2.0]), 3).tolist()
    [1, 2, 4]
    """
    if len(y) <= most:
        return torch.arange(len(y))
    ranks = torch.linspace(0, len(y) - 1, most, dtype=torch.float64).round().long()
    return torch.argsort(y, stable=True)[ranks].sort().values


def kept_near_best(inputs: Tensor, y: Tensor, most: int | None) -> Tensor:
    """Which of n observations to keep: those near the best ones, and an even share of the others by their distance.

    Args:
        inputs: (n, d), scaled by the lengthscales.
        y: (n,), larger is better.
        most: how many to keep; None for all.

    Returns:
        Indices in rising order, the best observation among them: all of them, or `most`, half of them nearest to one of
        the `INCUMBENTS` best and half at even ranks of the distances of the rest.

    >>> kept_near_best(torch.arange(20.0).unsqueeze(-1), -torch.arange(20.0), 12).tolist()
    [0, 1, 2, 3, 4, 5, 6, 9, 11, 14, 16, 19]
    """
    if most is None or len(y) <= most:
        return torch.arange(len(y))
    best = torch.argsort(y, descending=True, stable=True)[: min(INCUMBENTS, most - most // 2)]
    distance = torch.cdist(inputs, inputs[best], compute_mode="donot_use_mm_for_euclid_dist").amin(1)
    distance[best] = -1.0  # before their equals
    return kept_by_rank(-distance, most)
