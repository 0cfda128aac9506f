"""Optional dependencies: imported when first needed, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def load_optional(module: str, extra: str) -> Any:
    """The module of an optional dependency.

    Args:
        module: its dotted name.
        extra: the extra of compbo that installs it.

    Returns:
        The imported module.

    Raises:
        ModuleNotFoundError: with the command that installs it.

    >>> load_optional("json", "study").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is there but something that it needs is not: its own message is the right one
        raise ModuleNotFoundError(f'{package} is not installed: pip install "compbo[{extra}]"', name=package) from error
