"""The examples in docstrings run as they are printed; every public name at the edge of the package has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import compbo

# Names with an example of their own in another docstring, or that are errors which another example raises.
WITHOUT = {"RunError", "RunInterrupted", "TooManyFailuresError"}
ROOMS = ("compbo.errors", "compbo.evaluation", "compbo.run.api", "compbo.space")
NAMES = sorted(name for home in ROOMS for name in compbo._HOMES.get(home, ()))  # type: ignore[attr-defined]
NEEDS = {"compbo.integrations.ax": "ax", "compbo.integrations.optuna.dashboard": "optuna_dashboard"}


def modules() -> list[str]:
    """Every module of the package but the programs."""
    found = pkgutil.walk_packages(compbo.__path__, "compbo.", onerror=lambda _: None)
    return [module.name for module in found if not module.name.endswith("__main__")]


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
