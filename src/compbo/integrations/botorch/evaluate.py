"""Evaluate a batched function once, with what a maximizer needs: the way back, and failure as a value."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from linear_operator.utils.errors import NanError, NotPSDError

from compbo.types import DTYPE, Inner

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

logger = logging.getLogger(__name__)

CHUNK = 256  # batches evaluated at once where only values are wanted
NO_POSTERIOR = (NanError, NotPSDError, torch.linalg.LinAlgError)  # type: ignore[attr-defined]


def differentiate(function: Callable[[Tensor], Tensor], x: Tensor, gradient_rows: int | None) -> Inner:
    """function(x) (B, rows, K) and its pullback.

    Autograd records only the first `gradient_rows` batches; None: all of them.
    """
    count = len(x) if gradient_rows is None else gradient_rows
    free = x[:count].detach().clone().requires_grad_()
    parts = []
    if count > 0:
        with torch.enable_grad():
            parts.append(function(free))
    if count < len(x):
        with torch.no_grad():
            parts.append(function(x[count:]))
    v = torch.cat([part.detach() for part in parts])

    def pullback(c: Tensor) -> Tensor:
        if count == 0 or not parts[0].requires_grad:
            return torch.zeros_like(x[:count])
        (gradient,) = torch.autograd.grad(parts[0], free, c, retain_graph=True, allow_unused=True)
        return torch.zeros_like(free) if gradient is None else gradient

    return Inner(v, pullback, ~torch.isfinite(v).flatten(1).all(-1), 0.0)


def row_by_row_where_it_fails(function: Callable[[Tensor], Tensor], x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """function(x), (B, *shape); a batch without a posterior is NaN and does not take the others with it."""
    try:
        return function(x)
    except NO_POSTERIOR as error:
        if len(x) > 1:
            return torch.cat([row_by_row_where_it_fails(function, row, shape) for row in torch.split(x, 1)])
        logger.info("No posterior at a batch: %s", error)
        return torch.full((1, *shape), torch.nan, dtype=DTYPE)


def values_on_its_own_sample(acqf: Any) -> Callable[[Tensor], Tensor]:
    """x (B, q, d) -> values (B,) of `acqf` without gradients, some batches at a time; -inf where there is none."""

    def value(x: Tensor) -> Tensor:
        return acqf(x).to(device="cpu", dtype=DTYPE)  # type: ignore[no-any-return]

    def values(x: Tensor) -> Tensor:
        with torch.no_grad():
            parts = [row_by_row_where_it_fails(value, rows, ()) for rows in torch.split(x, CHUNK)]
        return torch.cat(parts).nan_to_num(nan=-torch.inf)

    return values
