"""The version of compbo, and of the packages that a result may depend on."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = "0.1.0"


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """The version of Python, of compbo and of those of the packages that are installed, by name, in this order.

    >>> list(installed_versions(["numpy", "not-there"]))
    ['python', 'compbo', 'numpy']
    """
    found = {"python": platform.python_version(), "compbo": VERSION}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
