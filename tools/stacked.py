"""A control of the study: L-BFGS-B on all restarts as one problem, as the public research code runs it.

compbo study run --grid tools/stacked.toml --plugin tools/stacked.py --results controls
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from scipy.optimize import minimize

import compbo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.types import Box, Budget, Oracle


def stacked_lbfgsb(oracle: Oracle, x0: Tensor, *, budget: Budget, box: Box, generator: torch.Generator) -> Tensor:  # noqa: ARG001
    """Climb the sum of the restarts' values with one curvature estimate for all of them.

    Args:
        oracle: the acquisition function on a fixed sample.
        x0: start points (B, q, d).
        budget: its steps bound the iterations.
        box: of the points.
        generator: not used, the sample is fixed.

    Returns:
        The points at which SciPy ended, (B, q, d).
    """
    draw = oracle.draw()

    def cost(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        inner = oracle.inner(torch.as_tensor(flat).reshape(x0.shape), draw)
        gradient = inner.pullback(oracle.outer_gradient(inner.v))
        return -float(oracle.outer(inner.v).sum()), -gradient.flatten().numpy()

    bounds = list(zip(box.lower.tolist(), box.upper.tolist(), strict=True)) * (len(x0) * x0.shape[1])
    options = {"maxiter": budget.steps, "maxfun": 4 * budget.steps, "ftol": 2.2e-9, "gtol": 1e-5}
    found = minimize(cost, x0.flatten().numpy(), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return torch.as_tensor(found.x).reshape(x0.shape)


stacked_lbfgsb.name = "L-BFGS-B-stacked"  # type: ignore[attr-defined]
stacked_lbfgsb.form = "ERM"  # type: ignore[attr-defined]
compbo.register(stacked_lbfgsb)
