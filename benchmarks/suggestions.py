"""One suggestion of the default beside one of each of the league's methods, in the middle of the same run."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from statistics import geometric_mean
from typing import TYPE_CHECKING

import torch

from benchmarks.common import Row
from benchmarks.league.peers.process import HEBO, SMAC, NotInstalledError, PeerMethod
from compbo.plugins import load_plugin
from compbo.study.cell import Cell, InnerSpec, MethodSpec
from compbo.study.engine.experiment import initial_design
from compbo.study.methods.registry import KINDS, make_method
from compbo.study.tasks import get_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.methods.method import Method, Point
    from compbo.study.tasks import Task

OURS = "compbo"
PEERS = ("optuna-gp", "turbo", "hebo", "smac", "botorch-qlogei-sequential")
TASKS = ("levy-6-shifted", "levy-20-shifted", "levy-60-shifted")
SIZES = (1, 8)
SEEDS = (0, 1)
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
INITIAL, TOLD = 16, 80
INNER = InnerSpec(restarts=10, raw_batches=512)  # BoTorch has no default for them: its tutorials' numbers
TITLE = "A suggestion of the default, beside those of other libraries"
NOTE = (
    f"An ask for q points after {TOLD} evaluations, the first {TOLD} of a run of compbo on a shifted Levy function, "
    "which all methods are told. Then they ask, evaluate and tell in turn: a first ask that is not timed (imports, the "
    "first fit), then 8 for one point and two for 8 points. One thread each, everything at its default: compbo climbs "
    "in single precision. The methods are those of [the league](../docs/league.md): "
    f"HEBO {HEBO} and SMAC {SMAC} run in processes of their own, SMAC trains its forest after every eighth point, "
    f"BoTorch has {INNER.restarts} restarts of {INNER.raw_batches} raw samples, and its points are chosen one after "
    "the other. compbo's seconds are the mean of its asks, the others a ratio of sums, and both the geometric mean "
    "over two seeds; the last column is how far apart the ratios of the two seeds are, for the method where that is "
    "most."
)


def run(tasks: Sequence[str] = TASKS, sizes: Sequence[int] = SIZES, peers: Sequence[str] = PEERS) -> list[Row]:
    """A row for every task and size of a batch."""
    load_plugin("benchmarks.league.plugin")  # not before: what it registers stays
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))  # for the peers in processes of their own
    try:
        return [
            row_of(name, q, [seconds_of(name, q, seed, peers) for seed in SEEDS], peers)
            for name in tasks
            for q in sizes
        ]
    finally:
        torch.set_num_threads(threads)
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({name: value} if value is not None else {})


def asks(q: int) -> int:
    """How many asks are timed."""
    return max(2, 8 // q)


def cell_of(kind: str, task: Task, q: int, seed: int) -> Cell:
    """The cell that makes a method: its options and, where it needs one, the inner budget."""
    known = KINDS[kind]
    steps = (TOLD - INITIAL) // q + asks(q) + 1
    inner = INNER if known.inner else None
    method = MethodSpec(kind, hyperparameters=known.options)
    return Cell(task.name, task.space.dim, method, seed, q, steps, INITIAL, inner=inner)


def history(task: Task, seed: int) -> list[Point]:
    """The first points of a run of compbo: the initial design and batches of 8."""
    cell = cell_of(OURS, task, 8, seed)
    method, points = make_method(cell, task), initial_design(cell, task)
    method.tell(points, [task.evaluate(point) for point in points])
    while len(points) < TOLD:
        batch = method.ask(8)
        method.tell(batch, [task.evaluate(point) for point in batch])
        points += batch
    return points[:TOLD]


def seconds_of(name: str, q: int, seed: int, peers: Sequence[str]) -> dict[str, float]:
    """The seconds of all asks of compbo and of the peers; those whose environment is not there are left out."""
    task = get_task(name, seed)
    points = history(task, seed)
    losses = [task.evaluate(point) for point in points]
    methods: dict[str, Method] = {}
    try:
        for kind in (OURS, *peers):
            with suppress(NotInstalledError):
                methods[kind] = make_method(cell_of(kind, task, q, seed), task)
        for method in methods.values():
            method.tell(points, losses)
        return asked_in_turn(methods, task, q)
    finally:
        for method in methods.values():
            if isinstance(method, PeerMethod):
                method.close()


def asked_in_turn(methods: Mapping[str, Method], task: Task, q: int) -> dict[str, float]:
    """The seconds of all asks but the first, which imports and compiles, by the name of the method."""
    seconds = dict.fromkeys(methods, 0.0)
    for number in range(1 + asks(q)):
        for kind, method in methods.items():
            clock = time.perf_counter()
            batch = method.ask(q)
            spent = time.perf_counter() - clock
            method.tell(batch, [task.evaluate(point) for point in batch])
            if number > 0:
                seconds[kind] += spent
    return seconds


def row_of(name: str, q: int, seconds: Sequence[Mapping[str, float]], peers: Sequence[str]) -> Row:
    """A row of the table.

    Args:
        name: of the task.
        q: points of an ask.
        seconds: of all asks by the name of the method, for every seed.
        peers: a column for each; `not installed` where its environment is not there.

    Returns:
        compbo's seconds for an ask, the others' in units of compbo's, and how far the seeds are apart.
    """
    row: Row = {"task": name, "q": q, f"{OURS} s": geometric_mean([each[OURS] / asks(q) for each in seconds])}
    apart = 1.0
    for kind in peers:
        ratios = [each[kind] / each[OURS] for each in seconds if kind in each]
        row[f"{kind} / {OURS}"] = geometric_mean(ratios) if ratios else "not installed"
        apart = max(apart, max(ratios, default=1.0) / min(ratios, default=1.0))
    return {**row, "seeds apart by": apart}
