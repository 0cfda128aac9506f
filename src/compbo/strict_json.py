"""JSON that every reader takes: Python writes NaN and Infinity, which no standard knows.

Numbers that are not finite are written as the words "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
from typing import Any

WORDS = ("nan", "inf", "-inf")


def dumps(data: Any) -> str:
    """Plain data as JSON.

    >>> dumps({"value": math.nan, "ends": (1.0, -math.inf)})
    '{"value": "nan", "ends": [1.0, "-inf"]}'
    """
    return json.dumps(_with_words(data), allow_nan=False)


def with_numbers(data: Any) -> Any:
    """What was written by `dumps` and read again, its words as numbers; only for data without these words as texts.

    >>> with_numbers({"ends": [1.0, "-inf"]})
    {'ends': [1.0, -inf]}
    """
    if isinstance(data, dict):
        return {key: with_numbers(value) for key, value in data.items()}
    if isinstance(data, list):
        return [with_numbers(value) for value in data]
    return float(data) if isinstance(data, str) and data in WORDS else data


def _with_words(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _with_words(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_with_words(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data
