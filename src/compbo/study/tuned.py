"""What tuning leaves in the results folder: a history per problem, and tuned.json, which `run --tuned` uses."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.maximizers import get_entry
from compbo.seeds import derive_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.store import Store

log = logging.getLogger(__name__)

TUNED = "tuned.json"


class Key(NamedTuple):
    """What is tuned for what."""

    task: str
    acquisition: str
    maximizer: str


def _history_name(key: Key, judges: Sequence[Cell]) -> str:
    """A file per problem and way of judging it."""
    digest = derive_seed(0, "history", *key, *(cell.hash for cell in judges))
    return f"tuning/{key.maximizer}-{key.acquisition}-{digest:016x}.json"


def save_history(store: Store, key: Key, judges: Sequence[Cell], history: Sequence[dict[str, Any]]) -> None:
    """Keep the configurations that were judged, so that a resumed tuning need not ask for them again."""
    store.write_json(_history_name(key, judges), {"key": key._asdict(), "history": list(history)})


def load_history(store: Store, key: Key, judges: Sequence[Cell]) -> list[dict[str, Any]]:
    """What was judged earlier; nothing if the file is missing or unreadable (it is then asked for again)."""
    path = store.folder / _history_name(key, judges)
    try:
        history: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["history"]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:
        log.warning("%s is unreadable (%s); its configurations are worked out again from the cells", path, error)
        return []
    return history


def write_tuned(store: Store, found: Iterable[dict[str, Any] | None]) -> Path:
    """results/tuned.json: the best configuration of every problem, with those of earlier calls."""
    entries = {_key(entry): entry for entry in (*_read_entries(store), *found) if entry is not None}
    return store.write_json(TUNED, {"format": 1, "entries": list(entries.values())})


def _key(entry: dict[str, Any]) -> Key:
    return Key(*(entry[name] for name in Key._fields))


def _read_entries(store: Store) -> list[dict[str, Any]]:
    path = store.folder / TUNED
    if not path.exists():
        return []
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["entries"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); remove it and run `compbo study tune` again, which repeats no cell."
        ) from error
    return entries


def apply_tuned(cells: Sequence[Cell], store: Store) -> list[Cell]:
    """The cells with the tuned hyperparameters; those with nothing to tune stay as they are."""
    tuned = {_key(entry): entry["hyperparameters"] for entry in _read_entries(store)}
    changed, missing = [], []
    for cell in cells:
        key = Key(cell.task, cell.method.acquisition, cell.method.maximizer)
        if not cell.method.maximizer or not get_entry(cell.method.maximizer).domain:
            changed.append(cell)
        elif key in tuned:
            changed.append(cell.with_hyperparameters(tuned[key]))
        else:
            missing.append(cell)
    if missing:
        raise ValueError(
            f"{store.folder / TUNED} has nothing for {missing[0].name}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + "; run `compbo study tune` with the same grid first."
        )
    return changed
