"""Counting cells by family of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.tasks import BayesmarkTask, SyntheticTask, parse_builtin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell


class CellCount(NamedTuple):
    """The cells of one family of tasks: how many there are on each axis, and in all."""

    what: str
    tasks: int
    acquisitions: int
    optimisers: int
    seeds: int
    cells: int


def count_cells(cells: Sequence[Cell]) -> list[CellCount]:
    """Cells by family and dimension (synthetic), by data set (tuning), or by task (your own)."""
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
    """What a task is counted under."""
    task = parse_builtin(spec)
    if isinstance(task, SyntheticTask):
        shifted = "shifted" if task.shifted else "synthetic"
        return f"{shifted} {task.dimension}D" + (f" noise {task.noise:g}" if task.noise else "")
    return f"tuning {task.data}" if isinstance(task, BayesmarkTask) else spec
