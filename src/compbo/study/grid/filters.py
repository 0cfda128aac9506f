"""Filters: which cells of a grid are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from compbo.study.grid.names import matching
from compbo.words import meant_or_known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell

NO_ACQUISITION = "none"  # the acquisition function of methods that have none, as a filter names it


@dataclass(frozen=True)
class Filter:
    """Which cells are kept, by axis: names, or patterns like `levy-*`. An empty axis keeps everything.

    Args:
        task: specs of tasks.
        dimension: of the unit cube.
        acquisition: names of acquisition functions; `none` keeps the methods that have none.
        optimiser: names of optimisers.
        seed: seeds.

    >>> from compbo.study.grid import Block
    >>> cells = list(Block(("levy-2", "ackley-2"), ("bohb", "pycma")).cells())
    >>> [cell.name for cell in Filter(task=("levy-*",), optimiser=("bohb",)).apply(cells)]
    ['levy-2/bohb/seed0']
    """

    task: tuple[str, ...] = ()
    dimension: tuple[int, ...] = ()
    acquisition: tuple[str, ...] = ()
    optimiser: tuple[str, ...] = ()
    seed: tuple[int, ...] = ()

    def apply(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that pass.

        Args:
            cells: any.

        Returns:
            Those of them that pass, in order; a ValueError if a value of a filter fits no cell, or all filters together
            none.
        """
        axes: dict[str, tuple[tuple[Any, ...], list[Any]]] = {
            "task": (self.task, [cell.task for cell in cells]),
            "dimension": (self.dimension, [cell.dimension for cell in cells]),
            "acquisition": (self.acquisition, [cell.method.acquisition or NO_ACQUISITION for cell in cells]),
            "optimiser": (self.optimiser, [cell.method.optimiser for cell in cells]),
            "seed": (self.seed, [cell.seed for cell in cells]),
        }
        keep = [True] * len(cells)
        for axis, (wanted, values) in axes.items():
            if wanted:
                allowed = _allowed(axis, wanted, values)
                keep = [kept and value in allowed for kept, value in zip(keep, values, strict=True)]
        if cells and not any(keep):
            raise ValueError("Filter: no cell passes all of these filters together; leave one of them out.")
        return [cell for cell, kept in zip(cells, keep, strict=True) if kept]

    def left_out_without_acquisition(self, cells: Sequence[Cell]) -> list[str]:
        """Methods that have no acquisition function, and are left out for that reason alone.

        Args:
            cells: any.

        Returns:
            Their names.
        """
        if not self.acquisition or NO_ACQUISITION in self.acquisition:
            return []
        others = replace(self, acquisition=()).apply(cells)
        return list(dict.fromkeys(cell.method.optimiser for cell in others if not cell.method.acquisition))


def _allowed(axis: str, wanted: tuple[Any, ...], values: list[Any]) -> set[Any]:
    present = list(dict.fromkeys(values))
    allowed: set[Any] = set()
    for value in wanted:
        named = present if value == NO_ACQUISITION else [name for name in present if name != NO_ACQUISITION]
        found = matching(value, named) if isinstance(value, str) else [value] * (value in present)
        if not found:
            hint = meant_or_known(value, map(str, present), otherwise="there are")
            raise ValueError(f"Filter: none of these cells has the {axis} {value!r}; {hint}")
        allowed.update(found)
    return allowed
