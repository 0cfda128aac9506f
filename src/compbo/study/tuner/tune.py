"""The paper's first phase: tune every maximizer's hyperparameters by Bayesian optimisation, 33 configurations each.

A problem is a task x acquisition x maximizer of the grid; a configuration is judged by the final regret of the cell
that runs it, so that every configuration is a stored cell and an interrupted tuning goes on where it stopped. Held
out: a configuration is judged on other tasks than the one it will be used for (`held_out_tasks`), by the mean.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.maximizers import get_entry
from compbo.numerics import single_threaded_blas, threads_for
from compbo.seeds import derive_seed
from compbo.space import Space
from compbo.study.results import schema
from compbo.study.results.scores import SMALLEST_REGRET
from compbo.study.tasks import get_task, list_tasks
from compbo.study.tasks.bayesmark.task import TuningTask, parse_tuning
from compbo.study.tasks.synthetic import FUNCTIONS, SyntheticTask, parse_synthetic
from compbo.study.tuner.records import Key, Record, key_of, read_record, save_record, write_tuned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from compbo.optimizer import Optimizer
    from compbo.study.cell import Cell
    from compbo.study.engine.pools import Pool
    from compbo.study.results.store import Store, Survey

CONFIGURATIONS = 33  # of the paper
HELD_OUT_SEED = 10_000  # seeds of held-out runs begin here, away from those that are reported


def held_out_tasks(spec: str) -> tuple[str, ...]:
    """Tasks to tune on instead of this one.

    Synthetic: the other four functions at the same dimension, each with its optimum moved (plain ones for a shifted
    task). Tuning tasks: the same model and metric on the other data sets.
    """
    synthetic = None if ":" in spec else parse_synthetic(spec)
    if synthetic is not None:
        others = [name for name in FUNCTIONS if name != synthetic.function and _fits(name, synthetic.dimension)]
        made = [SyntheticTask(f, synthetic.dimension, not synthetic.shifted, synthetic.noise) for f in others]
        return tuple(task.name for task in made)
    tuned = None if ":" in spec else parse_tuning(spec)
    if tuned is None:
        raise ValueError(f"Task {spec}: no held-out tasks are known for a task of your own; tune without --held-out.")
    listed = (parse_tuning(name) for name in list_tasks("tuning"))
    return tuple(task.name for task in listed if task is not None and _is_sibling(task, tuned))


def _fits(function: str, dimension: int) -> bool:
    return dimension % FUNCTIONS[function].multiple == 0


def _is_sibling(task: TuningTask, other: TuningTask) -> bool:
    return (task.model, task.metric) == (other.model, other.metric) and task.data != other.data


class Problem:
    """One maximizer to be tuned for one task and acquisition, one configuration at a time."""

    def __init__(self, record: Record) -> None:
        """record: with what an interrupted tuning has found out."""
        self.record = record
        self.key = key_of(record.cell)
        self._space = Space(get_entry(self.key.maximizer).domain)
        self._current: dict[str, Any] = {}
        self._waiting: dict[str, float | None] = {}  # hash of a cell of the current configuration -> its result

    @property
    def left(self) -> int:
        """Cells still to be run, those in flight included."""
        done = sum(value is not None for value in self._waiting.values())
        return max(0, self.record.left * len(self.record.judges) - done)

    def advance(self) -> list[Cell]:
        """The cells of the next configuration; none if one is being judged or all are."""
        if self._waiting or not self.record.left:
            return []
        hyperparameters = self._ask()
        cells = [cell.with_hyperparameters(hyperparameters) for cell in self.record.judges]
        self._current = hyperparameters
        self._waiting = {cell.hash: None for cell in cells}
        return cells

    def _ask(self) -> dict[str, Any]:
        """The next configuration: a function of the key and of the history, whatever happened in between."""
        with single_threaded_blas(), threads_for(0.0):
            (point,) = self._optimizer().ask(1)
        return point

    def _optimizer(self) -> Optimizer:
        from compbo.optimizer import Optimizer
        from compbo.propose import StartPolicy
        from compbo.types import Budget

        optimizer = Optimizer(
            self._space,
            seed=derive_seed(0, "tuning", *self.key) % 2**31,
            starts=StartPolicy(raw_batches=256, restarts=8),  # one point of a few dimensions, by the driver alone
            budget=Budget(steps=32),
        )
        history = self.record.history
        optimizer.tell([entry["hyperparameters"] for entry in history], [entry["objective"] for entry in history])
        return optimizer

    def tell(self, cell_hash: str, row: schema.Row) -> bool:
        """The result of a cell; whether the configuration is judged by now."""
        self._waiting[cell_hash] = objective(row)
        if None in self._waiting.values():
            return False
        values = [value for value in self._waiting.values() if value is not None]
        judged = None if any(math.isinf(value) for value in values) else float(np.mean(values))
        entry = {"hyperparameters": self._current, "cells": list(self._waiting), "objective": judged}
        self.record = replace(self.record, history=(*self.record.history, entry))
        self._waiting = {}
        return True

    def best(self) -> dict[str, Any] | None:
        """The configuration with the smallest objective; None if all failed."""
        judged = [entry for entry in self.record.history if entry["objective"] is not None]
        return min(judged, key=lambda entry: float(entry["objective"])) if judged else None


def objective(row: schema.Row) -> float:
    """What tuning minimises, of one cell; infinite if it failed.

    Where the optimum is known: log10 of the normalised final regret. Where a random search stands for it, the
    normalised final regret itself, negative where the run beats that search. Where nothing is known: the final loss
    minus the first.
    """
    if row["status"] != schema.DONE:
        return math.inf
    curve = [value for value in row["best" if row["floor_kind"] == "unknown" else "regret"] if math.isfinite(value)]
    if not curve:
        return math.inf
    first, last = curve[0], curve[-1]
    if row["floor_kind"] == "unknown":
        return float(last - first)
    ratio = float(last / abs(first)) if first else float(last)  # the initial design may be optimal already
    return math.log10(max(ratio, SMALLEST_REGRET)) if row["floor_kind"] == "optimum" else ratio


class TuningSource:
    """Hands out the cells of all problems: each one configuration after the other, many problems at once."""

    def __init__(self, problems: Iterable[Problem], store: Store) -> None:
        self.problems = list(problems)
        self._store = store
        self._by_cell: dict[str, list[Problem]] = {}
        self._stored = {path.stem for path in store.cells.rglob("*.parquet")}
        self._ready: list[Cell] = []
        self._idle = list(reversed(self.problems))

    def next(self) -> Cell | None:
        """The next cell that is not stored; configurations whose cells are all stored are judged on the way."""
        while not self._ready and self._idle:
            self._begin(self._idle.pop())
        return self._ready.pop(0) if self._ready else None

    def _begin(self, problem: Problem) -> None:
        for cell in problem.advance():
            flying = cell.hash in self._by_cell
            self._by_cell.setdefault(cell.hash, []).append(problem)
            if cell.hash in self._stored:
                self.finished(cell, self._store.row(cell.hash))
            elif not flying:
                self._ready.append(cell)

    def finished(self, cell: Cell, row: schema.Row) -> None:
        """Tell the problems that wait for this cell; whoever has judged its configuration may ask for the next."""
        self._stored.add(cell.hash)
        for problem in self._by_cell.pop(cell.hash, []):
            if problem.tell(cell.hash, row):
                save_record(self._store, problem.record)
                self._idle.append(problem)

    def ahead(self) -> Iterable[Cell]:
        """Those that are known."""
        return self._ready

    def __len__(self) -> int:
        return sum(problem.left for problem in self.problems)


def make_problems(
    cells: Iterable[Cell], store: Store, survey: Survey, configurations: int, *, held_out: bool
) -> list[Problem]:
    """The problems of a grid: one per task, acquisition and maximizer that has something to tune."""
    found: dict[Key, Cell] = {}
    for cell in cells:
        if cell.method.maximizer and get_entry(cell.method.maximizer).domain:
            found.setdefault(key_of(cell), cell)
    records = [Record(cell, _judges(cell, held_out), configurations) for cell in found.values()]
    return [_resumed(record, store, survey) for record in records]


def _resumed(record: Record, store: Store, survey: Survey) -> Problem:
    """The problem with what was found out before, written down so that `status` can say what is left."""
    earlier = read_record(store, record)
    if earlier is not None:
        record = replace(record, history=_still_true(earlier.history, survey))
    if record != earlier:
        save_record(store, record)
    return Problem(record)


def _judges(cell: Cell, held_out: bool) -> tuple[Cell, ...]:
    if not held_out:
        return (cell,)
    judges = tuple(_moved(cell, spec) for spec in held_out_tasks(cell.task))
    if not judges:
        raise ValueError(f"Task {cell.task}: there is no other task to tune on; tune without --held-out.")
    return judges


def _still_true(history: tuple[dict[str, Any], ...], survey: Survey) -> tuple[dict[str, Any], ...]:
    """The history up to the first configuration of which the stored cells say something else by now.

    A cell was retried with success, or is gone (its file was damaged and set aside). That configuration is judged anew
    from its cells, those that are gone are run again; what was asked for after it may differ from then on.
    """
    for number, entry in enumerate(history):
        found = [survey.known.get(key) for key in entry["cells"]]
        succeeded = all(known is not None and known.status == schema.DONE for known in found)
        if None in found or succeeded != (entry["objective"] is not None):
            return history[:number]
    return history


def _moved(cell: Cell, spec: str) -> Cell:
    """The same experiment on another task, with a seed that no reported run has."""
    dimension = get_task(spec).space.dim
    initial = cell.initial if cell.dimension == dimension else max(1, cell.initial * dimension // cell.dimension)
    return replace(cell, task=spec, dimension=dimension, initial=initial, seed=HELD_OUT_SEED + cell.seed)


def _entry(problem: Problem) -> dict[str, Any] | None:
    """What is written down of a tuned problem; None if all its configurations failed."""
    best = problem.best()
    if best is None:
        return None
    return {
        **problem.key._asdict(),
        "hyperparameters": best["hyperparameters"],
        "objective": best["objective"],
        "configurations": len(problem.record.history),
        "held_out": problem.record.held_out,
        "judged_on": sorted({cell.task for cell in problem.record.judges}),
    }


class Tuned(NamedTuple):
    """What a call of `tune_study` did; problems: those solved."""

    problems: int
    run: int
    failed: int
    unsolved: list[Key]  # of which every configuration failed
    path: Path


def tune_study(
    cells: Sequence[Cell],
    store: Store,
    make_pool: Callable[[], Pool],
    *,
    configurations: int = CONFIGURATIONS,
    held_out: bool = False,
    show: bool | None = None,
) -> Tuned:
    """Tune for every task, acquisition and maximizer among the cells, going on where an earlier call stopped."""
    from compbo.study.engine.driver import drive

    with store.writing() as survey:
        problems = make_problems(cells, store, survey, configurations, held_out=held_out)
        if not problems:
            raise ValueError("None of these cells has a maximizer with hyperparameters to tune.")
        run, failed = drive(TuningSource(problems, store), store, make_pool, survey, show=show)
        entries = {problem.key: _entry(problem) for problem in problems}
        path = write_tuned(store, entries.values(), held_out=held_out)
    unsolved = [key for key, entry in entries.items() if entry is None]
    return Tuned(len(problems) - len(unsolved), run, failed, unsolved, path)
