"""How a table is written as text: by a program, or by a spreadsheet of any country.

Spreadsheets write byte-order marks, Windows' own encoding, semicolons or tabs between cells, commas in numbers, a first
line `sep=;`, and rows and columns that are empty.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import NamedTuple

SEPARATORS = (";", "\t", ",")  # a tie goes to the first
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[-+]?\d{1,3}(\.\d{3})+")


class CsvRows(NamedTuple):
    """The cells of a file: the header, and every line that is not empty with its number in the file."""

    header: list[str]
    lines: list[tuple[int, list[str]]]
    commas: bool  # numbers may have a decimal comma
    encoding: str  # of the file


def decoded(data: bytes) -> tuple[str, str]:
    """The text in the data of a file and its encoding, told from a byte-order mark, or from what it can be."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:  # what Excel on Windows calls plain CSV
        return data.decode("cp1252", errors="replace"), "cp1252"


def read_table(data: bytes) -> CsvRows:
    """The table in the data of a CSV file as any spreadsheet writes it; ValueError, with the line, if it is none."""
    text, encoding = decoded(data)
    first, _, rest = text.partition("\n")
    declared = re.fullmatch(r"sep=(.)\r?", first)
    body, skipped = (rest, 1) if declared else (text, 0)
    separator = declared[1] if declared else _separator(body)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[int, list[str]]] = []
    begin = skipped + 1
    try:
        for row in reader:
            rows.append((begin, [cell.strip() for cell in row]))
            begin = skipped + reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {begin}: {error}") from error
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise ValueError("there is nothing in it")
    (header_line, header), *lines = rows
    while header and not header[-1]:
        header.pop()
    commas = separator != ","
    return CsvRows(
        _checked_header(header, header_line), [(n, _fitted(header, n, row)) for n, row in lines], commas, encoding
    )


def _separator(text: str) -> str:
    """What stands between the cells of the first line that is not empty, quoted cells apart."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    plain = re.sub(r'"[^"]*"', "", header)
    return max(SEPARATORS, key=plain.count) if any(s in plain for s in SEPARATORS) else ","


def _checked_header(header: list[str], line: int) -> list[str]:
    for place, name in enumerate(header):
        if not name:
            raise ValueError(f"line {line}: column {place + 1} has no name")
        if name in header[:place]:
            raise ValueError(f'line {line}: there are two columns "{name}"')
    return header


def _fitted(header: list[str], line: int, row: list[str]) -> list[str]:
    """The cells of a line, as many as the header has; a spreadsheet may leave empty ones out, or add some."""
    if any(row[len(header) :]):
        raise ValueError(f"line {line}: it has more cells than the header")
    return [*row[: len(header)], *[""] * (len(header) - len(row))]


def has_decimal_commas(table: CsvRows) -> bool:
    """Whether some number in a table has a decimal comma."""
    return table.commas and any(DECIMAL_COMMA.fullmatch(cell) for _, row in table.lines for cell in row)


def number_in(text: str, *, commas: bool, commas_seen: bool) -> float:
    """The number that the text of a cell says; ValueError if it says none, or if it can be read in two ways.

    commas: a decimal comma is possible. commas_seen: the file has some, so that a point may stand between thousands.

    >>> number_in("61,5", commas=True, commas_seen=True), number_in("1e-3", commas=False, commas_seen=False)
    (61.5, 0.001)
    """
    if commas and "," in text:
        if "." in text or text.count(",") > 1:
            raise ValueError(f"{text!r} has two kinds of separators: write it without those between thousands")
        text = text.replace(",", ".")
    elif commas_seen and THOUSANDS.fullmatch(text):
        raise ValueError(f"{text!r} may be a thousand times more, as other numbers here have decimal commas")
    try:
        return float(text)
    except ValueError:
        hint = " (with commas between the cells, numbers have a decimal point)" if "," in text else ""
        raise ValueError(f"{text!r} is not a number{hint}") from None
