"""What users hand in, checked at the boundary: numbers, counts, values of one element, files to be written.

What is not as it should be is refused by the name of its option (`compbo.errors.OptionError`).
"""

from __future__ import annotations

import math
import numbers
import os
from pathlib import Path
from typing import Any

from compbo.errors import OptionError


def whole_number(option: str, value: Any, least: int = 1) -> int:
    """The value of an option as a Python integer; OptionError if it is not a whole number from `least` on.

    >>> whole_number("workers", 4)
    4
    >>> whole_number("workers", 2.5)
    Traceback (most recent call last):
    compbo.errors.OptionError: workers must be a whole number >= 1, got 2.5.
    """
    if not isinstance(value, bool) and isinstance(value, numbers.Integral) and int(value) >= least:
        return int(value)
    raise OptionError(option, "{option} must be a whole number >= {least}, got {given!r}.", least=least, given=value)


def real(value: Any) -> float:
    """The value as a Python float; NaN, which passes no comparison, if it is not a real number or too large for one.

    >>> real(2), real("2"), real(True)
    (2.0, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def positive_seconds(option: str, value: Any) -> float:
    """The value of an option as a number of seconds; OptionError if it is not positive and finite.

    >>> positive_seconds("timeout", 3)
    3.0
    """
    if 0 < real(value) < math.inf:
        return real(value)
    raise OptionError(option, "{option} must be a positive number of seconds, got {given!r}.", given=value)


def one_element(value: Any) -> Any:
    """What a value holds that is an array or tensor of one element; ValueError if it has more elements or none.

    Anything else is returned as it is.

    >>> import numpy as np
    >>> one_element(np.array([[0.5]])), one_element("text")
    (0.5, 'text')
    """
    if not hasattr(value, "shape") or not callable(getattr(value, "item", None)):
        return value
    try:
        return value.item()
    except Exception as error:  # every library raises another one
        raise ValueError(f"{type(value).__name__} of shape {tuple(value.shape)}, not one number") from error


def check_target(path: str | os.PathLike[str]) -> None:
    """ValueError if no file can be written at this path: better before the work than after it."""
    target = Path(path)
    folder = target.absolute().parent
    if target.is_dir():
        raise ValueError(f"{path} is a folder; name a file.")
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {folder} does not exist, create it first.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: you may not write into the folder {folder}, name another.")
