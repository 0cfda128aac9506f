"""The parameters of a space as plain numbers, for a peer in another environment that does not know compbo.

A real variable is the coordinate in the unit cube: the scale (log, logit) has been applied. An integer is the number,
or the place in an ordered list. A choice is its place in the list of choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from compbo.space import Bool, Categorical, Float, Int, Ordinal, Space
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.space import Parameter


@dataclass(frozen=True)
class Variable:
    """One parameter as a number.

    Args:
        name: of the parameter.
        parameter: itself.
        type: real, integer or choice.
        low: the smallest number.
        high: the largest.
        log: whether integers are spread evenly on a log scale.
    """

    name: str
    parameter: Parameter
    type: str
    low: int = 0
    high: int = 1
    log: bool = False

    def description(self) -> dict[str, Any]:
        """What the peer is told."""
        return {"name": self.name, "type": self.type, "low": self.low, "high": self.high, "log": self.log}

    def number(self, value: Any) -> float | int:
        """The number of a value of the parameter."""
        if self.type == "real":
            return float(Space({self.name: self.parameter}).to_unit([{self.name: value}])[0, 0])
        return value if isinstance(self.parameter, Int) else _levels(self.parameter).index(value)

    def value(self, number: float) -> Any:
        """The value of a number, which is rounded and kept within the bounds."""
        if self.type == "real":
            unit = torch.tensor([[min(max(float(number), 0.0), 1.0)]], dtype=DTYPE)
            return Space({self.name: self.parameter}).from_unit(unit)[0][self.name]
        whole = min(max(round(number), self.low), self.high)
        return whole if isinstance(self.parameter, Int) else _levels(self.parameter)[whole]


def _levels(parameter: Parameter) -> list[Any]:
    return list(parameter.levels or ())


def variables_of(space: Space) -> list[Variable]:
    """The parameters of a space that are not constant, in order."""
    return [_variable(name, parameter) for name, parameter in space.parameters.items() if not parameter.is_constant]


def _variable(name: str, parameter: Parameter) -> Variable:
    if isinstance(parameter, Int) and parameter.scale in ("linear", "log"):
        return Variable(name, parameter, "integer", parameter.low, parameter.high, parameter.scale == "log")
    if isinstance(parameter, Float | Int):
        return Variable(name, parameter, "real")
    if isinstance(parameter, Bool | Categorical | Ordinal):
        kind = "integer" if isinstance(parameter, Ordinal) else "choice"
        return Variable(name, parameter, kind, 0, len(_levels(parameter)) - 1)
    raise ValueError(f'Parameter "{name}": no peer knows {type(parameter).__name__}.')


def to_numbers(variables: Sequence[Variable], points: Sequence[Mapping[str, Any]]) -> list[list[float | int]]:
    """Points as lists of numbers."""
    return [[variable.number(point[variable.name]) for variable in variables] for point in points]


def to_points(space: Space, variables: Sequence[Variable], rows: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """The points of lists of numbers, constants filled in."""
    return [
        space.validate({variable.name: variable.value(number) for variable, number in zip(variables, row, strict=True)})
        for row in rows
    ]
