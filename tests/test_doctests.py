"""The examples in docstrings run as they are printed; every public name at the edge of the package has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import compbo
import compbo.study

# Names with an example of their own in another docstring, or that are errors which another example raises.
WITHOUT = {"RunError", "TooManyFailuresError"}
ROOMS = ("compbo.errors", "compbo.evaluation", "compbo.run.api", "compbo.space")
NAMES = sorted(name for home in ROOMS for name in compbo._HOMES.get(home, ()))  # type: ignore[attr-defined]
NEEDS = {"compbo.integrations.ax": "ax", "compbo.integrations.optuna.dashboard": "optuna_dashboard"}


STUDY_ROOMS = ("compbo.study.cell", "compbo.study.tasks", "compbo.study.grid", "compbo.study.results")
STUDY_NAMES = [
    f"{room}:{name}"
    for room in STUDY_ROOMS
    for name, value in vars(importlib.import_module(room)).items()
    if not name.startswith("_") and callable(value) and getattr(value, "__module__", "").startswith(room)
]
# Their options have a help text each.
OF_COMMANDS = ("compbo.study.cli.commands", "compbo.study.cli.outputs", "compbo.study.cli.options")
NOT_YET = ("compbo.study.outputs", "compbo.study.results.scores")


def modules() -> list[str]:
    """Every module of the package but the programs."""
    found = pkgutil.walk_packages(compbo.__path__, "compbo.", onerror=lambda _: None)
    return [module.name for module in found if not module.name.endswith("__main__")]


def public_names(module: str) -> dict[str, Any]:
    """The functions and classes that a module defines, but errors and protocols."""
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


@pytest.mark.parametrize("name", sorted(set(NAMES) - WITHOUT))
def test_a_public_name_has_an_example(name: str) -> None:
    value: Any = getattr(compbo, name)
    assert ">>>" in (inspect.getdoc(value) or "")
    assert doctest.DocTestFinder(recurse=False).find(value, name)[0].examples


@pytest.mark.parametrize("place", STUDY_NAMES)
def test_a_public_name_of_the_study_has_an_example(place: str) -> None:
    room, name = place.split(":")
    value: Any = getattr(importlib.import_module(room), name)
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        assert ">>>" in (inspect.getdoc(value) or "")


@pytest.mark.parametrize(
    "module", [name for name in modules() if name.startswith("compbo.study.") and not name.startswith(NOT_YET)]
)
def test_a_public_name_of_the_study_says_what_it_takes_and_returns(module: str) -> None:
    wrong = []
    for name, value in public_names(module).items():
        if module in OF_COMMANDS and name != "one_option_per_field":
            continue
        text = inspect.getdoc(value) or ""
        signature = inspect.signature(value)
        given = [p for p in signature.parameters if not p.startswith("_") and p != "direction"]
        _, section, arguments = text.partition("Args:")
        missing = [p for p in given if not section or f"\n    {p}: " not in arguments]
        wrong += [f"{name} does not describe {p}" for p in missing]
        if (
            inspect.isfunction(inspect.unwrap(value))
            and signature.return_annotation != "None"
            and "Returns:" not in text
        ):
            wrong.append(f"{name} does not say what it returns")
    assert wrong == []
