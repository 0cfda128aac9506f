"""Numbers that users hand in, as plain Python ones: anything else is refused by the name of the option."""

from __future__ import annotations

import math
import numbers
from typing import Any


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """The value as a Python integer; refuse what is not a whole number from `least` on."""
    whole = not isinstance(value, bool) and isinstance(value, numbers.Integral)
    if whole and int(value) >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}.")


def real(value: Any) -> float:
    """The value as a Python float; NaN, which passes no comparison, if it is not a real number or too large for one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
