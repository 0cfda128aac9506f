"""The caller's coordinates and the maximizers': a box of any size, some features fixed <-> the free unit cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from compbo.integrations.botorch.region import Region, make_region
from compbo.types import DTYPE, Box, Draw, Inner

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.integrations.botorch.constraints import Constraints
    from compbo.types import Oracle


@dataclass(frozen=True)
class Frame:
    """x = offset + scale u in the free features, the fixed value in the others.

    The steps of the maximizers are meant for a unit cube, so a bounded feature spans [0, 1] in u.
    """

    offset: Tensor  # (free,)
    scale: Tensor  # (free,)
    box: Box  # in u; a `Region` where inputs are constrained
    free: Tensor  # (free,) indices
    template: Tensor  # (q, d) with the fixed values, in the caller's dtype and on the caller's device
    lower: Tensor  # (d,) in the caller's units
    upper: Tensor  # (d,) in the caller's units
    rounder: Callable[[Tensor], Tensor] | None = None  # x -> the nearest valid x, for instance whole numbers

    def to_x(self, u: Tensor) -> Tensor:
        """u (B, q, free) -> x (B, q, d); a tracker's query point may lie outside the bounds.

        Rounding is not seen by `pull`: the gradient passes straight through it.
        """
        x = self.template.repeat(len(u), 1, 1)
        x[..., self.free.to(x.device)] = torch.addcmul(self.offset, u, self.scale).to(x)
        return x if self.rounder is None else self.rounder(x)

    def to_bounded_x(self, u: Tensor) -> Tensor:
        """The same, inside the bounds to the last bit; fixed features stay where they were fixed."""
        x = self.to_x(u)
        inside = torch.minimum(torch.maximum(x, self.lower.to(x)), self.upper.to(x))
        free = self.free.to(x.device)
        x[..., free] = inside[..., free]
        return x

    def to_u(self, x: Tensor) -> Tensor:
        """x (B, q, d) -> u (B, q, free), projected on the box and what is feasible of it."""
        free = x.detach()[..., self.free.to(x.device)].to(device="cpu", dtype=DTYPE)
        return self.box.project((free - self.offset) / self.scale)

    def pull(self, gradient: Tensor) -> Tensor:
        """d/dx -> d/du."""
        return gradient[..., self.free.to(gradient.device)].to(device="cpu", dtype=DTYPE) * self.scale


def make_frame(
    x0: Tensor,
    lower: Tensor,
    upper: Tensor,
    fixed: dict[int, Tensor],
    rounder: Callable[[Tensor], Tensor] | None = None,
    constraints: Constraints | None = None,
) -> Frame:
    """The frame of start points x0 (B, q, d), bounds lower and upper (d,), and features fixed to (q,) values each.

    rounder: x -> the nearest valid x.

    Where a bound is infinite, the spread of the start points sets the scale.
    """
    d = x0.shape[-1]
    free = torch.tensor([i for i in range(d) if i not in fixed], dtype=torch.long)
    template = x0[0].detach().clone()
    for index, values in fixed.items():
        template[:, index] = values.to(template)
    points = x0.detach()[..., free.to(x0.device)].to(device="cpu", dtype=DTYPE).flatten(0, 1)
    low, high = lower[free], upper[free]
    bounded = torch.isfinite(low) & torch.isfinite(high)
    offset = torch.where(bounded, low, points.amin(0))
    scale = torch.where(bounded, high - low, points.amax(0) - points.amin(0))
    scale = torch.where(scale > 0, scale, 1.0)
    box = Box((low - offset) / scale, (high - offset) / scale)
    if constraints is not None and constraints.any:
        box = make_region(box, constraints, template, offset, scale, free)
    return Frame(offset, scale, box, free, template, lower, upper, rounder)


class FramedOracle:
    """An oracle in the coordinates of a frame (see `compbo.types.Oracle`): all but `inner` is the oracle's own."""

    def __init__(self, oracle: Oracle, frame: Frame, *, projected: bool = True) -> None:
        """projected: whether gradients keep only what leads to feasible points, where inputs are constrained."""
        self._inner, self._frame = oracle.inner, frame
        self._region = frame.box if projected and isinstance(frame.box, Region) else None
        self.pool_size, self.linear_outer = oracle.pool_size, oracle.linear_outer
        self.homogeneous_utility = oracle.homogeneous_utility
        self.start, self.draw = oracle.start, oracle.draw
        self.expectation_draw, self.fixed_draw = oracle.expectation_draw, oracle.fixed_draw
        self.utility, self.outer, self.outer_gradient = oracle.utility, oracle.outer, oracle.outer_gradient
        self.bytes_needed = oracle.bytes_needed

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """v at u, and the way back to u."""
        inner = self._inner(self._frame.to_x(x), draw, gradient_rows)
        pullback = inner.pullback

        def pulled(c: Tensor) -> Tensor:
            gradient = self._frame.pull(pullback(c))
            return gradient if self._region is None else self._region.tangent(x[: len(gradient)], gradient)

        return inner._replace(pullback=pulled)
