"""A problem on a line: six observations, a model of them, acquisition functions of one point over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import get_acquisition
from compbo.acquisition.samples import OneSample, make_samples, sobol_normals
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.gp import NOISELESS, fit_gp
from compbo.types import DTYPE, Box, Budget

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.surrogate.gp import GP

OBSERVED = (0.05, 0.22, 0.38, 0.55, 0.80, 0.97)
GRID = torch.linspace(0.0, 1.0, 401, dtype=DTYPE)


def objective(x: Tensor) -> Tensor:
    """A smooth function with two hills, to be maximised, at x (n,)."""
    return torch.sin(9.0 * x) + 0.6 * torch.sin(17.0 * x + 1.0) - 1.5 * (x - 0.6) ** 2


class Climb(NamedTuple):
    """Where some climbs began and ended, each (B,)."""

    starts: Tensor
    ends: Tensor


def model() -> GP:
    """The Gaussian process of the six observations."""
    x = torch.tensor(OBSERVED, dtype=DTYPE)
    return fit_gp(x[:, None], objective(x), noise=NOISELESS)


def acquisition_values(gp: GP, name: str, x: Tensor) -> Tensor:
    """The acquisition function of that name, one point at a time, at x (n,), on one common sample."""
    samples = OneSample(sobol_normals(1, 2048, stream(0, "common")))
    oracle = AcquisitionOracle(get_acquisition(name), gp.posterior, samples, gp.best)
    return oracle.value(x[:, None, None], samples.draw())


def climb(gp: GP, name: str, starts: Tensor, maximizer: str = "Adam-ERM", steps: int = 64) -> Climb:
    """Climb an acquisition function from starts (B,), with a maximizer of the catalogue."""
    method = make_maximizer(maximizer)
    samples = make_samples(method.form, 1, minibatch=128, steps=steps)
    oracle = AcquisitionOracle(get_acquisition(name), gp.posterior, samples, gp.best)
    trace = method(
        oracle, starts[:, None, None], budget=Budget(steps), box=Box.unit(1), generator=stream(0, "climb", name)
    )
    return Climb(starts, trace.final[:, 0, 0])
