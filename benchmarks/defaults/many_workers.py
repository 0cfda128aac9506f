"""4,000 evaluations in 20 dimensions with 64 workers: does a model of a part of the observations lose regret?

python -m benchmarks.defaults.many_workers runs what results/many_workers.csv does not hold, about an hour of one core,
and goes on where it stopped (its folder keeps the runs under way); python -m benchmarks.defaults.page writes the table.

Workers are simulated: an evaluation takes a random time, and when eight of the 64 are free their results are told and
eight new points are asked for, beside the 56 that are pending. Up to `model_points` evaluations the default is the
exact model. There a run is split: `part` goes on as the default does, `exact` with all observations in the model.
"""

from __future__ import annotations

import csv
import heapq
import math
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import compbo
from benchmarks.defaults import tasks
from compbo.files import write_atomically
from compbo.seeds import numpy_stream
from compbo.study.tasks import FunctionTask

RESULTS = Path(__file__).parents[2] / "results" / "many_workers.csv"
WORKERS, Q = 64, 8
PART, EXACT = "part", "exact"
SPLIT = compbo.Settings().model_points or 0
ENDS = {PART: 4000, EXACT: 2000}  # evaluations
TASKS, SEEDS = ("valley_20",), (0,)
EVERY = 80  # evaluations from one row of the file to the next


class Row(NamedTuple):
    """Where a run stands: its best loss, and the seconds of CPU of an ask, the median since the row before."""

    task: str
    seed: int
    model: str
    evaluations: int
    best: float
    ask_seconds: float


def turns(seed: int) -> Iterator[list[int]]:
    """Before every ask, the numbers of the eight trials that have ended; they do not depend on the points.

    seed: of the times that evaluations take.
    """
    times = numpy_stream(seed, "times of the workers")
    running: list[tuple[float, int]] = []
    now, number = 0.0, 0
    while True:
        while len(running) < WORKERS:
            heapq.heappush(running, (now + times.lognormal(0.0, 0.5), number))
            number += 1
        ended = [heapq.heappop(running) for _ in range(Q)]
        now = ended[-1][0]
        yield [trial for _, trial in ended]


def run(task: FunctionTask, optimizer: compbo.Optimizer, end: int, kept: Path) -> Iterator[tuple[int, float, float]]:
    """Go on until `end` evaluations; how many there are, their best loss, seconds of an ask, every `EVERY` of them.

    optimizer: with what was asked and told before. kept: the file that keeps it.
    """
    seconds = list[float]()
    for ended in islice(turns(optimizer.settings.seed), len(optimizer.evaluations) // Q, None):
        points = [point for point in optimizer.pending if point.number in ended]
        optimizer.tell(points, [task.evaluate(point) for point in points])
        started = time.process_time()
        optimizer.ask(Q)
        seconds.append(time.process_time() - started)
        count = len(optimizer.evaluations)
        if count % EVERY == 0:
            write_atomically(kept, optimizer.to_json())
            assert optimizer.best is not None
            yield count, optimizer.best.value or math.nan, statistics.median(seconds)
            seconds.clear()
        if count >= end:
            return


def begun(task: FunctionTask, seed: int) -> compbo.Optimizer:
    """An optimizer whose first points, one for every worker, are pending."""
    optimizer = compbo.Optimizer(task.space, batch_size=Q, seed=seed)
    for _ in range(WORKERS // Q):
        optimizer.ask(Q)
    return optimizer


def load() -> list[Row]:
    """The rows of the file; none if there is no file."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [
        Row(task, int(seed), model, int(evaluations), float(best), float(seconds))
        for task, seed, model, evaluations, best, seconds in rows
    ]


def add(row: Row) -> None:
    """Append a row to the file."""
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        csv.writer(file).writerows([Row._fields, row] if new else [row])


def main(folder: Path) -> None:
    """Run what is not there yet.

    folder: keeps the runs under way.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for model in (PART, EXACT):
        for name in TASKS:
            for seed in SEEDS:
                measure(name, seed, model, folder)


def measure(name: str, seed: int, model: str, folder: Path) -> None:
    """Go on with one run.

    name: of the task. seed: of the run. model: which. folder: keeps the runs under way.
    """
    task: FunctionTask = getattr(tasks, name)
    kept, split = (folder / f"{name}-{seed}-{at}.json" for at in (model, SPLIT))
    there = max((row.evaluations for row in load() if row[:3] == (name, seed, model)), default=0)
    if kept.exists():
        optimizer = compbo.Optimizer.from_json(kept.read_text())
    elif model == EXACT:
        optimizer = compbo.Optimizer.from_json(split.read_text())
        settings = replace(optimizer.settings, model_points=None)
        optimizer = compbo.Optimizer.resume(optimizer.space, settings, optimizer.history)
    else:
        optimizer = begun(task, seed)
    if there >= ENDS[model]:
        return
    for count, best, seconds in run(task, optimizer, ENDS[model], kept):
        if count > there:
            add(Row(name, seed, model, count, best, round(seconds, 3)))
            print(f"{name} {seed} {model}: {count} evaluations, best {best:.6g}, {seconds:.2f} s an ask", flush=True)
        if count == SPLIT and model == PART:
            split.write_text(kept.read_text())


def table_of(rows: list[Row]) -> str:
    """How both models of every run stand, in Markdown.

    Args:
        rows: of the file.

    Returns:
        A row for every task, seed and stage; stages that one of the models did not reach are those of the other alone.
    """
    at = {row[:4]: row for row in rows}
    stages = (SPLIT, 1520, 1760, 2000, 3040, 4000)
    lines = [
        "| task | seed | evaluations | all observations | 1280 of them | ratio | seconds of an ask, all | 1280 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for task, seed in sorted({row[:2] for row in rows}):
        for stage in stages:
            part = at.get((task, seed, PART, stage))
            exact = part if stage == SPLIT else at.get((task, seed, EXACT, stage))
            if part is not None:
                both = (f"{exact.best:.4g}", f"{part.best / exact.best:.2f}") if exact else ("", "")
                seconds = f"{exact.ask_seconds:.1f}" if exact else ""
                lines.append(
                    f"| {task.replace('_', ' ')} | {seed} | {stage:,} | {both[0]} | {part.best:.4g} | {both[1]} "
                    f"| {seconds} | {part.ask_seconds:.1f} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "many-workers-runs"))
