"""Optional dependencies: imported when first needed, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def load_optional(module: str, extra: str) -> Any:
    """The module, or an ImportError that says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise  # the package is there, something it needs is not: its own message is the right one
        raise ModuleNotFoundError(f'{top} is not installed: pip install "compbo[{extra}]"', name=top) from error
