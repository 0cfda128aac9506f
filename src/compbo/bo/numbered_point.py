"""A point that carries the number of its trial: what `ask` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class NumberedPoint(dict[str, Any]):
    """A dictionary of parameter values, and the number of the trial that it belongs to.

    `Optimizer.ask` returns them, and they can be used as any other dictionary. A point that was set a little
    differently is told under its number with the values that were really used:

    >>> import compbo
    >>> optimizer = compbo.Optimizer({"celsius": compbo.Float(20, 90), "ph": compbo.Float(4, 9)})
    >>> (point,) = optimizer.ask(1)
    >>> point["celsius"] = 61.5
    >>> optimizer.tell(point, 0.83)
    >>> optimizer.evaluations[0].number, optimizer.evaluations[0].params["celsius"], optimizer.pending
    (0, 61.5, [])

    Args:
        params: the values by name. Under the number of a pending point, those that are left out are as suggested.
        number: of the trial; None: it has none yet.

    Attributes:
        number: of the trial.
    """

    def __init__(self, params: Mapping[str, Any], number: int | None = None) -> None:
        super().__init__(params)
        self.number = number

    def copy(self) -> NumberedPoint:
        """A point of the caller's own with the same number."""
        return NumberedPoint(self, self.number)

    def __or__(self, values: Any) -> Any:
        return NumberedPoint({**self, **values}, self.number)


def number_of(point: Mapping[str, Any]) -> int | None:
    """The number that a point carries, if it carries one."""
    return point.number if isinstance(point, NumberedPoint) else None
