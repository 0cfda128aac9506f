"""Workloads, peers and clocks that every benchmark shares.

Ours and theirs alternate within one process; a time is the median of the repeats, and what is reported is the ratio.
"""

from __future__ import annotations

import gc
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import get_acquisition
from compbo.acquisition.samples import make_samples
from compbo.seeds import stream
from compbo.surrogate.gp import GP, fit_gp
from compbo.types import DTYPE, Draw

Q, B, T, K, RAW = 16, 32, 64, 128, 1024
SIZES = ((6, 60), (16, 100), (40, 250), (120, 515))


Row = dict[str, Any]  # column -> number or text


class Timing(NamedTuple):
    """Median seconds and the quartiles around it."""

    median: float
    low: float
    high: float


def alternate(
    *calls: Callable[[], object], repeats: int = 9, warmup: int = 2, now: Callable[[], float] = time.perf_counter
) -> list[Timing]:
    """Time the calls in turn, so that whatever else the machine does falls on all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for round_number in range(warmup + repeats):
        for clock, call in zip(times, calls, strict=True):
            gc.collect(0)
            start = now()
            call()
            if round_number >= warmup:
                clock.append(now() - start)
    quartiles = [statistics.quantiles(clock, n=4) if len(clock) > 1 else [clock[0]] * 3 for clock in times]
    return [Timing(quartile[1], quartile[0], quartile[2]) for quartile in quartiles]


@dataclass(frozen=True)
class Work:
    """W(d, n): a GP fitted to n points of a shifted Levy function in d dimensions, start batches and samples."""

    d: int
    n: int
    gp: GP
    x: Tensor  # (B, q, d)
    z: Tensor  # (q, K)

    @property
    def name(self) -> str:
        return f"W({self.d},{self.n})"

    def oracle(self, acquisition: str = "ucb", form: str = "ERM", steps: int = T) -> AcquisitionOracle:
        samples = make_samples(form, Q, minibatch=K, steps=steps)
        oracle = AcquisitionOracle(get_acquisition(acquisition), self.gp.posterior, samples, self.gp.best)
        oracle.start(stream(0, "benchmark", self.name))
        return oracle

    @property
    def draw(self) -> Draw:
        return Draw(self.z)


def data(d: int, n: int) -> tuple[Tensor, Tensor]:
    """Half uniform points, half around a good one, as in the middle of a run; values of minus a shifted Levy."""
    generator = stream(0, "benchmark data", d, n)
    centre = 0.2 + 0.6 * torch.rand(d, dtype=DTYPE, generator=generator)
    x = torch.rand(n, d, dtype=DTYPE, generator=generator)
    x[n // 2 :] = (centre + 0.15 * torch.randn(n - n // 2, d, dtype=DTYPE, generator=generator)).clamp_(0, 1)
    return x, levy(x, centre)


def levy(x: Tensor, centre: Tensor) -> Tensor:
    """Minus the Levy function on [-10, 10]^d seen from the unit cube, its optimum moved to `centre`."""
    w = 1.0 + 20.0 * (x - centre) / 4.0
    return -(
        torch.sin(torch.pi * w[:, 0]) ** 2
        + ((w[:, :-1] - 1) ** 2 * (1 + 10 * torch.sin(torch.pi * w[:, :-1] + 1) ** 2)).sum(-1)
        + (w[:, -1] - 1) ** 2 * (1 + torch.sin(2 * torch.pi * w[:, -1]) ** 2)
    )


def work(d: int, n: int) -> Work:
    x, y = data(d, n)
    generator = stream(0, "benchmark work", d, n)
    gp = fit_gp(x, y)
    batches = torch.rand(B, Q, d, dtype=DTYPE, generator=generator)
    z = torch.randn(Q, K, dtype=DTYPE, generator=generator)
    return Work(d, n, gp, batches, z)


def botorch_model(w: Work) -> Any:
    """The same GP as a BoTorch model: same data, kernel and hyperparameters."""
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ZeroMean

    theta = w.gp.hyperparameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(
            w.gp.train_x,
            w.gp.train_y.unsqueeze(-1),
            likelihood=GaussianLikelihood(),
            covar_module=ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=w.d)),
            mean_module=ZeroMean(),
            outcome_transform=None,
        ).to(DTYPE)
    model.covar_module.base_kernel.lengthscale = theta.lengthscale
    model.covar_module.outputscale = theta.outputscale
    model.likelihood.noise_covar.register_constraint(
        "raw_noise", type(model.likelihood.noise_covar.raw_noise_constraint)(1e-8)
    )
    model.likelihood.noise = theta.noise
    return model.eval()


def botorch_acquisition(w: Work, name: str = "ucb", model: Any = None, samples: int = K, seed: int = 0) -> Any:
    """BoTorch's acquisition function of that name on the same model."""
    from botorch.acquisition import (
        qExpectedImprovement,
        qProbabilityOfImprovement,
        qSimpleRegret,
        qUpperConfidenceBound,
    )
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.sampling import SobolQMCNormalSampler

    model = botorch_model(w) if model is None else model
    sampler = SobolQMCNormalSampler(torch.Size([samples]), seed=seed)
    best = w.gp.best
    makers: dict[str, Callable[[], Any]] = {
        "ei": lambda: qExpectedImprovement(model, best_f=best, sampler=sampler),
        "pi": lambda: qProbabilityOfImprovement(model, best_f=best, sampler=sampler),
        "sr": lambda: qSimpleRegret(model, sampler=sampler),
        "ucb": lambda: qUpperConfidenceBound(model, beta=2.0, sampler=sampler),
        "logei": lambda: qLogExpectedImprovement(model, best_f=best, sampler=sampler),
    }
    return makers[name]()
