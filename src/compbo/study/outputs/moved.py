"""Which optimisers moved: what one that ended where it began does to the regret says nothing of how it climbs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

DID_NOT_MOVE = "did not move"  # the verdict, `compbo.bo.verdict.Verdict.DID_NOT_MOVE`
HALF = 0.5  # of the asks: more than that, and an optimiser is called one that did not move
NEVER_CLIMBS = "random"  # the class of random batches: nothing is expected to move


def still_share(rows: pd.DataFrame) -> float:
    """The share of the asks in the rows that did not move though something better was near; 0 without asks."""
    counts = [json.loads(text) for text in rows["verdicts"]]
    asks = sum(sum(one.values()) for one in counts)
    return sum(one.get(DID_NOT_MOVE, 0) for one in counts) / asks if asks else 0.0


def that_moved(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of an optimiser in a dimension in which it did not move in more than half of its asks."""
    still = {
        key
        for key, part in rows.groupby(["dimension", "optimiser"])
        if set(part["group"]) != {NEVER_CLIMBS} and still_share(part) > HALF
    }
    keys = zip(rows["dimension"], rows["optimiser"], strict=True)
    return rows[np.array([key not in still for key in keys], dtype=bool)]
