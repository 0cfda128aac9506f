"""The options that several commands of `compbo study` have, each written once, as fields of frozen dataclasses.

`one_option_per_field` makes a command that takes these dataclasses one that has an option for every field.
"""

from __future__ import annotations

import functools
import inspect
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from compbo.console import Plugin, say
from compbo.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compbo.study.cell import Cell
    from compbo.study.engine.pools import Pool
    from compbo.study.grid import Grid

GRID, KEEP, WHERE = "Which cells", "What to keep of them", "Where they run"  # panels of the help

Results = Annotated[Path, typer.Option("--results", help="The results folder.")]
Known = Annotated[
    list[Path] | None,
    typer.Option(
        "--known", help="What is done in this compact file or results folder is not run; as often as you like."
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the whole trace of an error.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON on standard output.")]


def _option(help_text: str, panel: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_text, rich_help_panel=panel, **more)


@dataclass(frozen=True)
class MethodOptions:
    """A grid, and filters on what is compared: on everything but the seeds."""

    preset: Annotated[str | None, _option("A grid of the package; `compbo study list` names them.", GRID)] = None
    grid: Annotated[Path | None, _option("A grid of your own: a TOML file.", GRID)] = None
    task: Annotated[list[str] | None, _option("Only these tasks: levy-16, 'rf-*'.", KEEP)] = None
    dimension: Annotated[list[int] | None, _option("Only these dimensions.", KEEP)] = None
    acquisition: Annotated[
        list[str] | None, _option("Only these acquisition functions; none: methods without one.", KEEP)
    ] = None
    optimiser: Annotated[
        list[str] | None, _option("Only these optimisers: CAdam, '*-ME'.", KEEP, "--optimiser", "--optimizer")
    ] = None
    plugin: Plugin = None  # loaded before the command runs

    @property
    def given(self) -> bool:
        """Whether a grid was named."""
        return self.preset is not None or self.grid is not None

    @property
    def filtered(self) -> bool:
        """Whether any other option was given."""
        names = {field.name for field in fields(self)} - {"preset", "grid", "plugin"}
        return any(getattr(self, name) for name in names)

    def load(self) -> Grid:
        """The grid."""
        from compbo.study.grid import load_grid, preset_names

        if (self.preset is None) == (self.grid is None):
            names = ", ".join(preset_names())
            raise OptionError("preset", "Give either {option} ({names}) or {grid:FILE.toml}.", names=names)
        return load_grid(self.preset if self.preset is not None else str(self.grid))

    def cells(self) -> list[Cell]:
        """The cells of the grid that pass the filters."""
        return self.keep(self.load().cells())

    def keep(self, cells: Sequence[Cell]) -> list[Cell]:
        """Filter cells.

        Args:
            cells: any.

        Returns:
            Those that pass the filters. Methods that are left out for having no acquisition function are named.
        """
        from compbo.study.grid import Filter

        axes = {field.name for field in fields(Filter)} & {field.name for field in fields(self)}
        wanted = Filter(**{axis: tuple(getattr(self, axis) or ()) for axis in axes})
        kept, left_out = wanted.apply(cells), wanted.left_out_without_acquisition(cells)
        if left_out:
            say(
                f"Note: {', '.join(left_out)} {'has' if len(left_out) == 1 else 'have'} no acquisition function and "
                f"{'is' if len(left_out) == 1 else 'are'} left out; --acquisition none keeps them."
            )
        return kept


@dataclass(frozen=True)
class CellOptions(MethodOptions):
    """A grid, and filters on everything."""

    repeat: Annotated[int | None, _option("Seeds 0 to N-1 instead of the grid's.", GRID, min=1)] = None
    seed: Annotated[list[int] | None, _option("Only these seeds.", KEEP)] = None

    def load(self) -> Grid:
        """The grid, with the seeds of `repeat` if it is given."""
        grid = super().load()
        return grid if self.repeat is None else grid.with_seeds(range(self.repeat))


@dataclass(frozen=True)
class WorkerOptions:
    """Where cells run, and what each may use."""

    workers: Annotated[
        int | None, _option("Cells at the same time, each in a process; 1 if left out.", WHERE, min=1)
    ] = None
    dask: Annotated[str | None, _option("Scheduler of a Dask cluster instead: tcp://host:8786.", WHERE)] = None
    threads: Annotated[int, _option("BLAS threads of a cell.", WHERE, min=1)] = 1
    time_limit: Annotated[float | None, _option("Seconds after which a cell is killed, and failed.", WHERE)] = None
    memory_limit: Annotated[float | None, _option("The same for its memory, in GB.", WHERE)] = None

    def pool_maker(self) -> Callable[[], Pool]:
        """Where cells run.

        Returns:
            A function that starts the workers; values that are not possible are refused now.
        """
        from compbo.dask_client import check_address
        from compbo.study.engine.messages import Limits
        from compbo.study.engine.pools import DaskPool, LocalPool

        limits = Limits(self.threads, self.time_limit, self.memory_limit)
        if self.dask is None:
            return lambda: LocalPool(self.workers or 1, limits)
        if self.workers is not None:
            raise OptionError(
                "workers", "Give either {option} or {dask}: a cluster has the workers that were started for it."
            )
        address = check_address(self.dask)
        return lambda: DaskPool(address, limits)


def one_option_per_field(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes dataclasses of options, for Typer.

    Args:
        command: its parameters are options, or dataclasses of them.

    Returns:
        The command with an option for every field of the dataclasses.
    """
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in parameters if is_dataclass(p.annotation)}

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**made, **values)

    options = [
        option
        for parameter in parameters
        for option in (_options_of(groups[parameter.name]) if parameter.name in groups else [parameter])
    ]
    wrapped.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    )
    wrapped.__annotations__ = {}
    return wrapped


def _options_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[f.name]) for f in fields(group)]


def find_tasks_here() -> None:
    """Find tasks of your own, module:object, in the current folder: here and in the processes of the cells."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
