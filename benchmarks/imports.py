"""Time of `import compbo` against `import torch`, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.common import Row, alternate

TITLE = "Import"
NOTE = "Goal: under 1.5 times `import torch`. The first use of a public name loads what it needs."


def fresh(statement: str) -> None:
    subprocess.run([sys.executable, "-c", statement], check=True)


def run() -> list[Row]:
    statements = ("pass", "import torch", "import compbo", "from compbo import Optimizer")
    timings = alternate(*(lambda s=s: fresh(s) for s in statements), repeats=3, warmup=1)
    empty, base = timings[0].median, timings[1].median
    return [
        {"statement": s, "seconds": t.median - empty, "times import torch": (t.median - empty) / (base - empty)}
        for s, t in list(zip(statements, timings, strict=True))[1:]
    ]
