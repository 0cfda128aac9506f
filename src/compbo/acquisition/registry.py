"""Acquisition functions by name: the five of the package, and those that are registered; as JSON and back."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from compbo.acquisition.integrands import EI, PI, SR, UCB, Acquisition, LogEI
from compbo.errors import OptionError
from compbo.plugins import HOW_TO_ADD, load_installed

ACQUISITIONS: dict[str, type[Any]] = {cls.name: cls for cls in (EI, PI, SR, UCB, LogEI)}
KEPT = {"portfolio", "name", ""}  # words that mean something else where an acquisition is named
METHODS = ("inner", "inner_vjp", "utility", "outer", "outer_gradient")
FLAGS = ("linear_outer", "homogeneous_utility")


def register(acquisition: type[Any]) -> type[Any]:
    """Add an acquisition function, so that `acquisition=` knows its name; also as a decorator.

    Args:
        acquisition: a frozen dataclass with the methods of `Acquisition`, whose parameters are numbers or texts with
            defaults; its `name` is in lower case.

    Returns:
        The class itself; a ValueError that says what is missing, or that the name is taken by another.

    >>> register(EI).name
    'ei'
    """
    what = getattr(acquisition, "__name__", repr(acquisition))
    if not isinstance(acquisition, type) or not is_dataclass(acquisition):
        raise ValueError(f"register: a dataclass is wanted for an acquisition function, got {what}.")
    try:
        example: Any = acquisition()
    except TypeError as error:
        raise ValueError(f"register: every parameter of {what} needs a default value ({error}).") from error
    _check(example)
    name = example.name
    if name != name.lower() or name in KEPT or not name.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"register: the name of {what} must be a word in lower case, got {name!r}.")
    if not _is_plain(example):
        raise ValueError(f"register: the parameters of {what} must be numbers or texts, got {asdict(example)!r}.")
    if ACQUISITIONS.get(name, acquisition) is not acquisition:
        raise ValueError(f"register: there is an acquisition function called {name!r} already; choose another name.")
    ACQUISITIONS[name] = acquisition
    return acquisition


def get_acquisition(acquisition: str | Acquisition) -> Acquisition:
    """An acquisition by name (`"ucb"`, with its default parameters) or as it is; OptionError if it is neither."""
    if isinstance(acquisition, str):
        name = acquisition.lower()
        if name not in ACQUISITIONS:
            load_installed()
        if name in ACQUISITIONS:
            return ACQUISITIONS[name]()  # type: ignore[no-any-return]
    if isinstance(acquisition, (str, type)) or not hasattr(acquisition, "inner_vjp"):
        raise OptionError(
            "acquisition",
            "{option} {given!r} is unknown; choose one of {known}. {how}",
            given=acquisition,
            known=", ".join(ACQUISITIONS),
            how=HOW_TO_ADD,
            note="Or pass an object, for instance UCB(beta=4).",
        )
    try:
        _check(acquisition)
    except ValueError as error:
        raise OptionError("acquisition", "{option}: {reason}", reason=str(error)) from error
    return acquisition


def _check(acquisition: Any) -> None:
    """ValueError if it lacks something of the protocol."""
    what = type(acquisition).__name__
    missing = [method for method in METHODS if not callable(getattr(acquisition, method, None))]
    missing += [flag for flag in FLAGS if not isinstance(getattr(acquisition, flag, None), bool)]
    missing += [] if isinstance(getattr(acquisition, "name", None), str) else ["name"]
    if missing:
        raise ValueError(f"{what} lacks {', '.join(missing)}; docs/own_parts.md says what an acquisition function has.")


def _is_plain(acquisition: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(asdict(acquisition), allow_nan=False)) == asdict(acquisition))
    except (TypeError, ValueError):
        return False


def is_registered(acquisition: Acquisition) -> bool:
    """Whether its name stands for its class, so that it can be saved by name and parameters."""
    return ACQUISITIONS.get(acquisition.name) is type(acquisition)


def acquisition_to_dict(acquisition: Acquisition) -> dict[str, Any]:
    """Name and parameters, for JSON."""
    parameters: dict[str, Any] = asdict(acquisition) if is_dataclass(acquisition) else {}
    return {"name": acquisition.name, **parameters}


def acquisition_from_dict(data: dict[str, Any]) -> Acquisition:
    """The registered acquisition function that `acquisition_to_dict` wrote as `data`."""
    known = get_acquisition(str(data.get("name")))
    parameters = {key: value for key, value in data.items() if key != "name"}
    unknown = set(parameters) - set(asdict(known))  # type: ignore[call-overload]
    if unknown:
        raise ValueError(f"acquisition {known.name!r} has no parameter {', '.join(sorted(unknown))}.")
    return type(known)(**parameters)
