"""The cells that judge a configuration, on the same task or on held-out ones; they are not the ones that are reported.

A configuration that is chosen by the runs that are reported is chosen by their luck as well (docs/study.md, Tuning).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compbo.errors import OptionError
from compbo.study.cell import FIRST_TUNING_SEED
from compbo.study.tasks import BayesmarkTask, SyntheticTask, get_task, list_tasks, parse_builtin
from compbo.study.tasks.synthetic import FUNCTIONS

if TYPE_CHECKING:
    from compbo.study.cell import Cell


def tuning_seed(seed: int) -> int:
    """The seed with which configurations are judged for cells of a seed.

    Args:
        seed: of a cell that is reported; ValueError if it is a seed of tuning.

    Returns:
        A seed that no reported cell has: those of a grid are below `FIRST_TUNING_SEED`, those of tuning are not.

    >>> tuning_seed(0), tuning_seed(7)
    (1000000000, 1000000007)
    """
    if seed >= FIRST_TUNING_SEED:
        raise ValueError(f"Tuning: seed {seed} is one of tuning itself; tune for cells with seeds below 10^9.")
    return FIRST_TUNING_SEED + seed


def judging_cells(cell: Cell, *, held_out: bool) -> tuple[Cell, ...]:
    """The cells that judge configurations for a cell; the configuration itself is filled in later.

    Args:
        cell: what is tuned for.
        held_out: judge on the held-out tasks of its task; False: on the same task.

    Returns:
        The same experiment with a seed of tuning, once per task.
    """
    tasks = held_out_tasks(cell.task) if held_out else (cell.task,)
    if not tasks:
        raise OptionError(
            "held_out", "Task {task}: there is no other task to tune on; tune without {option}.", task=cell.task
        )
    return tuple(_moved(cell, spec) for spec in tasks)


def held_out_tasks(spec: str) -> tuple[str, ...]:
    """The tasks to tune on instead of a task; OptionError for a task of your own.

    Synthetic: the other four functions at the same dimension, each with its optimum moved (plain ones for a shifted
    task). Bayesmark's: the same model and metric on the other data sets.

    Args:
        spec: of the task.

    Returns:
        The specs of the held-out tasks; empty if there is none.

    >>> held_out_tasks("levy-3")
    ('dixon-price-3-shifted', 'ackley-3-shifted', 'styblinski-tang-3-shifted')
    >>> held_out_tasks("rf-boston-mse")
    ('rf-diabetes-mse',)
    """
    task = parse_builtin(spec)
    if isinstance(task, SyntheticTask):
        others = [name for name in FUNCTIONS if name != task.function and _fits(name, task.dimension)]
        return tuple(SyntheticTask(name, task.dimension, not task.shifted, task.noise).name for name in others)
    if isinstance(task, BayesmarkTask):
        listed = (parse_builtin(name) for name in list_tasks("tuning"))
        return tuple(other.name for other in listed if isinstance(other, BayesmarkTask) and _is_sibling(other, task))
    raise OptionError(
        "held_out", "Task {task}: no held-out tasks are known for a task of your own; tune without {option}.", task=spec
    )


def _fits(function: str, dimension: int) -> bool:
    return dimension % FUNCTIONS[function].multiple == 0


def _is_sibling(task: BayesmarkTask, other: BayesmarkTask) -> bool:
    return (task.model, task.metric) == (other.model, other.metric) and task.data != other.data


def _moved(cell: Cell, spec: str) -> Cell:
    """The same experiment on a task, with a seed that no reported cell has."""
    dimension = get_task(spec).space.dim
    initial = cell.initial if cell.dimension == dimension else max(1, cell.initial * dimension // cell.dimension)
    return replace(cell, task=spec, dimension=dimension, initial=initial, seed=tuning_seed(cell.seed))
