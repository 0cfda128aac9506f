"""Methods that build up curvature, on one fixed draw: L-BFGS-B, and CL-BFGS-B on the compositional form."""

from __future__ import annotations

from compbo.maximizers.entry import THE_PAPER, Entry
from compbo.maximizers.hyperparameters import Hyperparameter, nonnegative
from compbo.maximizers.lbfgsb import LBFGSB

HYPERPARAMETERS = {
    "maxcor": Hyperparameter(10, "curvature pairs kept", low=1),
    "ftol": nonnegative(2.2e-9, "relative gain at which a restart has converged"),
    "gtol": nonnegative(1e-5, "projected gradient at which a restart has converged"),
}
BYRD = "Byrd, Lu, Nocedal and Zhu, SIAM Journal on Scientific Computing 16, 1995"

ENTRIES = [
    Entry("L-BFGS-B", "ERM", HYPERPARAMETERS, LBFGSB, BYRD),
    Entry("CL-BFGS-B", "Comp", HYPERPARAMETERS, LBFGSB, THE_PAPER),
]
