"""Small tables for notebooks: HTML without colours or scripts of its own, readable on light and dark pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ROWS = 60
LONGEST_CELL = 160  # characters

_CELL = "text-align:left;padding:.15em .9em .15em 0;vertical-align:top"


def html_table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> str:
    """A table with a title; long tables and long cells are cut, and say so.

    Args:
        title: one line.
        rows: the cells of every row, as text or as anything that has one.
        header: names of the columns.

    Returns:
        HTML in which every text is escaped.

    >>> html_table("A < B", [("x", 1)]).count("&lt;")
    1
    """
    listed = list(rows)
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in header)
    lines = [f"<tr>{head}</tr>"] if header else []
    lines += ["<tr>" + "".join(map(_cell, row)) + "</tr>" for row in listed[:MOST_ROWS]]
    if len(listed) > MOST_ROWS:
        lines.append(f"<tr>{_cell(f'… and {len(listed) - MOST_ROWS} more')}</tr>")
    body = "".join(lines)
    return f'<div><strong>{escape(title)}</strong><table style="border-collapse:collapse">{body}</table></div>'


def _cell(value: Any) -> str:
    text = str(value)
    shown = text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"
    return f'<td style="{_CELL}">{escape(shown)}</td>'
