"""What a worker process of a run does: it gets the objective once, then evaluates the points that it is sent.

Every worker process imports this file when it starts, so it imports nothing heavy; nor does `compbo.run`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.evaluation import Outcome, describe, evaluate

if TYPE_CHECKING:
    from compbo.evaluation import Objective

_installed: list[Objective] = []  # the objective of this process, sent once


class Installed(NamedTuple):
    """What a worker process answers when it got the objective."""

    pid: int  # of the worker process
    problem: str  # why it cannot load the objective; "" if it can


def start() -> None:
    """Leave Ctrl-C, which reaches every process of the terminal, to the parent; end when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def install(payload: bytes) -> Installed:
    """The answer of this process after it has loaded the pickled objective, the payload."""
    with contextlib.suppress(IndexError):
        _installed.pop()
    try:
        _installed.append(pickle.loads(payload))
    except Exception as error:  # reported to the parent
        return Installed(os.getpid(), describe(error))
    return Installed(os.getpid(), "")


def evaluate_installed(params: dict[str, Any]) -> Outcome:
    """The outcome of the installed objective at a point, params."""
    return evaluate(_installed[0], params)
