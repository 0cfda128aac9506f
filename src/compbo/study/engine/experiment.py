"""Run one cell: the initial design, then ask, evaluate, tell, and write down everything."""

from __future__ import annotations

import logging
import time
import traceback
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.backend import TORCH, prescribed_backend
from compbo.evaluation import describe
from compbo.plugins import load_same
from compbo.seeds import stream
from compbo.study.engine import environment
from compbo.study.engine.ledger import Ledger
from compbo.study.engine.rows import Timing, done_row, failed_row
from compbo.study.methods.registry import make_method
from compbo.study.results import schema
from compbo.study.tasks import get_task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Method, Point
    from compbo.study.tasks import Task

log = logging.getLogger(__name__)


def initial_design(cell: Cell, task: Task) -> list[Point]:
    """Uniform points that depend on the task (with its dimension) and the seed only: methods are paired.

    Args:
        cell: the experiment.
        task: of the cell.

    Returns:
        The points, each a dictionary of parameters.
    """
    return task.space.sample(cell.initial, stream(cell.seed, "initial design", cell.task))


def run_cell(cell: Cell, plugins: Mapping[str, str] = MappingProxyType({})) -> schema.Row:
    """Run a cell in this process, always in double precision: a cell alone determines its digest.

    Args:
        cell: the experiment.
        plugins: what is loaded before it, as `compbo.plugins.named_plugins` gives them.

    Returns:
        Its row of the results table, also if the cell fails.

    >>> from compbo.study.cell import Cell, MethodSpec
    >>> row = run_cell(Cell("levy-2", 2, MethodSpec("random-search"), seed=0, batch=4, steps=3, initial=1))
    >>> row["status"], len(row["loss"]), len(row["regret"])
    ('done', 13, 4)
    """
    started, clock, cpu = datetime.now(UTC), time.perf_counter(), time.process_time()

    def timing() -> Timing:
        return Timing(started, time.perf_counter() - clock, time.process_time() - cpu)

    try:
        load_same(plugins)
        with prescribed_backend(TORCH):
            columns = _experiment(cell)
    except Exception as error:  # one cell must not end a study: the row says what happened
        log.warning("cell %s (%s) failed: %s", cell.hash, cell.name, error)
        return failed_row(cell, describe(error), traceback.format_exc(), timing())
    return done_row(cell, columns, timing())


class _Step(NamedTuple):
    """One step: what the method says of its ask, and what was measured around it."""

    ask: Mapping[str, Any]
    measured: dict[str, float]


def _experiment(cell: Cell) -> schema.Row:
    task = get_task(cell.task, cell.seed)
    if task.space.dim != cell.dimension:
        raise ValueError(f"Task {cell.task} has {task.space.dim} dimensions here, {cell.dimension} in the cell.")
    method, ledger = make_method(cell, task), Ledger(task)
    design = initial_design(cell, task)
    method.tell(design, ledger.evaluate(design))
    steps = [_take_step(method, ledger, cell.batch) for _ in range(cell.steps)]
    if all(loss is None for loss in ledger.losses):
        raise RuntimeError(f"none of the {len(ledger.losses)} evaluations gave a loss; the first, {ledger.errors[0]}")
    measured = {name: [step.measured[name] for step in steps] for name in steps[0].measured}
    return {**ledger.row(), **schema.telemetry_columns([step.ask for step in steps]), **measured}


def _take_step(method: Method, ledger: Ledger, batch: int) -> _Step:
    """Ask, evaluate, tell."""
    environment.reset_peak_memory()
    clock = time.perf_counter()
    points = method.ask(batch)
    asked = time.perf_counter()
    memory = environment.peak_memory()
    losses = ledger.evaluate(points)
    evaluated = time.perf_counter()
    method.tell(points, losses)
    measured = {"ask_seconds": asked - clock, "evaluate_seconds": evaluated - asked, "peak_memory": memory}
    return _Step(method.last_ask, measured)
