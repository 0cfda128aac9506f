"""Small words of messages: numbers with their nouns, names that resemble a wrong one."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES_SHOWN = 40  # in a message that lists all known names


def counted(number: int, noun: str) -> str:
    """`1 evaluation`, `2 evaluations`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "choose one of") -> str:
    """The end of a message about an unknown name: the known names that resemble it, or else what is known.

    >>> did_you_mean("adam", ["Adam", "SGA"])
    'did you mean Adam?'
    >>> did_you_mean("???", ["Adam", "SGA"])
    'choose one of Adam, SGA.'
    """
    names = list(known)
    spelled = {other.lower(): other for other in names}
    found = [spelled[match] for match in difflib.get_close_matches(str(name).lower(), spelled, n=5, cutoff=0.4)]
    if found:
        return f"did you mean {', '.join(found)}?"
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"{otherwise} {', '.join(names[:NAMES_SHOWN])}{more}."
