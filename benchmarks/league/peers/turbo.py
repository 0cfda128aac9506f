"""TuRBO-1: Thompson sampling in one trust region (Eriksson et al., Scalable Global Optimization via Local BO, 2019).

Numbers are the paper's: base length 0.8, from 2^-7 to 1.6; doubled after 3 batches in a row that improve on the best
value, halved after ceil(d / q) that do not; min(100 d, 5000) candidates that differ from the centre in each coordinate
with probability min(1, 20 / d); a Matern-5/2 kernel with a lengthscale per dimension, all hyperparameters in the
paper's bounds. As in the authors' code a gain below 0.1 % is no improvement. Model and fit are BoTorch's and
GPyTorch's.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from compbo.seeds import derive_seed, stream
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Generator, Tensor

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task

FIRST_LENGTH, LEAST_LENGTH, LARGEST_LENGTH = 0.8, 0.5**7, 1.6
SUCCESSES_TO_GROW = 3
MOST_CANDIDATES = 5000
COORDINATES_MOVED = 20  # of a candidate, on average
LEAST_GAIN = 1e-3  # of |best|: less is no success


@dataclass(frozen=True)
class TrustRegion:
    """The state of a trust region.

    Args:
        failures_to_shrink: batches in a row without an improvement that halve it.
        length: L, its base side.
        successes: in a row.
        failures: in a row.
        best: the smallest loss in it.
    """

    failures_to_shrink: int
    length: float = FIRST_LENGTH
    successes: int = 0
    failures: int = 0
    best: float = math.inf

    @property
    def is_over(self) -> bool:
        """Whether it is too small to go on: a new one begins elsewhere."""
        return self.length < LEAST_LENGTH

    def after(self, losses: Sequence[float]) -> TrustRegion:
        """The state after a batch.

        Args:
            losses: of the batch.

        Returns:
            Another trust region: counters, and the length where a counter is full.
        """
        least = min(losses)
        margin = LEAST_GAIN * abs(self.best) if math.isfinite(self.best) else 0.0
        success = least < self.best - margin
        moved = replace(
            self,
            successes=self.successes + 1 if success else 0,
            failures=0 if success else self.failures + 1,
            best=min(self.best, least),
        )
        if moved.successes == SUCCESSES_TO_GROW:
            return replace(moved, length=min(2.0 * moved.length, LARGEST_LENGTH), successes=0)
        if moved.failures == self.failures_to_shrink:
            return replace(moved, length=moved.length / 2.0, failures=0)
        return moved


def sides(length: float, lengthscales: Tensor) -> Tensor:
    """L_i = lambda_i L / (prod_j lambda_j)^(1/d): longer where the function changes slowly, the volume stays L^d.

    Args:
        length: L.
        lengthscales: lambda, (d,).

    Returns:
        The sides, (d,).
    """
    return length * lengthscales / lengthscales.log().mean().exp()


def candidates(centre: Tensor, side: Tensor, generator: Generator) -> Tensor:
    """Sobol points of the trust region that share most coordinates with its centre.

    Args:
        centre: (d,).
        side: L_i, (d,).
        generator: of everything random.

    Returns:
        (min(100 d, 5000), d), each with at least one coordinate moved.
    """
    d = len(centre)
    count = min(100 * d, MOST_CANDIDATES)
    low, high = (centre - side / 2).clamp(0.0, 1.0), (centre + side / 2).clamp(0.0, 1.0)
    seed = int(torch.randint(2**31, (), generator=generator))
    points = low + (high - low) * torch.quasirandom.SobolEngine(d, scramble=True, seed=seed).draw(count, dtype=DTYPE)
    moved = torch.rand(count, d, generator=generator, dtype=DTYPE) <= min(1.0, COORDINATES_MOVED / d)
    stuck = ~moved.any(dim=1)
    moved[stuck, torch.randint(d, (int(stuck.sum()),), generator=generator)] = True
    return torch.where(moved, points, centre)


class TurboMethod:
    """TuRBO-1 behind the study's interface: what is told before the first ask is its first initial design.

    Args:
        cell: the experiment; its seed, its batch and the size of its initial design are used.
        task: of the cell.
    """

    def __init__(self, cell: Cell, task: Task) -> None:
        self._cell, self._space = cell, task.space
        self._generator = stream(cell.seed, "turbo")
        self._begin([])
        self.last_ask: Mapping[str, Any] = {}

    def _begin(self, design: list[Point]) -> None:
        """A new trust region; the earlier points are forgotten, as in the paper."""
        d, q = self._space.dim, self._cell.batch
        self._region = TrustRegion(failures_to_shrink=math.ceil(d / q))
        self._design = design  # still to be handed out
        self._waiting = len(design)  # points of the initial design that were not told yet
        self._points: list[Mapping[str, Any]] = []
        self._losses: list[float] = []

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses; a failure counts as the worst seen."""
        known = [loss for loss in [*self._losses, *losses] if loss is not None]
        told = [max(known, default=0.0) if loss is None else loss for loss in losses]
        first = not self._losses or self._waiting > 0
        self._points.extend(points)
        self._losses.extend(told)
        self._waiting = max(self._waiting - len(points), 0)
        if first:  # of the initial design: no success or failure of the region
            self._region = replace(self._region, best=min(self._losses))
            return
        self._region = self._region.after(told)
        if self._region.is_over:
            self._begin(self._space.sample(self._cell.initial, self._generator))

    def ask(self, count: int) -> list[Point]:
        """The next batch: of the initial design of a new region, filled up with Thompson samples, or these alone."""
        batch, self._design = self._design[:count], self._design[count:]
        if len(batch) < count:
            batch = [*batch, *self._thompson(count - len(batch))]
        return batch

    def _thompson(self, count: int) -> list[Point]:
        if len(self._losses) < 2:  # nothing to fit: all of the new design is out
            return self._space.sample(count, self._generator)
        clock = time.perf_counter()
        x = self._space.to_unit(self._points)
        losses = torch.tensor(self._losses, dtype=DTYPE)
        model = fitted(x, (losses - losses.mean()) / losses.std().clamp_min(1e-12))
        between = time.perf_counter()
        centre = x[int(losses.argmin())]
        lengthscales = model.covar_module.base_kernel.lengthscale.detach().flatten()
        pool = candidates(centre, sides(self._region.length, lengthscales), self._generator)
        seed = derive_seed(self._cell.seed, "turbo samples", len(x), self._region.length) % 2**32
        chosen = thompson(model, pool, count, seed)
        self.last_ask = {"fit_seconds": between - clock, "maximise_seconds": time.perf_counter() - between}
        return self._space.from_unit(chosen)


