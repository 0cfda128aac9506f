"""Seconds and peak memory of one maximisation against the dimension, for every optimiser of the catalogue.

Every dimension has a process of its own, with the threads and the backend of a cell of the study.
"""

from __future__ import annotations

import csv
import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.common import B, K, Q, Row, T

TITLE = "Cost of one maximisation against the dimension, every optimiser"
N = 256  # observations, as in the middle of a run of the paper's 3 + 32 x 16
DIMENSIONS = (16, 40, 60, 80, 100, 120)
REPEATS = 2
NEAR = 0.05  # deviation of the start points from observations
MEGABYTE = 2.0**20
NOTE = (
    f"The paper's acquisition step: UCB, q = {Q}, {B} restarts, {T} steps of the optimiser on {K} samples each (a pool "
    f"of {T * K} in the compositional form), n = {N} observations, one thread. An optimiser first takes one step, for "
    "what it imports. MB: what the maximisation after that adds to the resident memory of the process at its peak. "
    f"Seconds: the median of {REPEATS} more. The start batches are given, around observations; fit, raw batches and "
    "verdict are not part of it. `cost.csv` has the same numbers and the steps taken, docs/reproduction.md the classes."
)
CSV = Path(__file__).parent / "cost.csv"


class Cost(NamedTuple):
    """One optimiser in one dimension."""

    maximizer: str
    dimension: int
    observations: int
    steps: int  # that it took; fewer than allowed if it stopped by itself
    seconds: float  # of one maximisation
    megabytes: float  # that it adds at its peak


def measure(
    dimension: int, names: Sequence[str], *, observations: int = N, steps: int = T, repeats: int = REPEATS
) -> list[Cost]:
    """The optimisers of these names in one dimension, in a process of its own, one after the other."""
    from compbo.study.engine.environment import cell_environment

    numbers = [str(number) for number in (dimension, observations, steps, repeats)]
    command = [sys.executable, "-m", "benchmarks.cost", *numbers, *names]
    environment = {**os.environ, **cell_environment(1)}
    root = Path(__file__).parents[1]
    done = subprocess.run(command, env=environment, cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    return [Cost(*row) for row in json.loads(done.stdout.splitlines()[-1])]


def measure_here(dimension: int, observations: int, steps: int, repeats: int, names: Sequence[str]) -> list[Cost]:
    """The same in this process."""
    from benchmarks.common import work
    from compbo.maximizers import CATALOGUE, make_maximizer
    from compbo.seeds import stream
    from compbo.study.engine.environment import peak_memory, reset_peak_memory
    from compbo.types import Box, Budget

    w, x = work(dimension, observations), starts(dimension, observations)

    def seconds(name: str, steps: int = steps) -> float:
        oracle = w.oracle(form=CATALOGUE[name].form, steps=steps)
        start = time.perf_counter()
        trace = make_maximizer(name)(
            oracle, x, budget=Budget(steps=steps), box=Box.unit(dimension), generator=stream(0, "cost")
        )
        taken[name] = trace.steps
        return time.perf_counter() - start

    taken: dict[str, int] = {}

    found = []
    for name in names:
        seconds(name, steps=1)  # what it imports when it is first called
        _give_back()
        reset_peak_memory()
        before = peak_memory()  # after a reset, what is resident now
        seconds(name)
        added = (peak_memory() - before) / MEGABYTE
        median = statistics.median(seconds(name) for _ in range(repeats))
        found.append(Cost(name, dimension, observations, taken[name], median, added))
    return found


def starts(dimension: int, observations: int) -> Tensor:
    """Start batches (B, q, d) around observations: far from all of them the model is flat, and some stop at once."""
    from benchmarks.common import data
    from compbo.seeds import stream

    generator = stream(0, "cost starts", dimension, observations)
    known = data(dimension, observations)[0]
    chosen = known[torch.randint(len(known), (B, Q), generator=generator)]
    return (chosen + NEAR * torch.randn(chosen.shape, dtype=chosen.dtype, generator=generator)).clamp_(0.0, 1.0)


def _give_back() -> None:
    """Return freed memory to the system: what one optimiser has freed is not there for the next."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def write_csv(costs: Sequence[Cost], path: Path = CSV) -> None:
    """A line for every optimiser and dimension."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Cost._fields)
        writer.writerows((*cost[:4], f"{cost.seconds:.4f}", f"{cost.megabytes:.2f}") for cost in costs)


def read_csv(path: Path = CSV) -> list[Cost]:
    """What `write_csv` wrote; nothing if it was not measured yet."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Cost(
                row["maximizer"],
                *(int(row[name]) for name in ("dimension", "observations", "steps")),
                *(float(row[name]) for name in ("seconds", "megabytes")),
            )
            for row in csv.DictReader(file)
        ]


def rows_of(costs: Sequence[Cost]) -> list[Row]:
    """A row for every optimiser: seconds, then megabytes, dimension by dimension."""
    rows: dict[str, Row] = {cost.maximizer: {"maximizer": cost.maximizer} for cost in costs}
    for cost in costs:
        rows[cost.maximizer][f"{cost.dimension}D s"] = cost.seconds
    for cost in costs:
        rows[cost.maximizer][f"{cost.dimension}D MB"] = cost.megabytes
    return list(rows.values())


def run() -> list[Row]:
    from compbo.maximizers import CATALOGUE

    costs = [cost for dimension in DIMENSIONS for cost in measure(dimension, list(CATALOGUE))]
    write_csv(costs)
    return rows_of(costs)


if __name__ == "__main__":
    print(json.dumps(measure_here(*map(int, sys.argv[1:5]), sys.argv[5:])))
