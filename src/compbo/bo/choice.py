"""The choice: start and end batches are compared on one common sample, and how far its values depend on chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from compbo.acquisition.oracle import VALUE_ELEMENTS
from compbo.acquisition.samples import scrambles
from compbo.types import Draw

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.oracle import AcquisitionOracle
    from compbo.types import Trace

COMMON_SAMPLE = 512  # columns of the sample on which batches are compared
SCRAMBLES = 16  # independent ones, of the same size, that say how exact a value on it is


class Chosen(NamedTuple):
    """The chosen batch (q, d), its value, the restart it came from, and all restarts' values, on the common sample."""

    batch: Tensor
    value: float
    winner: int  # -1: a start batch
    start: Tensor  # (B,) before the ascent; -inf where there is no value
    end: Tensor  # (B,) the best of each restart
    best_start: Tensor  # (q, d)

    @property
    def gain(self) -> float:
        """Over the best start batch."""
        return self.value - float(self.start.max())


def choose(oracle: AcquisitionOracle, trace: Trace, x0: Tensor, common: Draw) -> Chosen:
    """The best of start batches x0 (B, q, d), final and best ones by the oracle on the common sample."""
    b = len(x0)
    points = torch.cat([x0, trace.final, trace.best])
    points = torch.where(torch.isfinite(points), points, x0.repeat(3, 1, 1))
    values = oracle.value(points, common)
    ranked = torch.where(torch.isfinite(values), values, -torch.inf)
    top = int(ranked.argmax())
    return Chosen(
        batch=points[top],
        value=float(ranked[top]),
        winner=top % b if top >= b else -1,
        start=ranked[:b],
        end=ranked.reshape(3, b).amax(0),
        best_start=x0[ranked[:b].argmax()],
    )


def values_on_scrambles(oracle: AcquisitionOracle, x: Tensor) -> Tensor:
    """f(g(x)) of batches x (B, q, d) by the oracle on independent scrambles of the common sample: (B, SCRAMBLES).

    The standard deviation over them is the standard error of one value on the common sample, on the scale of the
    acquisition function (a logarithm, for LogEI); that of the difference of two rows is the error of the difference.
    """
    width = oracle.samples.width
    size = max(1, VALUE_ELEMENTS // (len(x) * width * COMMON_SAMPLE))
    copies = torch.split(scrambles(width, COMMON_SAMPLE, SCRAMBLES), size)
    return torch.cat([_values_on(oracle, x, part) for part in copies], -1)


def _values_on(oracle: AcquisitionOracle, x: Tensor, z: Tensor) -> Tensor:
    """f(g(x)) on every one of the samples z (S, q, K): (B, S)."""
    copies, width, columns = z.shape
    inner = oracle.inner(x, Draw(z.movedim(0, 1).flatten(1)), gradient_rows=0)
    v = inner.v.reshape(len(x), width, copies, columns).movedim(-2, 1).flatten(0, 1)
    values: Tensor = oracle.outer(v.contiguous()).reshape(len(x), copies)
    return values.masked_fill(inner.failed.unsqueeze(-1), torch.nan)
