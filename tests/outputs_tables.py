"""Generated results tables: every cell of a grid with plausible curves, without running anything."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from compbo.seeds import numpy_stream
from compbo.study.cell import Cell, MethodSpec, maximizer_method
from compbo.study.engine.rows import identity
from compbo.study.grid import load_grid
from compbo.study.outputs.axes import method_axes, task_axes
from compbo.study.outputs.compact import compact
from compbo.study.outputs.runs import study_of
from compbo.study.results import Store, schema
from compbo.study.tasks import stored_reference

VERSIONS = json.dumps({"python": "3.11.9", "compbo": "0.1.0", "torch": "2.13.0"})
MACHINE = json.dumps({"host": "secret", "platform": "Linux", "processor": "a processor", "cores": 2, "memory_gb": 8.0})
SPEED = {"random": 0.02, "zeroth": 0.03, "first": 0.09, "second": 0.05, "thompson": 0.03, "bohb": 0.02, "peer": 0.06}
SECONDS = {"random": 0.2, "zeroth": 0.9, "first": 0.25, "first-comp": 0.4, "second": 0.8, "second-comp": 0.9}


def row(cell: Cell, **changes: Any) -> dict[str, Any]:
    """The full row of a cell that was done, all of it drawn from streams of its own."""
    rng = numpy_stream(0, "generated", cell.hash)
    start = float(numpy_stream(0, "generated", cell.task, cell.seed).uniform(0.5, 1.5)) * 10.0 * cell.dimension
    group = method_axes(cell.method.optimiser).group
    speed = SPEED.get(group.removesuffix("-comp"), 0.02) * (1.3 if group.endswith("-comp") else 1.0)
    speed *= rng.lognormal(0.0, 0.25) * 16.0 / (8.0 + cell.dimension / 2.0)
    progress = np.concatenate([[0.0], np.cumsum(rng.exponential(1.0, cell.steps) * (rng.random(cell.steps) < 0.7))])
    regret = np.minimum.accumulate(start * np.exp(-speed * progress))
    floor, kind = 0.0, "optimum"
    reference = stored_reference(cell.task) if task_axes(cell.task).family == "tuning" else None
    if reference is not None:
        floor, kind = reference.best, "reference"
        counts = np.minimum(cell.initial + cell.batch * np.arange(cell.steps + 1), reference.evaluations_known)
        gaps = np.array([reference.random_loss(int(count)) for count in counts]) - reference.best
        regret = np.minimum.accumulate(gaps * rng.lognormal(-speed * 8.0, 0.4, len(gaps)) - 0.02 * gaps[0])
    seconds = SECONDS.get(group, 0.5) * (1 + cell.dimension / 60) * rng.lognormal(0.0, 0.1, cell.steps)
    maximizer = bool(cell.method.maximizer)
    words = np.array(["converged", "still climbing", "flat"])[rng.integers(0, 3, cell.steps)]
    return {
        **dict.fromkeys(schema.NAMES),
        **identity(cell),
        "status": "done",
        "error": "",
        "traceback": "",
        "digest": cell.hash,
        "evaluation_errors": [],
        "floor": floor,
        "floor_kind": kind,
        "best": (floor + regret).tolist(),
        "regret": regret.tolist(),
        "generalisation": [] if reference is None else (floor + regret + 0.1).tolist(),
        "acquisition_value": (rng.random(cell.steps) if maximizer else np.full(cell.steps, np.nan)).tolist(),
        "verdict": words.tolist() if maximizer else [""] * cell.steps,
        "ask_seconds": (seconds * 1.3).astype(np.float32).tolist(),
        "maximise_seconds": (seconds if maximizer else seconds * np.nan).astype(np.float32).tolist(),
        "peak_memory": (600_000_000 + 4096 * rng.integers(0, 100, cell.steps).cumsum()).tolist(),
        "seconds": float(seconds.sum() * 1.4),
        "cpu_seconds": float(seconds.sum()),
        "started": "2026-01-01T00:00:00+00:00",
        "threads": 1,
        "versions": VERSIONS,
        "machine": MACHINE,
        **changes,
    }


def failed_row(cell: Cell, error: str = "MemoryError: too large") -> dict[str, Any]:
    """The row of a cell that failed."""
    kept = ("versions", "machine", "started", "threads")
    done = row(cell)
    return {**dict.fromkeys(schema.NAMES), **identity(cell), **{name: done[name] for name in kept},
            "status": "failed", "error": error, "traceback": "...", "seconds": 0.0}  # fmt: skip


def full(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """A table as the results folder gives it."""
    return pd.DataFrame(list(rows), columns=list(schema.NAMES))


def compact_of(cells: Iterable[Cell]) -> pd.DataFrame:
    """The compact table of cells that are all done."""
    return compact(full(row(cell) for cell in cells))


@functools.cache
def paper_cells() -> tuple[Cell, ...]:
    """One seed of every experiment of the preset `paper`: more than the 3958 of the paper."""
    return tuple(load_grid("paper").with_seeds([0]).cells())


@functools.cache
def paper_table() -> pd.DataFrame:
    """The compact table of all of them."""
    return compact_of(paper_cells())


def cells(
    tasks: Sequence[str],
    optimisers: Sequence[str],
    acquisitions: Sequence[str] = ("ei", "ucb"),
    seeds: Sequence[int] = (0, 1),
    *,
    steps: int = 6,
) -> list[Cell]:
    """A small product; the dimension is that in the task's name, or 5."""
    made = []
    for task in tasks:
        number = [part for part in task.split("-") if part.isdecimal()]
        for name in optimisers:
            kinds = (
                [maximizer_method(name, acquisition) for acquisition in acquisitions]
                if method_axes(name).order >= 0
                else [MethodSpec(name)]
            )
            made += [
                Cell(task, int(number[0]) if number else 5, method, seed, batch=8, steps=steps, initial=4)
                for method in kinds
                for seed in seeds
            ]
    return made


SOME = ("RS", "DE", "DE-Comp", "Adam-ERM", "Adam-FSM", "L-BFGS-B", "CL-BFGS-B", "CAdam", "CAdam-ME", "NASA", "SOX")
BASELINES = ("thompson-weight", "bohb", "random-search", "botorch-qlogei")
SYNTHETIC = ("levy-16", "ackley-16", "levy-40")
TUNING = ("dt-boston-mse", "knn-boston-mae", "dt-pima-nll")


def mixed_cells(seeds: Sequence[int] = (0, 1)) -> list[Cell]:
    """Something of everything: two dimensions, two acquisition functions, all classes, tuning tasks."""
    synthetic = cells(SYNTHETIC, [*SOME, *BASELINES], seeds=seeds)
    return synthetic + cells(TUNING, ["Adam-FSM", "CAdam", "NASA", "random-search"], seeds=seeds, steps=16)


def write_folder(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """A results folder with these rows."""
    store = Store(path)
    for one in rows:
        target = store.path(one["cell"])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(schema.to_bytes(one))
    return path


def ended(task: str, optimiser: str, acquisition: str, seed: int, final: float) -> dict[str, Any]:
    """A run of two steps whose normalised regret ends at `final`."""
    cell = cells([task], [optimiser], [acquisition] if acquisition else [], [seed], steps=2)[0]
    curve = [10.0, 10.0 * (1 + final) / 2, 10.0 * final]
    return row(cell, regret=curve, best=curve, floor=0.0, floor_kind="optimum")


def study_of_runs(*runs: tuple[str, str, str, int, float]) -> Any:
    """The study of such runs."""
    return study_of(compact(full(ended(*run) for run in runs)))
