"""SQLite files: made as a whole, patient when another process writes, and refused in a sentence where read-only."""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from compbo.errors import InUseError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from optuna.storages import BaseStorage

PATIENCE = 60.0  # seconds to wait for another process that writes
ATTEMPTS = 20  # to open a file whose tables another process is making
PAUSE = 0.25  # seconds between them


def make_database(path: Path) -> None:
    """Make the file with Optuna's tables, unless another process is quicker; others see the whole file or none.

    A file system without hard links is left to `open_database`.
    """
    from optuna.storages import RDBStorage
    from sqlalchemy import URL

    draft = path.absolute().with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        RDBStorage(URL.create("sqlite", database=str(draft)).render_as_string()).engine.dispose()
        os.link(draft, path)
    except OSError:
        pass  # it is there already, or there are no links here
    finally:
        draft.unlink(missing_ok=True)


def open_database(url: str) -> BaseStorage:
    """Open a file by its URL; where others write, or make its tables just now, wait for them."""
    from optuna.storages import RDBStorage, get_storage
    from sqlalchemy.exc import IntegrityError, OperationalError

    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            return get_storage(RDBStorage(url, engine_kwargs={"connect_args": {"timeout": PATIENCE}}))
        except (OperationalError, IntegrityError):  # "table studies already exists": it was made in between
            if attempts_left == 0:
                raise
            time.sleep(PAUSE)
    raise AssertionError


def check_writable(path: Path) -> None:
    """ValueError for a file that is there and cannot be written to, or a folder in which SQLite cannot work."""
    if path.is_file() and not os.access(path, os.W_OK):
        raise ValueError(f"{path} is read-only: make it writable, or work on a copy of it.")
    if path.is_file() and not os.access(path.absolute().parent, os.W_OK):
        raise ValueError(f"{path}: its folder is read-only, and a database needs to write beside itself.")


@contextmanager
def explained(storage: Any) -> Iterator[None]:
    """Say in a sentence that the database of a storage is read-only, or too busy; any other error stays as it is."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import OperationalError

    try:
        yield
    except (StorageInternalError, OperationalError) as error:
        code = _sqlite_code(error)
        place = storage if isinstance(storage, str | os.PathLike) else "The database"
        if code == sqlite3.SQLITE_READONLY:
            raise ValueError(f"{place} is read-only: make it writable, or work on a copy of it.") from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise InUseError(
                "{place} is busy: another process has been writing to it for {seconds:.0f} seconds; try again.",
                place=place,
                seconds=PATIENCE,
            ) from error
        raise


def _sqlite_code(error: BaseException | None) -> int | None:
    """SQLite's own code of an error that SQLAlchemy and Optuna have wrapped."""
    while error is not None:
        code = getattr(error, "sqlite_errorcode", None) or getattr(
            getattr(error, "orig", None), "sqlite_errorcode", None
        )
        if code is not None:
            return int(code) & 0xFF  # the extended codes have more bits
        error = error.__cause__
    return None
