"""What tuning leaves in the results folder: a record per problem, and the files that `run --tuned` uses.

tuned.json has what was tuned on the task it is for, tuned-held-out.json what was tuned on others.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.maximizers import get_entry
from compbo.seeds import derive_seed
from compbo.study.cell import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from compbo.study.results.store import Store

log = logging.getLogger(__name__)

TUNED = {False: "tuned.json", True: "tuned-held-out.json"}  # by whether it was held out


class Key(NamedTuple):
    """What is tuned for what."""

    task: str
    acquisition: str
    maximizer: str


def key_of(cell: Cell) -> Key:
    """What a cell would be tuned as."""
    return Key(cell.task, cell.method.acquisition, cell.method.maximizer)


@dataclass(frozen=True)
class Record:
    """A problem as it is written down.

    cell: what is tuned for. judges: the cells that try a configuration; others than `cell` if it is held out.
    history: the configurations that were judged, each with its cells and its objective (None if it failed).
    """

    cell: Cell
    judges: tuple[Cell, ...]
    configurations: int
    history: tuple[dict[str, Any], ...] = ()

    @property
    def held_out(self) -> bool:
        """Whether configurations are judged on other tasks."""
        return self.judges != (self.cell,)

    @property
    def left(self) -> int:
        """Configurations still to be judged."""
        return max(0, self.configurations - len(self.history))

    @property
    def file(self) -> str:
        """Where in the results folder: a file per problem and way of judging it."""
        key = key_of(self.cell)
        digest = derive_seed(0, "history", *key, *(cell.hash for cell in self.judges))
        return f"tuning/{key.maximizer}-{key.acquisition}-{digest:016x}.json"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "cell": self.cell.to_dict(),
            "judges": [cell.to_dict() for cell in self.judges],
            "configurations": self.configurations,
            "history": self.history,
        }


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def save_record(store: Store, record: Record) -> None:
    """Keep what was judged, so that a resumed tuning need not ask for it again and `status` can count."""
    content = record.to_dict()
    store.write_json(record.file, {**content, "checksum": _checksum(content)})


def read_records(store: Store) -> list[Record]:
    """All that is being tuned or has been, in this folder."""
    found = (_read(store, path) for path in sorted((store.folder / "tuning").glob("*.json")))
    return [record for record in found if record is not None]


def _read(store: Store, path: Path) -> Record | None:
    """What was written down; None if missing or damaged (its configurations are then asked for again)."""
    try:
        record = _record(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s is damaged (%s); its configurations are worked out again from the cells", path, error)
        return None
    if store.folder / record.file != path:
        log.warning("%s is not where it belongs and left out; it is %s", path, record.file)
        return None
    return record


def _record(data: dict[str, Any]) -> Record:
    """The inverse of `Record.to_dict`, with the checksum."""
    content = {name: value for name, value in data.items() if name != "checksum"}
    if data["checksum"] != _checksum(content):
        raise ValueError("its checksum is wrong")
    judges = tuple(Cell.from_dict(cell) for cell in data["judges"])
    return Record(Cell.from_dict(data["cell"]), judges, data["configurations"], tuple(data["history"]))


def read_record(store: Store, record: Record) -> Record | None:
    """The same problem as an earlier call left it."""
    return _read(store, store.folder / record.file)


def write_tuned(store: Store, found: Iterable[dict[str, Any] | None], *, held_out: bool) -> Path:
    """The best configuration of every problem, with those of earlier calls."""
    entries = {**_read_entries(store, held_out), **{_key(entry): entry for entry in found if entry is not None}}
    return store.write_json(TUNED[held_out], {"format": 1, "entries": list(entries.values())})


def _key(entry: dict[str, Any]) -> Key:
    return Key(*(entry[name] for name in Key._fields))


def _read_entries(store: Store, held_out: bool) -> dict[Key, dict[str, Any]]:
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


def apply_tuned(cells: Sequence[Cell], store: Store, *, held_out: bool = False) -> list[Cell]:
    """The cells with the tuned hyperparameters; those with nothing to tune stay as they are."""
    tuned = _read_entries(store, held_out)
    changed, missing = [], []
    for cell in cells:
        key = key_of(cell)
        if not cell.method.maximizer or not get_entry(cell.method.maximizer).domain:
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
