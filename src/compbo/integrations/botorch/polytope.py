"""The nearest point of a polytope in a box, for many points at once.

min |u - y|^2 / 2 over l <= u <= h, A u >= b (and = b in the rows of an equality). The solution is
u(lam) = clip(y + A^T lam, l, h), lam the maximum of the concave dual function, lam >= 0 for the inequalities. The
dual has one number per constraint, few of them: Newton's method on it, projected on lam >= 0 (Bertsekas, 1982), ends
after a handful of steps, exact up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

NEWTON_STEPS = 60
HALVINGS = 40
ROUNDING = 1e-12  # by which a constraint of unit length may be missed


class Polytope(NamedTuple):
    """Constraints on R vectors of D numbers: their rows have length 1, or 0 where there is nothing to hold."""

    matrix: Tensor  # A (R, m, D), or (1, m, D) if all share it
    bound: Tensor  # b (R, m)
    equality: Tensor  # (m,) bool
    lower: Tensor  # l (R, D), or (1, D) if all share it
    upper: Tensor  # h

    def rows(self, which: Tensor) -> Polytope:
        """The constraints of some of the vectors."""
        count = len(self.bound)

        def own(part: Tensor) -> Tensor:
            return part if len(part) < count else part[which]

        return Polytope(own(self.matrix), self.bound[which], self.equality, own(self.lower), own(self.upper))

    def missing(self, u: Tensor) -> Tensor:
        """b - A u (R, m): above 0 where an inequality is violated."""
        return self.bound - _times(self.matrix, u)

    def violation(self, u: Tensor) -> Tensor:
        """By how much every constraint is missed, (R, m)."""
        missing = self.missing(u)
        return torch.where(self.equality, missing.abs(), missing.clamp_min(0.0))

    def clip(self, u: Tensor) -> Tensor:
        """The nearest point of the box."""
        return torch.clamp(u, self.lower, self.upper)


def nearest(polytope: Polytope, y: Tensor) -> Tensor:
    """The nearest points (R, D) of the polytope to y (R, D); where there is none, one that misses it by little."""
    u = polytope.clip(y)
    outside = (polytope.violation(u) > ROUNDING).any(-1).nonzero().squeeze(1)
    if len(outside) > 0:
        u[outside] = _nearest_by_newton(polytope.rows(outside), y[outside])
    return u


def _nearest_by_newton(polytope: Polytope, y: Tensor) -> Tensor:
    """Newton's steps on the dual, for the rows that have not arrived."""
    lam = torch.zeros_like(polytope.bound)
    left = torch.arange(len(y))
    for _ in range(NEWTON_STEPS):
        own, points = polytope.rows(left), y[left]
        u = _primal(own, points, lam[left])
        slope = own.missing(u)  # of the dual
        resting = ~own.equality & (lam[left] <= 0) & (slope <= 0)
        slope = slope.masked_fill(resting, 0.0)
        way = slope.abs().amax(-1) > ROUNDING
        if not bool(way.any()):
            break
        left, own, points = left[way], own.rows(way), points[way]
        step = _newton_step(own, u[way], slope[way], resting[way])
        lam[left] = _better(own, points, lam[left], slope[way], step)
    return _primal(polytope, y, lam)


def _newton_step(polytope: Polytope, u: Tensor, slope: Tensor, resting: Tensor) -> Tensor:
    """The dual's curvature is A A^T over the coordinates that the box does not hold; damped where that is singular."""
    free = (u > polytope.lower) & (u < polytope.upper)
    moving = polytope.matrix * (free.unsqueeze(1) & ~resting.unsqueeze(-1))
    curvature = moving @ polytope.matrix.mT.masked_fill(resting.unsqueeze(1), 0.0)
    damping = slope.abs().amax(-1, keepdim=True).clamp(1e-13, 1e-3).expand_as(slope)
    damping = torch.where(resting, 1.0, damping)
    step: Tensor = torch.linalg.solve(curvature + torch.diag_embed(damping), slope)
    return step


def _better(polytope: Polytope, y: Tensor, lam: Tensor, slope: Tensor, step: Tensor) -> Tensor:
    """lam after the longest of the halved steps at which the dual rises enough; lam itself if there is none."""
    found, value = lam.clone(), _dual(polytope, y, lam)
    left = torch.arange(len(lam))
    length = 1.0
    for _ in range(HALVINGS):
        trial = lam[left] + length * step[left]
        trial = torch.where(polytope.equality, trial, trial.clamp_min(0.0))
        rise = 1e-4 * (slope[left] * (trial - lam[left])).sum(-1)
        noise = 1e-13 * (1.0 + value[left].abs())
        good = _dual(polytope.rows(left), y[left], trial) >= value[left] + rise - noise
        found[left[good]] = trial[good]
        left, length = left[~good], 0.5 * length
        if len(left) == 0:
            break
    return found


def _primal(polytope: Polytope, y: Tensor, lam: Tensor) -> Tensor:
    """u(lam) = clip(y + A^T lam)."""
    return polytope.clip(y + _times(polytope.matrix.mT, lam))


def _dual(polytope: Polytope, y: Tensor, lam: Tensor) -> Tensor:
    """|u - y|^2 / 2 + lam . (b - A u) at u(lam), (R,)."""
    u = _primal(polytope, y, lam)
    return 0.5 * (u - y).square().sum(-1) + (lam * polytope.missing(u)).sum(-1)


def _times(matrix: Tensor, vectors: Tensor) -> Tensor:
    """(R, a, b) (R, b) -> (R, a)."""
    return (matrix @ vectors.unsqueeze(-1)).squeeze(-1)
