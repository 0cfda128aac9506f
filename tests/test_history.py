"""The history: frozen, in one order whatever the arrival, maximised."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compbo import Bool, Evaluation, Float, Int, NumberedPoint, Space
from compbo.bo.history import History, best_evaluation

SPACE = Space({"x": Float(0, 1), "n": Int(0, 4), "flag": Bool()})
LINE = Space({"x": Float(0, 1)})


def line(*values: float | None) -> History:
    """One evaluation per value, at 0, 0.1, 0.2, ..."""
    return History(tuple(Evaluation({"x": i / 10}, value) for i, value in enumerate(values)))


def some_history(evaluations: list[int], pending: list[int]) -> History:
    """Every third one has failed; two stand at the same point."""
    points = [{"x": (i % 8) / 8, "n": i % 5, "flag": i % 2 == 0} for i in range(10)]
    told = [Evaluation(points[i], None if i % 3 == 0 else float(i * i % 7)) for i in evaluations]
    told += [Evaluation(points[1], 0.5)]
    return History(tuple(told), tuple({"x": 0.9, "n": i, "flag": True} for i in pending))


@given(order=st.permutations(range(10)), pending=st.permutations(range(4)))
def test_observations_do_not_depend_on_the_order_of_arrival(order: list[int], pending: list[int]) -> None:
    plain = some_history(list(range(10)), list(range(4))).observations(SPACE, "minimize")
    other = some_history(order, pending).observations(SPACE, "minimize")
    for name in plain._fields:
        assert torch.equal(getattr(plain, name), getattr(other, name)), name
    assert plain.digest() == other.digest()


def test_the_digest_depends_on_everything_that_is_known() -> None:
    history = line(1.0, None, 3.0)
    variants = [
        history,
        line(1.0, None, 3.5),
        line(1.0, 2.0, 3.0),
        history.asked([{"x": 0.7}]),
        history.asked([{"x": 0.8}]),
        history.asked([{"x": 0.7}, {"x": 0.7}]),
        history.told([Evaluation({"x": 0.7}, 1.0)]),
    ]
    digests = {variant.observations(LINE, "minimize").digest() for variant in variants}
    digests.add(history.observations(LINE, "maximize").digest())
    assert len(digests) == len(variants) + 1


@pytest.mark.parametrize(
    ("direction", "y"), [("minimize", [-1.0, -5.0, -5.0, 0.0]), ("maximize", [1.0, 0.0, 5.0, 0.0])]
)
def test_values_are_maximised_and_a_failure_stands_at_the_worst(direction: Any, y: list[float]) -> None:
    found = line(1.0, None, 5.0, 0.0).observations(LINE, direction)
    assert found.x.squeeze(-1).tolist() == [0.0, 0.1, 0.2, 0.3]
    assert found.y.tolist() == y
    assert found.failed.tolist() == [False, True, False, False]


def test_a_failure_that_was_tried_again_with_success_is_left_out() -> None:
    history = line(1.0, None, None).told([Evaluation({"x": 0.1}, 4.0)])
    found = history.observations(LINE, "maximize")
    assert found.x.squeeze(-1).tolist() == [0.0, 0.1, 0.2]
    assert found.y.tolist() == [1.0, 4.0, 1.0]


@pytest.mark.parametrize("values", [(0.0, None), (-0.0, None), (None, 0.0, -1.0)])
def test_no_zero_is_negative(values: tuple[float | None, ...]) -> None:
    """A negative zero has other bits, so that it would name another random stream."""
    for direction, sign in (("minimize", 1.0), ("maximize", -1.0)):
        mirrored = line(*(None if value is None else sign * value for value in values))
        zeros = [y for y in mirrored.observations(LINE, direction).y.tolist() if y == 0.0]  # type: ignore[arg-type]
        assert zeros
        assert all(math.copysign(1.0, zero) == 1.0 for zero in zeros)


def test_without_any_success_failures_are_worse_than_everything() -> None:
    found = line(None, None).observations(LINE, "minimize")
    assert found.y.tolist() == [-math.inf] * 2
    assert not line(None, None).has_success
    nothing = History().observations(SPACE, "minimize")
    assert (nothing.x.shape, nothing.y.shape, nothing.pending.shape) == ((0, SPACE.dim), (0,), (0, SPACE.dim))


@pytest.mark.parametrize(("direction", "expected"), [("minimize", [0.1, 0.3, 0.2]), ("maximize", [0.0, 0.4, 0.2])])
def test_incumbents_are_the_best_first_and_of_equals_the_canonical_first(direction: Any, expected: list[float]) -> None:
    history = line(9.0, 1.0, 5.0, 1.0, 9.0)
    assert history.observations(LINE, direction).incumbents(3).squeeze(-1).tolist() == expected


def test_asked_told_and_forgotten_make_new_histories() -> None:
    empty = History()
    asked = empty.asked([{"x": 0.1}, {"x": 0.1}, {"x": 0.2}])
    told = asked.told([Evaluation({"x": 0.1}, 1.0), Evaluation({"x": 0.9}, 2.0)])
    assert (empty.size, asked.size, told.size) == (0, 3, 4)
    assert told.pending == ({"x": 0.1}, {"x": 0.2})  # one of the two that are equal
    assert [e.value for e in told.evaluations] == [1.0, 2.0]
    assert told.points == [{"x": 0.1}, {"x": 0.9}, {"x": 0.1}, {"x": 0.2}]
    assert told.forgotten([2]).pending == ({"x": 0.1},)
    with pytest.raises(FrozenInstanceError):
        told.pending = ()  # type: ignore[misc]


@pytest.mark.parametrize(("direction", "number"), [("minimize", 1), ("maximize", 2)])
def test_the_best_is_the_earliest_of_equals_and_never_a_failure(direction: Any, number: int) -> None:
    history = line(None, 1.0, 5.0, 1.0, 5.0)
    assert history.best(direction) is history.evaluations[number]
    assert line(None).best(direction) is None
    assert best_evaluation([], direction) is None


# -- numbers ----------------------------------------------------------------------------------------------------------


def numbers(history: History) -> tuple[list[int | None], list[int | None]]:
    return [e.number for e in history.evaluations], [point.number for point in history.pending]


def test_everything_has_a_number_in_the_order_of_asking() -> None:
    asked = History().asked([{"x": 0.1}, {"x": 0.2}, {"x": 0.3}])
    assert numbers(asked) == ([], [0, 1, 2])
    told = asked.told([Evaluation({"x": 0.3}, 1.0), Evaluation({"x": 0.9}, 2.0), Evaluation({"x": 0.15}, 3.0, "", 0)])
    assert numbers(told) == ([2, 3, 0], [1])  # by values, never asked for, by number with other values
    assert told.evaluations[2].params == {"x": 0.15}
    assert numbers(told.asked([{"x": 0.4}])) == ([2, 3, 0], [1, 4])


def test_a_number_is_never_given_twice() -> None:
    asked = History().asked([{"x": 0.1}, {"x": 0.2}])
    forgotten = asked.forgotten([1])
    assert numbers(forgotten) == ([], [0])
    assert numbers(forgotten.asked([{"x": 0.2}])) == ([], [0, 2])
    assert (forgotten.fate(1), forgotten.fate(7), forgotten.fate(-1)) == (
        "was forgotten",
        "was never asked for",
        "was never asked for",
    )
    assert asked.told([Evaluation({"x": 0.1}, 1.0)]).fate(0) == "was told already"
    with pytest.raises(ValueError, match="every number once"):
        History((Evaluation({"x": 0.1}, 1.0, "", 3), Evaluation({"x": 0.2}, 1.0, "", 3)))


def test_a_history_without_numbers_gets_them() -> None:
    history = History(line(1.0, 2.0).evaluations, ({"x": 0.9},))  # type: ignore[arg-type]
    assert numbers(history) == ([0, 1], [2])
    mixed = History((Evaluation({"x": 0.1}, 1.0, "", 5), Evaluation({"x": 0.2}, 1.0)), next_number=9)
    assert (numbers(mixed), mixed.next_number) == (([5, 9], []), 10)


@given(given_numbers=st.lists(st.integers(0, 99), min_size=6, max_size=6, unique=True))
def test_no_number_enters_a_model(given_numbers: list[int]) -> None:
    plain = line(1.0, None, 3.0).asked([{"x": 0.7}, {"x": 0.8}, {"x": 0.9}])
    other = History(
        tuple(e._replace(number=n) for e, n in zip(plain.evaluations, given_numbers, strict=False)),
        tuple(NumberedPoint(p, n) for p, n in zip(plain.pending, given_numbers[3:], strict=True)),
    )
    assert plain.observations(LINE, "minimize").digest() == other.observations(LINE, "minimize").digest()
