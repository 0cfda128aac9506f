"""What BoTorch hands to a `gen_candidates`, checked and put into one form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor


def checked_starts(initial_conditions: Tensor) -> Tensor:
    """The start points (initial_conditions) as b x q x d; ValueError if there is none."""
    shape = initial_conditions.shape
    if len(shape) not in (2, 3):
        raise ValueError(f"initial_conditions must be b x q x d or q x d, got shape {tuple(shape)}.")
    x0 = initial_conditions.detach().reshape(-1, *shape[-2:])
    if not bool(torch.isfinite(x0).flatten(1).all(1).any()):
        raise ValueError("initial_conditions must hold at least one batch, of finite numbers.")
    return x0


def checked_bounds(lower: float | Tensor | None, upper: float | Tensor | None, d: int) -> tuple[Tensor, Tensor]:
    """Both bounds, lower and upper, as (d,); infinite where there is none."""
    bounds = _bound(lower, d, -torch.inf), _bound(upper, d, torch.inf)
    if not bool((bounds[0] <= bounds[1]).all()):
        raise ValueError("lower_bounds must not exceed upper_bounds, nor be NaN.")
    return bounds


def _bound(bound: float | Tensor | None, d: int, absent: float) -> Tensor:
    """(d,) in double precision."""
    value = torch.as_tensor(absent if bound is None else bound).detach().to(device="cpu", dtype=DTYPE)
    if value.numel() not in (1, d):
        raise ValueError(f"bounds must be one number or one for each of the {d} features, got {value.numel()}.")
    return value.flatten().expand(d)


def fixed_values(fixed_features: Mapping[int, float | Tensor], x0: Tensor) -> dict[int, Tensor]:
    """Every fixed feature as a tensor (b, q), for the start points x0 (b, q, d)."""
    b, q, d = x0.shape
    fixed = {}
    for index, value in fixed_features.items():
        if not -d <= index < d:
            raise ValueError(f"fixed_features: {index} is not one of the {d} features.")
        tensor = torch.as_tensor(value, dtype=x0.dtype, device=x0.device)
        if tensor.numel() == 1:
            tensor = tensor.reshape(1, 1)
        elif tensor.shape == (b,):
            tensor = tensor[:, None]
        elif tensor.shape != (b, q):
            raise ValueError(f"fixed_features: a tensor must have shape {b} or {b} x {q}, got {tuple(tensor.shape)}.")
        fixed[index % d] = tensor.expand(b, q)
    return fixed


def equal_rows(fixed: dict[int, Tensor], b: int) -> list[Tensor]:
    """The restarts, of b, that share all fixed values, group by group: each group is one maximisation."""
    if not fixed:
        return [torch.arange(b)]
    _, group = torch.unique(torch.cat(list(fixed.values()), 1).cpu(), dim=0, return_inverse=True)
    return [(group == i).nonzero().squeeze(1) for i in range(int(group.max()) + 1)]
