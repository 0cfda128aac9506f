"""An ask with many evaluations behind it: processor time and memory, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.common import Row

TITLE = "An ask with many evaluations behind it"
NOTE = (
    "d = 20, a quadratic, the defaults, one thread; the model rests on at most `model_points` = 1280 of the "
    "evaluations. Pending are the points of 63 other workers, beside one that is asked for. Goal, q = 8: 2,000 within "
    "5 seconds, 10,000 within 30 seconds and 4 GB."
)
CASES = ((500, 8, 0), (1000, 8, 0), (2000, 8, 0), (10_000, 8, 0), (2000, 1, 63), (4000, 1, 63))  # n, q, pending

SCRIPT = """
import json, resource, sys, time, torch
from compbo import Evaluation, Float, Settings, Space
from compbo.bo.history import History
from compbo.bo.suggest import suggest
space = Space({f"x{i}": Float(0, 1) for i in range(20)})
n, q, pending = map(int, sys.argv[1:])
points = space.sample(n + pending, torch.Generator().manual_seed(0))
told = tuple(Evaluation(p, sum((value - 0.3) ** 2 for value in p.values())) for p in points[:n])
history = History(told, tuple(points[n:]))
began = time.process_time()
telemetry = suggest(space, Settings(batch_size=q), history).telemetry
spent = time.process_time() - began
print(json.dumps([telemetry.model, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def run() -> list[Row]:
    rows: list[Row] = []
    for n, q, pending in CASES:
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(n), str(q), str(pending)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        model, seconds, megabytes = json.loads(done.stdout)
        row: Row = {"evaluations": n, "q": q, "pending": pending, "model": model}
        rows.append({**row, "CPU s": seconds, "peak MB of the process": megabytes})
    return rows
