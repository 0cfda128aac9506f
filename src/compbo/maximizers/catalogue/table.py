"""The catalogue as a table: rows for the command line, Markdown for the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from compbo.maximizers.catalogue import BUILT_IN, CATALOGUE

if TYPE_CHECKING:
    from compbo.maximizers.hyperparameters import Domain, Value

BEGIN = "<!-- catalogue:begin -->"
END = "<!-- catalogue:end -->"
DOMAINS_BEGIN = "<!-- domains:begin -->"
DOMAINS_END = "<!-- domains:end -->"
COLUMNS = ("name", "order", "category", "rule", "tracker", "form", "samples", "defaults")


def catalogue_rows() -> list[dict[str, str]]:
    """One dict per entry, with the keys of COLUMNS, all text."""
    return [
        {
            "name": entry.name,
            "order": str(entry.order),
            "category": entry.category if entry.name in BUILT_IN else "own",
            "rule": entry.rule,
            "tracker": entry.tracker,
            "form": entry.form,
            "samples": entry.samples,
            "defaults": ", ".join(f"{name} {_short(value)}" for name, value in entry.defaults.items()),
        }
        for entry in CATALOGUE.values()
    ]


def _short(value: Value) -> str:
    return str(value).lower() if isinstance(value, (bool, str)) else f"{value:.4g}"


def catalogue_markdown() -> str:
    """The table in Markdown."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row[column] for column in COLUMNS) + " |" for row in catalogue_rows()]
    return "\n".join(lines)


def domains_markdown() -> str:
    """Where the hyperparameters are tuned, here and in the paper, in Markdown; equal rows are written once."""
    found: dict[tuple[str, ...], list[str]] = {}
    for entry in CATALOGUE.values():
        for name, h in entry.hyperparameters.items():
            if h.domain is not None:
                paper = "" if entry.after_paper else _words(h.paper_domain)
                found.setdefault((name, _short(h.default), _words(h.domain), paper), []).append(entry.name)
    lines = ["| maximizers | hyperparameter | default | tuned in | in the paper |", "|---|---|---|---|---|"]
    lines += [f"| {', '.join(names)} | {' | '.join(row)} |" for row, names in found.items()]
    return "\n".join(lines)


def _words(domain: Domain | Literal[True] | None) -> str:
    if domain is None:
        return ""
    return "false, true" if domain is True else f"{domain[0]:g} to {domain[1]:.7g}, {domain[2]}"


def renewed(text: str) -> str:
    """The text of a document with the tables between their markers brought up to date.

    A ValueError if it has no catalogue.
    """
    if BEGIN not in text:
        raise ValueError(f"The document has no {BEGIN} ... {END} markers; add them where the table belongs.")
    text = _filled(text, BEGIN, catalogue_markdown(), END)
    return _filled(text, DOMAINS_BEGIN, domains_markdown(), DOMAINS_END) if DOMAINS_BEGIN in text else text


def _filled(text: str, begin: str, table: str, end: str) -> str:
    before, _, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not closed:
        raise ValueError(f"The document has no {end} after {begin}; the markers go in pairs.")
    return f"{before}{begin}\n{table}\n{end}{after}"
