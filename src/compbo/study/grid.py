"""Grids: from a preset or a TOML file to the list of cells, and filters on it.

A grid is a list of blocks, each a product of tasks, acquisition functions, optimisers and seeds. Presets are grids
shipped as TOML files in `presets/`; docs/study.md describes the keys.
"""

from __future__ import annotations

import difflib
import fnmatch
import tomllib
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.acquisition.integrands import ACQUISITIONS
from compbo.study.cell import Cell, Inner, MethodSpec, Surrogate, maximizer_method
from compbo.study.methods import KINDS, MAXIMIZER, optimiser_group, optimiser_names
from compbo.study.tasks import FAMILIES, get_task, list_tasks
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.priors import get_priors

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
    factor = rule.removesuffix("d")
    if rule.endswith("d") and factor.isdigit():
        return int(factor) * dimension
    raise ValueError(f'Grid: initial must be a whole number or points per dimension such as "2d", got {rule!r}.')


def expand_optimisers(names: Iterable[str]) -> tuple[str, ...]:
    """Groups (paper, extended, baseline, peer), patterns and names, in the order of the catalogue."""
    known = [name for name in optimiser_names() if name != MAXIMIZER]
    chosen: set[str] = set()
    for name in names:
        found = [k for k in known if optimiser_group(k) == name] if name in GROUPS else _matches(name, known)
        if not found:
            raise ValueError(f"Grid: no optimiser {name!r}; {_hint(name, [*GROUPS, *known])}")
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
                raise ValueError(f"Grid: no task matches {spec!r}; {_hint(spec, listed)}")
            chosen += found
        else:
            get_task(spec)  # says what is wrong with it
            chosen.append(spec)
    return tuple(dict.fromkeys(chosen))


def _matches(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatch.fnmatchcase(name.lower(), pattern.lower())]


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    return f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(known[:40])}."


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


def preset_names() -> list[str]:
    """The presets of the package."""
    files = resources.files("compbo.study").joinpath("presets").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(".toml"))


def load_grid(preset_or_file: str) -> Grid:
    """A preset by name, or a TOML file by path."""
    if preset_or_file in preset_names():
        resource = resources.files("compbo.study").joinpath("presets", f"{preset_or_file}.toml")
        return parse_grid(preset_or_file, resource.read_text(encoding="utf-8"))
    path = Path(preset_or_file)
    if not path.is_file():
        raise ValueError(f"Grid: {preset_or_file!r} is neither a preset ({', '.join(preset_names())}) nor a TOML file.")
    return parse_grid(path.stem, path.read_text(encoding="utf-8"))


def parse_grid(name: str, text: str) -> Grid:
    """A grid from TOML: `[defaults]` for all blocks, then `[[block]]` tables."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"Grid {name}: not valid TOML: {error}.") from error
    unknown = set(data) - {"about", "defaults", "block"}
    if unknown or not data.get("block"):
        problem = f"unknown key {', '.join(sorted(unknown))}" if unknown else "no [[block]]"
        raise ValueError(f"Grid {name}: {problem}; a grid has about, [defaults] and [[block]] tables.")
    defaults = data.get("defaults", {})
    try:
        blocks = tuple(_block({**defaults, **table}) for table in data["block"])
    except (ValueError, TypeError) as error:
        raise ValueError(f"Grid {name}: {error}") from error
    return Grid(name, str(data.get("about", "")), blocks)


def _block(table: Mapping[str, Any]) -> Block:
    table = dict(table)
    tasks = list(table.pop("tasks", []))
    functions, dimensions = table.pop("functions", []), table.pop("dimensions", [])
    suffix = "-shifted" if table.pop("shifted", False) else ""
    tasks += [f"{function}-{dimension}{suffix}" for dimension in dimensions for function in functions]
    if not tasks:
        raise ValueError("a block needs `tasks`, or `functions` and `dimensions`.")
    known = {f.name for f in fields(Block)}
    unknown = set(table) - known
    if unknown:
        raise ValueError(
            f"unknown key {', '.join(sorted(unknown))} in a block; there are functions, dimensions, shifted, "
            f"{', '.join(sorted(known))}."
        )
    for axis in ("optimisers", "acquisitions", "seeds"):
        if axis in table:
            table[axis] = tuple(table[axis])
    acquisitions = tuple(name.lower() for name in table.get("acquisitions", ()))
    for acquisition in acquisitions:
        if acquisition not in ACQUISITIONS:
            raise ValueError(f"no acquisition function {acquisition!r}; there are {', '.join(ACQUISITIONS)}.")
    table["acquisitions"] = acquisitions
    table["optimisers"] = expand_optimisers(table.get("optimisers", ()))
    if not table["optimisers"]:
        raise ValueError("a block needs `optimisers`.")
    get_priors(table.get("priors", Block.priors), 1)
    get_kernel(table.get("kernel", Block.kernel))
    if "inner" in table:
        table["inner"] = Inner(**table["inner"])
    return Block(tasks=expand_tasks(tasks), **table)


@dataclass(frozen=True)
class Filter:
    """What to keep of a grid; an empty axis keeps everything, patterns such as `levy-*` are allowed."""

    task: tuple[str, ...] = ()
    dimension: tuple[int, ...] = ()
    acquisition: tuple[str, ...] = ()
    optimiser: tuple[str, ...] = ()
    seed: tuple[int, ...] = ()

    def apply(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that pass; a ValueError if a value of a filter fits no cell at all."""
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
        return [cell for cell, kept in zip(cells, keep, strict=True) if kept]


def _allowed(axis: str, wanted: tuple[Any, ...], values: list[Any]) -> set[Any]:
    allowed: set[Any] = set()
    present = list(dict.fromkeys(values))
    for value in wanted:
        found = _matches(value, [p for p in present if p]) if isinstance(value, str) else [value] * (value in present)
        if not found:
            shown = ", ".join(str(p) for p in present[:40] if p != "")
            raise ValueError(f"Filter: no cell of this grid has the {axis} {value!r}; it has {shown}.")
        allowed.update(found)
    return allowed
