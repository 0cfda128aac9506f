"""What users hand in with `tell` and `forget`: every shape that is taken is listed here, anything else refused."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from compbo.bo.numbered_point import number_of
from compbo.evaluation import told_evaluation
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.bo.history import History, Point
    from compbo.evaluation import Evaluation
    from compbo.space import Space


class Named(NamedTuple):
    """A point as it was named: its values (params), and the number of the pending point that it is, if it is one."""

    params: Point
    number: int | None


def told_evaluations(
    space: Space, history: History, points: Any, values: Any, messages: Any = None
) -> list[Evaluation]:
    """Evaluations from one point and its value, or from a list of points and their values; ValueError if any is wrong.

    Args:
        space: where the points must lie.
        history: what is pending.
        points: a mapping of names to values, the number of a pending point, or a list or tuple of them. A mapping that
            carries the number of a pending point is told under that number.
        values: for one point a number, for a list a sequence or an array of one number per point (for a list of one,
            a number will do). None, NaN or infinity is a failed evaluation.
        messages: None, or a list of strings, one per point.
    """
    if isinstance(points, Mapping) or _as_number(points) is not None:
        points, values = [points], [values]
    points = _listed("tell", points)
    results = [values] if _is_single(values) else list(values)
    notes = [""] * len(points) if messages is None else messages
    if not isinstance(notes, (list, tuple)) or not all(isinstance(note, str) for note in notes):
        raise ValueError(f"tell: messages must be a list of strings, one per point, got {messages!r}.")
    for given, noun in ((results, "value"), (notes, "message")):
        if len(given) != len(points):
            raise ValueError(f"tell: {counted(len(points), 'point')} but {counted(len(given), noun)}.")
    named: list[Named] = []
    for point in points:
        found = _named(space, history, point, "tell")
        if found.number in {other.number for other in named} - {None}:
            if not isinstance(point, Mapping):
                raise ValueError(f"tell: trial {found.number} is told twice.")
            found = Named(found.params, None)  # the same point again: another evaluation of it
        named.append(found)
    return [told_evaluation(*point, *result) for point, *result in zip(named, results, notes, strict=True)]


def pending_numbers(space: Space, history: History, points: Any) -> list[int]:
    """The numbers of pending points, each named by its number or as a point; ValueError if one is not pending."""
    single = isinstance(points, Mapping) or _as_number(points) is not None
    found: list[int] = []
    left = history
    for point in _listed("forget", [points] if single else points):
        params, number = _named(space, left, point, "forget")
        same = [number_of(pending) or 0 for pending in left.pending if pending == params]
        if not same:
            raise ValueError(f"forget: {dict(params)} is not pending.")
        found.append(number if number in same else same[0])
        left = left.forgotten(found[-1:])
    return found


def _named(space: Space, history: History, point: Any, caller: str) -> Named:
    """The valid point that is meant; ValueError, in the name of the caller, if there is none."""
    number = _as_number(point)
    if number is not None:
        pending = history.pending_point(number)
        if pending is None:
            raise ValueError(f"{caller}: trial {number} {history.fate(number)}.")
        return Named(dict(pending), number)
    carried = history.pending_point(number_of(point)) if isinstance(point, Mapping) else None
    if carried is not None:
        return Named(space.validate({**carried, **point}), carried.number)
    return Named(space.validate(point), None)


def _as_number(point: Any) -> int | None:
    """A whole number as a plain one; None for anything else."""
    if isinstance(point, bool) or not isinstance(point, numbers.Integral):
        return None
    return int(point)


def _listed(caller: str, points: Any) -> list[Any]:
    if not isinstance(points, (list, tuple)):
        raise ValueError(
            f"{caller}: points must be one dictionary or number, or a list of them, got {type(points).__name__} "
            "(of a DataFrame, pass frame.to_dict('records'))."
        )
    return list(points)


def _is_single(values: Any) -> bool:
    """Whether it is one value and not a sequence of values: a number, None, a string, an array without axes."""
    return isinstance(values, str) or not hasattr(values, "__len__") or getattr(values, "shape", None) == ()
