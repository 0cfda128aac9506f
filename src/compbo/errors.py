"""Errors that carry the names of options as data, so that every interface can write them in its own way.

The library raises `OptionError("timeout", "{option} must be positive, got {given}.", given=-1)`. In Python the message
begins with `timeout`, on the command line with `--timeout`; no code searches in the text of a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Style = Callable[[str, str], str]  # option, its value or "" -> how a reader of the message writes them


def python_style(option: str, value: str) -> str:
    """An option as Python writes it: `timeout`, or `timeout=3` with the value 3."""
    return f"{option}={value}" if value else option


class CompboError(Exception):
    """An error whose message names options.

    Args:
        template: text for `str.format`. A field is one of `values`; any other field, like `{max_failures}`, is an
            option. `{max_failures:{limit}}` is the option together with a value.
        values: what the other fields stand for.

    >>> error = CompboError("{failed} failed, more than {max_failures:{limit}}", failed="3 evaluations", limit=2)
    >>> str(error)
    '3 evaluations failed, more than max_failures=2'
    >>> error.text(lambda option, value: f"--{option} {value}")
    '3 evaluations failed, more than --max_failures 2'
    """

    def __init__(self, template: str, /, **values: Any) -> None:
        super().__init__(template)
        self.template = template
        self.values = values

    def text(self, style: Style = python_style) -> str:
        """The message, with every option written by `style(option, value)`; value is "" where there is none."""
        return self.template.format_map(_Fields(self.values, style))

    def __str__(self) -> str:
        return self.text()


class OptionError(CompboError, ValueError):
    """An option has a value that it does not take.

    Args:
        option: the name of the option in Python.
        template: as for `CompboError`; `{option}` stands for the option.
        note: what else is possible from Python, in a sentence that the traceback shows under the message.
        values: what the other fields of the template stand for.

    >>> error = OptionError("workers", "{option} must be at least {least}.", least=1)
    >>> error.option, str(error)
    ('workers', 'workers must be at least 1.')
    """

    def __init__(self, option: str, template: str, /, *, note: str = "", **values: Any) -> None:
        super().__init__(template, **values)
        if note:
            self.add_note(note)
        self.args = (option, template)  # what pickle makes the error from again; the rest is in its attributes
        self.option = option

    def text(self, style: Style = python_style) -> str:
        """The message, with every option written by `style(option, value)`."""
        return self.template.format_map(_Fields({**self.values, "option": _Option(self.option, style)}, style))


class NoRunError(ValueError):
    """There is no run where one was looked for."""


class InUseError(CompboError, RuntimeError):
    """Another process works on this run, or on this folder of results."""


class TakenOverError(InUseError):
    """Another process took this run in the same instant, or after this one was silent for too long."""


class _Option:
    """A field of a template that is an option; what follows its colon is a value."""

    def __init__(self, name: str, style: Style) -> None:
        self._name, self._style = name, style

    def __format__(self, value: str) -> str:
        return self._style(self._name, value)


class _Fields(dict[str, Any]):
    """The values of a template; a name that is not among them is an option."""

    def __init__(self, values: dict[str, Any], style: Style) -> None:
        super().__init__(values)
        self._style = style

    def __missing__(self, name: str) -> _Option:
        return _Option(name, self._style)
