"""The feasible part of a box: what the maximizers project on where inputs are constrained.

A batch falls into pieces that are projected by themselves: its points, or the whole batch if a constraint ties points
together. Linear constraints make a polytope, with its exact projection. A point that violates a non-linear one is
moved to the polytope of the constraints linearised there, again and again (Newton's method for inequalities), until
all hold; where that leads nowhere the point is NaN, and a maximizer stays where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from botorch.exceptions.errors import CandidateGenerationError

from compbo.integrations.botorch.constraints import linear_system
from compbo.integrations.botorch.polytope import Polytope, nearest
from compbo.types import DTYPE, Box

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.integrations.botorch.constraints import Constraints, Nonlinear

RESTORING_STEPS = 30
TOLERANCE = 1e-8  # BoTorch's, in double precision
ACTIVE = 1e-7  # a constraint of unit length that is nearer stops a move across it
FAR = -1e30  # a bound that holds everywhere
HELD = 1e-10  # by which a non-linear constraint may be missed after it was restored


class Pieces(NamedTuple):
    """How pieces of p points in x are made of vectors u of p * free numbers: x = base + scale u in free features."""

    base: Tensor  # (g, p, d): g pieces in a batch; fixed features at their values, free ones at u = 0
    scale: Tensor  # (free,)
    free: Tensor  # (free,) indices
    like: Tensor  # in the caller's dtype, on the caller's device

    def to_x(self, u: Tensor) -> Tensor:
        """u (R, p * free) -> x (R, p, d), R a multiple of g; a differentiable function."""
        g, p, d = self.base.shape
        x = self.base.repeat(len(u) // g, 1, 1)
        moved = torch.zeros(len(u), p, d, dtype=DTYPE).index_add(-1, self.free, u.reshape(len(u), p, -1) * self.scale)
        return (x + moved).to(self.like)


class Region(Box):
    """A box (lower, upper) with constraints: P is the projection on the part of it in which they hold."""

    pieces: Pieces
    linear: Polytope  # of the g pieces of one batch
    nonlinear: tuple[Nonlinear, ...]

    def project(self, x: Tensor) -> Tensor:
        """P(u) for batches u (B, q, free): the nearest feasible point where all constraints are linear."""
        g = len(self.linear.bound)
        y = x.reshape(len(x) * g, -1)
        u = nearest(self.polytope(len(x)), y)
        return (self._restored(u) if self.nonlinear else u).reshape(x.shape)

    def tangent(self, x: Tensor, gradient: Tensor) -> Tensor:
        """The part of a gradient (B, q, free) at feasible u that leads to feasible points: its projection on the cone.

        A rule that scales coordinates by themselves, as Adam does, would follow a large normal part across the border
        and lose the small tangential one.
        """
        u, v = (part.reshape(len(x) * len(self.linear.bound), -1) for part in (x, gradient))
        limits = self.polytope(len(x))
        if self.nonlinear:
            limits = _linearised(limits, u, *self.slack_and_gradient(u, torch.arange(len(u))))
        length = torch.linalg.vector_norm(v, dim=-1, keepdim=True).clamp_min(torch.finfo(DTYPE).tiny)
        zero = torch.zeros((), dtype=DTYPE)
        cone = limits._replace(
            bound=torch.where(limits.equality | (limits.missing(u) >= -ACTIVE), zero, FAR),
            lower=torch.where(u <= limits.lower, zero, -torch.inf),
            upper=torch.where(u >= limits.upper, zero, torch.inf),
        )
        feasible: Tensor = nearest(cone, v / length) * length
        return feasible.reshape(gradient.shape)

    def polytope(self, batches: int) -> Polytope:
        """The linear constraints on all pieces of some number of batches."""
        return self.linear._replace(bound=self.linear.bound.repeat(batches, 1))

    def slack(self, u: Tensor, rows: Tensor) -> Tensor:
        """The non-linear constraints' values (len(rows), k) at some of the pieces u (R, D)."""
        with torch.no_grad():
            return self._slack(u, rows)

    def slack_and_gradient(self, u: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The same, and the gradients (len(rows), k, D)."""
        with torch.enable_grad():
            free = u.detach().clone().requires_grad_()
            values = self._slack(free, rows)
            columns = values.sum(0) + 0.0 * free.sum()  # a constant has a gradient, too
        gradients = [torch.autograd.grad(column, free, retain_graph=True)[0][rows] for column in columns]
        return values.detach(), torch.stack(gradients, 1)

    def _slack(self, u: Tensor, rows: Tensor) -> Tensor:
        x = self.pieces.to_x(u)
        values = [torch.stack([c.reshape(()) for c in self._values(x[row])]) for row in rows.tolist()]
        return torch.stack(values).to(device="cpu", dtype=DTYPE)

    def _values(self, x: Tensor) -> list[Tensor]:
        """The non-linear constraints at one piece x (p, d): one number per constraint, or per point of it."""
        return [c for function, one in self.nonlinear for c in ([function(p) for p in x] if one else [function(x)])]

    def _restored(self, u: Tensor) -> Tensor:
        u = u.clone()
        left = torch.arange(len(u))
        linear = self.polytope(len(u) // len(self.linear.bound))
        for _ in range(RESTORING_STEPS):
            left = left[~(self.slack(u, left) >= -HELD).all(-1)]
            if len(left) == 0:
                return u
            moved = nearest(_linearised(linear.rows(left), u[left], *self.slack_and_gradient(u, left)), u[left])
            if torch.equal(moved, u[left]):
                break
            u[left] = moved
        u[left] = torch.nan
        return u


def _linearised(linear: Polytope, u: Tensor, values: Tensor, gradient: Tensor) -> Polytope:
    """The polytope with c(u) + grad c(u) . (u' - u) >= 0 besides, its rows made to have length 1."""
    length = torch.linalg.vector_norm(gradient, dim=-1)
    steep = length > 0  # a flat constraint shows no way
    rows = torch.where(steep.unsqueeze(-1), gradient / length.unsqueeze(-1), 0.0)
    bound = torch.where(steep, (rows * u.unsqueeze(1)).sum(-1) - values / length, 0.0)
    return linear._replace(
        matrix=torch.cat([linear.matrix.expand(len(u), -1, -1), rows], 1),
        bound=torch.cat([linear.bound, bound], 1),
        equality=torch.cat([linear.equality, torch.zeros(values.shape[1], dtype=torch.bool)]),
    )


def make_region(
    box: Box, constraints: Constraints, template: Tensor, offset: Tensor, scale: Tensor, free: Tensor
) -> Region:
    """The feasible part of a box of u, where x (q, d) is the template with offset + scale u in the free features."""
    q, d = template.shape
    tied = any(indices.ndim == 2 for indices, _, _ in (*constraints.inequality, *constraints.equality))
    tied = tied or not all(about_a_point for _, about_a_point in constraints.nonlinear)
    p = q if tied else 1
    base = template.detach().to(device="cpu", dtype=DTYPE).clone()
    base[:, free] = offset
    pieces = Pieces(base.reshape(q // p, p, d), scale, free, template)
    region = Region(box.lower, box.upper)
    region.pieces, region.nonlinear = pieces, constraints.nonlinear
    region.linear = _polytope(box, constraints, pieces)
    return region


def _polytope(box: Box, constraints: Constraints, pieces: Pieces) -> Polytope:
    """The linear constraints in terms of u, rows of length 1; those that only fixed features decide are gone."""
    _, p, d = pieces.base.shape
    system = linear_system(constraints, p, d)
    matrix = (system.coefficients[..., pieces.free] * pieces.scale).flatten(1)
    bound = system.rhs - torch.einsum("mpd,gpd->gm", system.coefficients, pieces.base)
    length = torch.linalg.vector_norm(matrix, dim=1)
    settled = length == 0
    missed = torch.where(system.equality, bound.abs(), bound)[:, settled]
    if bool((missed > TOLERANCE).any()):
        raise CandidateGenerationError("a linear constraint cannot hold: the fixed features alone decide it.")
    kept, length = ~settled, length[~settled]
    return Polytope(
        (matrix[kept] / length[:, None]).unsqueeze(0),
        bound[:, kept] / length,
        system.equality[kept],
        box.lower.repeat(1, p),
        box.upper.repeat(1, p),
    )
