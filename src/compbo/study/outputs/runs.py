"""The study as the outputs see it: finished runs with their curves, by family and variant, and what is not there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.errors import OptionError
from compbo.study.outputs.axes import TUNING, VARIANTS, with_axes
from compbo.study.outputs.compact import finished
from compbo.study.outputs.source import FAILED, scores
from compbo.study.tasks import stored_reference

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RUN = ["task", "acquisition", "optimiser", "seed"]  # what names a run
BLOCK = ["task", "acquisition"]  # the paper's "task": a black box under an acquisition function


class NothingToShowError(Exception):
    """An output has nothing to be made of; the message says what is missing."""


@dataclass(frozen=True)
class Study:
    """A compact table with a column for every axis; made by `study_of`."""

    table: pd.DataFrame

    @cached_property
    def variants(self) -> list[str]:
        """The kinds of functions that have finished runs with a regret: plain, shifted, noisy, own."""
        return [variant for variant in VARIANTS if len(self.synthetic(variant))]

    def synthetic(self, variant: str) -> pd.DataFrame:
        """The finished runs on functions of a variant: `curve` (normalised regret), `nfr`, `final_regret`."""
        return self._synthetic[self._synthetic["variant"] == variant]

    @cached_property
    def _synthetic(self) -> pd.DataFrame:
        rows = finished(self.table[self.table["family"] != TUNING])
        rows = scores.with_final_scores(rows).assign(curve=None)
        rows["curve"] = objects(scores.normalised_regret(curve) for curve in rows["regret"])
        return rows[rows["nfr"].notna()]

    @cached_property
    def tuning(self) -> pd.DataFrame:
        """The finished runs on tuning tasks: `curve` (Bayesmark score per step) and `score`, its last."""
        rows = finished(self.table[self.table["family"] == TUNING])
        best = scores.best_losses(rows)
        rows = rows.assign(curve=objects(_score_curve(row, best) for row in rows.to_dict("records")))
        return rows.assign(score=[float(curve[-1]) if len(curve) else np.nan for curve in rows["curve"]])

    @cached_property
    def failed(self) -> pd.DataFrame:
        """The cells that failed."""
        return self.table[self.table["status"] == FAILED]


def objects(arrays: Iterable[Any]) -> NDArray[np.object_]:
    """Arrays of any lengths as one column."""
    made = list(arrays)
    column = np.empty(len(made), dtype=object)
    column[:] = made
    return column


def _score_curve(row: Mapping[Hashable, Any], best: dict[str, float]) -> Array:
    """The score after the initial design and after every step, as far as random search is stored."""
    reference = stored_reference(row["task"])
    counts = row["initial"] + row["batch"] * np.arange(len(row["best"]))
    if reference is None:
        return np.full(len(counts), np.nan)
    known = counts <= reference.evaluations_known
    score = np.full(len(counts), np.nan)
    score[known] = scores.task_score(row["task"], row["best"][known], counts[known], best[row["task"]])
    return score


def study_of(table: pd.DataFrame) -> Study:
    """The study of a compact table; OptionError if a run is there with several settings."""
    again = table[table.duplicated(RUN)]
    if len(again):
        first = again.iloc[0]
        what = "/".join(str(first[name]) for name in RUN if first[name] != "")
        raise OptionError(
            "results",
            "{option}: {what} (the last is the seed) is there with several settings, and {more} more runs like it. "
            "Name the cells you mean with {preset} or {grid}, and {tuned} if they are those.",
            what=what,
            more=len(again) - 1,
        )
    return Study(with_axes(table))


def blocks(rows: pd.DataFrame) -> NDArray[np.object_]:
    """The stratum of every row: a black box under an acquisition function."""
    return (rows["task"] + "|" + rows["acquisition"]).to_numpy(dtype=object)


def black_boxes(rows: pd.DataFrame) -> NDArray[np.object_]:
    """The black box of every row: its function in any dimension, else its task.

    What an average is about: a function under another acquisition function or in another dimension is no new one.
    """
    return rows["function"].where(rows["function"] != "", rows["task"]).to_numpy(dtype=object)


def contest_places(rows: pd.DataFrame) -> list[tuple[str, NDArray[np.int64]]]:
    """The stratum and the places of the rows of every task, acquisition function and seed, in their order."""
    numbered = rows.reset_index(drop=True).groupby([*BLOCK, "seed"], sort=True).indices
    return [(f"{key[0]}|{key[1]}", np.asarray(places)) for key, places in numbered.items()]  # type: ignore[index]


def matrix(rows: pd.DataFrame, column: str = "curve") -> Array:
    """A column of curves in the rows as (runs, steps + 1), all cut to the shortest."""
    curves = list(rows[column])
    if not curves:
        return np.empty((0, 0))
    length = min(len(curve) for curve in curves)
    return np.stack([np.asarray(curve[:length], dtype=np.float64) for curve in curves])


def not_there(study: Study) -> pd.DataFrame:
    """Failed runs with their error, and runs that are not there though every part of them is, by family.

    The parts: every task, acquisition function, optimiser and seed that occurs in the family. A grid need not be a
    full product, so what was not run is not always what is missing.
    """
    import pandas as pd

    rows = [
        {**{name: row[name] for name in RUN}, "why": f"failed: {row['error']}"}
        for row in study.failed.to_dict("records")
    ]
    for _, family in study.table.groupby("family"):
        there = set(family[RUN].itertuples(index=False, name=None))
        with_acquisition = family[family["acquisition"] != ""]
        wanted = _product(with_acquisition) | _product(family[family["acquisition"] == ""])
        rows += [{**dict(zip(RUN, run, strict=True)), "why": "not run"} for run in sorted(wanted - there)]
    return pd.DataFrame(rows, columns=[*RUN, "why"])


def _product(rows: pd.DataFrame) -> set[tuple[Any, ...]]:
    return set(itertools.product(*(sorted(set(rows[name])) for name in RUN)))
