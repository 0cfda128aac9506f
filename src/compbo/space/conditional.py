"""Spaces in which some parameters are there only with certain values of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from compbo.space.codecs import width
from compbo.space.points import checked_point
from compbo.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import Tensor

    from compbo.space.parameters import Parameter, Scalar

    Point = dict[str, Scalar]

_SAME = 1e-9  # two encodings that are nearer are of the same value


class Condition(NamedTuple):
    """`child` is left out where `parent` has one of the values `without`, or is left out too."""

    child: str
    parent: str
    without: tuple[Scalar, ...]


class _Rule(NamedTuple):
    """A condition in columns of the unit cube."""

    child: Tensor
    parent: Tensor
    without: Tensor  # encodings of the parent's values, (values, columns)


class ConditionalSpace(Space):
    """A space in which a parameter that is left out stands at its middle.

    Points that differ only in parameters that are left out are one point: they round to the same place of the unit
    cube, so a model sees no distance between them, and nothing is spent on exploring what has no effect.

    Args:
        parameters: as in `Space`, all of them.
        conditions: those of a parent come before those of its children.

    >>> from compbo import Categorical, Float
    >>> parameters = {"kind": Categorical(["tree", "net"]), "rate": Float(0, 1)}
    >>> space = ConditionalSpace(parameters, [Condition("rate", "kind", ("tree",))])
    >>> space.validate({"kind": "tree", "rate": 0.9})
    {'kind': 'tree', 'rate': 0.5}
    >>> space.left_out({"kind": "tree"}), space.left_out({"kind": "net"})
    ({'rate'}, set())
    """

    def __init__(self, parameters: Mapping[str, Parameter | Scalar], conditions: Sequence[Condition] = ()) -> None:
        super().__init__(parameters)
        self._conditions = tuple(conditions)
        whole = Space(parameters)
        (self.middle,) = whole.from_unit(torch.full((1, self.dim), 0.5, dtype=torch.float64))
        (self._middle,) = whole.to_unit([self.middle])
        self._rules = [self._rule(condition, whole) for condition in self._conditions]

    def _rule(self, condition: Condition, whole: Space) -> _Rule:
        places: dict[str, Tensor] = {}
        for codec in self._codecs:
            widths = [width(self.parameters[name]) for name in codec.names]
            places |= dict(zip(codec.names, torch.split(torch.from_numpy(codec.columns), widths), strict=True))
        parent = places[condition.parent]
        encoded = whole.to_unit([{**self.middle, condition.parent: value} for value in condition.without])
        return _Rule(places[condition.child], parent, encoded[:, parent])

    def left_out(self, point: Mapping[str, Any]) -> set[str]:
        """The parameters that a point is without.

        Args:
            point: a value for every parameter that is there.

        Returns:
            Their names.
        """
        out: set[str] = set()
        for child, parent, without in self._conditions:
            if parent in out or point.get(parent) in without:
                out.add(child)
        return out

    def filled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with those that are left out at their middle.

        Args:
            params: a value for every parameter that is there.

        Returns:
            The same, and the middle of what is left out in place of its value.
        """
        return {**params, **{name: self.middle[name] for name in self.left_out(params)}}

    def validate(self, point: Mapping[str, Any]) -> Point:
        """As in `Space`, with what is left out at its middle."""
        return checked_point(self.parameters, self.filled(point))

    def round_unit(self, x: Tensor) -> Tensor:
        """As in `Space`, with what is left out at its middle, where it has no gradient."""
        rounded = super().round_unit(x)
        out = torch.zeros(rounded.shape, dtype=torch.bool, device=x.device)
        for rule in self._rules:
            parents = rounded.detach()[..., None, rule.parent]
            without = ((parents - rule.without.to(x)).abs() < _SAME).all(-1).any(-1)
            out[..., rule.child] |= (without | out[..., rule.parent].any(-1))[..., None]
        return torch.where(out, self._middle.to(x), rounded)

    def from_unit(self, x: Tensor) -> list[Point]:
        """As in `Space`, with what is left out at its middle."""
        return [self.validate(point) for point in super().from_unit(x)]

    def grid(self) -> Iterator[Point]:
        """All different points of a finite space."""
        seen = set()
        for point in super().grid():
            key = tuple(self.filled(point).items())
            if key not in seen:
                seen.add(key)
                yield dict(key)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConditionalSpace, (dict(self.parameters), self._conditions)
