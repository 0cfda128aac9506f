"""The numbers of every maximizer, from results/maximizers.parquet: the settings tried, and the one that was chosen.

python -m benchmarks.defaults.maximizers writes the table of docs/catalogue.md.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.defaults.page import filled, interval, normalised_regrets
from compbo.study.outputs.compact import from_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "maximizers.parquet"
GRID = Path(__file__).parent / "maximizers.toml"
PAGE = ROOT / "docs" / "catalogue.md"
BEGIN, END = "<!-- tried -->", "<!-- /tried -->"
FORMS = ("-ERM", "-FSM", "-ME", "-Comp")


class Setting(NamedTuple):
    """A setting of a method, and its regret in units of that of the setting it had before, over all its forms."""

    values: Mapping[str, Any]  # what it changes
    ratio: float
    low: float
    high: float
    runs: int

    @property
    def better(self) -> bool:
        """Whether the interval lies below one."""
        return self.high < 1.0


class Trial(NamedTuple):
    """What was tried of a method: the setting it had before, of what is changed, and the others, the best first."""

    method: str
    before: Mapping[str, Any]
    others: Sequence[Setting]

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The best of the settings whose interval lies below one; the one it had before if there is none."""
        return next(({**self.before, **s.values} for s in self.others if s.better), self.before)


def method_of(optimiser: str) -> str:
    """The name of a method without its form.

    Args:
        optimiser: a name of the catalogue.

    Returns:
        What its forms share: "Adam" of "Adam-ERM".
    """
    for form in FORMS:
        optimiser = optimiser.removesuffix(form)
    return optimiser


def trials(table: pd.DataFrame) -> list[Trial]:
    """What was tried of every method.

    Args:
        table: of the cells of maximizers.toml.

    Returns:
        One trial per method, in the order of the table.
    """
    named = table.assign(optimiser=table["optimiser"] + " " + table["hyperparameters"])
    logs = np.log(normalised_regrets(named)).rename("log").reset_index()
    parts = logs["optimiser"].str.split(" ", n=1, expand=True)
    logs = logs.assign(form=parts[0], method=parts[0].map(method_of), setting=parts[1].map(_common))
    return [_trial(str(method), rows) for method, rows in logs.groupby("method", sort=False)]


def before_of(optimiser: str) -> dict[str, Any]:
    """What is varied of an optimiser, as it was before: the first block of maximizers.toml.

    Args:
        optimiser: a name of the catalogue.

    Returns:
        The hyperparameters.
    """
    block: dict[str, Any] = tomllib.loads(GRID.read_text())["block"][0]["hyperparameters"][optimiser]
    return block


def _common(setting: str) -> str:
    """A setting without what only one form has."""
    return json.dumps({k: v for k, v in json.loads(setting).items() if k != "zeta_update"}, sort_keys=True)


def _trial(method: str, rows: pd.DataFrame) -> Trial:
    settings = {text: json.loads(text) for text in rows["setting"].unique()}
    had = before_of(str(rows["form"].iloc[0]))
    (before,) = (text for text, setting in settings.items() if all(setting.get(k, v) == v for k, v in had.items()))
    logs = rows.pivot_table("log", ["task", "seed", "form"], "setting")
    others = []
    for text, setting in settings.items():
        paired = (logs[text] - logs[before]).dropna()
        if text != before and not paired.empty:
            by_task = [group.to_numpy() for _, group in paired.groupby("task")]
            ratio = float(np.exp(np.mean([task.mean() for task in by_task])))
            others.append(Setting(_changes(settings[before], setting), ratio, *interval(by_task), len(paired)))
    varied = {name for setting in others for name in setting.values}
    kept = {name: settings[before][name] for name in sorted(varied)}
    return Trial(method, kept, sorted(others, key=lambda setting: setting.ratio))


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in new.items() if old[name] != value}


def table_of(found: Sequence[Trial]) -> str:
    """The trials in Markdown.

    Args:
        found: the trials.

    Returns:
        A row per method.
    """
    lines = ["| method | before | regret of others / that | chosen | runs of each |", "|---|---|---|---|---|"]
    for trial in found:
        tried = "; ".join(f"{_words(s.values)}: {s.ratio:.2f} [{s.low:.2f}, {s.high:.2f}]" for s in trial.others)
        runs = sorted({setting.runs for setting in trial.others})
        counts = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
        chosen = "as before" if trial.chosen == trial.before else f"**{_words(trial.chosen)}**"
        lines.append(f"| {trial.method} | {_words(trial.before)} | {tried} | {chosen} | {counts} |")
    return "\n".join(lines)


def _words(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def main() -> None:
    """Write the table into the page."""
    found = trials(from_bytes(RESULTS.read_bytes(), str(RESULTS)))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), BEGIN, table_of(found), END), encoding="utf-8")


if __name__ == "__main__":
    main()
