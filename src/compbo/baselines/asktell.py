"""Ask and tell for the baselines: losses in, points out, and the same points for the same history."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.bo.history import History
from compbo.bo.tell import told_evaluations
from compbo.inputs import whole_number
from compbo.seeds import stream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Generator, Tensor

    from compbo.bo.history import Point
    from compbo.bo.numbered_point import NumberedPoint
    from compbo.evaluation import Evaluation
    from compbo.space import Space


class Losses(NamedTuple):
    """The observations of a history, best first: x (n, d) in the unit cube, loss (n,), infinite where it failed."""

    x: Tensor
    loss: Tensor
    pending: Tensor  # (p, d)

    @classmethod
    def of(cls, space: Space, history: History) -> Losses:
        """Those of a history that is minimised."""
        x, y, failed, pending = history.observations(space, "minimize")
        loss = torch.where(failed, torch.inf, 0.0 - y)  # -y would make a zero negative
        order = torch.argsort(loss, stable=True)
        return cls(x[order], loss[order], pending)

    def stream(self, seed: int, purpose: str, count: int) -> Generator:
        """Random numbers for one suggestion, named by everything that it depends on."""
        parts = (self.x.numpy().tobytes(), self.loss.numpy().tobytes(), repr(self.pending.tolist()).encode())
        return stream(seed, purpose, hashlib.sha256(b"|".join(parts)).hexdigest(), count)


class AskTell(ABC):
    """A method that minimises by ask and tell.

    A suggestion is a function of the seed and of the sets of observations and pending points: the order of arrival
    does not matter, nor how often the program was restarted.
    """

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space = space
        self.seed = seed
        self._history = History()

    @abstractmethod
    def suggest(self, history: History, count: int) -> list[Point]:
        """The next points, as a function of the seed and the history."""

    def ask(self, count: int = 1) -> list[NumberedPoint]:
        """The next points; they are pending until they are told."""
        points = self.suggest(self._history, whole_number("count", count))
        self._history = self._history.asked(points)
        return [point.copy() for point in self._history.pending[-len(points) :]]

    def tell(
        self, points: Mapping[str, Any] | Sequence[Mapping[str, Any]], losses: float | Sequence[float | None] | None
    ) -> None:
        """Report losses, smaller is better, of any points in any order; None or a non-finite number is a failure."""
        self._history = self._history.told(told_evaluations(self.space, self._history, points, losses))

    @property
    def history(self) -> History:
        """What was told and what is pending."""
        return self._history

    @property
    def pending(self) -> list[NumberedPoint]:
        """Points that were asked for and not told; a list of the caller's own."""
        return [point.copy() for point in self._history.pending]

    @property
    def best(self) -> Evaluation | None:
        """The best evaluation, the earliest of equals; None before the first success."""
        return self._history.best("minimize")
