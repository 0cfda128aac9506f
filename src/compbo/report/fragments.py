"""Small pieces of HTML. Every word that is not ours passes through `safe`."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from compbo.records import FAIL, PRUNED
from compbo.report.data import of_state
from compbo.report.figures_asks import READINGS
from compbo.report.labels import number
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.report.data import Report


def safe(words: object) -> str:
    """Words as text for HTML, inside and outside attributes."""
    return html.escape(str(words), quote=True)


def chart(name: str, alt: str, *, height: int = 320, least: int = 0) -> str:
    """The place of the chart called `name`, `height` pixels high; narrower than `least` pixels it scrolls.

    alt: what a screen reader says.
    """
    style = f"--height: {height}px" + (f"; --least: {least}px" if least else "")
    place = f'<div class="chart" data-chart="{safe(name)}" role="img" aria-label="{safe(alt)}" style="{style}"></div>'
    return f'<div class="pan" tabindex="0">{place}</div>' if least else place


def titled(words: str, inside: str) -> str:
    """A chart, `inside`, under a small title: words."""
    return f"<div><h4>{safe(words)}</h4>{inside}</div>"


def empty(words: str) -> str:
    """The words that stand where there is nothing to draw."""
    return f'<p class="empty">{safe(words)}</p>'


def rows(pairs: Iterable[tuple[str, ...]]) -> str:
    """Rows of a plain table from pairs of cells, the first cell of each its heading."""
    return "".join(
        f'<tr><th scope="row">{safe(first)}</th>' + "".join(f"<td>{safe(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in pairs
    )


def tiles(report: Report) -> str:
    """The figures at the top of the page."""
    best, asks = report["best"], report["asks"]
    pruned = len(of_state(report, PRUNED))
    ended = f"{len(of_state(report, FAIL))} failed" + (f", {pruned} pruned" if pruned else "")
    spent = sum(ask.fit_seconds + ask.start_seconds + ask.maximise_seconds for ask in asks)
    found = f"evaluation {best['number']}" if best is not None else "no successful evaluation yet"
    pending = f", {report['pending']} pending" if report["pending"] else ""
    made = [
        tile("Best value", number(best["value"]) if best is not None else "–", found, " first"),
        tile("Evaluations", str(len(report["evaluations"])), f"{ended}{pending}"),
        tile(
            "Direction",
            report["direction"],
            "higher is better" if report["direction"] == "maximize" else "lower is better",
        ),
        tile("Parameters", str(len(report["axes"]) + report["conditional"]), _kinds(report)),
    ]
    if asks:
        made.append(tile("Last ask", asks[-1].verdict, f"{counted(len(asks), 'ask')}, {number(spent, 3)} s in all"))
    return "".join(made)


def tile(name: str, figure: str, more: str, kind: str = "") -> str:
    """A figure of the summary, with its name above and more words below; kind: its CSS class."""
    parts = (("name", name), ("figure", figure), ("more", more))
    inside = "".join(f'<div class="{part}">{safe(words)}</div>' for part, words in parts)
    return f'<div class="tile{kind}">{inside}</div>'


def _kinds(report: Report) -> str:
    kinds = [kind if kind in ("float", "int", "constant") else "choice" for _, kind, _ in report["space"]]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def best_block(report: Report) -> str:
    """The best point, ready to be copied."""
    best = report["best"]
    if best is None:
        return empty("No evaluation has succeeded yet.")
    head = '<div class="head"><h3>Best parameters</h3><button type="button" data-copy="best">Copy</button></div>'
    return f'<div class="code">{head}<pre id="best" tabindex="0">{safe(best["python"])}</pre></div>'


def notes(report: Report) -> str:
    """What the reader should not miss."""
    found = []
    best = report["best"]
    if best is not None and best["at_edge"]:
        named = ", ".join(f"{name} ({end} end)" for name, end in best["at_edge"][:8])
        more = len(best["at_edge"]) - 8
        named += f" and {more} more" if more > 0 else ""
        found.append(f"The best point lies at the edge of the range of {named}. A wider range may hold a better one.")
    failed = of_state(report, FAIL)
    if failed:
        last = failed[-1]["message"] or "no message"
        last = last if len(last) <= 300 else last[:299] + "…"
        found.append(f"{counted(len(failed), 'evaluation')} failed; the last one said: {last}")
    return "".join(f'<p class="note">{safe(words)}</p>' for words in found)


def verdict_list() -> str:
    """What each verdict means and what to do."""
    return "".join(
        f'<div class="tint-{reading.colour}"><dt>{safe(verdict)}</dt><dd>{safe(reading.meaning)}</dd>'
        f'<dd class="advice">{safe(reading.advice)}</dd></div>'
        for verdict, reading in READINGS.items()
    )


def log_control() -> str:
    """The switch to a log axis."""
    return '<label class="control"><input type="checkbox" id="log-values"> Log axis</label>'


def all_control() -> str:
    """The switch that shows the values off the chart, too."""
    return '<label class="control"><input type="checkbox" id="all-values"> All values</label>'


def share_control() -> str:
    """The slider that hides the worse evaluations."""
    return (
        '<label class="control">Show the best <input type="range" id="share" min="10" max="100" step="10" value="100">'
        '<output id="share-shown" for="share">100 %</output></label>'
    )


def pair_control(labels: list[str]) -> str:
    """The choice of two parameters, by their labels."""
    options = "".join(f'<option value="{i}">{safe(words)}</option>' for i, words in enumerate(labels))
    return f'<label class="control">Parameters <select id="pair">{options}</select></label>'
