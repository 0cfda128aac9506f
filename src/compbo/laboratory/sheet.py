"""A sheet: points with room for their results, as people fill it in. Reading and writing it.

CSV as every spreadsheet writes it, or JSON lines (a name that ends in .jsonl). Columns: `number`, the parameters,
`value`, `failed`, `comment`; and what `compbo export` writes is understood too.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.files import write_atomically
from compbo.inputs import check_target
from compbo.laboratory.cells import Style, written
from compbo.laboratory.dialect import has_decimal_commas, read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

NUMBER, VALUE, FAILED, COMMENT, STATE, MESSAGE = "number", "value", "failed", "comment", "state", "message"
PREDICTED = ("predicted mean", "predicted deviation")
IGNORED = (*PREDICTED, "asked", "ended", "seconds", "traceback")  # ours, and not read
RESERVED = (NUMBER, VALUE, FAILED, COMMENT, STATE, MESSAGE, *IGNORED)
JSON_LINES = (".jsonl", ".ndjson", ".json")


class Sheet(NamedTuple):
    """A file that was read: its columns, and its rows by their line in the file."""

    columns: list[str]
    rows: list[tuple[int, dict[str, Any]]]
    style: Style


def column_of(parameter: str) -> str:
    """The column of a parameter; one that is called like another column has a prefix, as in exported files."""
    return f"param:{parameter}" if parameter in RESERVED else parameter


def read_sheet(path: str | os.PathLike[str]) -> Sheet:
    """The rows of the file at this path; ValueError, with the line, if it is neither CSV nor JSON lines."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder; name a file.") from None
    try:
        return _json_lines(data) if Path(path).suffix.lower() in JSON_LINES else _table(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}.") from error


def _table(data: bytes) -> Sheet:
    table = read_table(data)
    rows = [(line, dict(zip(table.header, cells, strict=True))) for line, cells in table.lines]
    return Sheet(table.header, rows, Style(table.commas, has_decimal_commas(table)))


def _json_lines(data: bytes) -> Sheet:
    """One object per line; a list with one object per line, as `compbo export` writes it, will do as well."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for line, text in enumerate(data.decode("utf-8-sig").splitlines(), start=1):
        entry = text.strip().rstrip(",")
        if entry in ("", "[", "]"):
            continue
        try:
            row = json.loads(entry)
        except ValueError as error:
            raise ValueError(f"line {line} is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise ValueError(f"line {line} is not an object of names and values")
        rows.append((line, row))
    if not rows:
        raise ValueError("there is nothing in it")
    return Sheet(list(dict.fromkeys(name for _, row in rows for name in row)), rows, Style())


def sheet_row(number: int, params: Mapping[str, Any], predicted: Sequence[float] | None = None) -> dict[str, Any]:
    """A row to be filled in, for point `number` with these params and predicted values; an empty cell is None."""
    return {
        NUMBER: number,
        **{column_of(name): _Written(value) for name, value in params.items()},
        VALUE: None,
        FAILED: None,
        COMMENT: None,
        **dict(zip(PREDICTED, map(_rounded, predicted) if predicted else (None, None), strict=True)),
    }


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")


class _Written(NamedTuple):
    """The value of a parameter, which may be None without being empty."""

    value: Any


def check_sheet_target(path: str | os.PathLike[str]) -> None:
    """ValueError if no new sheet can be written at this path: one that is there may be filled in."""
    check_target(path)
    if Path(path).suffix.lower() not in (".csv", ".jsonl"):
        raise ValueError(f"{path}: the file name must end in .csv or .jsonl.")
    if Path(path).exists():
        raise ValueError(f"{path} is there already, and may be filled in: name another file, or remove it first.")


def write_sheet(rows: Iterable[Mapping[str, Any]], path: str | os.PathLike[str], *, excel: bool = False) -> None:
    """Write the rows to a path, as CSV or JSON lines by the ending of the file name.

    excel: CSV with semicolons, decimal commas and a byte-order mark, as Excel reads it where decimals have commas.
    """
    listed = list(rows)
    if Path(path).suffix.lower() == ".csv":
        write_atomically(path, ("\ufeff" if excel else "") + _as_csv(listed, excel=excel))
        return
    plain = ({key: cell.value if isinstance(cell, _Written) else cell for key, cell in row.items()} for row in listed)
    write_atomically(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in plain))


def _as_csv(rows: Sequence[Mapping[str, Any]], *, excel: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";" if excel else ",", lineterminator="\r\n" if excel else "\n")
    if rows:
        writer.writerow(rows[0])
    for row in rows:
        cells = (cell.value if isinstance(cell, _Written) else "" if cell is None else cell for cell in row.values())
        writer.writerow([written(cell, commas=excel) for cell in cells])
    return text.getvalue()
