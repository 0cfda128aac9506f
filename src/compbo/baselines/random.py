"""Random search: uniform points of the unit cube."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.baselines.asktell import AskTell
from compbo.seeds import stream

if TYPE_CHECKING:
    from compbo.bo.history import History, Point


class RandomSearch(AskTell):
    """Random search by ask and tell: point i is drawn uniformly from a stream of its own.

    So the sequence depends on space and seed alone, not on batch sizes or values.
    """

    def suggest(self, history: History, count: int) -> list[Point]:
        """The next points of the sequence."""
        numbers = range(history.size, history.size + count)
        streams = [stream(self.seed, "random search", number) for number in numbers]
        return self.space.from_unit(torch.cat([self.space.sample_unit((1,), each) for each in streams]))
