"""The files tuned.json and tuned-held-out.json: the best hyperparameters found, and cells that use them.

tuned.json has what was tuned on the task it is for, tuned-held-out.json what was tuned on other tasks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from compbo.errors import OptionError
from compbo.maximizers import get_entry
from compbo.study.tuner.records import TuningKey, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.results import Store

TUNED = {False: "tuned.json", True: "tuned-held-out.json"}  # by whether it was held out


def write_tuned(store: Store, found: Iterable[dict[str, Any] | None], *, held_out: bool) -> Path:
    """Write the best configuration of every problem, beside those of earlier calls.

    Args:
        store: the results folder.
        found: an entry per problem; None: none of its configurations came to its end.
        held_out: whether they were judged on other tasks.

    Returns:
        The path of the file.
    """
    entries = {**_read_entries(store, held_out), **{_key(entry): entry for entry in found if entry is not None}}
    return store.write_json(TUNED[held_out], {"format": 1, "entries": list(entries.values())})


def _key(entry: dict[str, Any]) -> TuningKey:
    return TuningKey(*(entry[name] for name in TuningKey._fields))


def _read_entries(store: Store, held_out: bool) -> dict[TuningKey, dict[str, Any]]:
    path = store.folder / TUNED[held_out]
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
        return {_key(entry): {**entry, "hyperparameters": {**entry["hyperparameters"]}} for entry in entries}
    except (ValueError, KeyError, TypeError) as error:
        raise OptionError(
            "tuned",
            "{path} is damaged ({reason}); remove it and run `compbo study tune`"
            + _with_held_out(held_out)
            + " again, "
            "which repeats no cell.",
            path=path,
            reason=str(error),
        ) from error


def is_tunable(cell: Cell) -> bool:
    """Whether a cell has anything to tune.

    Args:
        cell: any.

    Returns:
        Whether its maximizer has hyperparameters with a tuning domain.

    >>> from compbo.study.grid import Block
    >>> [is_tunable(cell) for cell in Block(("levy-2",), ("RS", "CAdam", "bohb"), ("ei",)).cells()]
    [False, True, False]
    """
    return bool(cell.method.maximizer) and bool(get_entry(cell.method.maximizer).domain)


def apply_tuned(cells: Sequence[Cell], store: Store, *, held_out: bool = False) -> list[Cell]:
    """Cells with the hyperparameters that tuning found.

    Args:
        cells: of a grid.
        store: the results folder.
        held_out: those that were judged on other tasks.

    Returns:
        The cells; those that have nothing to tune are as they were. OptionError if a cell was not tuned for.
    """
    tuned = _read_entries(store, held_out)
    changed, missing = [], []
    for cell in cells:
        key = key_of(cell)
        if not is_tunable(cell):
            changed.append(cell)
        elif key in tuned:
            changed.append(cell.with_hyperparameters(tuned[key]["hyperparameters"]))
        else:
            missing.append(cell)
    if missing:
        raise OptionError(
            "tuned",
            "{path} has nothing for {cells}; run `compbo study tune`"
            + _with_held_out(held_out)
            + " for this grid first.",
            path=store.folder / TUNED[held_out],
            cells=missing[0].name + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""),
        )
    return changed


def _with_held_out(held_out: bool) -> str:
    """A part of a template."""
    return " with {held_out}" if held_out else ""
