"""Random search: uniform points of the unit cube."""

from __future__ import annotations

import torch

from compbo.baselines.asktell import AskTell, Point
from compbo.seeds import stream


class RandomSearch(AskTell):
    """Point i is drawn from its own stream, so the sequence is the same whatever the batch size and the values."""

    def _suggest(self, count: int) -> list[Point]:
        first = len(self.evaluations) + len(self.pending)
        streams = [stream(self.seed, "random search", first + i) for i in range(count)]
        return self.space.from_unit(torch.cat([self.space.sample_unit((1,), each) for each in streams]))
