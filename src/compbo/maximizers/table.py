"""The catalogue as a table: rows for the command line, Markdown for the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.maximizers.catalogue import CATALOGUE

if TYPE_CHECKING:
    from compbo.maximizers.hyperparameters import Value

BEGIN = "<!-- catalogue:begin -->"
END = "<!-- catalogue:end -->"
COLUMNS = ("name", "order", "category", "rule", "tracker", "form", "samples", "defaults")


def catalogue_rows() -> list[dict[str, str]]:
    """One dict per entry, with the keys of COLUMNS, all text."""
    return [
        {
            "name": entry.name,
            "order": str(entry.order),
            "category": entry.category,
            "rule": entry.rule,
            "tracker": entry.tracker,
            "form": entry.form,
            "samples": entry.samples,
            "defaults": ", ".join(f"{name} {_short(value)}" for name, value in entry.defaults.items()),
        }
        for entry in CATALOGUE.values()
    ]


def _short(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}"


def catalogue_markdown() -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row[column] for column in COLUMNS) + " |" for row in catalogue_rows()]
    return "\n".join(lines)


def renewed(text: str) -> str:
    """A document with the table between its markers brought up to date; a ValueError if it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"The document has no {BEGIN} ... {END} markers; add them where the table belongs.")
    return f"{before}{BEGIN}\n{catalogue_markdown()}\n{END}{after}"
