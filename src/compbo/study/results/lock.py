"""The lock of a results folder: one process writes to it at a time."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from compbo.errors import InUseError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTEMPTS = 5  # `owner` holds the lock for a moment when it looks


class FolderLock:
    """The file `.lock` of a folder; while it is held, it says by whom.

    Args:
        folder: the results folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / ".lock"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock of a folder that exists; InUseError if another process has it.

        Returns:
            A context; the lock is held inside of it.
        """
        with self._path.open("a+", encoding="utf-8") as file:
            self._acquire(file)
            try:
                yield
            finally:
                file.truncate(0)

    def _acquire(self, file: IO[str]) -> None:
        for attempt in range(ATTEMPTS):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if attempt + 1 < ATTEMPTS:
                    time.sleep(0.1)
                continue
            file.truncate(0)
            owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
            file.write(json.dumps({**owner, "command": " ".join(sys.argv)}))
            file.flush()
            return
        raise InUseError(
            "{folder} is in use by {owner}. Wait until it ends, stop it, or give another {results}.",
            folder=self._folder,
            owner=self._words(),
        )

    def owner(self) -> str | None:
        """The process that holds the lock.

        Returns:
            The process in words; None if no process does.
        """
        try:
            with self._path.open("r", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            return self._words()
        return None

    def _words(self) -> str:
        try:
            owner = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return "another process"
        return f"process {owner['pid']} on {owner['host']} since {owner['since']}"
