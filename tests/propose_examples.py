"""Small maximisations of an acquisition function, for the tests of what is proposed and of the verdicts on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from compbo.acquisition.integrands import EI
from compbo.acquisition.samples import sobol_normals
from compbo.bo.choice import COMMON_SAMPLE
from compbo.bo.propose import AcquisitionProblem, Proposal, propose
from compbo.bo.starts import StartPolicy, boltzmann, raw_batches
from compbo.maximizers import make_maximizer
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.posterior import BatchPosterior, GPPosterior, with_pending
from compbo.types import DTYPE, Box, Budget

Q, D, MINIBATCH = 2, 2, 16
STARTS = StartPolicy(raw_batches=32, restarts=4)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gp(d: int = D) -> GPPosterior:
    x = torch.rand(8, d, dtype=DTYPE, generator=seeded(1))
    y = -((x - 0.6) ** 2).sum(-1)
    return GPPosterior(
        x,
        (y - y.mean()) / y.std(),
        kernel=get_kernel("matern52"),
        lengthscale=torch.full((d,), 0.7, dtype=DTYPE),
        outputscale=1.0,
        noise=1e-3,
    )


class Broken:
    """A posterior without a Cholesky factor for the batches that `where` names, values alone or gradients too."""

    extra_points = 0

    def __init__(self, where: Callable[[Tensor], Tensor], *, only_with_gradient: bool = False) -> None:
        self.sound, self.where, self.only_with_gradient = gp(), where, only_with_gradient
        self.dim = self.sound.dim
        self.bytes_per_row, self.flops_per_row = self.sound.bytes_per_row, self.sound.flops_per_row

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        batch = self.sound(x, gradient_rows)
        if self.only_with_gradient and gradient_rows == 0:
            return batch
        failed = self.where(x)
        return batch._replace(mean=batch.mean.masked_fill(failed[:, None], torch.nan), failed=failed)


def everywhere(x: Tensor) -> Tensor:
    return torch.ones(len(x), dtype=torch.bool)


def left_half(x: Tensor) -> Tensor:
    return (x[..., 0] < 0.5).any(-1)


def problem(acquisition: Any = None, posterior: Any = None, best: float = 0.5, **options: Any) -> AcquisitionProblem:
    incumbents = torch.tensor([[0.3, 0.3], [0.8, 0.2]], dtype=DTYPE)
    return AcquisitionProblem(posterior or gp(), acquisition or EI(), best, **{"incumbents": incumbents, **options})


def run(task: AcquisitionProblem, q: int = Q, maximizer: str = "Adam-ERM", seed: int = 3, **options: Any) -> Proposal:
    made = make_maximizer(maximizer, **options.pop("hyperparameters", {}))
    settings = {"budget": Budget(steps=8), "starts": STARTS, "minibatch": MINIBATCH, **options}
    return propose(task, q, maximizer=made, generator=seeded(seed), **settings)


def columns(task: AcquisitionProblem, batches: Tensor, z: Tensor) -> Tensor:
    """max_j of ReLU(mu + L z - f*) for every sample, written out: (B, K)."""
    posterior = with_pending(task.posterior, task.pending)(batches)
    samples = posterior.mean.unsqueeze(-1) + torch.einsum("bij,jk->bik", posterior.factor, z)
    return (samples - task.best).clamp_min(0.0).amax(1).masked_fill(posterior.failed[:, None], torch.nan)


class Redone:
    """What `propose` drew from its generator, drawn again: the common sample, the raw batches, their EI on both."""

    def __init__(self, task: AcquisitionProblem, q: int = Q, seed: int = 3) -> None:
        generator = seeded(seed)
        pending = 0 if task.pending is None else len(task.pending)
        self.z = sobol_normals(q + pending, COMMON_SAMPLE, generator)
        self.raw = raw_batches(q, Box.unit(D), task.incumbents, STARTS, generator)
        ranking = columns(task, self.raw, self.z[:, :MINIBATCH]).mean(-1)
        self.x0 = self.raw[boltzmann(ranking, STARTS.restarts, STARTS.eta, generator)]
        self.best_ranked = self.raw[ranking.nan_to_num(-math.inf).argmax()]
