"""The results as one table for pandas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.study.cell import FIRST_TUNING_SEED
from compbo.study.results import schema

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from compbo.study.cell import Cell

ORDER = ["task", "dimension", "acquisition", "optimiser", "hyperparameters", "seed", "cell"]


def load(
    results: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    cells: Iterable[Cell] | None = None,
    *,
    tuning: bool = False,
) -> pd.DataFrame:
    """The results table in the order of task, acquisition, optimiser, hyperparameters and seed.

    Args:
        results: the results folder.
        columns: those wanted; None: all (`schema.COLUMNS`).
        cells: the rows of these cells only, for instance of one grid; None: all.
        tuning: with the cells that only judged hyperparameters; where `cells` are given, these decide.

    Returns:
        One row per stored cell; none if the folder has none.

    >>> load("missing-folder", columns=["task", "seed", "regret"]).shape
    (0, 3)
    """
    import pandas as pd

    folder = Path(results) / "cells"
    hashes = None if cells is None else {cell.hash for cell in cells}
    if hashes == set() or not any(folder.rglob("*.parquet")):
        return pd.DataFrame(columns=list(columns or schema.NAMES))
    wanted = None if columns is None else list(dict.fromkeys([*columns, *ORDER]))
    reported = None if tuning else [("seed", "<", FIRST_TUNING_SEED)]
    keep = reported if hashes is None else [("cell", "in", hashes)]
    table = pd.read_parquet(folder, columns=wanted, filters=keep).sort_values(ORDER, ignore_index=True)
    return table if columns is None else table[list(columns)]


def points(row: Mapping[str, Any]) -> NDArray[np.float64]:
    """The evaluated points of a row of the table.

    Args:
        row: with the columns `x` and `dimension`.

    Returns:
        An array of shape (n, d) in the unit cube, to `x_bits` binary digits.

    >>> points({"x": [0.0, 0.5, 1.0, 0.25], "dimension": 2}).tolist()
    [[0.0, 0.5], [1.0, 0.25]]
    """
    return np.asarray(row["x"], dtype=np.float64).reshape(-1, int(row["dimension"]))
