"""Parts of the user's own: one `register` for maximizers and acquisition functions. Tasks: `compbo.study.tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from compbo.acquisition import registry as acquisitions
from compbo.maximizers import Entry, Maximizer
from compbo.maximizers import register as register_maximizer

if TYPE_CHECKING:
    from collections.abc import Callable

Part = TypeVar("Part", bound="Entry | Callable[..., object]")


def register(part: Part) -> Part:
    """Make a maximizer or an acquisition function known by its name, in everything that takes one.

    Args:
        part: a row of the catalogue (`compbo.maximizers.Entry`), a function with a `form`, or the class of an
            acquisition function: a frozen dataclass. The part carries its name.

    Returns:
        The part, so that `register` is also a decorator. A ValueError if it is none of these, or if the name is taken
        by another.

    >>> from compbo import CATALOGUE
    >>> register(CATALOGUE["RS"]) is CATALOGUE["RS"]  # the same again changes nothing
    True
    """
    if isinstance(part, type):
        acquisitions.register(part)
    elif isinstance(part, Entry) or (callable(part) and not isinstance(part, Maximizer)):
        register_maximizer(part)
    else:
        raise ValueError(
            f"register: an Entry of maximizers, a function with a form or an acquisition class is wanted, got {part!r}."
        )
    return part
