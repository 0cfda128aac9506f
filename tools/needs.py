"""What the whole study needs, in docs/reproduction.md: cells and core hours per preset, from the committed cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compbo.study.cell import Cell, cell_from_json
from compbo.study.engine.estimate import Estimator
from compbo.study.grid import load_grid
from compbo.study.outputs.compact import finished

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

PRESETS = ("dim16", "dim16-shifted", "high-dimensions", "controls", "tuning-core", "paper-time", "paper-exact", "paper")
WHOLE = "paper-exact"
HOW = """\
Core hours are estimated from the processor time of the committed cells: the mean over those of the same optimiser,
acquisition function, dimension, batch and steps; where there are none, over the same optimiser, the kind of method, the
size, or over all. The last column says how many of the cells have committed ones of their optimiser and size. Nothing
but time is estimated: no regret is extrapolated."""


class Need(NamedTuple):
    """What a preset needs: its cells, those that are committed, the core hours of all and of the rest."""

    preset: str
    cells: int
    committed: int
    hours: float
    hours_left: float
    alike: int  # cells with committed ones of the same optimiser and size


def _size(cell: Cell) -> tuple[object, ...]:
    return cell.dimension, cell.batch, cell.steps, cell.method.optimiser


def needs(table: pd.DataFrame, presets: Sequence[str] = PRESETS) -> list[Need]:
    """What presets need.

    Args:
        table: the committed cells, compact.
        presets: their names.

    Returns:
        One for each.
    """
    rows = finished(table)
    known = {key: cell_from_json(text) for key, text in zip(rows["cell"], rows["definition"], strict=True)}
    sizes = {_size(cell) for cell in known.values()}
    estimator = Estimator()
    for cell, seconds in zip(known.values(), rows["cpu_seconds"], strict=True):
        estimator.add(cell, seconds)
    found = []
    for preset in presets:
        cells = load_grid(preset).cells()
        left = [cell for cell in cells if cell.hash not in known]
        hours, hours_left = ((estimator.total(some) or 0.0) / 3600.0 for some in (cells, left))
        alike = sum(_size(cell) in sizes for cell in cells)
        found.append(Need(preset, len(cells), len(cells) - len(left), hours, hours_left, alike))
    return found


def section(table: pd.DataFrame, files: Sequence[str]) -> list[str]:
    """The section on what was not run.

    Args:
        table: the committed cells, compact.
        files: where they are, from the root of the repository.

    Returns:
        Paragraphs in Markdown, without the heading.
    """
    found = needs(table)
    lines = ["| preset | cells | committed | core hours | left | of a size that was run |", "|---|---|---|---|---|---|"]
    lines += [
        f"| `{n.preset}` | {n.cells} | {n.committed} | {n.hours:.1f} | {n.hours_left:.1f} | {n.alike} |" for n in found
    ]
    (whole,) = [need for need in found if need.preset == WHOLE]
    known = "".join(f" \\\n  --known {name}" for name in files)
    words = (
        f"The grid of the paper's captions, `{WHOLE}`, is {whole.cells} cells (tuning tasks have five seeds): by this "
        f"estimate {whole.hours:.1f} core hours, {whole.hours / 2:.1f} hours on a machine with two cores. "
        f"{whole.committed} of its cells are committed, and {whole.hours_left:.1f} core hours are left; a cluster with "
        "C free cores divides them by C. Time is what was lacking here, on machines of two cores, not memory. [The "
        "study](study.md) says what each preset is."
    )
    return [
        words,
        HOW,
        "\n".join(lines),
        "On a cluster ([how to start one](study.md#on-a-cluster)):",
        f"```sh\ncompbo study run --preset {WHOLE} --results runs --dask tcp://HOST:8786{known}\n```",
    ]
