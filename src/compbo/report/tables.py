"""The sortable tables of the page: cells are text, with all digits; columns say how to sort and to shorten them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compbo.records import COLUMNS, FAIL

if TYPE_CHECKING:
    from compbo.bo.telemetry import Telemetry
    from compbo.report.data import Report

Table = dict[str, Any]

# Fields of `Telemetry`, with their titles and types.
_ASK_COLUMNS = (
    ("verdict", "verdict", "text"),
    ("reason", "reason", "long"),
    ("observations", "evaluations", "int"),
    ("pending", "pending", "int"),
    ("points", "points", "int"),
    ("acquisition_value", "value", "float"),
    ("acquisition_error", "Monte-Carlo error", "float"),
    ("acquisition_gain", "gain", "float"),
    ("spread", "spread of restarts", "float"),
    ("ascent_steps", "steps", "int"),
    ("jitter", "jitter", "float"),
    ("replaced", "repeats replaced", "int"),
    ("fit_seconds", "fit (s)", "float"),
    ("start_seconds", "start (s)", "float"),
    ("maximise_seconds", "maximise (s)", "float"),
    ("maximizer", "maximizer", "text"),
)


def evaluations_table(report: Report) -> Table:
    """Number, state, value, the parameters and the message: also what the CSV file holds.

    A parameter called like another column gets the prefix `param:`, as in the exported file. The cell of a parameter
    that a trial does not have is empty.
    """
    names = [name for name, _, _ in report["space"]]
    kinds = [_kind([row["params"][n] for row in report["evaluations"] if n in row["params"]]) for n in names]
    reserved = {*COLUMNS, "message"}
    columns = [
        _column("number", "int"),
        _column("state", "text"),
        _column("value", "float"),
        *(_column(f"param:{n}" if n in reserved else n, kind) for n, kind in zip(names, kinds, strict=True)),
        _column("message", "long"),
    ]
    rows = [
        [_cell(cell) for cell in (row["number"], row["state"], row["value"], *(row["params"].get(n) for n in names))]
        + [row["message"]]
        for row in report["evaluations"]
    ]
    best = report["best"]
    marks = ["failed" if row["state"] == FAIL else "" for row in report["evaluations"]]
    if best is not None:
        marks[best["place"]] = "best"
    return {"columns": columns, "rows": rows, "marks": marks}


def asks_table(asks: list[Telemetry]) -> Table:
    """Everything about the asks that is a word or a single number."""
    return {
        "columns": [_column("ask", "int"), *(_column(title, kind) for _, title, kind in _ASK_COLUMNS)],
        "rows": [[_cell(n), *(_cell(getattr(ask, key)) for key, _, _ in _ASK_COLUMNS)] for n, ask in enumerate(asks)],
        "marks": [""] * len(asks),
    }


def _column(title: str, kind: str) -> dict[str, Any]:
    return {"label": title, "kind": kind, "numeric": kind in ("int", "float")}


def _kind(values: list[Any]) -> str:
    """The type of a parameter's column."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not numbers or len(numbers) < len(values):
        return "text"
    return "float" if any(isinstance(value, float) for value in numbers) else "int"


def _cell(value: Any) -> str:
    """The value with all its digits; empty for none, NaN and infinity."""
    missing = value is None or (isinstance(value, float) and not math.isfinite(value))
    return "" if missing else str(value)
