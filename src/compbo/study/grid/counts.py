"""Counting cells: by family of tasks, and how the preset `paper` compares with the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.tasks import BayesmarkTask, SyntheticTask, parse_builtin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell

PAPER_TOTAL = 3958
PAPER_SYNTHETIC = {16: 490, 40: 490, 60: 485, 80: 545, 100: 545, 120: 545}  # the captions of its figures
PAPER_REGRESSION, PAPER_CLASSIFICATION = 672, 288


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


def against_the_paper(cells: Sequence[Cell]) -> str:
    """The count of experiments beside the paper's 3958, and why they differ."""
    experiments = {(cell.task, cell.method.acquisition, cell.method.optimiser): cell for cell in cells}
    of_maximizers = [cell for cell in experiments.values() if cell.method.maximizer]
    grid = sum(isinstance(parse_builtin(cell.task), SyntheticTask) for cell in of_maximizers)
    tuned = len(of_maximizers) - grid
    captions = sum(PAPER_SYNTHETIC.values())
    return (
        f"{len(cells)} cells are {len(experiments)} experiments (task x acquisition x optimiser, seeds not counted); "
        f"the paper counts {PAPER_TOTAL}. Synthetic: {grid} here against {captions} in its figures, since here all 31 "
        f"optimisers run at every dimension, while its memory-efficient variants begin at 80D and some of its ERM "
        f"and FSM runs are missing. Tuning tasks: {tuned} here, the same {PAPER_REGRESSION} + {PAPER_CLASSIFICATION} "
        f"there (regression on Boston and diabetes, classification on Pima and breast), each with five seeds. "
        f"Baselines: {len(experiments) - grid - tuned} (three Thompson samplers, BOHB's model, random search). "
        f"The paper's own parts add up to {captions + PAPER_REGRESSION + PAPER_CLASSIFICATION}, not {PAPER_TOTAL}."
    )
