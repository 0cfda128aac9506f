"""What a method is: it is asked for points, told their losses, and says what its last ask looked like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.cell import Cell, InnerSpec, SurrogateSpec

Point = dict[str, Any]


class Method(Protocol):
    """One run of one method; losses are minimised."""

    def ask(self, count: int) -> list[Point]:
        """The next `count` points."""
        ...

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report the losses of points; None is a failed evaluation."""
        ...

    @property
    def last_ask(self) -> Mapping[str, Any]:
        """What the method knows of its last ask, by the names of the fields of `compbo.Telemetry`."""
        ...


def required_surrogate(cell: Cell) -> SurrogateSpec:
    """How the method of this cell fits its model; ValueError if the cell does not say."""
    if cell.surrogate is None:
        raise ValueError(f"Cell {cell.name}: {cell.method.kind} fits a model; give the cell a `surrogate`.")
    return cell.surrogate


def required_inner(cell: Cell) -> InnerSpec:
    """What the method of this cell may spend on a maximisation; ValueError if the cell does not say."""
    if cell.inner is None:
        raise ValueError(f"Cell {cell.name}: {cell.method.kind} maximises a function; give the cell an `inner`.")
    return cell.inner
