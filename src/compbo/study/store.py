"""The results folder: one file per cell, one writer, nothing half-written.

    results/cells/ab/<hash>.parquet   one row each; `pd.read_parquet("results/cells")` is the whole table
    results/plan.jsonl                every cell that was ever asked for, one definition per line
    results/quarantine/               files that were not what they should be
    results/tmp/                      files on their way; emptied by the next driver
    results/.lock                     who is writing

A file appears under its name by an atomic rename, after it is on the disk. It carries checksums and the definition of
its cell, whose hash is its name, so that a damaged or misplaced one is told from a good one.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import logging
import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.errors import InUseError
from compbo.files import write_atomically
from compbo.study import schema
from compbo.study.cell import Cell, OtherVersionError, cell_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

LOCK_ATTEMPTS = 5  # `status` holds the lock for a moment when it looks who has it


class Known(NamedTuple):
    """What is known of a stored cell without its points."""

    cell: Cell
    status: str
    error: str
    seconds: float


class Survey(NamedTuple):
    """The stored cells by hash, and the files that are none, with the reason."""

    known: dict[str, Known]
    damaged: dict[Path, str]


class Store:
    """A results folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.cells = self.folder / "cells"
        self._plan = self.folder / "plan.jsonl"

    def path(self, cell_hash: str) -> Path:
        """Where a cell is, or will be."""
        return self.cells / cell_hash[:2] / f"{cell_hash}.parquet"

    # -- writing ----------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Survey]:
        """Be the one writer: lock the folder, clear what a crash left, set damaged files aside."""
        with self._open_lock() as lock:
            self._acquire(lock)
            try:
                for leftover in (self.folder / "tmp").glob("*"):
                    leftover.unlink()
                survey = self.survey()
                for path, reason in survey.damaged.items():
                    self._set_aside(path, reason)
                yield survey
            finally:
                lock.truncate(0)

    def _open_lock(self) -> IO[str]:
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            return (self.folder / ".lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise ValueError(
                f"{self.folder} cannot be written to ({error.strerror}); give a folder of your own with --results."
            ) from error

    def _acquire(self, lock: IO[str]) -> None:
        for attempt in range(LOCK_ATTEMPTS):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if attempt + 1 < LOCK_ATTEMPTS:
                    time.sleep(0.1)
                continue
            lock.truncate(0)
            owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
            lock.write(json.dumps({**owner, "command": " ".join(sys.argv)}))
            lock.flush()
            return
        raise InUseError(
            "{folder} is in use by {owner}. Wait until it ends, stop it, or give another {results}.",
            folder=self.folder,
            owner=self._owner_text(),
        )

    def _owner_text(self) -> str:
        try:
            owner = json.loads((self.folder / ".lock").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return "another process"
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"

    def owner(self) -> str | None:
        """Who is writing now, in words; None if nobody."""
        try:
            with (self.folder / ".lock").open("r", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            return self._owner_text()
        return None

    def write(self, cell: Cell, data: bytes) -> schema.Row:
        """Store the file of a cell; its row without the bulk. ValueError if the bytes are not that cell's."""
        row = checked(data, cell.hash)
        self._write_atomically(self.path(cell.hash), data)
        return row

    def write_json(self, name: str, content: Any) -> Path:
        """A small file of the folder, replaced as a whole."""
        path = self.folder / name
        self._write_atomically(path, json.dumps(content, indent=1).encode())
        return path

    def _write_atomically(self, path: Path, data: bytes) -> None:
        scratch = self.folder / "tmp"  # not among the cells: what a killed driver leaves is not taken for a result
        try:
            for folder in (scratch, path.parent):
                folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data, scratch=scratch)
        except OSError as error:
            raise OSError(
                f"{path} could not be written: {error.strerror}. What was stored before is safe; once there is room, "
                f"the same command goes on."
            ) from error

    def _set_aside(self, path: Path, reason: str) -> None:
        quarantine = self.folder / "quarantine"
        quarantine.mkdir(exist_ok=True)
        names = (quarantine / f"{number:03d}-{path.name}" for number in itertools.count())
        target = next(name for name in names if not name.exists())
        path.replace(target)
        log.warning("%s: %s; set aside as %s, its cell runs again", path, reason, target)

    # -- plans ------------------------------------------------------------------------------------------------------

    def plan(self) -> dict[str, Cell]:
        """Every cell that was ever asked for, by hash."""
        if not self._plan.exists():
            return {}
        cells = [
            self._planned(number, line) for number, line in enumerate(self._plan.read_text("utf-8").splitlines(), 1)
        ]
        return {cell.hash: cell for cell in cells if cell is not None}

    def _planned(self, number: int, line: str) -> Cell | None:
        """The cell of a line of the plan; None if the line is damaged, which costs no result."""
        try:
            return cell_from_json(line)
        except OtherVersionError as error:
            raise OtherVersionError(self._of_another_version(self._plan, error)) from error
        except (ValueError, TypeError, KeyError) as error:
            log.warning("%s, line %d is damaged and left out (%s); run its grid again", self._plan, number, error)
            return None

    def _of_another_version(self, path: Path, error: OtherVersionError) -> str:
        return f"{path} was written by another version of compbo ({error}); use that version, or another --results."

    def add_to_plan(self, cells: Iterable[Cell]) -> None:
        """Remember what was asked for."""
        plan = self.plan()
        merged = {**plan, **{cell.hash: cell for cell in cells}}
        if len(merged) > len(plan):
            text = "".join(cell.definition + "\n" for cell in merged.values())
            self._write_atomically(self._plan, text.encode())

    # -- reading ----------------------------------------------------------------------------------------------------

    def survey(self) -> Survey:
        """Read and check every file; nothing is changed."""
        survey = Survey({}, {})
        paths = sorted(path for path in self.cells.rglob("*") if not path.is_dir())
        with ThreadPoolExecutor() as threads:  # reading and checksums are done outside of the interpreter
            for path, found in zip(paths, threads.map(self._examine, paths), strict=True):
                if isinstance(found, str):
                    survey.damaged[path] = found
                elif found is not None:
                    survey.known[found.cell.hash] = found
        return survey

    def _examine(self, path: Path) -> Known | str | None:
        """What a file holds, or what is wrong with it, or None if it has just gone."""
        try:
            row = checked(path.read_bytes(), path.stem)
        except FileNotFoundError:  # a driver at work has set it aside
            return None
        except OtherVersionError as error:
            raise OtherVersionError(self._of_another_version(path, error)) from error
        except ValueError as error:
            return str(error)
        if path != self.path(path.stem):
            return "it is not where such a file belongs"
        return Known(cell_from_json(row["definition"]), row["status"], row["error"] or "", row["seconds"] or 0.0)

    def row(self, cell_hash: str) -> schema.Row:
        """The stored row of a cell, points included."""
        return checked(self.path(cell_hash).read_bytes(), cell_hash, leave_out=())


def checked(data: bytes, cell_hash: str, leave_out: tuple[str, ...] = schema.BULKY) -> schema.Row:
    """The row of a file that is whole and belongs to the cell of that hash, or a ValueError that says what is wrong."""
    row = schema.from_bytes(data, leave_out)
    try:
        actual = cell_from_json(row["definition"]).hash
    except OtherVersionError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"its definition is not that of a cell ({error})") from error
    if not row["cell"] == actual == cell_hash:
        raise ValueError(f"it holds cell {actual}, not {cell_hash}")
    if row["status"] not in (schema.DONE, schema.FAILED):
        raise ValueError(f"its status is {row['status']!r}")
    return row


