"""Docstrings: examples run as they are printed, and every public name says what it takes and returns."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import compbo
import compbo.maximizers.catalogue
import compbo.study
from docstrings import undescribed

NEEDS = {"compbo.integrations.ax": "ax", "compbo.integrations.optuna.dashboard": "optuna_dashboard"}

STUDY_ROOMS = ("compbo.study.cell", "compbo.study.tasks", "compbo.study.grid", "compbo.study.results")
STUDY_NAMES = [
    f"{room}:{name}"
    for room in STUDY_ROOMS
    for name, value in vars(importlib.import_module(room)).items()
    if not name.startswith("_") and callable(value) and getattr(value, "__module__", "").startswith(room)
]


def modules() -> list[str]:
    """Every module of the package but the programs."""
    found = pkgutil.walk_packages(compbo.__path__, "compbo.", onerror=lambda _: None)
    return [module.name for module in found if not module.name.endswith("__main__")]


def public_names(module: str) -> dict[str, Any]:
    """The public functions and classes that a module defines, but errors and protocols."""
    return {
        name: value
        for name, value in vars(importlib.import_module(module)).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module
        and (inspect.isfunction(inspect.unwrap(value)) or inspect.isclass(value))
        and not (inspect.isclass(value) and (issubclass(value, Exception) or getattr(value, "_is_protocol", False)))
    }


@pytest.mark.touches_global_rng  # importing a library may draw from it
@pytest.mark.filterwarnings("ignore")  # of libraries, when they are imported
@pytest.mark.parametrize("name", modules())
def test_examples_run(name: str) -> None:
    for package, needed in NEEDS.items():
        if name.startswith(package):
            pytest.importorskip(needed)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("name", compbo.__all__)
def test_a_public_name_has_an_example(name: str) -> None:
    value: Any = getattr(compbo, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert doctest.DocTestFinder(recurse=False).find(value, name)[0].examples
    else:  # data: the module that defines it shows it
        assert f">>> compbo.{name}" in (inspect.getdoc(compbo.maximizers.catalogue) or "")


@pytest.mark.parametrize("name", compbo.__all__)
def test_a_public_name_describes_every_argument_and_what_it_returns(name: str) -> None:
    value: Any = getattr(compbo, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert undescribed(value, sections=True) == []


@pytest.mark.parametrize("place", STUDY_NAMES)
def test_a_public_name_of_the_study_has_an_example(place: str) -> None:
    room, name = place.split(":")
    value: Any = getattr(importlib.import_module(room), name)
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        assert ">>>" in (inspect.getdoc(value) or "")


@pytest.mark.touches_global_rng
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", modules())
def test_every_function_and_class_says_what_it_takes_and_returns(module: str) -> None:
    for package, needed in NEEDS.items():
        if module.startswith(package):
            pytest.importorskip(needed)
    assert [line for value in public_names(module).values() for line in undescribed(value)] == []


def test_the_rule_refuses_what_is_not_described() -> None:
    def silent(count: int) -> int:
        return count

    def verb(count: int) -> int:
        """Write `count` lines."""
        return count

    def noun(count: int, space: compbo.Space) -> int:
        """The number after a count, in a space."""
        return count

    def unnamed(count: int, other: int) -> int:
        """The number after `count`."""
        return count

    assert "silent has no docstring" in undescribed(silent)
    assert undescribed(verb) == ["verb does not say what it returns"]
    assert undescribed(noun) == []
    assert undescribed(noun, sections=True) != []
    assert undescribed(unnamed) == ["unnamed does not describe other"]
