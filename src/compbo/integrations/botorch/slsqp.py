"""SLSQP on a fixed sample: what L-BFGS-B becomes under constraints between inputs, as in BoTorch.

L-BFGS-B knows bounds only. SciPy's SLSQP (Kraft, 1988) builds the same kind of curvature and takes constraints as they
are. Every restart is a problem of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from compbo.integrations.botorch.region import HELD, Region
from compbo.maximizers import Traits
from compbo.maximizers.restarts import is_better
from compbo.threads import single_threaded_blas
from compbo.types import Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.maximizers import Maximisation
    from compbo.maximizers.restarts import RestartBatch
    from compbo.types import Oracle


@dataclass(frozen=True)
class SLSQP:
    """Sequential least-squares quadratic programming from every start point, on one fixed draw, in a `Region`.

    ftol: the gain below which a restart has converged.
    """

    ftol: float
    traits: ClassVar[Traits] = Traits(order=2, rule="SLSQP")

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> list[Status]:
        """budget.steps bounds the iterations; a line search may take several evaluations in one of them."""
        from scipy.optimize import Bounds, minimize

        region = task.box
        if not isinstance(region, Region):
            raise TypeError("SLSQP needs a Region.")
        task.oracle.start(task.generator)
        solve: Any = minimize  # its stubs know no value with a gradient
        q = restarts.x.shape[1]
        bounds = Bounds(region.lower.repeat(q).numpy(), region.upper.repeat(q).numpy(), keep_feasible=True)
        endings = []
        for row in range(len(restarts.x)):
            problem = _Problem(task.oracle, region, restarts, row)
            problem.value_and_gradient(problem.start)
            restarts.info.start_value[row] = restarts.best_value[row]
        for row in range(len(restarts.x)):
            problem = _Problem(task.oracle, region, restarts, row)
            try:
                with single_threaded_blas():
                    result = solve(
                        problem.value_and_gradient,
                        problem.start,
                        jac=True,
                        method="SLSQP",
                        bounds=bounds,
                        constraints=problem.constraints(),
                        options={"maxiter": task.budget.steps, "ftol": self.ftol},
                    )
                problem.arrive(result.x)
                endings.append(Status.CONVERGED if result.success else Status.DONE)
                restarts.info.steps = max(restarts.info.steps, int(result.nit))
            except _NoValueError:
                restarts.failed[row] = True
                endings.append(Status.FAILED)
            restarts.x[row], restarts.info.value[row] = restarts.best[row], restarts.best_value[row]
        return endings


class _NoValueError(Exception):
    """The acquisition function has no finite value or gradient at a point: the restart stays at its best."""


class _Problem:
    """One restart as SciPy wants it: vectors of q * free numbers, costs, constraints."""

    def __init__(self, oracle: Oracle, region: Region, restarts: RestartBatch, row: int) -> None:
        self._oracle, self._region, self._restarts, self._row = oracle, region, restarts, row
        self.start: NDArray[np.float64] = restarts.x[row].flatten().numpy().copy()

    def value_and_gradient(self, vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """-f(g(x)) and its gradient; the best feasible point is kept."""
        restarts, oracle, row = self._restarts, self._oracle, self._row
        restarts.clock.check()
        point = torch.as_tensor(vector).reshape(restarts.x[:1].shape)
        inner = oracle.inner(point, oracle.fixed_draw())
        value, gradient = oracle.outer(inner.v)[0], inner.pullback(oracle.outer_gradient(inner.v))
        restarts.info.jitter = max(restarts.info.jitter, inner.jitter)
        norm = torch.linalg.vector_norm(gradient)
        if bool(inner.failed.any()) or not bool(torch.isfinite(value + norm)):
            raise _NoValueError
        restarts.info.gradient_norm[row] = norm
        if bool(is_better(value, restarts.best_value[row])) and self._feasible(point):
            restarts.best[row], restarts.best_value[row] = point[0], value
        return -float(value), -gradient.flatten().numpy()

    def arrive(self, vector: NDArray[np.float64]) -> None:
        """Evaluate the feasible point next to the end of the path."""
        end = self._region.project(torch.as_tensor(vector).reshape(self._restarts.x[:1].shape))
        if bool(torch.isfinite(end).all()):
            self.value_and_gradient(end.flatten().numpy())

    def _pieces(self, point: Tensor) -> Tensor:
        return point.reshape(len(self._region.linear.bound), -1)

    def _feasible(self, point: Tensor) -> bool:
        u = self._pieces(point)
        if bool((self._region.linear.violation(u) > HELD).any()):
            return False
        rows = torch.arange(len(u))
        return not self._region.nonlinear or bool((self._region.slack(u, rows) >= -HELD).all())

    def constraints(self) -> list[dict[str, Any]]:
        """SciPy's dictionaries: the linear equalities, the linear inequalities, the non-linear ones."""
        linear, given = self._region.linear, []
        for kind, which in (("eq", linear.equality), ("ineq", ~linear.equality)):
            if bool(which.any()):
                matrix = _blocks(linear.matrix[0, which].expand(len(linear.bound), -1, -1))
                bound = linear.bound[:, which].flatten().numpy()
                given.append(
                    {"type": kind, "fun": lambda v, a=matrix, b=bound: a @ v - b, "jac": lambda _, a=matrix: a}
                )
        if self._region.nonlinear:
            rows = torch.arange(len(linear.bound))

            def slack(vector: NDArray[np.float64]) -> NDArray[np.float64]:
                values: NDArray[np.float64] = self._region.slack(self._pieces(torch.as_tensor(vector)), rows).numpy()
                return values.ravel()

            def gradient(vector: NDArray[np.float64]) -> NDArray[np.float64]:
                return _blocks(self._region.slack_and_gradient(self._pieces(torch.as_tensor(vector)), rows)[1])

            given.append({"type": "ineq", "fun": slack, "jac": gradient})
        return given


def _blocks(parts: Tensor) -> NDArray[np.float64]:
    """(g, m, D) -> the block-diagonal matrix (g m, g D)."""
    matrix: NDArray[np.float64] = torch.block_diag(*parts).numpy()  # type: ignore[no-untyped-call]
    return matrix
