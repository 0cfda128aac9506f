"""The end of messages about names that are not known."""

from __future__ import annotations

import doctest

from compbo import words
from compbo.words import NAMES_LISTED, meant_or_known


def test_the_examples_are_true() -> None:
    assert doctest.testmod(words).failed == 0
    assert doctest.testmod(words).attempted > 0


def test_resembling_names_whatever_their_case() -> None:
    assert meant_or_known("CADAM_me", ["CAdam-ME", "RS"]) == "did you mean CAdam-ME?"
    assert meant_or_known(None, ["None-ERM", "RS"]) == "did you mean None-ERM?"


def test_otherwise_all_names_unless_they_are_many() -> None:
    few = ["RS", "DE"]
    assert meant_or_known("???", iter(few)) == "choose one of RS, DE."
    assert meant_or_known("???", few, otherwise="there are") == "there are RS, DE."
    many = [f"task-{i}" for i in range(NAMES_LISTED + 3)]
    hint = meant_or_known("???", many)
    assert hint.endswith(f"task-{NAMES_LISTED - 1} and 3 more.")
