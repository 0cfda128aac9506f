"""By what a model chooses among transforms of the values: its evidence, or how it puts left-out values in order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from compbo.surrogate.leave_one_out import leave_one_out
from compbo.surrogate.outputs import TOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from compbo.surrogate.gp import GP


def log_evidence(model: GP, y: Tensor) -> float:
    """The log posterior density of a model and of the values y (n,) that it was fitted to, in the units of y.

    -J is that of the standardised t(y); the slopes of t carry it over, so that models of several transforms compare.
    """
    evidence = float(model.outputs.slope(y).log().sum()) - len(y) * math.log(model.scale) - model.loss
    return -math.inf if math.isnan(evidence) else evidence


def log_order(model: GP, y: Tensor) -> float:
    """How well a model puts the best of the values y (n,) that it was fitted to in order, when each is left out.

    The mean of log P(t_i > t_j) over all pairs y_i > y_j whose y_i is in the best quarter, with independent normal t_i
    and t_j, as all other values predict them. An order is the same in all units: models of several transforms compare,
    also those of transforms without a density.
    """
    mean, deviation = leave_one_out(model)
    better = (y.unsqueeze(1) > y) & (y >= torch.quantile(y, 1.0 - TOP)).unsqueeze(1)
    z = (mean.unsqueeze(1) - mean) / torch.hypot(deviation.unsqueeze(1), deviation)
    order = float(torch.special.log_ndtr(z[better]).mean())
    return -math.inf if math.isnan(order) else order


MERITS: dict[str, Callable[[GP, Tensor], float]] = {"evidence": log_evidence, "order": log_order}
