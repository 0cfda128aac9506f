"""The backend: what computes the acquisition function and its gradient during a maximisation.

`single`, the default, ranks raw batches and climbs with products in single precision, where the condition of the
covariance allows it (`surrogate/single.py`). `torch` is the reference: the same in double precision throughout.
`compiled` is the reference in code that Numba compiles, equal to rounding. COMPBO_BACKEND chooses; the compiled one has
to be asked for, since what a seed leads to must not depend on which packages are installed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from compbo.errors import OptionError
from compbo.extras import load_optional

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "COMPBO_BACKEND"
TORCH, SINGLE, COMPILED = "torch", "single", "compiled"
BACKENDS = (TORCH, SINGLE, COMPILED)
DEFAULT = SINGLE
_prescribed: ContextVar[str | None] = ContextVar("backend", default=None)


def chosen_backend() -> str:
    """The backend that is prescribed, or the one that COMPBO_BACKEND asks for, or DEFAULT where it is not set.

    Raises:
        OptionError: for another name.
        ModuleNotFoundError: for "compiled" without Numba, with the command that installs it.

    >>> chosen_backend() in BACKENDS
    True
    """
    given = _prescribed.get() or os.environ.get(VARIABLE, DEFAULT)
    if given not in BACKENDS:
        raise OptionError(VARIABLE, "{option} must be 'torch', 'single' or 'compiled', got {given!r}.", given=given)
    if given == COMPILED:
        load_optional("numba", "fast")
    return given


@contextmanager
def prescribed_backend(name: str) -> Iterator[None]:
    """Use the backend of that name within the context, also where COMPBO_BACKEND asks for another.

    >>> with prescribed_backend(TORCH):
    ...     chosen_backend()
    'torch'
    """
    token = _prescribed.set(name)
    try:
        yield
    finally:
        _prescribed.reset(token)
