"""Climbs of an acquisition function that can be compared: the same surrogate and start points for every method."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import get_acquisition
from compbo.acquisition.samples import make_samples, sobol_normals
from compbo.maximizers import Maximizer
from compbo.seeds import stream
from compbo.study.tasks import get_task
from compbo.surrogate.gp import GP, NOISELESS, fit_gp
from compbo.types import DTYPE, Box, Budget, Draw, Trace


class Hill(NamedTuple):
    """A surrogate of n uniform points of a task, and what a climb of q points on it spends."""

    gp: GP
    acquisition: str
    seed: int
    q: int = 4
    raw_batches: int = 256
    restarts: int = 8
    steps: int = 64
    minibatch: int = 128

    @property
    def d(self) -> int:
        return self.gp.train_x.shape[1]

    @property
    def common(self) -> Draw:
        """The sample on which values are compared."""
        return Draw(sobol_normals(self.q, 512, stream(self.seed, "common sample")))

    def oracle(self, form: str) -> AcquisitionOracle:
        samples = make_samples(form, self.q, minibatch=self.minibatch, steps=self.steps)
        return AcquisitionOracle(get_acquisition(self.acquisition), self.gp.posterior, samples, self.gp.best)

    def starts(self) -> Tensor:
        """The best of the raw batches, (B, q, d)."""
        generator = stream(self.seed, "raw batches")
        raw = torch.rand(self.raw_batches, self.q, self.d, dtype=DTYPE, generator=generator)
        return raw[self.values(raw).topk(self.restarts).indices]

    def values(self, x: Tensor) -> Tensor:
        """Acquisition values of batches (S, q, d) on the common sample."""
        return self.oracle("ERM").value(x, self.common)

    def climb(self, maximizer: Maximizer, oracle: AcquisitionOracle | None = None) -> Trace:
        return maximizer(
            oracle or self.oracle(maximizer.form),
            self.starts(),
            budget=Budget(self.steps),
            box=Box.unit(self.d),
            generator=stream(self.seed, "climb"),
        )


def surrogate(task: str, n: int, seed: int) -> GP:
    """The model of n uniform points of a noiseless task."""
    black_box = get_task(task, seed)
    x = torch.rand(n, black_box.space.dim, dtype=DTYPE, generator=stream(seed, "observations", task))
    losses = [black_box.evaluate(point) for point in black_box.space.from_unit(x)]
    return fit_gp(x, -torch.tensor(losses, dtype=DTYPE), noise=NOISELESS)
