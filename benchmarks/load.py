"""What an ask costs beside other work: busy processes on the same cores, as asynchronous workers are."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time

from benchmarks.common import Row

TITLE = "An ask beside busy processes"
NOTE = (
    "n = 500, d = 20, q = 8, a shifted Levy function; each package in a process of its own, with what its users get "
    "(compbo: one thread; BoTorch and Optuna: PyTorch's choice), median of the asks after the first. Busy processes "
    "count in a loop. Goal: beside two of them at most 2.5 times the quiet time, and the fastest of the three. `> 60`: "
    "the first ask had not come back after a minute."
)
METHODS = ("compbo", "botorch-qlogei", "optuna-gp")
BUSY = (0, 1, 2, 4)
ASKS = 3
LONGEST = 60.0 * (ASKS + 1)

SCRIPT = """
import json, sys, time
from compbo.study.cell import Cell, InnerSpec, MethodSpec
from compbo.study.methods.registry import KINDS, make_method
from compbo.study.tasks import get_task
kind = sys.argv[1]
cell = Cell("levy-20-shifted", 20, MethodSpec(kind, hyperparameters=KINDS[kind].options), 0, 8, 4, 500,
            inner=InnerSpec(restarts=8, raw_batches=256) if KINDS[kind].inner else None)
task = get_task(cell.task, 0)
method = make_method(cell, task)
import torch
points = task.space.sample(500, torch.Generator().manual_seed(0))
method.tell(points, [task.evaluate(point) for point in points])
for _ in range(int(sys.argv[2]) + 1):
    clock = time.perf_counter()
    batch = method.ask(8)
    print(json.dumps(time.perf_counter() - clock), flush=True)
    method.tell(batch, [task.evaluate(point) for point in batch])
"""


def _count(parent: int) -> None:
    """Be busy for as long as the parent is there."""
    while os.getppid() == parent:
        for _ in range(1_000_000):
            pass


def seconds(kind: str) -> float:
    """The median time of an ask after the first; infinity where they do not come back."""
    plain = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS") and k != "COMPBO_THREADS"}
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, kind, str(ASKS)]
    try:
        done = subprocess.run(command, env=plain, capture_output=True, text=True, timeout=LONGEST, check=True)
        written = done.stdout
    except subprocess.TimeoutExpired as late:
        written = (late.stdout or b"").decode()
    times = sorted(json.loads(line) for line in written.splitlines()[1:])
    return float(times[len(times) // 2]) if times else float("inf")


def run() -> list[Row]:
    rows: list[Row] = [{"package": kind} for kind in METHODS]
    for busy in BUSY:
        beside = [multiprocessing.Process(target=_count, args=(os.getpid(),), daemon=True) for _ in range(busy)]
        for process in beside:
            process.start()
        time.sleep(1.0)
        for row in rows:
            row[f"beside {busy}, s"] = seconds(str(row["package"]))
        for process in beside:
            process.kill()
    for row in rows:
        quiet, two = row["beside 0, s"], row["beside 2, s"]
        assert isinstance(quiet, float)
        assert isinstance(two, float)
        row["beside 2 / quiet"] = two / quiet
        for name, value in row.items():
            if value == float("inf"):
                row[name] = "> 60"
    return rows
