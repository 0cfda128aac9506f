"""A Python function as the objective, named on the command line as `file.py:function` or `module:function`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.evaluation import describe

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class NamedObjective:
    """A function by the place where it is defined: worker processes can find it there, too."""

    module: str  # dotted name, or the absolute path of a file
    function: str

    def __call__(self, params: dict[str, Any]) -> Any:
        """Call the function."""
        return _load(self.module, self.function)(params)


def load_objective(reference: str) -> NamedObjective:
    """The objective of a reference, `file.py:function` or `module:function`; ValueError if it cannot be loaded."""
    place, separator, function = reference.rpartition(":")
    if not separator or not place or not function:
        raise ValueError(f"{reference!r} does not name a function: write file.py:function or module:function.")
    if place.endswith(".py"):
        path = Path(place).absolute()
        if not path.is_file():
            raise ValueError(f"{place}: there is no such file.")
        place = str(path)
    objective = NamedObjective(place, function)
    _load(place, function)
    return objective


@cache
def _load(module: str, function: str) -> Callable[[dict[str, Any]], Any]:
    try:
        loaded = _load_file(Path(module)) if module.endswith(".py") else _load_module(module)
    except (Exception, SystemExit) as error:  # the user's code may raise anything; the trace is kept for --debug
        raise ValueError(f"{module} cannot be imported: {describe(error)}.") from error
    found = getattr(loaded, function, None)
    if found is None:
        raise ValueError(f"{module} has no function {function!r}.")
    if not callable(found):
        raise ValueError(f"{function!r} in {module} is of type {type(found).__name__}, not a function.")
    return found  # type: ignore[no-any-return]


def _load_file(path: Path) -> Any:
    """Load a file like `python file.py` does: modules in the folder of the file can be imported."""
    _prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _load_module(name: str) -> Any:
    """Load a module like `python -m` does: modules in the current folder can be imported."""
    _prepend(os.getcwd())
    return importlib.import_module(name)


def _prepend(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
