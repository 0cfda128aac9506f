"""The catalogue as a table: rows for the command line, Markdown for the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.maximizers.catalogue import CATALOGUE

if TYPE_CHECKING:
    from compbo.maximizers.hyperparameters import Value

BEGIN = "<!-- catalogue:begin -->"
END = "<!-- catalogue:end -->"
OUTSIDE_BEGIN = "<!-- outside:begin -->"
OUTSIDE_END = "<!-- outside:end -->"
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


def outside_markdown() -> str:
    """The defaults that lie outside of their tuning domain, in Markdown; 0, which means "off", is left out."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for entry in CATALOGUE.values():
        for name, hyperparameter in entry.hyperparameters.items():
            default, tuned = hyperparameter.default, hyperparameter.tuned
            if isinstance(tuned, tuple) and default and not tuned[0] <= default <= tuned[1]:
                domain = f"{tuned[0]:g} to {tuned[1]:g}, {tuned[2]}"
                found.setdefault((name, _short(default), domain), []).append(entry.name)
    lines = ["| maximizers | hyperparameter | default | tuned in |", "|---|---|---|---|"]
    lines += [f"| {', '.join(names)} | {' | '.join(row)} |" for row, names in found.items()]
    return "\n".join(lines)


def renewed(text: str) -> str:
    """A document with the tables between their markers brought up to date; a ValueError if it has no catalogue."""
    if BEGIN not in text:
        raise ValueError(f"The document has no {BEGIN} ... {END} markers; add them where the table belongs.")
    text = _filled(text, BEGIN, catalogue_markdown(), END)
    return _filled(text, OUTSIDE_BEGIN, outside_markdown(), OUTSIDE_END) if OUTSIDE_BEGIN in text else text


def _filled(text: str, begin: str, table: str, end: str) -> str:
    before, _, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not closed:
        raise ValueError(f"The document has no {end} after {begin}; the markers go in pairs.")
    return f"{before}{begin}\n{table}\n{end}{after}"
