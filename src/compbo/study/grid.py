"""Grids: lists of blocks, each a product of tasks, acquisition functions, optimisers and seeds; and filters on them."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from compbo.study.cell import Cell, Inner, MethodSpec, Surrogate, maximizer_method
from compbo.study.methods import KINDS, MAXIMIZER, optimiser_group, optimiser_names
from compbo.study.tasks import FAMILIES, get_task, list_tasks
from compbo.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

GROUPS = ("paper", "extended", "baseline", "peer")


@dataclass(frozen=True)
class Block:
    """A product of axes. `initial` is a number, or a number of points per dimension such as "2d"."""

    tasks: tuple[str, ...]
    optimisers: tuple[str, ...]
    acquisitions: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    batch: int = 16
    steps: int = 32
    initial: int | str = 3
    inner: Inner = field(default_factory=Inner)
    kernel: str = "matern52"
    priors: str = "paper"
    hyperparameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Every cell, seeds slowest, so that a study cut short has all methods at its first seeds."""
        methods = list(self._methods())
        for seed, spec in product(self.seeds, self.tasks):
            task = get_task(spec, seed)
            for method in methods:
                kind = KINDS[method.kind]
                noise = "learned" if task.noisy else "fixed"
                surrogate = Surrogate(self.kernel, self.priors, noise)  # type: ignore[arg-type]
                yield Cell(
                    task=spec,
                    dimension=task.space.dim,
                    method=method,
                    seed=seed,
                    batch=self.batch,
                    steps=self.steps,
                    initial=initial_points(self.initial, task.space.dim),
                    surrogate=surrogate if kind.surrogate else None,
                    inner=self.inner if kind.inner else None,
                )

    def _methods(self) -> Iterator[MethodSpec]:
        for name in self.optimisers:
            if name in KINDS:
                yield MethodSpec(name)
                continue
            if not self.acquisitions:
                raise ValueError(f"Grid: {name} maximises an acquisition function; name some under `acquisitions`.")
            for acquisition in self.acquisitions:
                yield maximizer_method(name, acquisition, self.hyperparameters.get(name))


def initial_points(rule: int | str, dimension: int) -> int:
    """A number of points, or so many per dimension ("2d")."""
    if isinstance(rule, int):
        return rule
    if isinstance(rule, str) and rule.endswith("d") and rule[:-1].isdecimal():
        return int(rule[:-1]) * dimension
    raise ValueError(f'Grid: initial must be a whole number or points per dimension such as "2d", got {rule!r}.')


def expand_optimisers(names: Iterable[str]) -> tuple[str, ...]:
    """Groups (paper, extended, baseline, peer), patterns and names, in the order of the catalogue."""
    known = [name for name in optimiser_names() if name != MAXIMIZER]
    chosen: set[str] = set()
    for name in names:
        found = [k for k in known if optimiser_group(k) == name] if name in GROUPS else _matches(name, known)
        if not found:
            raise ValueError(f"no optimiser {name!r}; {did_you_mean(name, [*GROUPS, *known])}")
        chosen.update(found)
    return tuple(name for name in known if name in chosen)


def expand_tasks(specs: Iterable[str]) -> tuple[str, ...]:
    """Families (synthetic, shifted, tuning), patterns over the listed tasks, and specs as they are; no task twice."""
    listed = list_tasks()
    chosen: list[str] = []
    for spec in specs:
        if spec in FAMILIES:
            chosen += list_tasks(spec)
        elif any(mark in spec for mark in "*?["):
            found = _matches(spec, listed)
            if not found:
                raise ValueError(f"no task matches {spec!r}; {did_you_mean(spec, listed)}")
            chosen += found
        else:
            get_task(spec)  # says what is wrong with it
            chosen.append(spec)
    return tuple(dict.fromkeys(chosen))


def _matches(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatch.fnmatchcase(name.lower(), pattern.lower())]


@dataclass(frozen=True)
class Grid:
    """A named list of blocks."""

    name: str
    about: str
    blocks: tuple[Block, ...]

    def cells(self) -> list[Cell]:
        """Every cell once, in order."""
        found: dict[str, Cell] = {}
        for block in self.blocks:
            for cell in block.cells():
                found.setdefault(cell.hash, cell)
        return list(found.values())

    def with_seeds(self, seeds: Sequence[int]) -> Grid:
        """The same grid with other seeds in every block."""
        return replace(self, blocks=tuple(replace(block, seeds=tuple(seeds)) for block in self.blocks))


@dataclass(frozen=True)
class Filter:
    """What to keep of a grid; an empty axis keeps everything, patterns such as `levy-*` are allowed."""

    task: tuple[str, ...] = ()
    dimension: tuple[int, ...] = ()
    acquisition: tuple[str, ...] = ()
    optimiser: tuple[str, ...] = ()
    seed: tuple[int, ...] = ()

    def apply(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that pass; a ValueError if a value of a filter fits no cell, or all filters together none."""
        axes: dict[str, tuple[tuple[Any, ...], list[Any]]] = {
            "task": (self.task, [cell.task for cell in cells]),
            "dimension": (self.dimension, [cell.dimension for cell in cells]),
            "acquisition": (self.acquisition, [cell.method.acquisition for cell in cells]),
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


def _allowed(axis: str, wanted: tuple[Any, ...], values: list[Any]) -> set[Any]:
    present = [value for value in dict.fromkeys(values) if value != ""]
    allowed: set[Any] = set()
    for value in wanted:
        found = _matches(value, present) if isinstance(value, str) else [value] * (value in present)
        if not found:
            hint = did_you_mean(value, map(str, present), otherwise="there are")
            raise ValueError(f"Filter: none of these cells has the {axis} {value!r}; {hint}")
        allowed.update(found)
    return allowed
