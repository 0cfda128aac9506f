"""What a parameter is, and the kinds whose values are listed: Bool, Categorical, Ordinal, Constant.

A parameter is plain data, checked where it is written. What reads parameters from a file knows their names, and says
them in the error (`DefinitionError.of`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Scalar = bool | int | float | str | None


def plain(value: Any) -> Any:
    """The Python scalar of a value that is a NumPy scalar; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _as_tuple(items: Any) -> Any:
    """A tuple of plain scalars; what is not a list stays as it is, for `check` to refuse.

    A string is refused too (it is rarely meant as a list of letters), and a set, whose order changes every time.
    """
    if isinstance(items, str | Set) or not hasattr(items, "__iter__"):
        return items
    return tuple(plain(item) for item in items)


class DefinitionError(ValueError):
    """A parameter cannot be as it was written.

    Args:
        kind: the name of its class.
        problem: what is wrong, without the name of the parameter and without a full stop.

    >>> error = DefinitionError("Float", "low 1.0 is above high 0.0")
    >>> str(error), str(error.of("lr"))
    ('Float: low 1.0 is above high 0.0.', 'Parameter "lr": low 1.0 is above high 0.0.')
    """

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}.")
        self.args = (kind, problem)  # what pickle makes the error from again
        self.kind, self.problem = kind, problem

    def of(self, name: str) -> ValueError:
        """The same about the parameter of that name."""
        return ValueError(f'Parameter "{name}": {self.problem}.')

    def __str__(self) -> str:
        return f"{self.kind}: {self.problem}."


class Parameter(ABC):
    """What all parameters of a search space have in common. `kind` is the name of the type in JSON and TOML."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse, where it is written, what cannot be a parameter."""
        try:
            self.check()
        except DefinitionError:
            raise
        except ValueError as error:
            raise DefinitionError(type(self).__name__, str(error)) from None

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if the parameter cannot exist: empty lists, bounds in the wrong order."""

    @abstractmethod
    def validate(self, value: Any) -> Scalar:
        """The value as a plain Python scalar; ValueError if the parameter cannot take it."""

    @property
    @abstractmethod
    def levels(self) -> Sequence[Scalar] | None:
        """All possible values in order; None if there are infinitely many."""

    @property
    def is_constant(self) -> bool:
        """Whether there is only one possible value; then the parameter takes no dimension."""
        return self.levels is not None and len(self.levels) == 1

    def to_dict(self) -> dict[str, Any]:
        """The table of this parameter in JSON and TOML."""
        table: dict[str, Any] = {"type": self.kind}
        for field in fields(self):  # type: ignore[arg-type]
            item = getattr(self, field.name)
            if item is not None or field.default is not None:  # None where it is the default says nothing
                table[field.name] = list(item) if isinstance(item, tuple) else item
        return table


@dataclass(frozen=True)
class Bool(Parameter):
    """True or False, in one dimension.

    >>> import compbo
    >>> compbo.Space({"bootstrap": compbo.Bool()}).size
    2
    """

    kind: ClassVar[str] = "bool"

    def check(self) -> None:
        """Nothing to check."""

    def validate(self, value: Any) -> bool:
        """The value as a bool, or ValueError."""
        flag = plain(value)
        if not isinstance(flag, bool):
            raise ValueError(f"{value!r} is not True or False")
        return flag

    @property
    def levels(self) -> Sequence[bool]:
        """False, True."""
        return (False, True)


class _Listed(Parameter):
    """What Categorical and Ordinal have in common: a list of scalars, in the field that `listed` names."""

    listed: ClassVar[str]

    def __post_init__(self) -> None:
        """Take any list of scalars as a tuple."""
        object.__setattr__(self, self.listed, _as_tuple(self.levels))
        super().__post_init__()

    @property
    def levels(self) -> Sequence[Scalar]:
        """The values in the order given."""
        return getattr(self, self.listed)  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise ValueError for an empty list, or for values that are repeated or cannot be stored."""
        if not isinstance(self.levels, tuple):
            raise ValueError(f"{self.listed} must be a list, got {self.levels!r}")
        if not self.levels:
            raise ValueError(f"{self.listed} must not be empty")
        seen: dict[Scalar, Scalar] = {}
        for value in self.levels:
            check_scalar(value)
            if value in seen:  # 1, 1.0 and True are equal in Python
                raise ValueError(f"{self.listed} must not repeat, but {seen[value]!r} equals {value!r}")
            seen[value] = value

    def validate(self, value: Any) -> Scalar:
        """The listed value equal to this one, or ValueError."""
        return self.levels[self.index(value)]

    def index(self, value: Any) -> int:
        """The place of a value in the list; ValueError if it is not there. True is not taken for 1."""
        value = plain(value)
        index = self._places.get(value) if isinstance(value, Scalar) else None
        if index is None or isinstance(value, bool) != isinstance(self.levels[index], bool):
            raise ValueError(f"{value!r} is not one of {_enumerate(self.levels)}")
        return index

    @cached_property
    def _places(self) -> dict[Scalar, int]:
        return {value: place for place, value in enumerate(self.levels)}


@dataclass(frozen=True)
class Categorical(_Listed):
    """One of several choices that have no order, in one dimension per choice.

    Args:
        choices: a list of None, bools, numbers or strings, each once.

    >>> import compbo
    >>> compbo.Space({"kernel": compbo.Categorical(["rbf", "poly", None])}).dim
    3
    """

    kind: ClassVar[str] = "categorical"
    listed: ClassVar[str] = "choices"

    choices: Sequence[Scalar]


@dataclass(frozen=True)
class Ordinal(_Listed):
    """One of several values that have an order, evenly spaced in one dimension.

    Args:
        values: a list of numbers, strings, bools or None, each once, in their order.

    >>> import compbo
    >>> compbo.Space({"size": compbo.Ordinal([16, 64, 256])}).to_unit([{"size": 64}]).tolist()
    [[0.5]]
    """

    kind: ClassVar[str] = "ordinal"
    listed: ClassVar[str] = "values"

    values: Sequence[Scalar]


@dataclass(frozen=True)
class Constant(Parameter):
    """A value that is part of every point and takes no dimension. A plain value in a `Space` means the same.

    Args:
        value: a number, a string, a bool or None.

    >>> import compbo
    >>> space = compbo.Space({"x": compbo.Float(0, 1), "epochs": compbo.Constant(10)})
    >>> space.dim, space.validate({"x": 0.5})
    (1, {'x': 0.5, 'epochs': 10})
    """

    kind: ClassVar[str] = "constant"

    value: Scalar

    def __post_init__(self) -> None:
        """Take a NumPy scalar as a plain one."""
        object.__setattr__(self, "value", plain(self.value))
        super().__post_init__()

    def check(self) -> None:
        """Raise ValueError for a value that cannot be stored."""
        check_scalar(self.value)

    def validate(self, value: Any) -> Scalar:
        """The constant, or ValueError for any other value."""
        return Categorical((self.value,)).validate(value)

    @property
    def levels(self) -> Sequence[Scalar]:
        """The one value."""
        return (self.value,)


def check_scalar(value: object) -> None:
    """Raise ValueError for a value that JSON, TOML or Optuna cannot store."""
    if not isinstance(value, Scalar):
        raise ValueError(f"{value!r} is a {type(value).__name__}, not None, a bool, a number or a string")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not finite")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{value!r} is not text that a file can hold: it has half of a surrogate pair")


def _enumerate(values: Sequence[Scalar], most: int = 8) -> str:
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, ... ({len(values)} values)"
