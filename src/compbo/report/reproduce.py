"""What it takes to do the same run again: settings, versions, and the call in Python."""

from __future__ import annotations

import platform
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from compbo.bo.design import design_size
from compbo.bo.settings import as_maximizer
from compbo.versions import installed_versions

if TYPE_CHECKING:
    from compbo.bo.settings import Settings
    from compbo.space import Space

PACKAGES = ("torch", "botorch", "gpytorch", "numpy", "scipy", "optuna")


def software_and_machine() -> dict[str, str]:
    """Version of everything that can change a number, and the kind of machine."""
    return {**installed_versions(PACKAGES), "machine": f"{platform.system()} {platform.machine()}"}


def settings_rows(space: Space, settings: Settings) -> list[tuple[str, str]]:
    """Every setting and its value as Python writes it."""
    rows = {name: value.removeprefix("compbo.") for name, value in _options(settings).items()}
    if settings.initial_points is None:
        rows["initial_points"] = f"None ({design_size(space, settings)})"
    return list(rows.items())


def call_in_python(space: Space, settings: Settings, evaluations: int) -> str:
    """Python that runs the same optimisation from the start, given the objective; evaluations: how many.

    Every setting is spelled out: the defaults of another version may be others.
    """
    options = [f"    {name}={value}," for name, value in _options(settings).items() if name != "direction"]
    parameters = [f"    {name!r}: {written(parameter)}," for name, parameter in space.parameters.items()]
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
        f"    evaluations={max(evaluations, 1)},",
        *options,
        ")",
    ]
    return "\n".join(lines) + "\n"


def _options(settings: Settings) -> dict[str, str]:
    """The options of `Optimizer` as Python source; a maximizer by its name, beside its hyperparameters."""
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    values["maximizer"] = as_maximizer(settings.maximizer).name
    return {name: written(value) for name, value in values.items()}


def written(value: Any) -> str:
    """A value as Python source; the package's own records with their module in front."""
    if is_dataclass(value) and not isinstance(value, type):
        given = ", ".join(f"{f.name}={written(getattr(value, f.name))}" for f in fields(value) if f.init)
        return f"compbo.{type(value).__name__}({given})"
    if isinstance(value, tuple):
        return "(" + ", ".join(written(item) for item in value) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(item)}" for key, item in value.items()) + "}"
    return repr(value)


def as_python(params: dict[str, Any]) -> str:
    """A point, params, as a Python dictionary, one parameter per line."""
    return "\n".join(["{", *(f"    {name!r}: {value!r}," for name, value in params.items()), "}"])