def fitted(x: Tensor, y: Tensor) -> Any:
    """The paper's Gaussian process, its hyperparameters by maximum likelihood within the paper's bounds.

    Args:
        x: points, (n, d).
        y: standardised losses, (n,).

    Returns:
        BoTorch's model.
    """
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.constraints import Interval
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood

    base = MaternKernel(nu=2.5, ard_num_dims=x.shape[1], lengthscale_constraint=Interval(0.005, 2.0))
    model = SingleTaskGP(
        x,
        y.unsqueeze(-1),
        likelihood=GaussianLikelihood(noise_constraint=Interval(0.0005, 0.2)),
        covar_module=ScaleKernel(base, outputscale_constraint=Interval(0.05, 20.0)),
        outcome_transform=None,
    ).to(DTYPE)
    model.covar_module.base_kernel.lengthscale = 0.5
    model.covar_module.outputscale = 1.0
    model.likelihood.noise = 0.005
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # BoTorch warns of trouble that it repairs itself
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def thompson(model: Any, pool: Tensor, count: int, seed: int) -> Tensor:
    """The best candidate of each of `count` functions drawn jointly from the posterior, none twice.

    Args:
        model: of the losses.
        pool: candidates, (n, d).
        count: how many.
        seed: of the draws.

    Returns:
        (count, d).
    """
    from botorch.utils.sampling import manual_seed
    from gpytorch.settings import max_cholesky_size

    with torch.no_grad(), manual_seed(seed), max_cholesky_size(10**6), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = model.posterior(pool).rsample(torch.Size([count])).squeeze(-1)
    taken: list[int] = []
    for draw in draws:
        draw[taken] = math.inf
        taken.append(int(draw.argmin()))
    return pool[taken]
