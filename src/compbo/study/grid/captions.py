"""The numbers of experiments in the captions of the paper, each counted from cells.

An experiment is a task, an acquisition function and an optimiser; seeds are not counted. The preset `paper-exact` has
every number, `paper-time` those about execution time. `paper` has more, for reasons that `more_than_exact` counts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from compbo.study.grid.gridfile import load_grid
from compbo.study.tasks import BayesmarkTask, SyntheticTask, parse_builtin
from compbo.study.tasks.bayesmark.datasets import REGRESSION
from compbo.study.tasks.synthetic import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compbo.study.cell import Cell

PAPER_TOTAL = 3958  # of its abstract
FORMS = ("ERM", "FSM")
TWO_FORMS = ("Adagrad", "RMSprop", "Adam", "Rprop")  # rules that the paper runs as ERM and as FSM
MEMORY_EFFICIENT = ("CAdam", "NASA", "Nested-MC")
MEMORY_EFFICIENT_FROM = 80  # dimensions
NOT_TIMED = ("CMA-ES", "CMA-ES-Comp", "L-BFGS-B", "CL-BFGS-B")  # "an order of magnitude" slower


class Caption(NamedTuple):
    """A number of experiments in the paper.

    Args:
        where: what the figure shows.
        experiments: the number in its caption.
        counts: whether a cell is one of them.
    """

    where: str
    experiments: int
    counts: Callable[[Cell], bool]


class CaptionCount(NamedTuple):
    """A number in the paper beside the same number of some cells.

    Args:
        where: what the figure shows.
        paper: the number in its caption.
        here: the number of experiments among the cells.
    """

    where: str
    paper: int
    here: int


def _synthetic(cell: Cell) -> bool:
    return isinstance(parse_builtin(cell.task), SyntheticTask)


def _at(dimension: int) -> Callable[[Cell], bool]:
    return lambda cell: _synthetic(cell) and cell.dimension == dimension


def _in_two_forms(cell: Cell) -> bool:
    return _synthetic(cell) and cell.method.optimiser in {f"{rule}-{form}" for rule in TWO_FORMS for form in FORMS}


def _with_and_without_memory(cell: Cell) -> bool:
    names = {*MEMORY_EFFICIENT, *(f"{name}-ME" for name in MEMORY_EFFICIENT)}
    return _synthetic(cell) and cell.dimension >= MEMORY_EFFICIENT_FROM and cell.method.optimiser in names


def _regression(cell: Cell) -> bool:
    task = parse_builtin(cell.task)
    return isinstance(task, BayesmarkTask) and task.data in REGRESSION


def _classification(cell: Cell) -> bool:
    task = parse_builtin(cell.task)
    return isinstance(task, BayesmarkTask) and task.data not in REGRESSION


_LOG_REGRET = dict(zip(DIMENSIONS, (490, 490, 485, 545, 545, 545), strict=True))
_STUDY = (
    *(Caption(f"log-regret, {d}D", number, _at(d)) for d, number in _LOG_REGRET.items()),
    Caption("all synthetic functions", 3100, _synthetic),
    Caption("ERM against FSM", 960, _in_two_forms),
    Caption("standard against memory-efficient", 360, _with_and_without_memory),
    Caption("regression tasks", 672, _regression),
    Caption("classification tasks", 288, _classification),
)
CAPTIONS: dict[str, tuple[Caption, ...]] = {  # by preset
    "paper": _STUDY,
    "paper-exact": _STUDY,
    "paper-time": (
        Caption("execution time, all optimisers", 184, _synthetic),
        Caption("execution time", 152, lambda cell: _synthetic(cell) and cell.method.optimiser not in NOT_TIMED),
    ),
}


def experiments(cells: Iterable[Cell]) -> list[Cell]:
    """One cell per experiment.

    Args:
        cells: of a grid, with any seeds.

    Returns:
        The first cell of every task, acquisition function and optimiser, in order.

    >>> from compbo.study.grid import Block
    >>> cells = Block(("levy-2",), ("CAdam", "bohb"), ("ei", "ucb"), seeds=(0, 1)).cells()
    >>> [cell.name for cell in experiments(cells)]
    ['levy-2/ei/CAdam/seed0', 'levy-2/ucb/CAdam/seed0', 'levy-2/bohb/seed0']
    """
    found: dict[tuple[str, str, str], Cell] = {}
    for cell in cells:
        found.setdefault((cell.task, cell.method.acquisition, cell.method.optimiser), cell)
    return list(found.values())


def count_captions(preset: str, cells: Iterable[Cell]) -> list[CaptionCount]:
    """The numbers of the paper beside those of some cells.

    Args:
        preset: the preset that the cells are from, a key of `CAPTIONS`.
        cells: all of its cells.

    Returns:
        A row per caption.

    >>> count_captions("paper-time", load_grid("paper-time").cells())[0]
    CaptionCount(where='execution time, all optimisers', paper=184, here=184)
    """
    once = experiments(cells)
    return [
        CaptionCount(caption.where, caption.experiments, sum(caption.counts(cell) for cell in once))
        for caption in CAPTIONS[preset]
    ]


def more_than_exact(cells: Iterable[Cell], exact: Iterable[Cell]) -> dict[str, int]:
    """What a study has beyond the paper's.

    Args:
        cells: of the preset `paper`.
        exact: of the preset `paper-exact`.

    Returns:
        The number of experiments by reason; those that fit no reason are under "others".
    """
    there = {(cell.task, cell.method) for cell in experiments(exact)}
    return dict(Counter(_reason(cell) for cell in experiments(cells) if (cell.task, cell.method) not in there))


def _reason(cell: Cell) -> str:
    name = cell.method.optimiser
    if not cell.method.maximizer:
        return "baselines on synthetic functions" if _synthetic(cell) else "baselines on tuning tasks"
    if name.endswith("-FSM") and name.removesuffix("-FSM") not in TWO_FORMS:
        return "finite sums for the other four rules"
    if name.endswith("-ME") and cell.dimension < MEMORY_EFFICIENT_FROM:
        return f"memory-efficient forms below {MEMORY_EFFICIENT_FROM}D"
    return "others"


def about_captions(preset: str, cells: Sequence[Cell]) -> str:
    """Why the numbers of a preset are those of the paper, or are not, in words.

    Args:
        preset: a key of `CAPTIONS`.
        cells: all of its cells.

    Returns:
        A paragraph.
    """
    number = len(experiments(cells))
    seeds = f"{len(cells)} cells are {number} experiments (task x acquisition x optimiser, seeds not counted)."
    if preset == "paper-time":
        return f"{seeds} The paper does not name its two functions; ERM stands for both forms of a rule."
    if preset == "paper-exact":
        return (
            f"{seeds} The captions of the paper give the same {number}; its abstract says {PAPER_TOTAL}, and no part "
            f"of it explains the difference. Not said there and chosen here: the four rules with finite sums, the "
            f"baseline that ends at 60D, two data sets for classification."
        )
    more = more_than_exact(cells, load_grid("paper-exact").cells())
    reasons = "; ".join(f"{count} {reason}" for reason, count in more.items())
    return f"{seeds} {sum(more.values())} are more than the captions of the paper count (paper-exact): {reasons}."
