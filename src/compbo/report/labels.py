"""Text inside charts. Plotly reads a little HTML in every label: the user's words are escaped before."""

from __future__ import annotations

import math
import re

NAME_LENGTH = 28
TEXT_LENGTH = 160

_SPACE = re.compile(r"\s+")


def text(words: object, most: int = TEXT_LENGTH) -> str:
    """Words on one line, cut to `most` characters and escaped for a Plotly label."""
    line = _SPACE.sub(" ", str(words)).strip()
    if len(line) > most:
        line = line[: most - 1] + "…"
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def name(words: object, most: int = NAME_LENGTH) -> str:
    """Words on one line, cut to `most` characters: short enough for an axis."""
    return text(words, most)


def wrapped(words: object, width: int = 60, most: int = 400) -> str:
    """Words for a hover label, over several lines of `width` characters, cut to `most` characters."""
    lines, line = [], ""
    for word in _SPACE.split(str(words).strip()[:most]):
        for piece in (word[i : i + width] for i in range(0, max(len(word), 1), width)):
            if line and len(line) + 1 + len(piece) > width:
                lines.append(line)
                line = piece
            else:
                line = f"{line} {piece}" if line else piece
    return "<br>".join(text(part, width) for part in [*lines, line])


def number(value: float | None, digits: int = 6) -> str:
    """A value in few characters, with `digits` significant digits; a dash for none, NaN and infinity."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"
