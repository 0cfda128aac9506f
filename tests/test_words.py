"""The end of messages about names that are not known."""

from __future__ import annotations

import doctest

from compbo import words
from compbo.words import NAMES_SHOWN, did_you_mean


def test_the_examples_are_true() -> None:
    assert doctest.testmod(words).failed == 0
    assert doctest.testmod(words).attempted > 0


def test_resembling_names_whatever_their_case() -> None:
    assert did_you_mean("CADAM_me", ["CAdam-ME", "RS"]) == "did you mean CAdam-ME?"
    assert did_you_mean(None, ["None-ERM", "RS"]) == "did you mean None-ERM?"


def test_otherwise_all_names_unless_they_are_many() -> None:
    few = ["RS", "DE"]
    assert did_you_mean("???", iter(few)) == "choose one of RS, DE."
    assert did_you_mean("???", few, otherwise="there are") == "there are RS, DE."
    many = [f"task-{i}" for i in range(NAMES_SHOWN + 3)]
    hint = did_you_mean("???", many)
    assert hint.endswith(f"task-{NAMES_SHOWN - 1} and 3 more.")
