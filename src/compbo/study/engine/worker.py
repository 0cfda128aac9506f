"""The worker process: it imports everything once, then runs every cell in a process forked from it.

Started by `launcher.Launcher`, it reads requests from standard input and answers each with one row of the results
table. It ends when its parent is gone.
"""

from __future__ import annotations

import importlib
import os
import selectors
from typing import IO, TYPE_CHECKING

import compbo
from compbo.study.engine.messages import decode_request, read_frame, write_frame

if TYPE_CHECKING:
    from compbo.study.cell import Cell

IDLE_SECONDS = 900.0  # without a request for this long, the process ends; the next request starts another
_PRELOADED = (
    "compbo.study.engine.experiment",
    "botorch.optim",
    "botorch.test_functions",
    "psutil",
    "scipy.linalg",
    "scipy.optimize",
)


def serve() -> None:
    """Answer requests until standard input ends or no request has come for a long time."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    requests = os.fdopen(0, "rb", buffering=0, closefd=False)
    _warm_up()
    from compbo.study.cell import cell_from_json
    from compbo.study.engine.supervisor import adopt_orphans, supervise

    adopt_orphans()
    while _waits_for(requests) and (message := read_frame(requests)) is not None:
        request = decode_request(message)
        cell = cell_from_json(request.definition)
        _preload_for(cell)
        write_frame(answers, supervise(cell, request.limits, request.plugins))


def _warm_up() -> None:
    """Do once what every cell would do: imports, versions, PyArrow's first file. Nothing is computed."""
    for module in _PRELOADED:
        importlib.import_module(module)
    _ = compbo.Optimizer  # imported when it is first used
    from compbo.study.engine import environment
    from compbo.study.results import schema

    environment.versions_json()
    environment.machine_json()
    schema.to_bytes({})


def _waits_for(requests: IO[bytes]) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        return bool(selector.select(IDLE_SECONDS))


def _preload_for(cell: Cell) -> None:
    """Import what the cell will import, for the next cell of its kind, too; failures are the cell's to report."""
    from compbo.study.methods.registry import KINDS
    from compbo.study.tasks import modules_of

    kind = KINDS.get(cell.method.kind)
    for module in (*(kind.modules if kind is not None else ()), *modules_of(cell.task)):
        try:
            importlib.import_module(module)
        except ImportError:
            return


if __name__ == "__main__":
    serve()
