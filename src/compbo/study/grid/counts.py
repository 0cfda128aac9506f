"""Counting cells: a summary of a grid, and how the preset `paper` compares with the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.tasks.bayesmark.task import parse_tuning
from compbo.study.tasks.synthetic import parse_synthetic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell

PAPER_TOTAL = 3958
PAPER_SYNTHETIC = {16: 490, 40: 490, 60: 485, 80: 545, 100: 545, 120: 545}  # the captions of its figures
PAPER_REGRESSION, PAPER_CLASSIFICATION = 672, 288


class Count(NamedTuple):
    """One line of the summary."""

    what: str
    tasks: int
    acquisitions: int
    optimisers: int
    seeds: int
    cells: int


def summary(cells: Sequence[Cell]) -> list[Count]:
    """Cells by family and dimension (synthetic), by data set (tuning), or by task (own)."""
    groups: dict[str, list[Cell]] = {}
    names = {cell.task: _group(cell.task) for cell in cells}
    for cell in cells:
        groups.setdefault(names[cell.task], []).append(cell)
    return [
        Count(
            what,
            len({cell.task for cell in members}),
            len({cell.method.acquisition for cell in members} - {""}),
            len({cell.method.optimiser for cell in members}),
            len({cell.seed for cell in members}),
            len(members),
        )
        for what, members in groups.items()
    ]


def _group(task: str) -> str:
    if ":" in task:
        return task
    synthetic = parse_synthetic(task)
    if synthetic is not None:
        shifted = "shifted" if synthetic.shifted else "synthetic"
        return f"{shifted} {synthetic.dimension}D" + (f" noise {synthetic.noise:g}" if synthetic.noise else "")
    tuning = parse_tuning(task)
    return "own" if tuning is None else f"tuning {tuning.data}"


def against_the_paper(cells: Sequence[Cell]) -> str:
    """The count of experiments beside the paper's 3958, and why they differ."""
    experiments = {(cell.task, cell.method.acquisition, cell.method.optimiser): cell for cell in cells}
    synthetic = [cell for cell in experiments.values() if parse_synthetic(cell.task) is not None]
    tuning = [cell for cell in experiments.values() if parse_synthetic(cell.task) is None]
    grid = sum(1 for cell in synthetic if cell.method.maximizer)
    tuned = sum(1 for cell in tuning if cell.method.maximizer)
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
