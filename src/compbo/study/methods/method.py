"""What a method is: it is asked for points, told their losses, and says what its last ask looked like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compbo.study.cell import Cell, InnerSpec, SurrogateSpec

Point = dict[str, Any]


class Method(Protocol):
    """One run of one method; losses are minimised.

    >>> from compbo.study.cell import Cell, MethodSpec
    >>> from compbo.study.methods.registry import make_method
    >>> from compbo.study.tasks import get_task
    >>> cell = Cell("levy-2", 2, MethodSpec("random-search"), seed=0, batch=4, steps=1, initial=1)
    >>> method = make_method(cell, get_task("levy-2"))
    >>> method.tell([{"x1": 1.0, "x2": 2.0}], [0.3])
    >>> len(method.ask(4)), method.last_ask
    (4, {})
    """

    def ask(self, count: int) -> list[Point]:
        """Suggest points.

        Args:
            count: how many.

        Returns:
            The points, each a dictionary of parameters.
        """
        ...

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses.

        Args:
            points: that were evaluated, asked for or not.
            losses: one for each; None is a failed evaluation.
        """
        ...

    @property
    def last_ask(self) -> Mapping[str, Any]:
        """What the method knows of its last ask, by the names of the fields of `compbo.Telemetry`."""
        ...


def required_surrogate(cell: Cell) -> SurrogateSpec:
    """How the method of a cell fits its model.

    Args:
        cell: of a method that has a model.

    Returns:
        Its surrogate; ValueError if the cell does not say.

    >>> from compbo.study.cell import Cell, MethodSpec, SurrogateSpec
    >>> cell = Cell("levy-2", 2, MethodSpec("thompson-weight"), 0, 4, 1, 1, surrogate=SurrogateSpec())
    >>> required_surrogate(cell).kernel
    'matern52'
    """
    if cell.surrogate is None:
        raise ValueError(f"Cell {cell.name}: {cell.method.kind} fits a model; give the cell a `surrogate`.")
    return cell.surrogate


def required_inner(cell: Cell) -> InnerSpec:
    """What the method of a cell may spend on a maximisation.

    Args:
        cell: of a method that maximises something.

    Returns:
        Its inner budget; ValueError if the cell does not say.

    >>> from compbo.study.cell import Cell, MethodSpec
    >>> required_inner(Cell("levy-2", 2, MethodSpec("botorch-qlogei"), 0, 4, 1, 1))
    Traceback (most recent call last):
    ValueError: Cell levy-2/botorch-qlogei/seed0: botorch-qlogei maximises a function; give the cell an `inner`.
    """
    if cell.inner is None:
        raise ValueError(f"Cell {cell.name}: {cell.method.kind} maximises a function; give the cell an `inner`.")
    return cell.inner
