"""Where the outputs get their cells: a results folder or a compact file, and which of its cells are meant.

What the outputs need of the study's other rooms comes through here, except the tasks.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from compbo.errors import OptionError
from compbo.study.cell import Cell, InnerSpec, OtherVersionError, SurrogateSpec, cell_from_json
from compbo.study.grid import load_grid
from compbo.study.grid.captions import experiments
from compbo.study.methods.registry import KINDS, optimiser_names
from compbo.study.results import Store, load, scores
from compbo.study.results.schema import DONE, FAILED
from compbo.study.results.survey import StoredCell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

__all__ = [
    "DONE",
    "FAILED",
    "KINDS",
    "Cell",
    "InnerSpec",
    "OtherVersionError",
    "Store",
    "StoredCell",
    "SurrogateSpec",
    "cell_from_json",
    "optimiser_names",
    "paper_experiments",
    "read_full",
    "read_results",
    "scores",
    "select",
]


@lru_cache(maxsize=1)
def paper_experiments() -> tuple[Cell, ...]:
    """One cell for every experiment that the captions of the paper count: those of the preset `paper-exact`."""
    return tuple(experiments(load_grid("paper-exact").cells()))


def read_results(path: str | Path, option: str = "results") -> pd.DataFrame:
    """The compact table of a path: a results folder, or a file of `export --compact`; an error names the option."""
    from compbo.study.outputs.compact import SOURCE_COLUMNS, compact, from_bytes

    place = Path(path)
    if place.is_file():
        return from_bytes(place.read_bytes(), str(place))
    return compact(read_full(place, SOURCE_COLUMNS, option))


def read_full(path: str | Path, columns: Sequence[str] | None = None, option: str = "results") -> pd.DataFrame:
    """The table of a results folder, the path, or some of its columns; an error names the option."""
    place = Path(path)
    if place.is_file():
        raise OptionError(
            option,
            "{option:{place}} is a file; the whole table needs the results folder: name it, or ask for the compact "
            "form.",
            place=place,
        )
    if not (place / "cells").is_dir():
        raise OptionError(
            option,
            "{option:{place}} is neither a results folder nor a compact file; name one, or run a study first.",
            place=place,
        )
    return load(place, columns)


def select(
    table: pd.DataFrame,
    cells: Iterable[Cell] | None = None,
    keep: Callable[[Sequence[Cell]], list[Cell]] | None = None,
) -> pd.DataFrame:
    """The rows of a table that belong to these cells, or to those that the filter `keep` keeps; all without either."""
    if cells is not None:
        wanted = {cell.hash for cell in cells}
    elif keep is not None:
        wanted = {cell.hash for cell in keep([cell_from_json(text) for text in table["definition"]])}
    else:
        return table
    return table[table["cell"].isin(wanted)].reset_index(drop=True)
