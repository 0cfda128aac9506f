"""The records of tuning in the results folder: a file per problem, with every configuration that was judged."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.seeds import derive_seed
from compbo.study.cell import Cell

if TYPE_CHECKING:
    from pathlib import Path

    from compbo.study.results import Store

log = logging.getLogger(__name__)


class TuningKey(NamedTuple):
    """What is tuned: a maximizer for a task and an acquisition function.

    Args:
        task: the spec.
        acquisition: the name of the acquisition function.
        maximizer: the name of the entry of the catalogue.
    """

    task: str
    acquisition: str
    maximizer: str


def key_of(cell: Cell) -> TuningKey:
    """What would be tuned for a cell.

    Args:
        cell: of a maximizer.

    Returns:
        Its task, acquisition function and maximizer.

    >>> from compbo.study.cell import Cell, maximizer_method
    >>> key_of(Cell("levy-2", 2, maximizer_method("CAdam", "ei"), seed=0, batch=1, steps=1, initial=1))
    TuningKey(task='levy-2', acquisition='ei', maximizer='CAdam')
    """
    return TuningKey(cell.task, cell.method.acquisition, cell.method.maximizer)


@dataclass(frozen=True)
class TuningRecord:
    """A tuning problem as it is written down.

    Args:
        cell: what is tuned for.
        judges: the cells that try a configuration; they are not reported (`judges.judging_cells`).
        configurations: how many are wanted.
        history: those that were judged, each with its hyperparameters, the hashes of its cells and its objective (None
            if it failed).
    """

    cell: Cell
    judges: tuple[Cell, ...]
    configurations: int
    history: tuple[dict[str, Any], ...] = ()

    @property
    def held_out(self) -> bool:
        """Whether configurations are judged on other tasks."""
        return any(judge.task != self.cell.task for judge in self.judges)

    @property
    def left(self) -> int:
        """Configurations still to be judged."""
        return max(0, self.configurations - len(self.history))

    @property
    def file(self) -> str:
        """Its file in the results folder."""
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


def save_record(store: Store, record: TuningRecord) -> None:
    """Write a record: a resumed tuning does not repeat what it holds, and `status` counts it.

    Args:
        store: the results folder.
        record: of a problem.
    """
    content = record.to_dict()
    store.write_json(record.file, {**content, "checksum": _checksum(content)})


def read_records(store: Store) -> list[TuningRecord]:
    """The records of a folder.

    Args:
        store: the results folder.

    Returns:
        One for every problem, finished or not; a damaged one is left out with a warning.
    """
    found = (_read(store, path) for path in sorted((store.folder / "tuning").glob("*.json")))
    return [record for record in found if record is not None]


def _read(store: Store, path: Path) -> TuningRecord | None:
    """The record of a file; None if it is missing or damaged: its configurations are then worked out again."""
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


def _record(data: dict[str, Any]) -> TuningRecord:
    """The inverse of `TuningRecord.to_dict`, with the checksum."""
    content = {name: value for name, value in data.items() if name != "checksum"}
    if data["checksum"] != _checksum(content):
        raise ValueError("its checksum is wrong")
    judges = tuple(Cell.from_dict(cell) for cell in data["judges"])
    return TuningRecord(Cell.from_dict(data["cell"]), judges, data["configurations"], tuple(data["history"]))


def read_record(store: Store, record: TuningRecord) -> TuningRecord | None:
    """What an earlier call left of a problem.

    Args:
        store: the results folder.
        record: of the same problem.

    Returns:
        The record in the folder; None if there is none.
    """
    return _read(store, store.folder / record.file)
