"""What the tests of the study share: small grids, real processes, a task that misbehaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from compbo.space import Float, Space
from compbo.study.cell import Cell, InnerSpec, MethodSpec, SurrogateSpec, maximizer_method
from compbo.study.results import load, schema
from compbo.study.tasks import FunctionTask

ROOT = Path(__file__).parent.parent
TINY = InnerSpec(raw_batches=16, restarts=2, steps=3, minibatch=8)
SQUARE = Space({"x": Float(0, 1), "y": Float(0, 1)})


def cell(method: MethodSpec | None = None, **changes: Any) -> Cell:
    """A cell that takes no time: random search on Ackley's function in 4 dimensions."""
    small = Cell("ackley-4", 4, method or MethodSpec("random-search"), seed=0, batch=2, steps=2, initial=3)
    return replace(small, **changes)


def compbo_cell(maximizer: str = "CAdam", acquisition: str = "ucb", **changes: Any) -> Cell:
    """A tiny cell with a maximizer."""
    return cell(maximizer_method(maximizer, acquisition), surrogate=SurrogateSpec(), inner=TINY, **changes)


# -- tasks of their own, found as study_helpers:NAME


def _sometimes(point: Mapping[str, Any]) -> float:
    if point["x"] < 0.5:
        raise ArithmeticError("left half")
    return float(point["x"])


def _sleep(point: Mapping[str, Any]) -> float:
    time.sleep(60)
    return 0.0


def _eat(point: Mapping[str, Any]) -> float:
    eaten = bytearray(400 * 2**20)
    time.sleep(60)
    return float(len(eaten))


def _die(point: Mapping[str, Any]) -> float:
    os.kill(os.getpid(), 9)
    return 0.0


def _noisy_chatter(point: Mapping[str, Any]) -> float:
    print("this must not reach the protocol", flush=True)
    os.write(1, b"nor this")
    return float(point["x"])


def _leave_processes(point: Mapping[str, Any]) -> float:
    """One that escapes into a session of its own, and one that holds every open pipe."""
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(4321)"], start_new_session=True)
    if os.fork() == 0:
        time.sleep(600)
    return float(point["x"])


def _exit(point: Mapping[str, Any]) -> float:
    sys.stderr.write("enough of this\n")
    os._exit(7)


def _reckless(point: Mapping[str, Any]) -> float:
    """Changes what it was given, ends the interpreter, says what no file can hold, returns an array."""
    x = float(point["x"])
    point.clear()  # type: ignore[attr-defined]
    if x < 0.3:
        sys.exit("too cold")
    if x < 0.6:
        raise OSError("\udcff is the name of the file\nand this is the second line" * 1000)
    return np.array([x])  # type: ignore[return-value]


def _raise(point: Mapping[str, Any]) -> float:
    raise OSError("the furnace is off")


def _once_repaired(point: Mapping[str, Any]) -> float:
    if not Path(os.environ["COMPBO_TEST_REPAIRED"]).exists():
        os.kill(os.getpid(), 9)
    return float(point["x"])


sometimes = FunctionTask("sometimes", SQUARE, _sometimes, optimum=0.5)
sleeper = FunctionTask("sleeper", SQUARE, _sleep)
eater = FunctionTask("eater", SQUARE, _eat)
killer = FunctionTask("killer", SQUARE, _die)
breeder = FunctionTask("breeder", SQUARE, _leave_processes)
leaver = FunctionTask("leaver", SQUARE, _exit)
reckless = FunctionTask("reckless", SQUARE, _reckless)
broken = FunctionTask("broken", SQUARE, _raise)
chatter = FunctionTask("chatter", SQUARE, _noisy_chatter)
once_repaired = FunctionTask("once-repaired", SQUARE, _once_repaired)


def own(name: str, **changes: Any) -> Cell:
    """Random search on a task of this module."""
    return cell(task=f"study_helpers:{name}", dimension=2, **changes)


# -- comparing and waiting


def determined(row: Mapping[str, Any]) -> str:
    """What a cell determines, NaN and the last bit included."""
    return repr({name: row[name] for name in schema.DETERMINED})


def determined_table(results: Path) -> list[str]:
    """The same for a whole results folder."""
    return [determined(row) for row in _plain_rows(load(results))]


def _plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


def wait_for(condition: Callable[[], Any], what: str, alive: subprocess.Popen[str] | None = None) -> Any:
    """Wait until a condition holds; a failure that says what was waited for, or how `alive` ended."""
    end = time.monotonic() + 240.0
    while not (value := condition()):
        if alive is not None and alive.poll() is not None:
            raise AssertionError(f"waiting for {what}, the process ended: {alive.communicate()}")
        assert time.monotonic() < end, f"waited four minutes for {what}"
        time.sleep(0.02)
    return value


def stored(results: Path) -> set[str]:
    """The hashes of the files that are there."""
    return {path.stem for path in (results / "cells").rglob("*.parquet")}


def python_path() -> str:
    """Where a process finds this folder's tasks, and the package where this process found it."""
    return os.pathsep.join([str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])


def study(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """`compbo study ...` as a process."""
    command = [sys.executable, "-c", "from compbo.cli import main; main()", "study", *arguments]
    variables = {**os.environ, "PYTHONPATH": python_path(), **options.pop("env", {})}
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables, **options
    )


def study_output(*arguments: str, code: int = 0, **options: Any) -> tuple[str, str]:
    """Standard output and error of `compbo study ...`, which must end with that exit code."""
    with study(*arguments, **options) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == code, f"exit code {process.returncode}\n{out}\n{err}"
    return out, err


def marked_processes(mark: str) -> list[psutil.Process]:
    """Living processes that inherited the mark in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("COMPBO_TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found
