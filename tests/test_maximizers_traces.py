"""Twenty seeded steps of every entry, recorded: a change must be intended.

COMPBO_RECORD_TRACES=1 python -m pytest tests/test_maximizers_traces.py records them anew.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest
import torch

from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.types import Box, Budget
from maximizer_toys import Toy, seeded, starts

FILE = Path(__file__).parent / "data" / "traces.csv"
FIELDS = ("name", "step", "value_0", "value_1", "point")
STEPS = 20


def trace_of(name: str) -> list[dict[str, str]]:
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


def recorded() -> dict[str, list[dict[str, str]]]:
    rows: dict[str, list[dict[str, str]]] = {}
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["name"], []).append(row)
    return rows


@pytest.mark.skipif("COMPBO_RECORD_TRACES" not in os.environ, reason="only to record the traces anew")
def test_record():
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for name in CATALOGUE:
            writer.writerows(trace_of(name))


@pytest.mark.parametrize("name", CATALOGUE)
def test_trace_is_the_recorded_one(name):
    expected, found = recorded()[name], trace_of(name)
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        for field in ("value_0", "value_1", "point"):
            assert float(row[field]) == pytest.approx(float(wanted[field]), rel=1e-9, abs=1e-11), (row["step"], field)
