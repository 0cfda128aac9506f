"""Run one cell: the initial design, then ask, evaluate, tell, and write down everything."""

from __future__ import annotations

import json
import logging
import math
import time
import traceback as tracebacks
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compbo.evaluation import Outcome, as_outcome, describe
from compbo.seeds import stream
from compbo.study.engine import environment
from compbo.study.methods.registry import Point, Step, make_method
from compbo.study.results import schema
from compbo.study.tasks import get_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compbo.study.cell import Cell
    from compbo.study.methods.registry import Method
    from compbo.study.tasks import Task

log = logging.getLogger(__name__)

ERROR_KEPT, TRACEBACK_KEPT = 500, 20_000  # characters


def initial_design(cell: Cell, task: Task) -> list[Point]:
    """Uniform points that depend on task (its dimension included) and seed only, so that methods are paired."""
    return task.space.sample(cell.initial, stream(cell.seed, "initial design", cell.task))


@dataclass
class Ledger:
    """Every evaluation and the curve of the best one."""

    task: Task
    points: list[Point] = field(default_factory=list)
    losses: list[float | None] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    regret: list[float] = field(default_factory=list)
    generalisation: list[float] = field(default_factory=list)
    _incumbent: int | None = None

    def evaluate(self, points: Sequence[Point]) -> list[float | None]:
        """The losses of a batch, written down; whatever an evaluation raises is a failure of that point."""
        losses = [self._evaluate(point) for point in points]
        self._close_step()
        return losses

    def _evaluate(self, point: Point) -> float | None:
        number = len(self.points)
        self.points.append(point)
        loss = self._attempt(self.task.evaluate, point, number)
        self.losses.append(loss)
        best = None if self._incumbent is None else self.losses[self._incumbent]
        if loss is not None and (best is None or loss < best):
            self._incumbent = number
        return loss

    def _attempt(
        self, measure: Callable[[Point], float | None], point: Point, number: int, *, optional: bool = False
    ) -> float | None:
        """A finite number, or None where it failed (or, if optional, does not exist)."""
        try:
            found = measure(dict(point))  # a copy: a task may change what it is given
        except (Exception, SystemExit) as error:  # a task may raise anything, and all of it is written down
            outcome = Outcome(None, describe(error))
        else:
            if found is None and optional:
                return None
            outcome = as_outcome(found)
        if outcome.value is None:
            self.errors.append(_storable(f"{number}: {outcome.message}", ERROR_KEPT))
        return outcome.value

    def _close_step(self) -> None:
        """The best point so far, what it is truly worth, and on held-out data."""
        number = self._incumbent
        if number is None:
            self.best.append(math.nan)
            self.regret.append(math.nan)
            self.generalisation.append(math.nan)
            return
        loss, point = self.losses[number] or 0.0, self.points[number]
        if self.best and self.best[-1] == loss:
            self.best.append(loss)
            self.regret.append(self.regret[-1])
            self.generalisation.append(self.generalisation[-1])
            return
        true = self._attempt(self.task.true_value, point, number, optional=True) if self.task.noisy else loss
        held_out = self._attempt(self.task.generalisation, point, number, optional=True)
        self.best.append(loss)
        self.regret.append((loss if true is None else true) - floor_of(self.task)[0])
        self.generalisation.append(math.nan if held_out is None else held_out)

    def row(self) -> schema.Row:
        """The columns that are about the evaluations."""
        x = self.task.space.to_unit(self.points).numpy().reshape(-1)
        losses = np.array([math.nan if loss is None else loss for loss in self.losses])
        bits = schema.kept_bits(x.size)
        d, number = self.task.space.dim, self._incumbent
        floor, kind = floor_of(self.task)
        return {
            "digest": schema.digest(x, losses),
            "x": schema.rounded(x, bits).tolist(),
            "x_bits": bits,
            "loss": losses.tolist(),
            "true_loss": self._true_losses(),
            "evaluation_errors": self.errors,
            "floor": floor,
            "floor_kind": kind,
            "best": self.best,
            "regret": self.regret,
            "generalisation": [] if np.isnan(self.generalisation).all() else self.generalisation,
            "best_x": None if number is None else x[number * d : (number + 1) * d].tolist(),
        }

    def _true_losses(self) -> list[float] | None:
        """The losses without noise, if they differ from the ones observed and are known."""
        if not self.task.noisy:
            return None
        values = [
            None if loss is None else self._attempt(self.task.true_value, point, number, optional=True)
            for number, (point, loss) in enumerate(zip(self.points, self.losses, strict=True))
        ]
        known = any(value is not None for value in values)
        return [math.nan if value is None else value for value in values] if known else None


