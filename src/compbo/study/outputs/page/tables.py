"""The sortable tables of the page: cells are text, columns say how to sort and to shorten them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compbo.study.outputs.runs import RUN, NothingToShowError
from compbo.study.outputs.tables.overview import experiments
from compbo.study.outputs.tables.table1 import ALL, SUBTOTAL, TOTAL, contest_rows, records_of

if TYPE_CHECKING:
    import pandas as pd

    from compbo.study.outputs.runs import Study

Table = dict[str, Any]
MISSING_SHOWN = 1000
_EXTRAS = {
    "nfr_low": "NFR from",
    "nfr_high": "NFR to",
    "paper_best_percent": "paper’s #Best %",
    "difference_best_percent": "ours − paper’s #Best",
    "paper_nfr": "paper’s NFR",
    "difference_nfr": "ours − paper’s NFR",
    "tasks": "tasks",
}


def _column(label: str, kind: str = "text") -> dict[str, Any]:
    return {"label": label, "kind": kind, "numeric": kind in ("int", "float")}


def _cell(value: Any, places: int = 3) -> str:
    if isinstance(value, float):
        return f"{value:.{places}f}" if math.isfinite(value) else ""
    return "" if value is None else str(value)


def sortable_table1(study: Study, variant: str) -> Table | None:
    """Table 1 of a variant: a row per optimiser and subtotal, two columns per dimension, the paper's numbers beside."""
    rows = contest_rows(study.synthetic(variant))
    if not len(rows):
        return None
    records = records_of(rows, variant)
    dimensions = [*dict.fromkeys(r["dimension"] for r in records if r["dimension"] != ALL), ALL]
    columns = [_column("optimiser"), _column("category"), _column("order")]
    for dimension in dimensions:
        title = "all" if dimension == ALL else f"{dimension}D"
        columns += [_column(f"{title} #Best %", "float"), _column(f"{title} NFR", "float")]
    columns += [_column(words, "float") for words in _EXTRAS.values()]
    lines: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for record in records:
        lines.setdefault((record["category"], record["order"], record["optimiser"]), {})[record["dimension"]] = record
    made = []
    for line, cells in lines.items():
        category, order, optimiser = line
        row = [optimiser, category, order]
        for dimension in dimensions:
            record = cells.get(dimension, {})
            row += [_cell(record.get("best_percent"), 1), _cell(record.get("nfr"))]
        made.append(row + [_cell(cells[ALL][key], 1 if "percent" in key else 3) for key in _EXTRAS])
    marks = ["subtotal" if line[2] in (SUBTOTAL, TOTAL) else "" for line in lines]
    return {"columns": columns, "rows": made, "marks": marks}


def experiments_table(study: Study) -> Table:
    """What was run, beside the paper's counts."""
    try:
        records = experiments(study)["experiments"].records
    except NothingToShowError:
        return {"columns": [_column("part")], "rows": [], "marks": []}
    columns = [_column(key, "text" if key == "part" else "int") for key in records[0]]
    return {"columns": columns, "rows": [[_cell(v) for v in r.values()] for r in records], "marks": [""] * len(records)}


def missing_table(rows: pd.DataFrame) -> Table:
    """Failed runs of the rows first, then what was not run; of very many, the first."""
    names = [*RUN, "why"]
    shown = [[_cell(row[name]) for name in names] for row in rows.head(MISSING_SHOWN).to_dict("records")]
    marks = ["failed" if row[-1].startswith("failed") else "" for row in shown]
    if len(rows) > MISSING_SHOWN:
        more = f"and {len(rows) - MISSING_SHOWN} more; `compbo study tables` lists all"
        shown.append(["", "", "", "", more])
        marks.append("")
    columns = [_column(name, "int" if name == "seed" else "long" if name == "why" else "text") for name in names]
    return {"columns": columns, "rows": shown, "marks": marks}
