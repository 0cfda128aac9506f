"""Plugins: modules of the user's that register maximizers, acquisition functions and tasks as they are imported.

A plugin is named by the path of a file (`own.py`) or as a module (`mypackage.parts`), or an installed package names it
under the entry points `compbo.plugins`. `--plugin` loads one; a cell of a study carries the plugins of its driver.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from compbo.evaluation import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

GROUP = "compbo.plugins"  # of entry points
# Ends a message.
HOW_TO_ADD = "Your own is known once its plugin is loaded, by --plugin own.py or an import (docs/own_parts.md)."
DIGEST_LENGTH = 16  # hexadecimal digits

_files: dict[Path, ModuleType] = {}  # what was loaded from where: a file is never carried out twice
_named: dict[str, ModuleType] = {}  # plugins that were asked for by their names
_installed: dict[str, ModuleType] = {}  # plugins of installed packages


def load_plugin(reference: str) -> str:
    """Import a plugin; what it registers is known from then on.

    Args:
        reference: the path of a file that ends in `.py`, or the name of a module, also of one in the current folder.

    Returns:
        The reference by which another process finds it: the absolute path, or the name. A ValueError in one sentence if
        it cannot be imported.

    >>> load_plugin("nowhere.py")
    Traceback (most recent call last):
    ValueError: Plugin nowhere.py: there is no such file.
    """
    place = str(Path(reference).absolute()) if reference.endswith(".py") else reference
    if place.endswith(".py") and not Path(place).is_file():
        raise ValueError(f"Plugin {reference}: there is no such file.")
    if place not in _named:
        _named[place] = _load(reference, place)
    return place


def _load(reference: str, place: str) -> ModuleType:
    try:
        return load_file(Path(place)) if place.endswith(".py") else load_module(place)
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise ValueError(f"Plugin {reference} cannot be imported: {describe(error).rstrip('.')}.") from error


def load_file(path: Path) -> ModuleType:
    """The module of a file, loaded once, as `python file.py` does: modules beside the file can be imported.

    Args:
        path: of the file.

    Returns:
        The module; an error of the file is raised as it is.
    """
    path = path.resolve()
    if path not in _files:
        loaded = sys.modules.get(path.stem)
        if loaded is None or not _is_from(loaded, path):
            loaded = _carry_out(path)
        _files[path] = loaded
    return _files[path]


def _is_from(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path


def _carry_out(path: Path) -> ModuleType:
    _prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not Python")
    module = importlib.util.module_from_spec(spec)
    ours = sys.modules.setdefault(path.stem, module) is module  # dataclasses look for the module of their class
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if ours:
            del sys.modules[path.stem]
        raise
    return module


def load_module(name: str) -> ModuleType:
    """The module of a name, as `python -m` finds it: modules in the current folder can be imported.

    Args:
        name: dotted.

    Returns:
        The module; an error of the module is raised as it is.
    """
    _prepend(os.getcwd())
    return importlib.import_module(name)


def _prepend(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


@cache
def load_installed() -> None:
    """Import the plugins that installed packages name under the entry points `compbo.plugins`, once per process.

    An entry point is a module that registers its parts, or a function without arguments that does. It is called when a
    name is not known, and by the commands: `import compbo` alone does not pay for it. A ValueError, at every call, if
    one of them cannot be imported.
    """
    for point in metadata.entry_points(group=GROUP):
        if point.name not in _installed:
            try:
                found = point.load()
                if callable(found):
                    found()
            except (Exception, SystemExit) as error:
                package = "" if point.dist is None else f" of the package {point.dist.name}"
                raise ValueError(
                    f"Plugin {point.name}{package} cannot be loaded: {describe(error).rstrip('.')}; "
                    "repair or uninstall it."
                ) from error
            _installed[point.name] = sys.modules[point.module]


def named_plugins() -> dict[str, str]:
    """The plugins that were loaded by name, each with its fingerprint: what another process needs to load the same.

    Returns:
        Fingerprints by reference.
    """
    return {place: fingerprint(module) for place, module in _named.items()}


def load_same(plugins: Mapping[str, str]) -> None:
    """Load plugins in another process or on another machine, and make sure that they are the same.

    Args:
        plugins: as `named_plugins` gives them.

    A ValueError if one cannot be imported, or differs here.
    """
    for reference, theirs in plugins.items():
        ours = fingerprint(_named[load_plugin(reference)])
        if ours != theirs:
            raise ValueError(
                f"Plugin {reference} is another one here ({ours}) than where the study was started ({theirs}); "
                "copy the same file to both."
            )


def plugin_versions() -> dict[str, str]:
    """Every plugin of this process with its fingerprint, for the record.

    Returns:
        Fingerprints by `plugin NAME`; of a file, the name without its folder.
    """
    modules: Iterable[tuple[str, ModuleType]] = [*_named.items(), *_installed.items()]
    return {f"plugin {name if not name.endswith('.py') else Path(name).name}": fingerprint(m) for name, m in modules}


def fingerprint(module: ModuleType) -> str:
    """What tells one state of a module from another: its version, if it has one, and a hash of its sources.

    Args:
        module: of a plugin.

    Returns:
        `0.3 sha256:...`, or the hash alone.
    """
    file = getattr(module, "__file__", None)
    main = Path(file) if file is not None else None
    sources = [] if main is None else sorted(main.parent.rglob("*.py")) if main.name == "__init__.py" else [main]
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    version = getattr(module, "__version__", None)
    prefix = f"{version} " if isinstance(version, str) else ""
    return f"{prefix}sha256:{digest.hexdigest()[:DIGEST_LENGTH]}"
