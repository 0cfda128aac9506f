"""A Python function as the objective, named on the command line as `file.py:function` or `module:function`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compbo.evaluation import describe
from compbo.plugins import load_file, load_module

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
        loaded = load_file(Path(module)) if module.endswith(".py") else load_module(module)
    except (Exception, SystemExit) as error:  # the user's code may raise anything; the trace is kept for --debug
        raise ValueError(f"{module} cannot be imported: {describe(error)}.") from error
    found = getattr(loaded, function, None)
    if found is None:
        raise ValueError(f"{module} has no function {function!r}.")
    if not callable(found):
        raise ValueError(f"{function!r} in {module} is of type {type(found).__name__}, not a function.")
    return found  # type: ignore[no-any-return]
