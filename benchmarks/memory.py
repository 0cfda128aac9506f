"""Peak memory of a maximisation in the compositional form (pool of M) against the memory-efficient one."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.common import Row

TITLE = "Peak memory of one maximisation: CAdam (pool of M = 8192) against CAdam-ME"
NOTE = (
    "W(16,100), each in a process of its own; what the maximisation adds to the process's resident memory at its peak, "
    "after one of Adam-ERM."
)

PROGRAM = """
import re, sys
from benchmarks.common import work
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.seeds import stream
from compbo.types import Box, Budget
name = sys.argv[1]
w = work(16, 100)
oracle = w.oracle(form=CATALOGUE[name].form, steps=64)
adam = w.oracle()
make_maximizer("Adam-ERM")(adam, w.x, budget=Budget(steps=8), box=Box.unit(16), generator=stream(0))
def kilobytes(what):
    return int(re.search(what + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again from here
before = kilobytes("VmRSS")
make_maximizer(name)(oracle, w.x, budget=Budget(steps=64), box=Box.unit(16), generator=stream(0))
tracked = CATALOGUE[name].traits.remembers
print(kilobytes("VmHWM") - before, oracle.bytes_needed(32, tracked), oracle.pool_size)
"""


def run() -> list[Row]:
    rows: list[Row] = []
    for name in ("CAdam", "CAdam-ME", "NASA", "NASA-ME", "Nested-MC", "Nested-MC-ME"):
        done = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=True)
        kilobytes, estimate, columns = map(int, done.stdout.split())
        rows.append(
            {
                "maximizer": name,
                "columns of zeta": columns,
                "measured MB": kilobytes / 1024,
                "estimated MB": estimate / 2**20,
            }
        )
    return rows
