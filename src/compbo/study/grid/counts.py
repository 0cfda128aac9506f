"""Counting cells by family of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.tasks import BayesmarkTask, SyntheticTask, parse_builtin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell


class CellCount(NamedTuple):
    """The cells of one family of tasks.

    Args:
        what: the family.
        tasks: how many there are.
        acquisitions: how many acquisition functions.
        optimisers: how many.
        seeds: how many.
        cells: how many in all.
    """

    what: str
    tasks: int
    acquisitions: int
    optimisers: int
    seeds: int
    cells: int


def count_cells(cells: Sequence[Cell]) -> list[CellCount]:
    """Cells by family and dimension (synthetic), by data set (tuning), or by task (your own).

    Args:
        cells: for instance of a grid.

    Returns:
        A count per family, in the order of the cells.

    >>> from compbo.study.grid import Block
    >>> count_cells(list(Block(("levy-2", "ackley-2"), ("bohb",), seeds=(0, 1, 2)).cells()))
    [CellCount(what='synthetic 2D', tasks=2, acquisitions=0, optimisers=1, seeds=3, cells=6)]
    """
    families = {task: family_of(task) for task in {cell.task for cell in cells}}
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(families[cell.task], []).append(cell)
    return [
        CellCount(
            what,
            len({cell.task for cell in members}),
            len({cell.method.acquisition for cell in members} - {""}),
            len({cell.method.optimiser for cell in members}),
            len({cell.seed for cell in members}),
            len(members),
        )
        for what, members in groups.items()
    ]


def family_of(spec: str) -> str:
    """What a task is counted under.

    Args:
        spec: of the task.

    Returns:
        The name of its family.

    >>> family_of("levy-16-shifted"), family_of("rf-boston-mse"), family_of("mine:task")
    ('shifted 16D', 'tuning boston', 'mine:task')
    """
    task = parse_builtin(spec)
    if isinstance(task, SyntheticTask):
        shifted = "shifted" if task.shifted else "synthetic"
        return f"{shifted} {task.dimension}D" + (f" noise {task.noise:g}" if task.noise else "")
    return f"tuning {task.data}" if isinstance(task, BayesmarkTask) else spec
