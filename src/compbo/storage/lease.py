"""One process at a time on a stored run: the second one is told who has it, or waits if that is a matter of moments.

The holder leaves its host, process and a heartbeat as an attribute of the study. On the same host a holder that no
longer lives is replaced at once; a holder elsewhere is believed to live until its heartbeat is a minute old.

Two processes that take the run in the same instant both write, and the last one has it: the other one sees that before
it writes anything else.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.errors import InUseError, TakenOverError

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

KEY = "compbo:lease"
BEAT_SECONDS = 15.0
STALE_SECONDS = 60.0
PAUSE = 0.1  # seconds between two looks at a brief holder

log = logging.getLogger(__name__)


class Lease:
    """Exclusive use of a study (study_id in the storage), from `acquire` to `release`.

    brief: it is a matter of moments (`compbo ask`, `compbo tell`), so others wait for it.
    """

    def __init__(self, storage: BaseStorage, study_id: int, *, brief: bool = False) -> None:
        self._storage = storage
        self._study_id = study_id
        self._brief = brief
        self._token = uuid.uuid4().hex
        self._released = threading.Event()
        self._thread: threading.Thread | None = None

    def acquire(self) -> None:
        """Take the run, or raise InUseError; a brief holder is waited for."""
        give_up = time.monotonic() + STALE_SECONDS
        while True:
            holder = self._holder()
            if not holder or not _lives(holder):
                self._beat()
                if self._holder().get("token") == self._token:
                    break
            elif not holder.get("brief") or time.monotonic() > give_up:
                raise InUseError(
                    "This run is in use by process {pid} on {host}. Wait until it ends, or give this run another "
                    "{study_name}. (If that process is dead, try again in {seconds:.0f} seconds.)",
                    pid=holder["pid"],
                    host=holder["host"],
                    seconds=STALE_SECONDS,
                )
            time.sleep(PAUSE)
        self._thread = threading.Thread(target=self._keep_beating, name="compbo lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise TakenOverError if another process took the run: nothing more may be written."""
        holder = self._holder()
        if holder.get("token") != self._token:
            raise TakenOverError(
                "Process {pid} on {host} took over this run; this one stops here.",
                pid=holder.get("pid"),
                host=holder.get("host"),
            )

    def release(self) -> None:
        """Leave the run to the next process."""
        if self._thread is None:
            return
        self._released.set()
        self._thread.join()
        self._thread = None
        if self._holder().get("token") == self._token:
            self._storage.set_study_system_attr(self._study_id, KEY, {})

    def _holder(self) -> dict[str, Any]:
        return dict(self._storage.get_study_system_attrs(self._study_id).get(KEY) or {})

    def _beat(self) -> None:
        pid = os.getpid()
        mine: dict[str, Any] = {"token": self._token, "host": socket.gethostname(), "pid": pid, "born": _born(pid)}
        state = {"beat": time.time(), **({"brief": True} if self._brief else {})}
        self._storage.set_study_system_attr(self._study_id, KEY, {**mine, **state})

    def _keep_beating(self) -> None:
        while not self._released.wait(BEAT_SECONDS):
            try:
                if self._holder().get("token") != self._token:
                    return
                self._beat()
            except Exception as error:  # the database may be away for a while; the run itself will tell
                log.warning("The heartbeat of the run could not be written: %s", error)


def _lives(holder: dict[str, Any]) -> bool:
    if holder["host"] == socket.gethostname() and os.name == "posix":
        try:
            os.kill(holder["pid"], 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # somebody else's process
        return bool(holder["born"] == _born(holder["pid"]))
    return time.time() - float(holder["beat"]) < STALE_SECONDS


def _born(pid: int) -> str:
    """When the process began, where /proc tells: a number may be given to a new process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
