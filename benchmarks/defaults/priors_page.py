"""The sections of docs/defaults.md on priors, from results/priors.parquet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.defaults.page import ROOT, effects, normalised_regrets, table_of

if TYPE_CHECKING:
    import pandas as pd

RESULTS = ROOT / "results" / "priors.parquet"
CHOICES_BEGIN, CHOICES_END = "<!-- choices -->", "<!-- /choices -->"
NOISE_BEGIN, NOISE_END = "<!-- noise -->", "<!-- /noise -->"
PAPER, DEFAULT = "as the others: the paper's", "the default"
IN_MIXED_SPACES = {  # names of the priors
    "shared-choices": "eight times as long: the default",
    "shared-choices-4": "four times as long",
    "paper": PAPER,
}
UNDER_NOISE = {
    "shared-choices": DEFAULT,
    "less-noise": "noise ~ Gamma(1.1, 30)",
    "log-normal-noise": "noise ~ LogNormal(-4, 1)",
}


def named(table: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """A table whose methods of the library are named by their priors.

    Args:
        table: of cells.
        names: by the setting `priors`.

    Returns:
        The same with other names in the column `optimiser`.
    """
    stored = table["hyperparameters"].map(lambda text: json.loads(text).get("priors"))
    known = stored.map(lambda priors: names[json.loads(priors)], na_action="ignore")
    return table.assign(optimiser=known.fillna(table["optimiser"]))


def choices_table(table: pd.DataFrame) -> str:
    """Mixed spaces, by the lengthscales of choices and switches, in Markdown.

    Args:
        table: of the cells of priors.toml.

    Returns:
        Two tables.
    """
    regret = normalised_regrets(named(table[~_noisy(table)], IN_MIXED_SPACES))
    return table_of(effects(regret, PAPER), regret, PAPER, "the paper's")


def noise_table(table: pd.DataFrame) -> str:
    """Noisy tasks, by the prior of the noise, in Markdown.

    Args:
        table: of the cells of priors.toml.

    Returns:
        Two tables.
    """
    regret = normalised_regrets(named(table[_noisy(table)], UNDER_NOISE))
    return table_of(effects(regret, DEFAULT), regret, DEFAULT, "the default's")


def _noisy(table: pd.DataFrame) -> pd.Series:
    return table["task"].str.contains("_normal")
