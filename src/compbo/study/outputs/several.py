"""Results in several places: what is known elsewhere is not run again, and several tables become one.

A place is a results folder, or a file that `compbo study export --compact` wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from compbo.study.outputs.compact import ORDER, finished
from compbo.study.outputs.source import DONE, OtherVersionError, Store, StoredCell, cell_from_json, read_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd


def merged(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Compact tables as one: of a cell that is in several, the first that is done counts, else the first."""
    import pandas as pd

    table = pd.concat(tables, ignore_index=True)
    order = (table["status"] != DONE).sort_values(kind="stable").index
    return table.loc[order].drop_duplicates("cell").sort_values(ORDER, ignore_index=True)


def known_cells(places: Iterable[str | Path], option: str = "known") -> dict[str, StoredCell]:
    """The cells that are done in places, by hash; an error names the option that the places were given with."""
    known: dict[str, StoredCell] = {}
    for place in map(Path, places):
        known = {**_done_in(place, option), **known}
    return known


def _done_in(place: Path, option: str) -> dict[str, StoredCell]:
    if (place / "cells").is_dir():  # only what a survey needs, and what is damaged is left out
        return {key: stored for key, stored in Store(place).survey().stored.items() if stored.status == DONE}
    table = finished(read_results(place, option))
    columns = (table[name] for name in ("cell", "definition", "status", "error", "seconds"))
    try:
        return {
            key: StoredCell(cell_from_json(text), status, error, seconds)
            for key, text, status, error, seconds in zip(*columns, strict=True)
        }
    except OtherVersionError as error:
        raise OtherVersionError(
            "{place} was written by another version of compbo ({why}); use that version, or leave the file out.",
            place=place,
            why=str(error).rstrip("."),
        ) from error
