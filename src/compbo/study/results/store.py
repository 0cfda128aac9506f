"""The results folder: one file per cell, one writer, nothing half-written.

    results/cells/ab/<hash>.parquet   one row each; `pd.read_parquet("results/cells")` is the whole table
    results/plan.jsonl                every cell that was ever asked for, one definition per line
    results/quarantine/               files that were not what they should be
    results/tmp/                      files that are being written; emptied by the next driver
    results/.lock                     who is writing

A file is renamed to its name after it is on the disk. It carries checksums and the definition of its cell, whose hash
is its name: a damaged or misplaced file is noticed.
"""

from __future__ import annotations

import itertools
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.errors import OptionError
from compbo.files import write_atomically
from compbo.study.cell import OtherVersionError, cell_from_json
from compbo.study.results.lock import FolderLock
from compbo.study.results.survey import StoredCell, Survey, checked_row, stored_cell

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from compbo.study.cell import Cell
    from compbo.study.results.schema import Row

log = logging.getLogger(__name__)


class Store:
    """A results folder.

    Args:
        folder: its path; it is made when something is first written.

    >>> import tempfile
    >>> from compbo.study.cell import Cell, MethodSpec
    >>> from compbo.study.engine.experiment import run_cell
    >>> from compbo.study.results import schema
    >>> cell = Cell("levy-2", 2, MethodSpec("random-search"), seed=0, batch=2, steps=2, initial=1)
    >>> store = Store(tempfile.mkdtemp())
    >>> with store.writing():
    ...     _ = store.write(cell, schema.to_bytes(run_cell(cell)))
    >>> store.row(cell.hash)["status"], len(store.survey().stored)
    ('done', 1)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.cells = self.folder / "cells"
        self._plan = self.folder / "plan.jsonl"
        self._lock = FolderLock(self.folder)

    def path(self, cell_hash: str) -> Path:
        """Where a cell is, or will be.

        Args:
            cell_hash: of the cell.

        Returns:
            The path of its file.
        """
        return self.cells / cell_hash[:2] / f"{cell_hash}.parquet"

    def owner(self) -> str | None:
        """The process that is writing now.

        Returns:
            The process in words; None if there is none.
        """
        return self._lock.owner()

    # -- writing ----------------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[Survey]:
        """Be the one writer: lock the folder, remove what a crash left, set damaged files aside.

        Returns:
            A context that gives the survey of the folder; InUseError if another process writes.
        """
        self._make_folder()
        with self._lock.held():
            for leftover in (self.folder / "tmp").glob("*"):
                leftover.unlink()
            survey = self.survey()
            for path, reason in survey.damaged.items():
                self._set_aside(path, reason)
            yield survey

    def _make_folder(self) -> None:
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            (self.folder / ".lock").touch()
        except OSError as error:
            raise OptionError(
                "results",
                "{option:{folder}} cannot be written to ({why}); give a folder of your own.",
                folder=self.folder,
                why=error.strerror,
            ) from error

    def write(self, cell: Cell, data: bytes) -> Row:
        """Store the file of a cell.

        Args:
            cell: whose file it is.
            data: the file; ValueError if it is not that cell's.

        Returns:
            Its row without the points.
        """
        row = checked_row(data, cell.hash)
        self._write(self.path(cell.hash), data)
        return row

    def write_json(self, name: str, content: Any) -> Path:
        """Write a small file of the folder, or replace it as a whole.

        Args:
            name: of the file, from the folder.
            content: plain data.

        Returns:
            The path of the file.
        """
        path = self.folder / name
        self._write(path, json.dumps(content, indent=1).encode())
        return path

    def _write(self, path: Path, data: bytes) -> None:
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

    # -- the plan ---------------------------------------------------------------------------------------------------

    def plan(self) -> dict[str, Cell]:
        """Every cell that was ever asked for.

        Returns:
            The cells by hash; a damaged line is left out with a warning.
        """
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
            raise _of_another_version(self._plan, error) from error
        except (ValueError, TypeError, KeyError) as error:
            log.warning("%s, line %d is damaged and left out (%s); run its grid again", self._plan, number, error)
            return None

    def add_to_plan(self, cells: Iterable[Cell]) -> None:
        """Remember that these cells were asked for.

        Args:
            cells: any; those that are in the plan already stay there once.
        """
        plan = self.plan()
        merged = {**plan, **{cell.hash: cell for cell in cells}}
        if len(merged) > len(plan):
            self._write(self._plan, "".join(cell.definition + "\n" for cell in merged.values()).encode())

    # -- reading ----------------------------------------------------------------------------------------------------

    def survey(self) -> Survey:
        """Read and check every file; nothing is changed.

        Returns:
            What is stored, and what is damaged.
        """
        survey = Survey({}, {})
        paths = sorted(path for path in self.cells.rglob("*") if not path.is_dir())
        with ThreadPoolExecutor() as threads:  # reading and checksums are done outside of the interpreter
            for path, found in zip(paths, threads.map(self._examine, paths), strict=True):
                if isinstance(found, str):
                    survey.damaged[path] = found
                elif found is not None:
                    survey.stored[found.cell.hash] = found
        return survey

    def _examine(self, path: Path) -> StoredCell | str | None:
        """What a file holds, or what is wrong with it, or None if it has just gone."""
        try:
            row = checked_row(path.read_bytes(), path.stem)
        except FileNotFoundError:  # a driver at work has set it aside
            return None
        except OtherVersionError as error:
            raise _of_another_version(path, error) from error
        except ValueError as error:
            return str(error)
        if path != self.path(path.stem):
            return "it is not in the folder where it belongs"
        return stored_cell(row)

    def row(self, cell_hash: str) -> Row:
        """The stored row of a cell, points included.

        Args:
            cell_hash: of the cell.

        Returns:
            Values by column; FileNotFoundError if the cell is not stored.
        """
        return checked_row(self.path(cell_hash).read_bytes(), cell_hash, leave_out=())


def _of_another_version(path: Path, error: OtherVersionError) -> OtherVersionError:
    return OtherVersionError(
        "{path} was written by another version of compbo ({reason}); use that version, or another {results}.",
        path=path,
        reason=str(error),
    )
