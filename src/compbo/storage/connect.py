"""An Optuna storage from what a user names: a URL, a file, a storage."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compbo.errors import NoRunError, OptionError
from compbo.storage.sqlite import check_writable, make_database, open_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optuna.storages import BaseStorage

JOURNALS = (".log", ".journal", ".jsonl")  # suffixes of a new file that is to be a journal, not SQLite
OPTUNA_TABLES = {"studies", "trials", "version_info"}  # some that every Optuna database has
SQLITE = b"SQLite format 3"  # how an SQLite file begins

log = logging.getLogger(__name__)


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Keep Optuna from announcing on stderr what the user did not ask for."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(verbosity)


def connect(
    storage: str | os.PathLike[str] | BaseStorage | None, *, existing: bool = False, write: bool = True
) -> BaseStorage:
    """An Optuna storage from a URL, a file name, or itself; None: in memory.

    existing: do not create a file. write: it will be written to, and what cannot be is refused now.
    """
    from optuna.storages import BaseStorage, get_storage

    if storage is None or isinstance(storage, BaseStorage):
        return get_storage(storage)
    if not isinstance(storage, (str, os.PathLike)):
        raise OptionError(
            "storage",
            "{option} must be a URL, a file name or an Optuna storage, got {kind}.",
            kind=type(storage).__name__,
        )
    text = str(storage)
    if not text:
        raise OptionError("storage", "{option} is empty: name a file or a URL, for instance sqlite:///run.db.")
    path = _sqlite_file(text) if "://" in text else Path(text)
    if path is not None:
        _check_file(text, path, existing)
        if write:
            check_writable(path)
    if "://" in text:
        return _database(text, path)
    return _file(Path(text), mend=write)


def _check_file(text: str, path: Path, existing: bool) -> None:
    """ValueError, before anything is changed, for a file that is not there or belongs to another program."""
    if path.is_dir():
        raise ValueError(f"{text} is a folder; a run is stored in a file.")
    if existing and not path.is_file():
        raise NoRunError(f"{text}: there is no such file.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{text}: the folder {path.absolute().parent} does not exist, create it first.")
    tables = _sqlite_tables(path)
    if tables and not tables >= OPTUNA_TABLES:
        raise ValueError(f"{text} is the database of another program: name another file for the run.")
    empty = path.is_file() and (path.stat().st_size == 0 or tables == set())
    if existing and empty:  # Optuna would make its tables in it
        raise NoRunError(f"{text}: there is no run in this storage.")


def _sqlite_tables(path: Path) -> set[str] | None:
    """The names of the tables of an SQLite file, which is not changed; None if it is something else."""
    if not _head(path).startswith(SQLITE):
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be read as an SQLite database: {error}.") from error


def _head(path: Path) -> bytes:
    """How the file begins; nothing if it is not there."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(len(SQLITE))


def _is_journal(path: Path) -> bool:
    """Whether the first line is an entry of an Optuna journal, and not any other JSON."""
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            entry = json.loads(file.readline())
        except ValueError:
            return False
    return isinstance(entry, dict) and "op_code" in entry


def _cut_unfinished_entry(path: Path) -> None:
    """Take away what a full disk or a power cut left of a last entry: the next one would be glued to it, and lost."""
    from optuna.storages.journal import JournalFileSymlinkLock

    if _whole_bytes(path) == path.stat().st_size:
        return
    lock = JournalFileSymlinkLock(str(path))  # another process may be writing just now
    lock.acquire()
    try:
        whole = _whole_bytes(path)
        if whole < path.stat().st_size:
            log.warning("The last entry of %s was not written to its end, and is left out.", path)
            os.truncate(path, whole)
    finally:
        lock.release()


def _whole_bytes(path: Path) -> int:
    """Length of a journal without its last line, if that one cannot be read."""
    content = path.read_bytes()
    begin = content.rfind(b"\n", 0, -1) + 1
    return len(content) if _is_line_of_json(content[begin:]) else begin


def _is_line_of_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return line.endswith(b"\n")


def _file(path: Path, *, mend: bool) -> BaseStorage:
    """SQLite or a journal: what the file is, or for a new one what its suffix says. mend: it will be written to."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from sqlalchemy import URL

    head = _head(path)
    if (not head and path.suffix.lower() in JOURNALS) or (head.startswith(b"{") and _is_journal(path)):
        if mend and head:
            _cut_unfinished_entry(path)
        return JournalStorage(JournalFileBackend(str(path)))
    if head and not head.startswith(SQLITE):
        raise ValueError(f"{path} is neither an SQLite database nor an Optuna journal: name another file.")
    return _database(URL.create("sqlite", database=str(path.absolute())).render_as_string(), path)


def _database(url: str, path: Path | None) -> BaseStorage:
    """The database at a URL; path: its file, if it is one, which is made if it is not there."""
    from optuna.exceptions import StorageInternalError
    from optuna.storages import get_storage
    from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

    try:
        with quiet_optuna():
            if path is None:
                return get_storage(url)
            if not path.exists():
                make_database(path)
            return open_database(url)
    except NoSuchModuleError as error:
        kind = url.partition("://")[0]
        raise ValueError(
            f"The storage {_without_password(url)} cannot be opened: {kind!r} is no database that is known here; "
            "use for instance sqlite:///run.db."
        ) from error
    except (SQLAlchemyError, StorageInternalError, ImportError, ValueError) as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise ValueError(f"The storage {_without_password(url)} cannot be opened: {reason.rstrip('.')}.") from error


def _sqlite_file(url: str) -> Path | None:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except ArgumentError as error:
        raise ValueError(f"{url!r} is not a storage URL; use for instance sqlite:///run.db.") from error
    if parts.get_backend_name() != "sqlite" or parts.database == ":memory:" or "uri" in parts.query:
        return None
    if not parts.database:
        raise ValueError(f"{url} names no file: write for instance sqlite:///run.db.")
    return Path(parts.database)


def _without_password(url: str) -> str:
    from sqlalchemy import make_url

    return make_url(url).render_as_string(hide_password=True)
