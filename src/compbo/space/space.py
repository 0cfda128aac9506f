"""Space: named parameters <-> points of the unit cube."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compbo.html_table import html_table
from compbo.space import convert
from compbo.space.codecs import codecs, width
from compbo.space.parameters import Categorical
from compbo.space.points import all_points, checked_parameter, checked_point, quoted
from compbo.types import DTYPE
from compbo.words import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from optuna.distributions import BaseDistribution
    from torch import Generator, Tensor

    from compbo.space.parameters import Parameter, Scalar
    from compbo.space.points import Point


class Space:
    """A search space: named parameters, and the way between their values and the unit cube.

    A parameter takes one dimension, a Categorical one per choice, a constant none.

    The way there and back is exact: `from_unit(to_unit([p])) == [p]` for every point that the space makes, and
    for floats of up to 12 significant digits. A coordinate is one double, and values closer than about 1e-16 of the
    range have the same; `from_unit` returns the shortest decimal among them. (Near zero inside a linear or bilog range,
    digits beyond that resolution are lost: Float(-1e6, 1e6) tells 1e-9 from 0, but not 1.01e-9 from 1e-9.)

    Args:
        parameters: a mapping of names to parameters (`Float`, `Int`, `Bool`, `Categorical`, `Ordinal`, `Constant`); a
            plain value is a constant.

    Raises:
        ValueError: with the name of the parameter, if it cannot be part of a space.

    >>> from compbo import Categorical, Float, Int, Space
    >>> space = Space({"lr": Float(1e-4, 1.0, scale="log"), "depth": Int(1, 5), "kind": Categorical("a b".split())})
    >>> space.names, space.dim
    (('lr', 'depth', 'kind'), 4)
    >>> space.to_unit([{"lr": 0.01, "depth": 5, "kind": "b"}]).tolist()
    [[0.5, 1.0, 0.0, 1.0]]
    """

    def __init__(self, parameters: Mapping[str, Parameter | Scalar]) -> None:
        if not isinstance(parameters, Mapping):
            raise ValueError(f"A space is made of a mapping of names to parameters, got {type(parameters).__name__}.")
        checked = {name: checked_parameter(name, parameter) for name, parameter in parameters.items()}
        if not checked:
            raise ValueError("The space is empty: give it at least one parameter.")
        self._parameters = MappingProxyType(checked)
        self._dim = sum(width(parameter) for parameter in checked.values())
        if self._dim == 0:
            raise ValueError(f"There is nothing to optimise: {quoted(checked)} can only take one value.")
        self._codecs = codecs(checked)
        self._rounding = [codec for codec in self._codecs if codec.discrete]
        self._rounded = torch.zeros(self._dim, dtype=torch.bool)  # which columns
        for codec in self._rounding:
            self._rounded[codec.columns] = True

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters by name, in order; read-only."""
        return self._parameters

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, constants included."""
        return tuple(self._parameters)

    @property
    def dim(self) -> int:
        """Number d of dimensions of the unit cube."""
        return self._dim

    @property
    def is_discrete(self) -> bool:
        """Whether some dimension is rounded."""
        return bool(self._rounding)

    @property
    def size(self) -> int | None:
        """Number of different points; None if there are infinitely many."""
        counts = [None if p.levels is None else len(p.levels) for p in self._parameters.values()]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    @property
    def graded_columns(self) -> tuple[int, ...]:
        """The columns in which there is a more and a less, with values in between: no choices, nothing of two levels.

        >>> from compbo import Bool, Categorical, Float, Int, Space
        >>> Space({"kind": Categorical(["a", "b"]), "flag": Bool(), "n": Int(1, 9), "x": Float(0, 1)}).graded_columns
        (3, 4)
        """
        found, first = [], 0
        for parameter in self._parameters.values():
            levels = parameter.levels
            if not isinstance(parameter, Categorical) and (levels is None or len(levels) > 2):
                found.append(first)  # neither is a constant
            first += width(parameter)
        return tuple(found)

    @property
    def choice_columns(self) -> tuple[int, ...]:
        """The columns of choices, and of parameters with two levels.

        >>> from compbo import Bool, Categorical, Float, Int, Space
        >>> Space({"kind": Categorical(["a", "b"]), "flag": Bool(), "n": Int(1, 9), "x": Float(0, 1)}).choice_columns
        (0, 1, 2)
        """
        graded = set(self.graded_columns)
        return tuple(column for column in range(self.dim) if column not in graded)

    # Points

    def validate(self, point: Mapping[str, Any]) -> Point:
        """The point in plain Python scalars; ValueError if it is not a point of this space, with what is wrong.

        Constants may be left out; they are filled in.
        """
        return checked_point(self._parameters, point)

    def to_unit(self, points: Sequence[Mapping[str, Any]]) -> Tensor:
        """Points -> unit cube (n, d); every point is validated."""
        valid = [self.validate(point) for point in points]
        unit = np.zeros((len(valid), self._dim))
        for codec in self._codecs:
            unit[:, codec.columns] = codec.encode(valid)
        return torch.from_numpy(unit)

    def from_unit(self, x: Tensor) -> list[Point]:
        """Unit cube (n, d) -> points, rounded, in plain Python scalars, constants filled in."""
        if x.ndim != 2 or x.shape[1] != self._dim:
            raise ValueError(f"Expected unit points of shape (n, {self._dim}), got {tuple(x.shape)}.")
        unit = x.detach().cpu().numpy().astype(np.float64)
        if not np.isfinite(unit).all():
            raise ValueError("Unit points must be finite.")
        columns: dict[str, list[Scalar]] = {}
        for codec in self._codecs:
            columns.update(zip(codec.names, codec.decode(unit.take(codec.columns, axis=-1)), strict=True))
        constants = {name: p.levels[0] for name, p in self._parameters.items() if p.is_constant and p.levels}
        return [
            {name: constants[name] if name in constants else columns[name][row] for name in self._parameters}
            for row in range(len(unit))
        ]

    def round_unit(self, x: Tensor) -> Tensor:
        """The nearest points to x (..., d) that can be suggested: levels, choices, steps are rounded, floats stay."""
        if x.shape[-1] != self._dim:
            raise ValueError(f"Expected unit points of shape (..., {self._dim}), got {tuple(x.shape)}.")
        if not self._rounding:
            return x
        unit = x.detach().cpu().numpy()
        snapped = unit.copy()
        for codec in self._rounding:
            snapped[..., codec.columns] = codec.round(unit.take(codec.columns, axis=-1))
        rounded = torch.from_numpy(snapped).to(x.device)
        if x.requires_grad:  # floats keep their gradient
            return torch.where(self._rounded.to(x.device), rounded, x)
        return rounded

    def neighbours(self, x: Tensor) -> Tensor:
        """Points (m, d) one step from x (d,): one parameter that is rounded is one level up or down, or another choice.

        >>> from compbo import Categorical, Float, Int, Space
        >>> space = Space({"n": Int(0, 2), "c": Categorical(["a", "b"]), "x": Float(0, 1)})
        >>> [x] = space.to_unit([{"n": 1, "c": "a", "x": 0.5}])
        >>> [list(point.values()) for point in space.from_unit(space.neighbours(x))]
        [[2, 'a', 0.5], [0, 'a', 0.5], [1, 'b', 0.5]]
        """
        unit = x.detach().cpu().numpy()
        near = [x.new_empty(0, self._dim)]
        for codec in self._rounding:
            moved = codec.neighbours(unit.take(codec.columns))
            points = x.repeat(len(moved), 1)
            points[:, torch.from_numpy(codec.columns)] = torch.from_numpy(moved)
            near.append(points)
        return torch.cat(near)

    def rounded_columns(self) -> Tensor:
        """Which of the rounded parameters each column belongs to, counted from 0: (d,); -1 where it is not rounded.

        >>> from compbo import Bool, Categorical, Float, Space
        >>> Space({"x": Float(0, 1), "c": Categorical(["a", "b"]), "on": Bool()}).rounded_columns().tolist()
        [-1, 0, 0, 1]
        """
        numbers = torch.full((self._dim,), -1)
        first, count = 0, 0
        for parameter in self._parameters.values():
            columns = slice(first, first + width(parameter))
            if width(parameter) > 0 and bool(self._rounded[columns].any()):
                numbers[columns] = count
                count += 1
            first = columns.stop
        return numbers

    def rounder(self) -> Callable[[Tensor], Tensor] | None:
        """`round_unit`, which can be pickled; None if no dimension is rounded."""
        return self.round_unit if self.is_discrete else None

    def sample_unit(self, shape_prefix: tuple[int, ...], generator: Generator) -> Tensor:
        """Uniform points of the unit cube (*shape_prefix, d), not rounded."""
        return torch.rand(*shape_prefix, self._dim, generator=generator, dtype=DTYPE)

    def sample(self, n: int, generator: Generator) -> list[Point]:
        """n points, uniform in the unit cube; everything random comes from the generator.

        Choices, and levels on a linear scale, are equally likely. On another scale the probability of an integer k is
        the width of [k - 1/2, k + 1/2] on that scale, cut at the bounds.
        """
        if n < 0:
            raise ValueError(f"The number of points to sample must not be negative, got {n}.")
        return self.from_unit(self.sample_unit((n,), generator))

    def grid(self) -> Iterator[Point]:
        """All points of a finite space, one at a time, the last parameter moving fastest.

        >>> from compbo import Bool, Int, Space
        >>> [list(point.values()) for point in Space({"n": Int(1, 2), "flag": Bool()}).grid()]
        [[1, False], [1, True], [2, False], [2, True]]
        """
        return all_points(self._parameters)

    # Other notations

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """One table per parameter, as in TOML."""
        return {name: parameter.to_dict() for name, parameter in self._parameters.items()}

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Space:
        """The space that `to_dict` wrote."""
        return cls(convert.from_tables(tables))

    def to_json(self) -> str:
        """The space as JSON; the order of the parameters is part of it."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Space:
        """The space that `to_json` wrote."""
        try:
            tables = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"The space is not valid JSON: {error}.") from error
        return cls.from_dict(tables)

    @classmethod
    def from_toml(cls, text: str) -> Space:
        """A space from TOML text, one table per parameter: `[lr]`, `type = "float"`, `low`, `high`, `scale`.

        Types: float (low, high, scale, step, digits), int (low, high, scale), bool, categorical (choices), ordinal
        (values), constant (value). A plain value instead of a table, `epochs = 10`, is a constant too.
        """
        try:
            return cls._from_toml(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"The space is not valid TOML (to read a file, use from_toml_file): {error}.") from error

    @classmethod
    def from_toml_file(cls, path: str | os.PathLike[str]) -> Space:
        """A space from a TOML file; see `from_toml`."""
        try:
            return cls._from_toml(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not a text file in UTF-8, as TOML has to be.") from error
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not valid TOML: {error}.") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def _from_toml(cls, text: str) -> Space:
        return cls.from_dict(tomllib.loads(text))

    @classmethod
    def from_optuna(cls, distributions: Mapping[str, BaseDistribution]) -> Space:
        """A space from Optuna's distributions; integers with a step become an Ordinal of them."""
        return cls(convert.from_optuna(distributions))

    def to_optuna(self) -> dict[str, BaseDistribution]:
        """Optuna distributions that accept every point that this space suggests."""
        return convert.to_optuna(self._parameters)

    @classmethod
    def from_api_config(cls, api_config: Mapping[str, Mapping[str, Any]]) -> Space:
        """A space from Bayesmark's api_config."""
        return cls(convert.from_api_config(api_config))

    # Two spaces are equal if their JSON is: 1, 1.0 and True differ

    def digest(self) -> str:
        """A hash of the parameters in their order, the same on every machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Space) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"Space({dict(self._parameters)})"

    def _repr_html_(self) -> str:
        rows = []
        for name, parameter in self._parameters.items():
            table = parameter.to_dict()
            rows.append((name, table.pop("type"), ", ".join(f"{key} {value}" for key, value in table.items())))
        title = f"Space: {counted(len(rows), 'parameter')}, {counted(self._dim, 'dimension')}"
        return html_table(title, rows, ("name", "type", "values"))

    def __reduce__(self) -> tuple[type[Space], tuple[dict[str, Parameter]]]:
        return Space, (dict(self._parameters),)
