"""Where an ascent begins: raw batches, some of them around the best observations, and the choice among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from compbo.bo.levels import switched
from compbo.inputs import real, whole_number
from compbo.types import DTYPE

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from compbo.types import Box

NARROWEST, WIDEST = 1e-3, 0.2  # standard deviations of a perturbation, as shares of the box
PERTURBED = 20.0  # coordinates that are perturbed on average, where there are more
ELEMENTS_AT_ONCE = 200_000  # coordinates that are perturbed in one go


@dataclass(frozen=True)
class StartPolicy:
    """Where the ascent begins.

    Raw batches are drawn, some uniformly, the others near the best observations by moving a random subset of their
    coordinates. BoTorch's Boltzmann heuristic chooses the start points among them, the best raw batch always included.

    Args:
        raw_batches: how many batches are drawn.
        restarts: how many of them become start points.
        around_incumbents: share of the raw batches that are drawn near the best observations.
        eta: 1 / temperature of the heuristic: the larger, the more often it takes batches with high values.
        race: whether restarts that cannot win are dropped early (docs/racing.md); only those of a gradient ascent can.
        polish: whether the leaders of a race finish with Adam, to a higher value of the acquisition function.
        levels: whether other levels and choices are tried: in batches near the observations some are drawn anew, and
            the best batch moves to other ones while that pays.

    >>> import compbo
    >>> compbo.Settings(starts=compbo.StartPolicy(raw_batches=256, restarts=8)).starts.restarts
    8
    """

    raw_batches: int = 1024
    restarts: int = 32
    around_incumbents: float = 0.5
    eta: float = 1.0
    race: bool = False
    polish: bool = False
    levels: bool = True

    def __post_init__(self) -> None:
        """Refuse numbers that are out of range."""
        for name, least in (("raw_batches", 1), ("restarts", 0)):
            object.__setattr__(self, name, whole_number(f"StartPolicy: {name}", getattr(self, name), least))
        if not 1 <= self.restarts <= self.raw_batches:
            raise ValueError(
                f"StartPolicy: restarts must be between 1 and raw_batches ({self.raw_batches}), got {self.restarts}."
            )
        if not 0.0 <= real(self.around_incumbents) <= 1.0:
            raise ValueError(f"StartPolicy: around_incumbents is a share in [0, 1], got {self.around_incumbents!r}.")
        if not 0 < real(self.eta) < math.inf:
            raise ValueError(f"StartPolicy: eta must be positive and finite, got {self.eta!r}.")
        for name in ("race", "polish", "levels"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"StartPolicy: {name} must be True or False, got {getattr(self, name)!r}.")
        if self.polish and not self.race:
            raise ValueError("StartPolicy: polish=True is for the leaders of a race; add race=True.")
        for name in ("around_incumbents", "eta"):
            object.__setattr__(self, name, real(getattr(self, name)))


def raw_batches(
    q: int, box: Box, incumbents: Tensor, starts: StartPolicy, generator: Generator, rounded: Tensor | None = None
) -> Tensor:
    """Batches of q points in the box, (raw_batches, q, d): uniform ones, then those around the incumbents (k, d).

    starts: how many of each kind; without incumbents all are uniform. rounded: see `around`.
    """
    d = len(box.lower)
    near_incumbents = round(starts.raw_batches * starts.around_incumbents) if len(incumbents) > 0 else 0
    raw = torch.rand(starts.raw_batches, q, d, dtype=DTYPE, generator=generator)
    raw.mul_(box.upper - box.lower).add_(box.lower)
    if near_incumbents > 0:
        raw[-near_incumbents:] = around(incumbents, (near_incumbents, q), box, generator, rounded)
    return raw


def around(
    centres: Tensor, shape: tuple[int, int], box: Box, generator: Generator, rounded: Tensor | None = None
) -> Tensor:
    """Centres (k, d), drawn at random, with a random subset of coordinates perturbed: (*shape, d).

    rounded (d,): which rounded parameter a column belongs to (`Space.rounded_columns`): some of these are drawn again,
    since a perturbation leaves most of them at their level. None: that is not wanted.
    """
    d, sides = len(box.lower), box.upper - box.lower
    which = torch.randint(len(centres), shape, generator=generator)
    width = NARROWEST * (WIDEST / NARROWEST) ** torch.rand((*shape, 1), dtype=DTYPE, generator=generator)
    points = torch.randn((*shape, d), dtype=DTYPE, generator=generator)
    mask = torch.empty((*shape, d), dtype=torch.bool)
    size = max(1, ELEMENTS_AT_ONCE // (shape[1] * d))
    for part in torch.split(mask, size):
        torch.lt(torch.rand(part.shape, dtype=DTYPE, generator=generator), min(1.0, PERTURBED / d), out=part)
    mask.scatter_(-1, torch.randint(d, (*shape, 1), generator=generator), True)
    for start in range(0, shape[0], size):
        some = slice(start, start + size)
        points[some] = box.project(centres[which[some]] + points[some] * (width[some] * sides) * mask[some])
    return points if rounded is None else switched(points, rounded, generator)


def boltzmann(values: Tensor, count: int, eta: float, generator: Generator) -> Tensor:
    """BoTorch's heuristic: `count` different indices with weights exp(eta * standardised value), the best included.

    Rows without a finite value are taken only when there are not enough others.
    """
    ranked = torch.where(torch.isfinite(values), values, -torch.inf)
    finite = torch.isfinite(values).nonzero().squeeze(-1)
    if len(finite) <= count:
        return torch.argsort(ranked, descending=True, stable=True)[:count]
    deviation = values[finite].std()
    if 0 < float(deviation) < math.inf:
        standard = (values[finite] - values[finite].max()) / deviation
        # The top weight is 1 and none vanishes: multinomial needs `count` that are not zero.
        weights = (eta * standard).clamp_min(-300.0).exp()
        chosen = finite[torch.multinomial(weights, count, generator=generator)]
    else:
        chosen = finite[torch.randperm(len(finite), generator=generator)[:count]]
    best = ranked.argmax()
    if not bool((chosen == best).any()):
        chosen[-1] = best
    return chosen


def spare_batches(values: Tensor, picked: Tensor) -> Tensor:
    """Indices of the raw batches that were not picked and have a value, the best first."""
    ranked = torch.where(torch.isfinite(values), values, -torch.inf)
    ranked[picked] = -torch.inf
    order = torch.argsort(ranked, descending=True, stable=True)
    return order[: int(torch.isfinite(ranked).sum())]
