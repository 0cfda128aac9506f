"""Small words for messages: numbers with their nouns, lists, and names that were probably meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_SUGGESTIONS = 3
LEAST_SIMILARITY = 0.4  # of 1, as difflib measures it
NAMES_LISTED = 40  # at most, in a message that lists what is known


def counted(number: int, noun: str) -> str:
    """The number with its noun.

    >>> counted(1, "evaluation"), counted(2, "evaluation")
    ('1 evaluation', '2 evaluations')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def either(names: Sequence[str]) -> str:
    """The names as alternatives.

    >>> either(["a"]), either(["a", "b"]), either(["a", "b", "c"])
    ('a', 'a or b', 'a, b or c')
    """
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def did_you_mean(name: object, known: Iterable[str], similarity: float = LEAST_SIMILARITY) -> str:
    """A question that offers the known names nearest to `name`, the nearest first; "" if none is near.

    Upper and lower case are the same here. similarity: from which on, of 1, a name is near.

    >>> did_you_mean("cadamm", ["Adam", "CAdam", "SGA"])
    'did you mean CAdam or Adam?'
    >>> did_you_mean("furnace", ["Adam", "CAdam", "SGA"])
    ''
    """
    spelled = {other.lower(): other for other in known}
    near = difflib.get_close_matches(str(name).lower(), spelled, n=MOST_SUGGESTIONS, cutoff=similarity)
    return f"did you mean {either([spelled[other] for other in near])}?" if near else ""


def meant_or_known(name: object, known: Iterable[str], otherwise: str = "choose one of") -> str:
    """The end of a message about an unknown name: the known names that are near, or else all of them.

    otherwise: the words before all of them.

    >>> meant_or_known("cadamm", ["CAdam", "SGA"]), meant_or_known("furnace", ["CAdam", "SGA"])
    ('did you mean CAdam?', 'choose one of CAdam, SGA.')
    """
    names = list(known)
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    return did_you_mean(name, names) or f"{otherwise} {', '.join(names[:NAMES_LISTED])}{more}."
