"""An Optuna storage from what a user names: a URL, a file, a storage."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optuna.storages import BaseStorage

JOURNALS = (".log", ".journal", ".jsonl")  # suffixes of a new file that is to be a journal, not SQLite


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


def connect(storage: str | os.PathLike[str] | BaseStorage | None, *, existing: bool = False) -> BaseStorage:
    """An Optuna storage from a URL, a file name, or itself; None: in memory. existing: do not create a file."""
    from optuna.storages import BaseStorage, get_storage

    if storage is None or isinstance(storage, BaseStorage):
        return get_storage(storage)
    if not isinstance(storage, (str, os.PathLike)):
        raise ValueError(f"storage must be a URL, a file name or an Optuna storage, got {type(storage).__name__}.")
    text = str(storage)
    path = _sqlite_file(text) if "://" in text else Path(text)
    if path is not None and existing and not path.is_file():
        raise ValueError(f"{text}: there is no such file.")
    if path is not None and not path.absolute().parent.is_dir():
        raise ValueError(f"{text}: the folder {path.absolute().parent} does not exist, create it first.")
    if "://" in text:
        return _database(text)
    return _file(Path(text))


def _file(path: Path) -> BaseStorage:
    """SQLite or a journal: what the file is, or for a new one what its suffix says."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from sqlalchemy import URL

    if path.is_dir():
        raise ValueError(f"{path} is a folder; a run is stored in a file.")
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(16)
    if head.startswith(b"{") or (not head and path.suffix.lower() in JOURNALS):
        return JournalStorage(JournalFileBackend(str(path)))
    if head and not head.startswith(b"SQLite format 3"):
        raise ValueError(f"{path} is neither an SQLite database nor an Optuna journal.")
    return _database(URL.create("sqlite", database=str(path.absolute())).render_as_string())


def _database(url: str) -> BaseStorage:
    from optuna.exceptions import StorageInternalError
    from optuna.storages import get_storage
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with quiet_optuna():
            return get_storage(url)
    except (SQLAlchemyError, StorageInternalError, ImportError, ValueError) as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise ValueError(f"The storage {_without_password(url)} cannot be opened: {reason}") from error


def _sqlite_file(url: str) -> Path | None:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except ArgumentError as error:
        raise ValueError(f"{url!r} is not a storage URL; use for instance sqlite:///run.db.") from error
    in_file = parts.get_backend_name() == "sqlite" and parts.database and parts.database != ":memory:"
    return Path(str(parts.database)) if in_file else None


def _without_password(url: str) -> str:
    from sqlalchemy import make_url

    return make_url(url).render_as_string(hide_password=True)
