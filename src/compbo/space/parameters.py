"""What a parameter is, and the kinds with listed values.

Parameters are plain records: the `Space` that holds one checks it, and names it if it is wrong.
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
    """The Python scalar behind a NumPy one; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _as_tuple(items: Any) -> Any:
    """A tuple of plain scalars.

    Left for `check` to refuse: a string, rarely meant as a list of letters, and a set, in another order every time.
    """
    if isinstance(items, str | Set) or not hasattr(items, "__iter__"):
        return items
    return tuple(plain(item) for item in items)


class Parameter(ABC):
    """One named dimension of a search space. `kind` is its type in JSON and TOML."""

    kind: ClassVar[str]

    @abstractmethod
    def check(self) -> None:
        """Raise ValueError if the definition makes no sense."""

    @abstractmethod
    def validate(self, value: Any) -> Scalar:
        """The value as a plain Python scalar, or ValueError if it is not one of this parameter's."""

    @property
    @abstractmethod
    def levels(self) -> Sequence[Scalar] | None:
        """All possible values in order, or None for a continuum."""

    @property
    def is_constant(self) -> bool:
        """Whether there is only one possible value, so that no dimension is needed."""
        return self.levels is not None and len(self.levels) == 1

    def to_dict(self) -> dict[str, Any]:
        """The table of this parameter in JSON and TOML."""
        items = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {"type": self.kind} | {key: list(item) if isinstance(item, tuple) else item for key, item in items}


@dataclass(frozen=True)
class Bool(Parameter):
    """True or False, in one dimension."""

    kind: ClassVar[str] = "bool"

    def check(self) -> None:
        """Nothing can be wrong with it."""

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
    """What Categorical and Ordinal share: a list of scalars under the field `listed`."""

    listed: ClassVar[str]

    def __post_init__(self) -> None:
        """Take any list of scalars as a tuple."""
        object.__setattr__(self, self.listed, _as_tuple(self.levels))

    @property
    def levels(self) -> Sequence[Scalar]:
        """The values in the order given."""
        return getattr(self, self.listed)  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise ValueError for an empty list, repeated or unusable values."""
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
        """The place of a value in the list, or ValueError; True is not taken for 1."""
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
    """One of several choices without an order (None, bools, numbers or strings), one dimension per choice."""

    kind: ClassVar[str] = "categorical"
    listed: ClassVar[str] = "choices"

    choices: Sequence[Scalar]


@dataclass(frozen=True)
class Ordinal(_Listed):
    """One of several values in the order listed, evenly spaced in one dimension."""

    kind: ClassVar[str] = "ordinal"
    listed: ClassVar[str] = "values"

    values: Sequence[Scalar]


@dataclass(frozen=True)
class Constant(Parameter):
    """A value that is passed on with every point and takes no dimension."""

    kind: ClassVar[str] = "constant"

    value: Scalar

    def __post_init__(self) -> None:
        """Take a NumPy scalar as a plain one."""
        object.__setattr__(self, "value", plain(self.value))

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
    """Raise ValueError for what JSON, TOML and Optuna cannot all hold."""
    if not isinstance(value, Scalar):
        raise ValueError(f"{value!r} is a {type(value).__name__}, not None, a bool, a number or a string")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not finite")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{value!r} is not text that a file can hold: it has half of a surrogate pair")


def _enumerate(values: Sequence[Scalar], most: int = 8) -> str:
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, ... ({len(values)} values)"