def floor_of(task: Task) -> tuple[float, str]:
    """The smallest loss there is, and how it is known."""
    if task.optimum is not None:
        return task.optimum, "optimum"
    if task.reference is not None:
        return task.reference, "reference"
    return math.nan, "unknown"


def run_cell(cell: Cell) -> schema.Row:
    """Run a cell in this process; a row of the results table, whatever happens."""
    started, clock, cpu = datetime.now(UTC), time.perf_counter(), time.process_time()
    try:
        outcome = {"status": schema.DONE, "error": "", "traceback": "", **_experiment(cell)}
    except Exception as error:  # never fatal to a study: it is what the row says
        log.warning("cell %s (%s) failed: %s", cell.hash, cell.name, error)
        outcome = failure(describe(error), tracebacks.format_exc())
    return {
        **identity(cell),
        **outcome,
        **circumstances(started, time.perf_counter() - clock),
        "cpu_seconds": time.process_time() - cpu,
    }


def _experiment(cell: Cell) -> schema.Row:
    task = get_task(cell.task, cell.seed)
    if task.space.dim != cell.dimension:
        raise ValueError(f"Task {cell.task} has {task.space.dim} dimensions here, {cell.dimension} in the cell.")
    method, ledger = make_method(cell, task), Ledger(task)
    design = initial_design(cell, task)
    method.tell(design, ledger.evaluate(design))
    steps = [_step(method, ledger, cell.batch) for _ in range(cell.steps)]
    if all(loss is None for loss in ledger.losses):
        raise RuntimeError(f"none of the {len(ledger.losses)} evaluations gave a loss; the first, {ledger.errors[0]}")
    columns = {name: [step[name] for step in steps] for name in steps[0]}
    return {**ledger.row(), **columns}


def _step(method: Method, ledger: Ledger, batch: int) -> dict[str, Any]:
    """Ask, evaluate, tell; what the step looked like."""
    environment.reset_peak_memory()
    clock = time.perf_counter()
    points = method.ask(batch)
    asked = time.perf_counter()
    memory = environment.peak_memory()
    losses = ledger.evaluate(points)
    evaluated = time.perf_counter()
    method.tell(points, losses)
    step: Step = method.last_step
    return {
        **step._asdict(),
        "ask_seconds": asked - clock,
        "evaluate_seconds": evaluated - asked,
        "peak_memory": memory,
    }


def identity(cell: Cell) -> schema.Row:
    """The columns that are known before the cell runs."""
    return {
        "cell": cell.hash,
        "definition": cell.definition,
        "task": cell.task,
        "dimension": cell.dimension,
        "kind": cell.method.kind,
        "acquisition": cell.method.acquisition,
        "optimiser": cell.method.optimiser,
        "hyperparameters": json.dumps(dict(cell.method.hyperparameters)),
        "seed": cell.seed,
        "batch": cell.batch,
        "steps": cell.steps,
        "initial": cell.initial,
    }


def failure(error: str, traceback: str) -> schema.Row:
    """The columns of a cell that did not come to its end."""
    words = {"error": _storable(error, ERROR_KEPT), "traceback": _storable(traceback, TRACEBACK_KEPT)}
    return {"status": schema.FAILED, **words}


def _storable(text: str, most: int) -> str:
    """Text that can be written as UTF-8, and is not longer than a person reads: of more, the beginning and the end."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def circumstances(started: datetime, seconds: float) -> schema.Row:
    """The columns about time and place."""
    return {
        "started": started.isoformat(timespec="seconds"),
        "seconds": seconds,
        "threads": torch.get_num_threads(),
        "versions": environment.versions(),
        "machine": environment.machine(),
    }


def lost_row(cell: Cell, error: str) -> schema.Row:
    """The row of a cell whose worker vanished."""
    return {**identity(cell), **failure(error, ""), **circumstances(datetime.now(UTC), 0.0)}
