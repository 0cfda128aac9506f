"""Twenty seeded steps of every row of the catalogue, as `data/traces.csv` holds them.

`python tests/recorded_traces.py` records the rows that are missing and drops those of names that are gone; with --all
it records every row anew. `make catalogue` runs it.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import torch

from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.types import Box, Budget
from maximizer_toys import Toy, seeded, starts

FILE = Path(__file__).parent / "data" / "traces.csv"
FIELDS = ("name", "step", "value_0", "value_1", "point")
STEPS = 20

Rows = list[dict[str, str]]


def trace_of(name: str) -> Rows:
    """Value of both restarts and one number for the points, after every step."""
    toy = Toy(2, pool=12 if CATALOGUE[name].form in ("Comp", "FSM") else None)
    trace = make_maximizer(name)(
        toy, starts(2, 2, 2), budget=Budget(STEPS), box=Box.unit(2), generator=seeded(20), record=True
    )
    weights = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(2, 2, 2)
    return [
        {
            "name": name,
            "step": str(t),
            "value_0": f"{float(value[0]):.12g}",
            "value_1": f"{float(value[1]):.12g}",
            "point": f"{float((weights * point).sum()):.12g}",
        }
        for t, (value, point) in enumerate(zip(trace.values, trace.points, strict=True), start=1)
    ]


def recorded(file: Path = FILE) -> dict[str, Rows]:
    """The rows of the file by name."""
    rows: dict[str, Rows] = {}
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            rows.setdefault(row["name"], []).append(row)
    return rows


def record(file: Path = FILE, *, anew: bool = False) -> list[str]:
    """Write the rows of the catalogue in its order; the names that were recorded: all, or those that were missing."""
    known = {} if anew else recorded(file)
    missing = [name for name in CATALOGUE if name not in known]
    known |= {name: trace_of(name) for name in missing}
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for name in CATALOGUE for row in known[name])
    return missing


if __name__ == "__main__":
    print(f"{FILE.name}: recorded {', '.join(record(anew='--all' in sys.argv)) or 'nothing new'}")
