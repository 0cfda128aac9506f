"""`compbo study tables`, `figures`, `report` and `export`. What a command needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compbo.console import say
from compbo.errors import OptionError
from compbo.study.cli.options import CellOptions, Debug, one_option_per_field
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.source import Cell

Results = Annotated[Path, typer.Option("--results", help="A results folder, or a compact file of `export --compact`.")]
Tuned = Annotated[bool, typer.Option("--tuned", help="The grid with what `compbo study tune` found.")]
HeldOut = Annotated[bool, typer.Option("--held-out", help="... and `tune --held-out`: on other tasks.")]
Also = Annotated[
    list[Path] | None,
    typer.Option("--also", help="... and the cells of this compact file or results folder; as often as you like."),
]
Only = Annotated[list[str] | None, typer.Option("--only", help="This output only; as often as you like.")]
MemoryTable = Annotated[
    Path | None, typer.Option("--memory", help="benchmarks/memory.csv, as `make bench ARGS=memory` writes it.")
]


def register_outputs(app: typer.Typer) -> None:
    """Add the commands of this file to `app`, that is `compbo study`."""
    for command in (tables, figures, report, export):
        app.command()(one_option_per_field(command))


def _cells(selection: CellOptions, results: Path, *, tuned: bool, held_out: bool) -> list[Cell] | None:
    """The cells of the grid that was named; None if none was."""
    if held_out and not tuned:
        raise OptionError("held_out", "{option} says which tuning is meant; give {tuned} as well.")
    if not selection.given:
        for option, given in {"tuned": tuned, "repeat": selection.repeat is not None}.items():
            if given:
                raise OptionError(option, "{option} is about a grid; give {preset} or {grid} as well.")
        return None
    cells = selection.cells()
    if not tuned:
        return cells
    from compbo.study.results import Store
    from compbo.study.tuner.tuned_file import apply_tuned

    if results.is_file():
        raise OptionError("tuned", "{option} needs the results folder: a compact file does not say what was tuned.")
    return apply_tuned(cells, Store(results), held_out=held_out)


def _table(
    selection: CellOptions, results: Path, *, tuned: bool, held_out: bool, also: Sequence[Path] = ()
) -> pd.DataFrame:
    """The compact table of the results and of what is `also` there: what was asked for of it."""
    from compbo.study.outputs.several import merged
    from compbo.study.outputs.source import read_results, select

    cells = _cells(selection, results, tuned=tuned, held_out=held_out)
    keep = selection.keep if selection.filtered and cells is None else None
    whole = read_results(results)
    if also:
        whole = merged([whole, *(read_results(place, "also") for place in also)])
    table = select(whole, cells, keep)
    if cells is not None and len(table) < len(cells):
        where = " or ".join(str(place) for place in (results, *also))
        say(f"{len(cells) - len(table)} of the {len(cells)} cells of the grid are not in {where} yet.")
    return table


def _study(selection: CellOptions, results: Path, *, tuned: bool, held_out: bool) -> Study:
    from compbo.study.outputs.runs import study_of

    return study_of(_table(selection, results, tuned=tuned, held_out=held_out))


def _tell(written: Any, folder: Path) -> None:
    for name, reason in written.missing.items():
        say(f"Not written: {name}, because {reason}.")
    say(f"Wrote {counted(len(written.files), 'file')} and index.md to {folder}")


def tables(
    selection: CellOptions,
    results: Results = Path("results"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("tables"),
    only: Only = None,
    tuned: Tuned = False,
    held_out: HeldOut = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write every table as CSV, Markdown and LaTeX: Table 1 beside the paper's, regrets, ranks, costs, gaps."""
    from compbo.study.outputs.write import write_tables

    study = _study(selection, results, tuned=tuned, held_out=held_out)
    _tell(write_tables(study, output, only or ()), output)


def figures(
    selection: CellOptions,
    results: Results = Path("results"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write to.")] = Path("figures"),
    only: Only = None,
    formats: Annotated[list[str] | None, typer.Option("--format", help="png, svg or pdf; all if left out.")] = None,
    memory: MemoryTable = None,
    tuned: Tuned = False,
    held_out: HeldOut = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Draw every figure as PNG, SVG and PDF."""
    from compbo.study.outputs.figures.canvas import FORMATS
    from compbo.study.outputs.figures.cost import read_memory
    from compbo.study.outputs.write import write_figures

    wanted = formats or FORMATS
    for name in wanted:
        if name not in FORMATS:
            known = ", ".join(FORMATS)
            raise OptionError("formats", "{option}: no format {name!r}; there are {known}.", name=name, known=known)
    measured = [] if memory is None else read_memory(memory)
    study = _study(selection, results, tuned=tuned, held_out=held_out)
    _tell(write_figures(study, output, only or (), wanted, measured), output)


def report(
    selection: CellOptions,
    results: Results = Path("results"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("study.html"),
    title: Annotated[str, typer.Option("--title", help="The heading of the page.")] = "The study",
    memory: MemoryTable = None,
    tuned: Tuned = False,
    held_out: HeldOut = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write one HTML page: the five questions answered, curves to filter, Table 1 to sort."""
    from compbo.inputs import check_target
    from compbo.study.outputs.figures.cost import read_memory
    from compbo.study.outputs.page.page import write_page

    check_target(output)
    measured = [] if memory is None else read_memory(memory)
    study = _study(selection, results, tuned=tuned, held_out=held_out)
    say(f"Wrote {write_page(study, output, title=title, measured=measured)}")


def export(
    selection: CellOptions,
    results: Results = Path("results"),
    output: Annotated[Path, typer.Option("--output", "-o", help="The Parquet file to write.")] = Path("study.parquet"),
    compact: Annotated[bool, typer.Option("--compact", help="Only what the outputs need: a small file.")] = False,
    also: Also = None,
    tuned: Tuned = False,
    held_out: HeldOut = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Write the results as one Parquet file; with --compact a small one, from which every output can be made."""
    from compbo.inputs import check_target
    from compbo.study.outputs.compact import to_bytes
    from compbo.study.outputs.source import read_full, select

    check_target(output)
    if also and not compact:
        raise OptionError("also", "{option} joins compact tables; give {compact} as well.")
    if compact:
        table = _table(selection, results, tuned=tuned, held_out=held_out, also=also or ())
        output.write_bytes(to_bytes(table))
    else:
        cells = _cells(selection, results, tuned=tuned, held_out=held_out)
        keep = selection.keep if selection.filtered and cells is None else None
        table = select(read_full(results), cells, keep)
        table.to_parquet(output, index=False)
    size = output.stat().st_size
    each = size / max(len(table), 1)
    say(f"Wrote {counted(len(table), 'cell')} to {output}, {size / 1000:.0f} kB ({each:.0f} B each)")
