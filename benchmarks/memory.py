"""Peak memory of a maximisation in the compositional form (pool of M) against the memory-efficient one."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from benchmarks.common import K, Row, T

TITLE = "Peak memory of one maximisation: CAdam (pool of M = 8192) against CAdam-ME"
NOTE = (
    "W(16,100), each in a process of its own; what the maximisation adds to the process's resident memory at its peak, "
    "after one of Adam-ERM. `memory.csv` has the same for other M and dimensions, as `compbo study figures --memory` "
    "draws them."
)
NAMES = ("CAdam", "CAdam-ME", "NASA", "NASA-ME", "Nested-MC", "Nested-MC-ME")
CSV = Path(__file__).parent / "memory.csv"
POOLS = (1024, 4096, 16384, 65536)  # M
SIZES = ((16, 100), (40, 250), (120, 515))

PROGRAM = """
import re, sys
from benchmarks.common import work
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.seeds import stream
from compbo.types import Box, Budget
name, d, n, pool_steps, steps = sys.argv[1], *map(int, sys.argv[2:])
w = work(d, n)
oracle = w.oracle(form=CATALOGUE[name].form, steps=pool_steps)
adam = w.oracle()
make_maximizer("Adam-ERM")(adam, w.x, budget=Budget(steps=8), box=Box.unit(d), generator=stream(0))
def kilobytes(what):
    return int(re.search(what + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again from here
before = kilobytes("VmRSS")
make_maximizer(name)(oracle, w.x, budget=Budget(steps=steps), box=Box.unit(d), generator=stream(0))
tracked = CATALOGUE[name].traits.remembers
print(kilobytes("VmHWM") - before, oracle.bytes_needed(32, tracked), oracle.pool_size)
"""


def measure(name: str, d: int, n: int, pool_steps: int, steps: int) -> tuple[float, float, int]:
    """Megabytes added, megabytes expected, columns of zeta."""
    arguments = [str(number) for number in (d, n, pool_steps, steps)]
    done = subprocess.run([sys.executable, "-c", PROGRAM, name, *arguments], capture_output=True, text=True, check=True)
    kilobytes, estimate, columns = map(int, done.stdout.split())
    return kilobytes / 1024, estimate / 2**20, columns


def write_csv() -> None:
    """Megabytes against M in 16 dimensions, and against the dimension at the largest M."""
    cases = [(*SIZES[0], pool) for pool in POOLS] + [(*size, POOLS[-1]) for size in SIZES[1:]]
    with CSV.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("maximizer", "dimension", "pool", "columns", "measured_mb", "estimated_mb"))
        for name in NAMES:
            for d, n, pool in cases:
                measured, estimated, columns = measure(name, d, n, pool // K, pool // K)  # zeta grows to the end
                writer.writerow((name, d, pool, columns, f"{measured:.2f}", f"{estimated:.2f}"))


def run() -> list[Row]:
    rows: list[Row] = []
    for name in NAMES:
        measured, estimated, columns = measure(name, 16, 100, T, T)
        rows.append({"maximizer": name, "columns of zeta": columns, "measured MB": measured, "estimated MB": estimated})
    write_csv()
    return rows
