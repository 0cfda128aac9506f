"""Constraints between inputs, as BoTorch's `optimize_acqf` takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from botorch.optim.parameter_constraints import evaluate_feasibility

from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

Linear = tuple["Tensor", "Tensor", float]  # indices, coefficients, rhs
Nonlinear = tuple["Callable[[Tensor], Tensor]", bool]  # callable(x) >= 0; whether it is about one point


class Constraints(NamedTuple):
    """The three lists of `optimize_acqf`.

    linear: sum_i coefficients_i x[indices_i] >= rhs, and = rhs in `equality`. Indices of shape k are features, and
    the constraint holds for every point; indices of shape k x 2 are (point, feature): one constraint on the batch.
    nonlinear: callable(x) >= 0, for every point x (d) or, with False, for the batch x (q x d).
    """

    inequality: tuple[Linear, ...] = ()  # linear
    equality: tuple[Linear, ...] = ()
    nonlinear: tuple[Nonlinear, ...] = ()

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.inequality or self.equality or self.nonlinear)

    def feasible(self, x: Tensor) -> Tensor:
        """Which of the batches x (B, q, d) hold them all, by BoTorch's tolerance, (B,)."""
        return evaluate_feasibility(  # type: ignore[no-any-return]
            X=x,
            inequality_constraints=[_like(x, constraint) for constraint in self.inequality] or None,
            equality_constraints=[_like(x, constraint) for constraint in self.equality] or None,
            nonlinear_inequality_constraints=list(self.nonlinear) or None,
        )


def _like(x: Tensor, constraint: Linear) -> Linear:
    indices, coefficients, rhs = constraint
    return indices.to(x.device), coefficients.to(x), rhs


def checked_constraints(
    inequality: Sequence[Any] | None, equality: Sequence[Any] | None, nonlinear: Sequence[Any] | None, q: int, d: int
) -> Constraints:
    """The caller's constraints on batches of q points with d features; a ValueError names what is wrong with one.

    inequality, equality, nonlinear: the three lists of `optimize_acqf`.
    """
    return Constraints(
        tuple(_linear("inequality_constraints", given, q, d) for given in inequality or ()),
        tuple(_linear("equality_constraints", given, q, d) for given in equality or ()),
        tuple(_nonlinear(given) for given in nonlinear or ()),
    )


def _linear(name: str, given: Any, q: int, d: int) -> Linear:
    if not (isinstance(given, tuple) and len(given) == 3):
        raise ValueError(f"{name}: each must be a tuple (indices, coefficients, rhs), got {given!r}.")
    indices, coefficients = torch.as_tensor(given[0]).long(), torch.as_tensor(given[1])
    if indices.ndim not in (1, 2) or (indices.ndim == 2 and indices.shape[1] != 2):
        raise ValueError(f"{name}: indices must have shape k, or k x 2 for (point, feature), got {indices.shape}.")
    if coefficients.shape != indices.shape[:1]:
        raise ValueError(f"{name}: {len(indices)} indices need as many coefficients, got {coefficients.numel()}.")
    features, points = (indices, None) if indices.ndim == 1 else (indices[:, 1], indices[:, 0])
    if bool(((features < 0) | (features >= d)).any()):
        raise ValueError(f"{name}: {indices.tolist()} names a feature that is not one of 0 to {d - 1}.")
    if points is not None and bool(((points < 0) | (points >= q)).any()):
        raise ValueError(f"{name}: {indices.tolist()} names a point that is not one of 0 to {q - 1}.")
    return indices, coefficients, float(given[2])


def _nonlinear(given: Any) -> Nonlinear:
    if not (isinstance(given, tuple) and len(given) == 2 and callable(given[0])):
        raise ValueError(
            "nonlinear_inequality_constraints: each must be a tuple (callable, whether it is about one point), "
            f"got {given!r}."
        )
    return given[0], bool(given[1])


class LinearSystem(NamedTuple):
    """sum over points and features of coefficients * x, >= rhs or = rhs, on pieces of p points."""

    coefficients: Tensor  # (m, p, d)
    rhs: Tensor  # (m,)
    equality: Tensor  # (m,) bool


def linear_system(constraints: Constraints, p: int, d: int) -> LinearSystem:
    """The linear constraints on pieces of p points in d dimensions, a row for every point that one is about."""
    rows: list[Tensor] = []
    rhs: list[float] = []
    equality: list[bool] = []
    for kind, given in ((False, constraints.inequality), (True, constraints.equality)):
        for indices, coefficients, bound in given:
            own = coefficients.detach().to(device="cpu", dtype=DTYPE)
            places = indices.cpu()
            for point in range(p) if places.ndim == 1 else (None,):
                row = torch.zeros(p, d, dtype=DTYPE)
                where = (torch.tensor(point).expand(len(places)), places) if point is not None else tuple(places.mT)
                row.index_put_(where, own, accumulate=True)
                rows.append(row)
                rhs.append(bound)
                equality.append(kind)
    coefficients = torch.stack(rows) if rows else torch.zeros(0, p, d, dtype=DTYPE)
    return LinearSystem(coefficients, torch.tensor(rhs, dtype=DTYPE), torch.tensor(equality, dtype=torch.bool))
