"""What a run of the library was made with, in words: how its settings differ from today's defaults.

A name such as `compbo` means what the defaults were on the day of the run; the settings are stored beside it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import compbo
from compbo.acquisition.portfolio import Portfolio, get_portfolio, portfolio_to_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

DEFAULT = "the default"
EARLIER_PRIORS = "paper"  # of all runs before those of priors.toml; the same as today's without choices and switches
OF_A_RUN = ("batch_size", "seed", "direction", "initial_points")  # not a choice of the method


def settings_of(stored: str) -> compbo.Settings:
    """The settings of a cell.

    Args:
        stored: its hyperparameters, every setting as JSON.

    Returns:
        The settings; those that did not exist on the day of the run are at their defaults.
    """
    written = {name: json.loads(value) for name, value in json.loads(stored).items()}
    today = compbo.Settings().to_dict()
    return compbo.Settings.from_dict({**today, **written, "starts": {**today["starts"], **written["starts"]}})


def words(settings: compbo.Settings, evaluations: int = 0, batch: int = 1) -> str:
    """How settings differ from the defaults.

    Args:
        settings: of a run.
        evaluations: of the run; a limit of the model's observations that it did not reach is not named. Nor are the
            priors of earlier runs: tables in which they matter have names of their own (`priors_page`).
        batch: points of its asks; what a portfolio does for single points is not named for more.

    Returns:
        For example 'maximizer="RS"'; `DEFAULT` if they do not differ.
    """
    today = compbo.Settings().to_dict()
    changed = {name: value for name, value in settings.to_dict().items() if today[name] != value}
    changed = {name: value for name, value in changed.items() if name not in OF_A_RUN}
    if batch > 1 and changed.get("acquisition") == portfolio_to_dict(Portfolio()):
        del changed["acquisition"]
    if (changed.get("model_points") or 0) >= evaluations > 0:
        del changed["model_points"]
    if changed.get("priors") == EARLIER_PRIORS:
        del changed["priors"]
    return ", ".join(_option(name, value, today[name], settings) for name, value in changed.items()) or DEFAULT


def _option(name: str, value: Any, usual: Any, settings: compbo.Settings) -> str:
    if name == "acquisition":
        return f"acquisition={_acquisition(settings)}"
    if name == "maximizer":
        return f'maximizer="{value["name"]}"'
    if name == "starts":
        return ", ".join(f"{key}={number!r}" for key, number in value.items() if usual[key] != number)
    return f"{name}={json.dumps(value)}"


def _acquisition(settings: compbo.Settings) -> str:
    asked = get_portfolio(settings.acquisition)
    if not isinstance(asked, Portfolio):
        return _one(asked)
    return repr(asked) if asked.alone else f"[{', '.join(_one(member) for member in asked.members)}]"


def _one(acquisition: Any) -> str:
    usual: Mapping[str, Any] = vars(type(acquisition)())
    return f'"{acquisition.name}"' if vars(acquisition) == usual else repr(acquisition)


def labelled(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose methods of the library are named by their settings.

    Args:
        table: of cells.

    Returns:
        The same with other names in the column `optimiser`.
    """
    evaluations = table["initial"] + table["batch"] * table["steps"]
    names = [
        words(settings_of(stored), int(count), int(batch)) if kind.split("-")[0] == "compbo" else optimiser
        for kind, optimiser, stored, count, batch in zip(
            table["kind"], table["optimiser"], table["hyperparameters"], evaluations, table["batch"], strict=True
        )
    ]
    return table.assign(optimiser=names)
