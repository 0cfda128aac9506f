"""How the functions of this room are compiled, and where the result is kept.

Numba keeps compiled functions on disk, beside the sources or in the user's cache folder. It looks only at the file of
the function that Python calls: a change in another file would go unnoticed. So the name under which it keeps a function
has a digest of all files of this room in it.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
Array: TypeAlias = NDArray[np.float64]  # contiguous

log = logging.getLogger(__name__)

# No option may change what a NaN does: it marks what went wrong.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
_PART: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def digest_of_sources(folder: Path = Path(__file__).parent) -> str:
    """A name for what the files of the folder say now."""
    contents = b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))
    return hashlib.sha256(contents).hexdigest()[:12]


def part(function: F) -> F:
    """The function as compiled code calls it."""
    compiled: F = njit(**_PART)(function)
    return compiled


def summing_part(function: F) -> F:
    """The function as a part whose sums may be added in any order, several numbers at a time."""
    compiled: F = njit(**{**_PART, "fastmath": {"contract", "nsz", "reassoc"}})(function)
    return compiled


def inlined_part(function: F) -> F:
    """The function as a part that is written out where it is called, so that a loop does several numbers at a time."""
    compiled: F = njit(**_PART, inline="always")(function)
    return compiled


def entry(function: F) -> F:
    """The function as Python calls it: compiled at its first call, and kept on disk where there is a folder for it."""
    function.__qualname__ = f"{function.__name__}-{_DIGEST}"
    try:
        compiled: F = njit(**_OPTIONS, cache=True)(function)
    except RuntimeError as error:  # no folder that can be written
        log.warning("Compiled code is not kept, and is compiled anew by every process: %s", error)
        compiled = njit(**_OPTIONS)(function)
    return compiled


_DIGEST = digest_of_sources()
