"""An extension of Griffe: docstrings of the sources as the reference of the site shows them.

Examples begin with >>>, which Markdown would take for a quotation; fields of records are described by comments.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^|(?<=\n\n))(?P<code>>>> .*?)(?=\n\n(?!>>> )|\Z)", re.DOTALL)
PAGE = re.compile(r"\bdocs/(\w+)\.md\b")


def fenced(text: str) -> str:
    r"""A docstring with every example in a fence.

    Args:
        text: the docstring, without the indentation of its source.

    Returns:
        The same; an example ends at an empty line.

    >>> fenced("Adds.\n\n>>> 1 + 1\n2")
    'Adds.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return EXAMPLE.sub(lambda found: f"```pycon\n{found['code'].rstrip()}\n```", text)


def linked(text: str) -> str:
    """A docstring in which the pages of docs/ that it names are links.

    Args:
        text: the docstring.

    Returns:
        The same, for a page that lies in a folder of the site, as those of the reference do.

    >>> linked("a function with a `form` (docs/own_parts.md)")
    'a function with a `form` ([own parts](../own_parts.md))'
    """
    return PAGE.sub(lambda found: f"[{found[1].replace('_', ' ')}](../{found[1]}.md)", text)


def comment_of(lines: list[str]) -> str:
    """What stands behind the sign # in the last line of a field, as a sentence.

    Args:
        lines: the source of one field.

    Returns:
        The comment; nothing if there is none.

    >>> comment_of(["steps: int = 64  # that were made"])
    'That were made.'
    """
    _, sign, comment = lines[-1].partition("  # ") if lines else ("", "", "")
    words = comment.split("noqa")[0].strip().removesuffix(".")
    return f"{words[:1].upper()}{words[1:]}." if sign and words else ""


class ShownDocstrings(griffe.Extension):
    """Examples in fences, pages as links, comments of fields as docstrings, arguments of named tuples as attributes."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of one module, class, function or attribute, if it has one."""
        del kwargs
        if obj.docstring:
            obj.docstring.value = linked(fenced(obj.docstring.value))

    def on_class(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """Rename the arguments of a named tuple, which has no function that takes them in its source."""
        del kwargs
        if cls.docstring and "NamedTuple" in map(str, cls.bases):
            cls.docstring.value = cls.docstring.value.replace("Args:\n", "Attributes:\n")

    def on_attribute(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        """Take the comment behind a field of a class as its docstring."""
        del kwargs
        if attr.parent is not None and attr.parent.is_class and not attr.docstring:
            comment = comment_of(attr.lines)
            if comment:
                attr.docstring = griffe.Docstring(comment, parent=attr)
