"""Ask and tell for the baselines: losses in, points out, and the same points for the same history."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.seeds import stream
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Generator, Tensor

    from compbo.space import Space

Point = dict[str, Any]


class History(NamedTuple):
    """Observations in an order that does not depend on their arrival: x (n, d) in the unit cube, losses (n,).

    A failed evaluation has an infinite loss.
    """

    x: Tensor
    loss: Tensor


class AskTell(ABC):
    """A method that minimises by ask and tell.

    A suggestion depends on the seed, the observations and the pending points as sets, and on nothing else: neither
    the order of arrival nor the number of restarts of the program changes it.
    """

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space = space
        self.seed = seed
        self.evaluations: list[tuple[Point, float]] = []
        self.pending: list[Point] = []

    def ask(self, count: int = 1) -> list[Point]:
        """The next points; they are pending until they are told."""
        if count < 1:
            raise ValueError(f"ask: the number of points must be at least 1, got {count}.")
        points = self._suggest(count)
        self.pending.extend(points)
        return [dict(point) for point in points]

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses, smaller is better, of any points in any order; None or a non-finite number is a failure."""
        if len(points) != len(losses):
            raise ValueError(f"tell: {len(points)} points but {len(losses)} losses.")
        told = [
            (self.space.validate(point), math.inf if loss is None or not math.isfinite(loss) else float(loss))
            for point, loss in zip(points, losses, strict=True)
        ]
        for point, _ in told:
            if point in self.pending:
                self.pending.remove(point)
        self.evaluations.extend(told)

    @property
    def best(self) -> tuple[Point, float] | None:
        """The best point and its loss, the earliest of equals; None before the first success."""
        done = [evaluation for evaluation in self.evaluations if math.isfinite(evaluation[1])]
        return min(done, key=lambda evaluation: evaluation[1]) if done else None

    @abstractmethod
    def _suggest(self, count: int) -> list[Point]:
        """The next points, as a function of the seed and the history."""

    def _history(self) -> History:
        x = self.space.to_unit([point for point, _ in self.evaluations])
        losses = [loss for _, loss in self.evaluations]
        order = sorted(range(len(losses)), key=lambda i: (losses[i], x[i].tolist()))
        return History(x[order], torch.tensor([losses[i] for i in order], dtype=DTYPE))

    def _stream(self, purpose: str, history: History, count: int) -> Generator:
        """Random numbers for one ask, named by everything that it depends on."""
        pending = sorted(self.space.to_unit(self.pending).tolist())
        parts = (history.x.numpy().tobytes(), history.loss.numpy().tobytes(), repr(pending).encode())
        return stream(self.seed, purpose, hashlib.sha256(b"|".join(parts)).hexdigest(), count)
