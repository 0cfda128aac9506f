"""The history of an optimisation: what was evaluated, what is being evaluated, and both as a model sees them.

The user's direction is turned into maximisation here: everything that follows a history is maximised.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import torch

from compbo.bo.numbered_point import NumberedPoint, number_of
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from compbo.evaluation import Evaluation
    from compbo.space import Space

Direction = Literal["minimize", "maximize"]
Point = dict[str, Any]


class HasValue(Protocol):
    """An evaluation, or a record of one; the value is None where it failed."""

    @property
    def value(self) -> float | None:
        """What the objective returned."""
        ...


Evaluated = TypeVar("Evaluated", bound=HasValue)


def sign_of(direction: Direction) -> float:
    """What values are multiplied by so that larger is better: 1 or -1."""
    return 1.0 if direction == "maximize" else -1.0


def best_evaluation(evaluations: Iterable[Evaluated], direction: Direction) -> Evaluated | None:
    """Of the evaluations, the one with the best value, the first of equals; None if none has a value."""
    sign = sign_of(direction)
    measured = [evaluation for evaluation in evaluations if evaluation.value is not None]
    return max(measured, key=lambda evaluation: sign * (evaluation.value or 0.0), default=None)


def point_key(point: Point) -> str:
    """What makes two points the same: equal keys, equal points."""
    return json.dumps(point, sort_keys=True, default=str)


class Observations(NamedTuple):
    """A history in the unit cube, maximised, in an order that does not depend on arrival (the canonical order).

    A failed evaluation stands at the worst value seen (-inf where there is none), so that a model avoids it; where the
    same point has a value as well, it was tried again with success, and the failure is left out.
    """

    x: Tensor  # (n, d)
    y: Tensor  # (n,)
    failed: Tensor  # (n,) bool
    pending: Tensor  # (p, d)
    errors: Tensor  # (n,) standard deviations that were told with the values; 0 where there was none
    numbers: Tensor  # (n,) of the trials; no model sees them

    @property
    def has_errors(self) -> bool:
        """Whether some value was told with an error."""
        return bool(self.errors.any())

    def incumbents(self, count: int) -> Tensor:
        """The points of the best observations (at most `count`, d), best first."""
        return self.x[torch.argsort(self.y, descending=True, stable=True)[:count]]

    def at(self, places: Tensor) -> Observations:
        """The observations at these places (m,); pending points all stay."""
        return Observations(
            self.x[places],
            self.y[places],
            self.failed[places],
            self.pending,
            self.errors[places],
            self.numbers[places],
        )

    def digest(self) -> str:
        """A short name of what is known and pending: equal sets of points and values have equal names."""
        known = (self.x, self.y, self.pending, *([self.errors] if self.has_errors else []))
        parts = [tensor.numpy().tobytes() for tensor in known]
        return hashlib.sha256(b"|".join(parts)).hexdigest()[:32]


@dataclass(frozen=True)
class History:
    """Evaluations in the order of arrival, and the pending points: suggested, and not evaluated yet.

    Each has a number of its own, in the order of asking; those that come without one get the next. No number enters a
    model.

    Args:
        evaluations: what was evaluated.
        pending: what is being evaluated.
        repeats_allowed: evaluations differ in more than their points (an Optuna trial has parameters outside the
            space), so a point may be suggested again.
        next_number: no number below this is given to a new point; forgotten ones may have had them.

    >>> from compbo import Evaluation
    >>> history = History().asked([{"x": 0.5}]).told([Evaluation({"x": 0.5}, 2.0), Evaluation({"x": 0.75}, 3.0)])
    >>> history.pending, history.best("maximize").params, history.next_number
    ((), {'x': 0.75}, 2)
    """

    evaluations: tuple[Evaluation, ...] = ()
    pending: tuple[NumberedPoint, ...] = ()
    repeats_allowed: bool = False
    next_number: int = 0

    def __post_init__(self) -> None:
        """Number what has no number."""
        numbers = [*(e.number for e in self.evaluations), *(number_of(point) for point in self.pending)]
        given = [number for number in numbers if number is not None]
        if len(set(given)) < len(given):
            raise ValueError("A history has every number once.")
        following = count(max([self.next_number, *(number + 1 for number in given)]))
        numbered = [next(following) if number is None else number for number in numbers]
        told = len(self.evaluations)
        if None in numbers[:told]:
            pairs = zip(self.evaluations, numbered, strict=False)
            object.__setattr__(self, "evaluations", tuple(e._replace(number=number) for e, number in pairs))
        points = zip(self.pending, numbered[told:], strict=True)
        object.__setattr__(self, "pending", tuple(NumberedPoint(point, number) for point, number in points))
        object.__setattr__(self, "next_number", next(following))

    @property
    def size(self) -> int:
        """How many points it knows of, evaluated or pending."""
        return len(self.evaluations) + len(self.pending)

    @property
    def points(self) -> list[Point]:
        """All points, the evaluated ones first; also those in whose place others were evaluated."""
        replaced = (evaluation.suggested for evaluation in self.evaluations)
        evaluated = (evaluation.params for evaluation in self.evaluations)
        return [*evaluated, *(point for point in replaced if point is not None), *self.pending]

    @property
    def has_success(self) -> bool:
        """Whether some evaluation has a value."""
        return any(not evaluation.failed for evaluation in self.evaluations)

    def best(self, direction: Direction) -> Evaluation | None:
        """The best evaluation, the earliest of equals; None before the first success."""
        return best_evaluation(self.evaluations, direction)

    def asked(self, points: Iterable[Point]) -> History:
        """The history with more pending points."""
        return replace(self, pending=(*self.pending, *(NumberedPoint(p, number_of(p)) for p in points)))

    def told(self, evaluations: Sequence[Evaluation]) -> History:
        """The history with more evaluations; their points, by number or else by values, are no longer pending."""
        pending = {point.number: point for point in self.pending}
        told = []
        for evaluation in evaluations:
            number = evaluation.number
            if number is None:
                number = next((n for n, point in pending.items() if point == evaluation.params), None)
            suggested = pending.pop(number, evaluation.params)
            other = dict(suggested) if suggested != evaluation.params else evaluation.suggested
            told.append(evaluation._replace(number=number, suggested=other))
        return replace(self, evaluations=(*self.evaluations, *told), pending=tuple(pending.values()))

    def forgotten(self, numbers: Iterable[int]) -> History:
        """The history without the pending points of these numbers."""
        gone = set(numbers)
        return replace(self, pending=tuple(point for point in self.pending if point.number not in gone))

    def pending_point(self, number: int | None) -> NumberedPoint | None:
        """The pending point of that number; None if none has it."""
        return next((point for point in self.pending if point.number == number and number is not None), None)

    def fate(self, number: int) -> str:
        """What became of a number that is not pending, in words."""
        if any(evaluation.number == number for evaluation in self.evaluations):
            return "was told already"
        return "was forgotten" if 0 <= number < self.next_number else "was never asked for"

    def observations(self, space: Space, direction: Direction) -> Observations:
        """What a model sees of it."""
        measured = {point_key(e.params) for e in self.evaluations if not e.failed}
        known = [e for e in self.evaluations if not e.failed or point_key(e.params) not in measured]
        sign = sign_of(direction)
        values = [None if e.value is None else sign * e.value + 0.0 for e in known]  # no -0.0
        worst = min((value for value in values if value is not None), default=-math.inf)
        y = [worst if value is None else value for value in values]
        x = space.to_unit([e.params for e in known])
        errors = [0.0 if e.value is None else e.error or 0.0 for e in known]
        order = sorted(range(len(y)), key=lambda i: (x[i].tolist(), y[i], errors[i]))
        pending = space.to_unit(self.pending)
        return Observations(
            x=x[order],
            y=torch.tensor([y[i] for i in order], dtype=DTYPE),
            failed=torch.tensor([values[i] is None for i in order], dtype=torch.bool),
            pending=pending[sorted(range(len(pending)), key=lambda i: pending[i].tolist())],
            errors=torch.tensor([errors[i] for i in order], dtype=DTYPE),
            numbers=torch.tensor([known[i].number for i in order], dtype=torch.long),
        )
