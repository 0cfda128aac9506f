"""The files tuned.json and tuned-held-out.json: the best hyperparameters found, and cells that use them.

tuned.json has what was tuned on the task it is for, tuned-held-out.json what was tuned on other tasks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from compbo.maximizers import get_entry
from compbo.study.tuner.records import TuningKey, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.results import Store

TUNED = {False: "tuned.json", True: "tuned-held-out.json"}  # by whether it was held out


def write_tuned(store: Store, found: Iterable[dict[str, Any] | None], *, held_out: bool) -> Path:
    """Write the best configuration of every problem, beside those of earlier calls; the path of the file."""
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
        raise ValueError(
            f"{path} is damaged ({error}); remove it and run `compbo study tune{' --held-out' * held_out}` again, "
            f"which repeats no cell."
        ) from error


def is_tunable(cell: Cell) -> bool:
    """Whether the maximizer of this cell has hyperparameters to tune."""
    return bool(cell.method.maximizer) and bool(get_entry(cell.method.maximizer).domain)


def apply_tuned(cells: Sequence[Cell], store: Store, *, held_out: bool = False) -> list[Cell]:
    """The cells with the tuned hyperparameters; cells that have nothing to tune stay as they are."""
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
        raise ValueError(
            f"{store.folder / TUNED[held_out]} has nothing for {missing[0].name}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + f"; run `compbo study tune{' --held-out' * held_out}` with the same grid first."
        )
    return changed
