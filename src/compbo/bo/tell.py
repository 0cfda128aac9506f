"""What users hand in with `tell`, as evaluations: every shape that is taken is listed here, anything else refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from compbo.evaluation import told_evaluation
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.evaluation import Evaluation
    from compbo.space import Space


def told_evaluations(space: Space, points: Any, values: Any, messages: Any = None) -> list[Evaluation]:
    """Evaluations from one point and its value, or from a list of points and their values; ValueError if any is wrong.

    Args:
        space: where the points must lie.
        points: a mapping of names to values, or a list or tuple of them.
        values: for one point a number, for a list a sequence or an array of one number per point (for a list of one,
            a number will do). None, NaN or infinity is a failed evaluation.
        messages: None, or a list of strings, one per point.
    """
    if isinstance(points, Mapping):
        points, values = [points], [values]
    if not isinstance(points, (list, tuple)):
        raise ValueError(
            f"tell: points must be one dictionary or a list of them, got {type(points).__name__} "
            "(of a DataFrame, pass frame.to_dict('records'))."
        )
    results = [values] if _is_single(values) else list(values)
    notes = [""] * len(points) if messages is None else messages
    if not isinstance(notes, (list, tuple)) or not all(isinstance(note, str) for note in notes):
        raise ValueError(f"tell: messages must be a list of strings, one per point, got {messages!r}.")
    for given, noun in ((results, "value"), (notes, "message")):
        if len(given) != len(points):
            raise ValueError(f"tell: {counted(len(points), 'point')} but {counted(len(given), noun)}.")
    valid = [space.validate(point) for point in points]
    return [told_evaluation(*each) for each in zip(valid, results, notes, strict=True)]


def _is_single(values: Any) -> bool:
    """Whether it is one value and not a sequence of values: a number, None, a string, an array without axes."""
    return isinstance(values, str) or not hasattr(values, "__len__") or getattr(values, "shape", None) == ()
