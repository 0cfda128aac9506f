"""What a space takes and gives: parameters and points, checked by name, and all points of a finite space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compbo.space.parameters import Constant, DefinitionError, Parameter, Scalar, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

Point = dict[str, Any]


def checked_parameter(name: object, parameter: object) -> Parameter:
    """The parameter, or a plain value as a Constant; ValueError, with the name, if it cannot be one."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"The name of a parameter must be a string that is not empty, got {name!r}.")
    if not isinstance(parameter, Parameter):
        value = plain(parameter)
        if not isinstance(value, Scalar):
            raise ValueError(
                f'Parameter "{name}": {parameter!r} is neither a parameter (Float, Int, Bool, Categorical, Ordinal) '
                f"nor a constant; a range is written as Float(0, 1) or Int(1, 9), a choice as Categorical([...])."
            )
        try:
            parameter = Constant(value)
        except DefinitionError as error:
            raise error.of(name) from None
    return parameter


def checked_point(parameters: Mapping[str, Parameter], point: object) -> Point:
    """The point in plain Python scalars, constants filled in; ValueError that names the wrong parameter."""
    if not isinstance(point, Mapping):
        raise ValueError(f"A point must be a mapping of names to values, got {type(point).__name__}.")
    for name in point:
        if name not in parameters:
            raise ValueError(f'Unknown parameter "{name}": the space has {quoted(parameters)}.')
    return {name: _value(name, parameter, point) for name, parameter in parameters.items()}


def _value(name: str, parameter: Parameter, point: Mapping[str, Any]) -> Scalar:
    if name not in point:
        if parameter.is_constant and parameter.levels:
            return parameter.levels[0]
        raise ValueError(f'Parameter "{name}" is missing.')
    try:
        return parameter.validate(point[name])
    except ValueError as error:
        raise ValueError(f'Parameter "{name}": {error}.') from error


def all_points(parameters: Mapping[str, Parameter]) -> Iterator[Point]:
    """All points of a finite space, one at a time, the last parameter moving fastest; ValueError if it is infinite."""
    for name, parameter in parameters.items():
        if parameter.levels is None:
            raise ValueError(f'Parameter "{name}" is a continuum: only a finite space has a grid.')
    return _products(parameters)


def _products(parameters: Mapping[str, Parameter]) -> Iterator[Point]:
    """Like itertools.product, which would first copy a range of 10^15 integers."""
    levels = {name: parameter.levels or () for name, parameter in parameters.items()}
    for number in range(math.prod(len(values) for values in levels.values())):
        rest, places = number, []
        for values in reversed(levels.values()):
            rest, place = divmod(rest, len(values))
            places.append(place)
        yield {name: values[place] for (name, values), place in zip(levels.items(), reversed(places), strict=True)}


def quoted(names: Mapping[str, object]) -> str:
    """The names, each in quotation marks."""
    return ", ".join(f'"{name}"' for name in names)
