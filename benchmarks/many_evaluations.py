"""An ask with many evaluations behind it: processor time and memory, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

from benchmarks.common import Row

TITLE = "An ask with many evaluations behind it"
NOTE = (
    "d = 20, q = 8, a quadratic, the defaults, one thread; the model is fitted to at most `model_points` = 1024 of the "
    "evaluations. Goal: 2,000 within 5 seconds, 10,000 within 30 seconds and 4 GB."
)
SIZES = (500, 1000, 2000, 10_000)

SCRIPT = """
import json, resource, sys, time, torch
from compbo import Evaluation, Float, Settings, Space
from compbo.bo.history import History
from compbo.bo.suggest import suggest
space = Space({f"x{i}": Float(0, 1) for i in range(20)})
points = space.sample(int(sys.argv[1]), torch.Generator().manual_seed(0))
history = History(tuple(Evaluation(p, sum((value - 0.3) ** 2 for value in p.values())) for p in points))
began = time.process_time()
telemetry = suggest(space, Settings(batch_size=8), history).telemetry
spent = time.process_time() - began
print(json.dumps([telemetry.modelled, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def run() -> list[Row]:
    rows: list[Row] = []
    for n in SIZES:
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        modelled, seconds, megabytes = json.loads(done.stdout)
        rows.append({"evaluations": n, "in the model": modelled, "CPU s": seconds, "peak MB of the process": megabytes})
    return rows
