"""A table as CSV (numbers to six digits), Markdown and LaTeX (as a person reads it)."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.study.outputs.phrases import DASH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMATS = ("csv", "md", "tex")
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "<": "$<$",
    ">": "$>$",
    "≤": r"$\leq$",
    "χ": r"$\chi$",
    "²": r"$^2$",
    "β": r"$\beta$",
    "Σ": r"$\Sigma$",
    "ζ": r"$\zeta$",
    "|": r"$|$",
}


class Table(NamedTuple):
    """Two views of the same thing: records of values for programs, and rows of words for people; and a caption.

    `records` is a list of dicts with the same keys; `rows` are texts under `columns`, a row of None is a rule.
    """

    caption: str
    records: list[dict[str, Any]]
    columns: Sequence[str]
    rows: list[Sequence[str] | None]


def plain(caption: str, records: list[dict[str, Any]], columns: dict[str, str]) -> Table:
    """A table with this caption whose rows are its records; columns: key -> title."""
    rows: list[Sequence[str] | None] = [[_shown(record[key]) for key in columns] for record in records]
    return Table(caption, records, list(columns.values()), rows)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return DASH if not math.isfinite(value) else f"{value:.3g}"
    return DASH if value is None else str(value)


def to_csv(table: Table) -> str:
    """All records; floats to six significant digits, nothing where there is no number."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    keys = list(table.records[0]) if table.records else list(table.columns)
    writer.writerow(keys)
    writer.writerows([[_exact(record[key]) for key in keys] for record in table.records])
    return sink.getvalue()


def _exact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return "" if value is None else str(value)


def to_markdown(table: Table) -> str:
    """The rows as a Markdown table, with the caption under it."""
    lines = [_line(table.columns), "|" + "---|" * len(table.columns)]
    lines += [_line(row) for row in table.rows if row is not None]
    return "\n".join([*lines, "", table.caption]) + "\n"


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def to_latex(table: Table) -> str:
    """The rows as a `tabular` in a `table` environment; needs the package booktabs."""
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\begin{tabular}{" + "l" * len(table.columns) + "}",
        r"\toprule",
        " & ".join(_latex(cell) for cell in table.columns) + r" \\",
        r"\midrule",
    ]
    lines += [r"\midrule" if row is None else " & ".join(_latex(cell) for cell in row) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{_latex(table.caption)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    """Escaped; `**bold**` becomes bold."""
    parts = text.split("**")
    if len(parts) % 2 == 0:  # a stray mark
        parts = [text]
    escaped = ["".join(_LATEX.get(letter, letter) for letter in part) for part in parts]
    return "".join(rf"\textbf{{{part}}}" if i % 2 else part for i, part in enumerate(escaped))


def save(table: Table, folder: Path, name: str) -> list[Path]:
    """The three files of a table, folder / name in CSV, Markdown and LaTeX, after they were written."""
    written = []
    for kind, text in (("csv", to_csv(table)), ("md", to_markdown(table)), ("tex", to_latex(table))):
        written.append(folder / f"{name}.{kind}")
        written[-1].write_text(text, encoding="utf-8", newline="\n")
    return written
