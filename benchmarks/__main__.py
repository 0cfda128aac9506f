"""`python -m benchmarks [section ...]`: measure side by side, print, and write the tables into benchmarks/README.md.

Without a section everything is measured (about an hour on two cores). A section replaces its own table only, so
a long run can be done in parts.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import (
    backend,
    bo_step,
    cost,
    gp_fit,
    growth,
    imports,
    large_batches,
    load,
    many_evaluations,
    maximisation,
    maximizers,
    memory,
    plug,
    profiles,
    raw_batches,
    study,
    suggestions,
    threads,
    time_to_value,
    value_and_gradient,
    verdicts,
)
from benchmarks.common import SIZES, Row, Work, work
from benchmarks.figure import draw_figure
from benchmarks.goals import NOTE as GOALS_NOTE
from benchmarks.goals import goals_table

HERE = Path(__file__).parent
README = HERE / "README.md"
RESULTS = HERE / "results.json"


def _works() -> list[Work]:
    return [work(*size) for size in SIZES]


SECTIONS: dict[str, tuple[str, str, Callable[[], list[Row]]]] = {
    "import": (imports.TITLE, imports.NOTE, imports.run),
    "value-and-gradient": (value_and_gradient.TITLE, value_and_gradient.NOTE, lambda: value_and_gradient.run(_works())),
    "backend": (backend.TITLE, backend.NOTE, lambda: backend.run(_works())),
    "raw-batches": (raw_batches.TITLE, raw_batches.NOTE, lambda: raw_batches.run(_works())),
    "maximisation": (maximisation.TITLE, maximisation.NOTE, lambda: maximisation.run(_works())),
    "time-to-value": (time_to_value.TITLE, time_to_value.NOTE, time_to_value.run),
    "suggestions": (suggestions.TITLE, suggestions.NOTE, suggestions.run),
    "fit": (gp_fit.TITLE, gp_fit.NOTE, lambda: gp_fit.run(_works())),
    "step": (bo_step.TITLE, bo_step.NOTE, lambda: bo_step.run(_works())),
    "maximizers": (maximizers.TITLE, maximizers.NOTE, lambda: maximizers.run(_works()[1:])),
    "plug": (plug.TITLE, plug.NOTE, lambda: plug.run(_works()[1:])),
    "growth": (growth.TITLE, growth.NOTE, growth.run),
    "memory": (memory.TITLE, memory.NOTE, memory.run),
    "cost": (cost.TITLE, cost.NOTE, cost.run),
    "threads": (threads.TITLE, threads.NOTE, threads.run),
    "many-evaluations": (many_evaluations.TITLE, many_evaluations.NOTE, many_evaluations.run),
    "large-batches": (large_batches.TITLE, large_batches.NOTE, large_batches.run),
    "load": (load.TITLE, load.NOTE, load.run),
    "profile": (profiles.TITLE, profiles.NOTE, lambda: profiles.run(_works())),
    "study": (study.TITLE, study.NOTE, study.run),
    "verdicts": (verdicts.TITLE, verdicts.NOTE, verdicts.run),
}


def text(value: object) -> str:
    """A cell: three significant digits for numbers."""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")
    return str(value)


def markdown(rows: list[Row]) -> str:
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(text(row[column]) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def show(title: str, rows: list[Row]) -> None:
    table = Table(*rows[0], title=title)
    for row in rows:
        table.add_row(*(text(value) for value in row.values()))
    wide = Console(width=10_000)  # a table of many columns is wider than a terminal: its numbers stay whole
    Console(width=max(Console().width, wide.measure(table).maximum)).print(table)


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("compbo", "torch", "botorch", "gpytorch", "scipy"))
    return f"{torch.get_num_threads()} threads, {platform.machine()}, Python {platform.python_version()}, {packages}"


def write_readme(results: dict[str, dict[str, object]]) -> None:
    """The page is made of the stored results alone."""
    parts = [(HERE / "intro.md").read_text().rstrip()]
    parts.append(f"## Goals\n\n{GOALS_NOTE}\n\n{goals_table(results)}")
    for name, (title, note, _) in SECTIONS.items():
        if name in results:
            rows = results[name]["rows"]
            assert isinstance(rows, list)
            parts.append(
                f"## {title}\n\n{note}\n\n{markdown(rows)}\n\n`make bench ARGS={name}` on {results[name]['machine']}."
            )
    README.write_text("\n\n".join(parts) + "\n")


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        sys.exit(f"no section is called {unknown[0]!r}; the sections are {', '.join(SECTIONS)}.")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or SECTIONS:
        title, _, run = SECTIONS[name]
        rows = run()
        show(title, rows)
        results[name] = {"machine": machine(), "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        write_readme(results)
    draw_figure(results, HERE / "figure.png")


if __name__ == "__main__":
    main(sys.argv[1:])
