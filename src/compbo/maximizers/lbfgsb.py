"""L-BFGS-B on a fixed sample: one independent state per restart, evaluations batched over the restarts.

Stacking the restarts in one problem would mix their curvature; BoTorch's port of SciPy's driver keeps one state per
restart and asks for all points that are due at once. With the samples of the compositional form the same code is
CL-BFGS-B: it climbs f(g(x)) with the gradient J_g^T grad f(zeta), zeta = g(x).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import torch

from compbo.maximizers.budget import Clock, fits, is_out_of_memory, without_memory
from compbo.numerics import single_threaded_blas
from compbo.types import Status, Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Generator, Tensor

    from compbo.types import Box, Budget, Oracle

logger = logging.getLogger(__name__)


class _OutOfTime(Exception):  # noqa: N818 - a signal, not an error
    """Leaves SciPy's loop when the clock has run out."""


def lbfgsb(
    oracle: Oracle,
    x0: Tensor,
    *,
    budget: Budget,
    box: Box,
    generator: Generator,
    record: bool = False,
    maxcor: int = 10,
    ftol: float = 2.2e-9,
    gtol: float = 1e-5,
) -> Trace:
    """Climb f(g(x)) on one fixed draw from every start point of x0 (B, q, d).

    budget.steps bounds the iterations; a line search may take several evaluations in one of them. maxcor, ftol and
    gtol are SciPy's: curvature pairs, relative gain and projected gradient at which a restart has converged.
    """
    clock = Clock(budget.seconds)
    if not fits(oracle, len(x0), budget):
        return without_memory(oracle, x0, generator, budget, clock, record)
    start = box.project(x0)
    run = _Run(oracle, start, clock, record)
    try:
        oracle.start(generator)
        status = _minimise(run, start, box, maxcor=maxcor, ftol=ftol, pgtol=gtol, maxiter=budget.steps)
    except _OutOfTime:
        status = [Status.TIME] * len(x0)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        logger.warning("Stopped after %d steps: %s", run.steps, error)
        if bool(run.start_value.isnan().all()):
            return without_memory(oracle, x0, generator, budget, clock, record)
        status = [Status.MEMORY] * len(x0)
    return run.trace(status, clock.seconds())


def _minimise(run: _Run, start: Tensor, box: Box, **options: float) -> list[Status]:
    """How every restart ended."""
    from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched

    with single_threaded_blas():
        *_, results = fmin_l_bfgs_b_batched(
            run.value_and_gradient,
            start.reshape(len(start), -1).numpy(),
            bounds=_bounds(box, start.shape[1]),
            factr=None,
            callback=run.iterated,
            pass_batch_indices=True,
            **options,
        )
    return [Status.CONVERGED if result["success"] else Status.DONE for result in results]


def _bounds(box: Box, q: int) -> list[tuple[float, float]]:
    return list(zip(box.lower.tolist(), box.upper.tolist(), strict=True)) * q


class _Run:
    """The oracle as SciPy wants it, with everything the trace will say kept on the way."""

    def __init__(self, oracle: Oracle, start: Tensor, clock: Clock, record: bool) -> None:
        self._oracle, self._clock, self._record = oracle, clock, record
        unknown = start.new_full(start.shape[:1], torch.nan)
        self.best, self.best_value = start.clone(), unknown.clone()
        self.start_value, self.gradient_norm = unknown.clone(), unknown.clone()
        self.failed = torch.zeros_like(unknown, dtype=torch.bool)
        self.jitter = 0.0
        self._started = False
        self._asked = start.clone()  # the point at which every restart was evaluated last
        self._due: list[int] = []  # the restarts of the last evaluation that may have finished an iteration
        self._iterations = [0] * len(start)
        self._path: list[list[tuple[Tensor, Tensor]]] = [[] for _ in start]  # best value and point, by iteration

    @property
    def steps(self) -> int:
        """Iterations of the restart that had most."""
        return max(self._iterations)

    def value_and_gradient(
        self, x: NDArray[np.float64], batch_indices: list[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """-f(g(x)) and its gradient for the restarts that are due. A failed restart is told that it has arrived."""
        if self._started and self._clock.expired():
            raise _OutOfTime
        oracle, rows = self._oracle, torch.as_tensor(batch_indices)
        points = torch.as_tensor(x).reshape(len(rows), *self.best.shape[1:])
        inner = oracle.inner(points, oracle.fixed_draw())
        self.jitter = max(self.jitter, inner.jitter)
        value, gradient = oracle.outer(inner.v), inner.pullback(oracle.outer_gradient(inner.v))
        norm = torch.linalg.vector_norm(gradient, dim=(1, 2))
        broken = inner.failed | ~torch.isfinite(value) | ~torch.isfinite(norm)
        self._keep(rows, points, value, norm, broken)
        arrived = -1e10 * (1 + self.best_value[rows].nan_to_num().abs())
        cost = torch.where(broken, arrived, -value)
        slope = torch.where(broken[:, None], 0.0, -gradient.reshape(len(rows), -1))
        return cost.numpy(), slope.numpy()

    def _keep(self, rows: Tensor, points: Tensor, value: Tensor, norm: Tensor, broken: Tensor) -> None:
        self._due, self._asked[rows] = rows.tolist(), points
        self.failed[rows] |= broken
        self.gradient_norm[rows] = torch.where(broken, self.gradient_norm[rows], norm)
        better = ~broken & ~(value <= self.best_value[rows])
        self.best[rows[better]], self.best_value[rows[better]] = points[better], value[better]
        if not self._started:
            self.start_value, self._started = self.best_value.clone(), True

    def iterated(self, x: NDArray[np.float64]) -> None:
        """Count an iteration. SciPy does not say whose it is: restarts come in order, at the point last evaluated."""
        point = torch.as_tensor(x).reshape(self.best.shape[1:])
        while self._due:
            i = self._due.pop(0)
            if torch.equal(self._asked[i], point):
                self._iterations[i] += 1
                if self._record:
                    self._path[i].append((self.best_value[i].clone(), self.best[i].clone()))
                return

    def trace(self, status: list[Status], seconds: float) -> Trace:
        """What is left for the caller: L-BFGS-B never accepts a worse point, so the final point is the best."""
        return Trace(
            final=self.best.clone(),
            final_value=self.best_value.clone(),
            best=self.best,
            best_value=self.best_value,
            start_value=self.start_value,
            gradient_norm=self.gradient_norm,
            status=tuple(Status.FAILED if bad else s for bad, s in zip(self.failed.tolist(), status, strict=True)),
            steps=self.steps,
            seconds=seconds,
            jitter=self.jitter,
            values=self._recorded(0) if self._record else None,
            points=self._recorded(1) if self._record else None,
        )

    def _recorded(self, which: int) -> Tensor:
        """(steps, B, ...): a restart that has stopped stays where it ended."""
        ends = (self.best_value, self.best)[which]
        rows = ends.expand(self.steps, *ends.shape).clone()
        for i, path in enumerate(self._path):
            for t, step in enumerate(path):
                rows[t, i] = step[which]
        return rows
