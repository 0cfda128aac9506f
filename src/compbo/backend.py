"""The backend: what computes the acquisition function and its gradient during a maximisation.

`torch` is the reference: PyTorch alone. `compiled` is the same mathematics in code that Numba compiles, equal to
rounding. It has to be asked for, by COMPBO_BACKEND=compiled: last bits differ, and what a seed leads to must not depend
on which packages are installed.
"""

from __future__ import annotations

import os

from compbo.errors import OptionError
from compbo.extras import load_optional

VARIABLE = "COMPBO_BACKEND"
TORCH, COMPILED = "torch", "compiled"


def chosen_backend() -> str:
    """The backend that COMPBO_BACKEND asks for, "torch" or "compiled"; "torch" where it is not set.

    Raises:
        OptionError: for another name.
        ModuleNotFoundError: for "compiled" without Numba, with the command that installs it.

    >>> chosen_backend() in (TORCH, COMPILED)
    True
    """
    given = os.environ.get(VARIABLE, TORCH)
    if given not in (TORCH, COMPILED):
        raise OptionError(VARIABLE, "{option} must be 'torch' or 'compiled', got {given!r}.", given=given)
    if given == COMPILED:
        load_optional("numba", "fast")
    return given
