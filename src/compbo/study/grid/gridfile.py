"""Grids as TOML: the presets of the package (`presets/`) and files of your own; docs/study.md describes the keys.

Everything is checked here: a mistake is told before a cell runs, and no key is accepted and ignored.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.acquisition.registry import ACQUISITIONS
from compbo.maximizers import CATALOGUE, get_entry
from compbo.plugins import HOW_TO_ADD, load_installed
from compbo.study.cell import InnerSpec
from compbo.study.grid.grid import Block, Grid
from compbo.study.grid.names import expand_optimisers, expand_tasks
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.outputs import check_outputs
from compbo.surrogate.priors import get_priors
from compbo.words import meant_or_known

if TYPE_CHECKING:
    from collections.abc import Mapping

AXES: dict[str, type] = {
    **dict.fromkeys(("tasks", "functions", "optimisers", "acquisitions"), str),
    **dict.fromkeys(("dimensions", "seeds"), int),
}
KEYS = {field.name for field in fields(Block)} | AXES.keys() | {"shifted"}


def preset_names() -> list[str]:
    """The presets of the package.

    Returns:
        Their names, sorted.

    >>> "paper-exact" in preset_names()
    True
    """
    files = resources.files("compbo.study.grid").joinpath("presets").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(".toml"))


def load_grid(preset_or_file: str) -> Grid:
    """A preset, or a grid of your own.

    Args:
        preset_or_file: the name of a preset, or the path of a TOML file.

    Returns:
        The grid, everything in it checked; a ValueError that names the mistake otherwise.

    >>> len(load_grid("smoke").cells())
    35
    """
    if preset_or_file in preset_names():
        resource = resources.files("compbo.study.grid").joinpath("presets", f"{preset_or_file}.toml")
        return parse_grid(preset_or_file, resource.read_text(encoding="utf-8"))
    path = Path(preset_or_file)
    if not path.is_file():
        raise ValueError(f"Grid: {preset_or_file!r} is neither a preset ({', '.join(preset_names())}) nor a TOML file.")
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        raise ValueError(f"Grid {path}: not a text file in UTF-8 ({error}); save it in UTF-8.") from error
    return parse_grid(path.stem, text)


def parse_grid(name: str, text: str) -> Grid:
    """A grid from TOML.

    Args:
        name: of the grid, for messages.
        text: `[defaults]` for all blocks, then `[[block]]` tables; docs/study.md describes the keys.

    Returns:
        The grid; a ValueError that names the mistake otherwise.

    >>> parse_grid("mine", 'block = [{tasks = ["levy-2"], optimisers = ["bohb"]}]').cells()[0].name
    'levy-2/bohb/seed0'
    """
    load_installed()
    try:
        data = tomllib.loads(text)
        return Grid(name, str(data.get("about", "")), _blocks(data))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"Grid {name}: not valid TOML: {error}.") from error
    except ValueError as error:
        raise ValueError(f"Grid {name}: {error}") from error


def _blocks(data: Mapping[str, Any]) -> tuple[Block, ...]:
    _check_keys("a grid", data, {"about", "defaults", "block"})
    tables, defaults = data.get("block"), _table("defaults", data.get("defaults", {}))
    if not isinstance(tables, list) or not tables:
        raise ValueError("it has no [[block]]; write at least one, in double brackets.")
    return tuple(_block({**defaults, **_table("block", table)}) for table in tables)


def _block(table: Mapping[str, Any]) -> Block:
    _check_keys("a block", table, KEYS)
    axes = {axis: _axis(axis, table.get(axis, []), kind) for axis, kind in AXES.items()}
    if not axes["optimisers"]:
        raise ValueError("a block needs `optimisers`.")
    if "seeds" in table and not axes["seeds"]:
        raise ValueError("`seeds` is empty: the block has no cells; leave it out for seed 0.")
    get_kernel(table.get("kernel", Block.kernel))
    get_priors(table.get("priors", Block.priors), 1)
    checked: dict[str, Any] = {
        "tasks": expand_tasks(_tasks(axes, shifted=table.get("shifted", False))),
        "optimisers": expand_optimisers(axes["optimisers"]),
        "acquisitions": tuple(_acquisition(name) for name in axes["acquisitions"]),
        "seeds": axes["seeds"] or Block.seeds,
        "outputs": check_outputs(table.get("outputs", Block.outputs)),  # "auto" may mean another one some day
        "inner": _inner(_table("inner", table.get("inner", {}))),
        "hyperparameters": _hyperparameters(_table("hyperparameters", table.get("hyperparameters", {}))),
    }
    plain = {key: table[key] for key in ("batch", "steps", "initial", "kernel", "priors") if key in table}
    return Block(**checked, **plain)


def _check_keys(what: str, table: Mapping[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"unknown key {key} in {what}; {meant_or_known(key, sorted(known))}")


def _table(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"`{name}` must be a table, got {value!r}.")
    return value


def _axis(name: str, values: object, kind: type) -> tuple[Any, ...]:
    """A list of names, or of whole numbers."""
    if not isinstance(values, list) or not all(type(value) is kind for value in values):
        what = "names in quotes" if kind is str else "whole numbers"
        raise ValueError(f"`{name}` must be a list of {what} in brackets, got {values!r}.")
    return tuple(values)


def _tasks(axes: Mapping[str, tuple[Any, ...]], *, shifted: object) -> list[str]:
    functions, dimensions = axes["functions"], axes["dimensions"]
    if bool(functions) != bool(dimensions):
        raise ValueError("`functions` and `dimensions` go together; one of them is missing or empty.")
    if not isinstance(shifted, bool):
        raise ValueError(f"`shifted` must be true or false, got {shifted!r}.")
    if shifted and not functions:
        raise ValueError("`shifted` is about `functions`; among `tasks` write levy-16-shifted.")
    suffix = "-shifted" if shifted else ""
    tasks = [*axes["tasks"], *(f"{name}-{d}{suffix}" for d in dimensions for name in functions)]
    if not tasks:
        raise ValueError("a block needs `tasks`, or `functions` and `dimensions`.")
    return tasks


def _acquisition(name: str) -> str:
    if name.lower() not in ACQUISITIONS:
        raise ValueError(f"no acquisition function {name!r}; there are {', '.join(ACQUISITIONS)}. {HOW_TO_ADD}")
    return name.lower()


def _inner(table: dict[str, Any]) -> InnerSpec:
    _check_keys("inner", table, {field.name for field in fields(InnerSpec)})
    share = table.get("around_incumbents")
    return InnerSpec(**{**table, "around_incumbents": float(share)} if type(share) is int else table)


def _hyperparameters(table: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Per optimiser of the catalogue; names and ranges are checked."""
    for optimiser, values in table.items():
        if optimiser not in CATALOGUE:
            raise ValueError(f"hyperparameters: no optimiser {optimiser!r}; {meant_or_known(optimiser, CATALOGUE)}")
        get_entry(optimiser).settled(**_table(f"hyperparameters.{optimiser}", values))
    return table
