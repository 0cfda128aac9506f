"""Held-out tuning: a configuration is judged on other tasks than the one it will be used for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compbo.study.tasks import BayesmarkTask, SyntheticTask, get_task, list_tasks, parse_builtin
from compbo.study.tasks.synthetic import FUNCTIONS

if TYPE_CHECKING:
    from compbo.study.cell import Cell

HELD_OUT_SEED = 10_000  # seeds of held-out runs begin here; those that are reported are smaller


def held_out_tasks(spec: str) -> tuple[str, ...]:
    """Tasks to tune on instead of this one.

    Synthetic: the other four functions at the same dimension, each with its optimum moved (plain ones for a shifted
    task). Bayesmark's: the same model and metric on the other data sets.
    """
    task = parse_builtin(spec)
    if isinstance(task, SyntheticTask):
        others = [name for name in FUNCTIONS if name != task.function and _fits(name, task.dimension)]
        return tuple(SyntheticTask(name, task.dimension, not task.shifted, task.noise).name for name in others)
    if isinstance(task, BayesmarkTask):
        listed = (parse_builtin(name) for name in list_tasks("tuning"))
        return tuple(other.name for other in listed if isinstance(other, BayesmarkTask) and _is_sibling(other, task))
    raise ValueError(f"Task {spec}: no held-out tasks are known for a task of your own; tune without --held-out.")


def _fits(function: str, dimension: int) -> bool:
    return dimension % FUNCTIONS[function].multiple == 0


def _is_sibling(task: BayesmarkTask, other: BayesmarkTask) -> bool:
    return (task.model, task.metric) == (other.model, other.metric) and task.data != other.data


def held_out_cells(cell: Cell) -> tuple[Cell, ...]:
    """The same experiment on every held-out task of its task."""
    cells = tuple(_moved(cell, spec) for spec in held_out_tasks(cell.task))
    if not cells:
        raise ValueError(f"Task {cell.task}: there is no other task to tune on; tune without --held-out.")
    return cells


def _moved(cell: Cell, spec: str) -> Cell:
    """The same experiment on another task, with a seed that no reported run has."""
    dimension = get_task(spec).space.dim
    initial = cell.initial if cell.dimension == dimension else max(1, cell.initial * dimension // cell.dimension)
    return replace(cell, task=spec, dimension=dimension, initial=initial, seed=HELD_OUT_SEED + cell.seed)