def load(
    results: str | os.PathLike[str], columns: Sequence[str] | None = None, cells: Iterable[Cell] | None = None
) -> pd.DataFrame:
    """The results table, one row per cell, in the order of task, acquisition, optimiser, hyperparameters and seed.

    cells: the rows of these only, for instance of one grid; else everything that is in the folder, tuning included.
    """
    import pandas as pd

    folder = Path(results) / "cells"
    hashes = None if cells is None else {cell.hash for cell in cells}
    if hashes == set() or not any(folder.rglob("*.parquet")):
        return pd.DataFrame(columns=list(columns or schema.NAMES))
    order = ["task", "dimension", "acquisition", "optimiser", "hyperparameters", "seed", "cell"]
    wanted = None if columns is None else list(dict.fromkeys([*columns, *order]))
    keep = None if hashes is None else [("cell", "in", hashes)]
    table = pd.read_parquet(folder, columns=wanted, filters=keep).sort_values(order, ignore_index=True)
    return table if columns is None else table[list(columns)]


def points(row: Mapping[str, Any]) -> NDArray[np.float64]:
    """The evaluated points of a row of the table, (n, d) in the unit cube, to `x_bits` binary digits."""
    return np.asarray(row["x"], dtype=np.float64).reshape(-1, int(row["dimension"]))
