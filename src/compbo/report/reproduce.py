"""What it takes to do the same run again: settings, versions, and the call in Python."""

from __future__ import annotations

import platform
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from compbo.versions import installed_versions

if TYPE_CHECKING:
    from compbo.optimizer import Optimizer

PACKAGES = ("torch", "botorch", "gpytorch", "numpy", "scipy", "optuna")


def software_and_machine() -> dict[str, str]:
    """Version of everything that can change a number, and the kind of machine."""
    return {**installed_versions(PACKAGES), "machine": f"{platform.system()} {platform.machine()}"}


def settings_rows(optimizer: Optimizer) -> list[tuple[str, str]]:
    """Every setting and its value as Python writes it."""
    settings = optimizer.settings
    rows = [(f.name, written(getattr(settings, f.name)).removeprefix("compbo.")) for f in fields(settings)]
    if settings.initial_points is None:
        rows = [(name, f"None ({optimizer.initial_points})" if name == "initial_points" else v) for name, v in rows]
    return rows


def call(optimizer: Optimizer) -> str:
    """Python that runs the same optimisation from the start, given the objective.

    Every setting is spelled out: the defaults of another version may be others.
    """
    settings = optimizer.settings
    names = [f.name for f in fields(settings) if f.name != "direction"]
    options = [f"    {name}={written(getattr(settings, name))}," for name in names]
    parameters = [f"    {name!r}: {written(parameter)}," for name, parameter in optimizer.space.parameters.items()]
    lines = [
        "import compbo",
        "",
        "space = compbo.Space({",
        *parameters,
        "})",
        "",
        f"result = compbo.{settings.direction}(",
        "    objective,  # your function: one dictionary of parameters -> a number",
        "    space,",
        f"    evaluations={max(len(optimizer.evaluations), 1)},",
        *options,
        ")",
    ]
    return "\n".join(lines) + "\n"


def written(value: Any) -> str:
    """A value as Python source; the package's own records with their module in front."""
    if is_dataclass(value) and not isinstance(value, type):
        given = ", ".join(f"{f.name}={written(getattr(value, f.name))}" for f in fields(value) if f.init)
        return f"compbo.{type(value).__name__}({given})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(item)}" for key, item in value.items()) + "}"
    return repr(value)


def as_python(params: dict[str, Any]) -> str:
    """A point as a Python dictionary, one parameter per line."""
    return "\n".join(["{", *(f"    {name!r}: {value!r}," for name, value in params.items()), "}"])
