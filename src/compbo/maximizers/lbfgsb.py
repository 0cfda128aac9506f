"""L-BFGS-B on a fixed sample: one independent state per restart, evaluations batched over the restarts.

Stacking the restarts in one problem would mix their curvature; BoTorch's port of SciPy's driver keeps one state per
restart and asks for all points that are due at once. With the samples of the compositional form the same code is
CL-BFGS-B: it climbs f(g(x)) with the gradient J_g^T grad f(zeta), zeta = g(x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from compbo.maximizers.climb import Traits
from compbo.maximizers.restarts import is_better
from compbo.threads import single_threaded_blas
from compbo.types import Failure, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.maximizers.climb import Maximisation
    from compbo.maximizers.restarts import RestartBatch
    from compbo.types import Box, Oracle


@dataclass(frozen=True)
class LBFGSB:
    """L-BFGS-B (Byrd, Lu, Nocedal and Zhu, 1995) from every start point, on one fixed draw.

    maxcor, ftol and gtol are SciPy's: curvature pairs, relative gain and projected gradient at which a restart has
    converged.
    """

    maxcor: int = 10
    ftol: float = 2.2e-9
    gtol: float = 1e-5
    traits: ClassVar[Traits] = Traits(order=2, rule="L-BFGS-B")

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> list[Status]:
        """budget.steps bounds the iterations; a line search may take several evaluations in one of them."""
        from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched

        task.oracle.start(task.generator)
        watched = _Watched(task.oracle, restarts)
        try:
            with single_threaded_blas():
                *_, results = fmin_l_bfgs_b_batched(
                    watched.value_and_gradient,
                    restarts.x.reshape(len(restarts.x), -1).numpy(),
                    bounds=_bounds(task.box, restarts.x.shape[1]),
                    maxiter=task.budget.steps,
                    maxcor=self.maxcor,
                    factr=None,
                    ftol=self.ftol,
                    pgtol=self.gtol,
                    callback=watched.iterated,
                    pass_batch_indices=True,
                )
        finally:
            watched.finish()
        return [Status.CONVERGED if result["success"] else Status.DONE for result in results]


def _bounds(box: Box, q: int) -> list[tuple[float, float]]:
    return list(zip(box.lower.tolist(), box.upper.tolist(), strict=True)) * q


class _Watched:
    """The oracle as SciPy wants it; what the restarts do on the way is noted."""

    def __init__(self, oracle: Oracle, restarts: RestartBatch) -> None:
        self._oracle, self._restarts = oracle, restarts
        self._started = False
        self._asked = restarts.x.flatten(1).numpy().copy()  # the point at which every restart was evaluated last
        self._due: list[int] = []  # the restarts of the last evaluation that may have finished an iteration
        self._iterations = [0] * len(restarts.x)
        self._path: list[list[tuple[Tensor, Tensor]]] = [[] for _ in restarts.x]  # best value and point, if recorded

    def value_and_gradient(
        self, x: NDArray[np.float64], batch_indices: list[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """-f(g(x)) and its gradient for the restarts that are due.

        A failed restart gets a low cost and no slope, so that SciPy stops it.
        """
        restarts, oracle, rows = self._restarts, self._oracle, torch.as_tensor(batch_indices)
        if self._started:
            restarts.clock.check()
        points = torch.as_tensor(x).reshape(len(rows), *restarts.x.shape[1:])
        inner = oracle.inner(points, oracle.fixed_draw())
        restarts.info.jitter = max(restarts.info.jitter, inner.jitter)
        value, gradient = oracle.outer(inner.v), inner.pullback(oracle.outer_gradient(inner.v))
        norm = torch.linalg.vector_norm(gradient, dim=(1, 2))
        broken = inner.failed | ~torch.isfinite(value) | ~torch.isfinite(norm)
        if bool(broken.any()):
            self._fail(rows, inner.failed, Failure.NO_FACTOR)
            self._fail(rows, ~torch.isfinite(value), Failure.VALUE)
            self._fail(rows, ~torch.isfinite(norm), Failure.GRADIENT)
        self._due, self._asked[batch_indices] = list(batch_indices), x
        self._keep(rows, points, value, norm, broken)
        arrived = -1e10 * (1 + restarts.best_value[rows].nan_to_num().abs())
        cost = torch.where(broken, arrived, -value)
        slope = torch.where(broken[:, None], 0.0, -gradient.reshape(len(rows), -1))
        return cost.numpy(), slope.numpy()

    def _fail(self, rows: Tensor, where: Tensor, why: Failure) -> None:
        """Mark those of the restarts `rows` for which `where` holds."""
        which = torch.zeros_like(self._restarts.failed)
        which[rows] = where
        self._restarts.fail(which, why)

    def _keep(self, rows: Tensor, points: Tensor, value: Tensor, norm: Tensor, broken: Tensor) -> None:
        restarts, info = self._restarts, self._restarts.info
        info.gradient_norm[rows] = torch.where(broken, info.gradient_norm[rows], norm)
        better = ~broken & is_better(value, restarts.best_value[rows])
        restarts.best[rows[better]], restarts.best_value[rows[better]] = points[better], value[better]
        if not self._started:
            info.start_value, self._started = restarts.best_value.clone(), True

    def iterated(self, x: NDArray[np.float64]) -> None:
        """Count an iteration. SciPy does not say whose it is: restarts come in order, at the point last evaluated."""
        best, best_value = self._restarts.best, self._restarts.best_value
        while self._due:
            i = self._due.pop(0)
            if (self._asked[i] == x).all():
                self._iterations[i] += 1
                if self._restarts.record:
                    self._path[i].append((best_value[i].clone(), best[i].clone()))
                return

    def finish(self) -> None:
        """L-BFGS-B never accepts a worse point, so the final point is the best; one that has stopped stays there."""
        restarts, info = self._restarts, self._restarts.info
        restarts.x, info.value = restarts.best.clone(), restarts.best_value.clone()
        info.steps = max(self._iterations)
        if restarts.record:
            ends = list(zip(restarts.best_value, restarts.best, strict=True))
            for t in range(info.steps):
                now = [path[t] if t < len(path) else end for path, end in zip(self._path, ends, strict=True)]
                values, points = zip(*now, strict=True)
                info.values.append(torch.stack(values))
                info.points.append(torch.stack(points))
