"""One tuning problem: a maximizer to be tuned for a task and an acquisition function."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import compbo
from compbo.maximizers import get_entry
from compbo.seeds import derive_seed
from compbo.study.results import schema
from compbo.study.results.scores import SMALLEST_REGRET
from compbo.study.tuner.records import key_of
from compbo.threads import single_threaded_blas, threads_for

if TYPE_CHECKING:
    from compbo.study.cell import Cell
    from compbo.study.tuner.records import TuningRecord


def tuning_loss(row: schema.Row) -> float:
    """What tuning minimises, of one cell.

    Where the optimum is known: log10 of the normalised final regret. Where a random search stands for it, the
    normalised final regret, negative where the run beats that search. Where nothing is known: the final loss
    minus the first.

    Args:
        row: of the cell.

    Returns:
        The number; infinite if the cell failed.

    >>> tuning_loss({"status": "done", "floor_kind": "optimum", "regret": [10.0, 1.0]})
    -1.0
    """
    if row["status"] != schema.DONE:
        return math.inf
    curve = [value for value in row["best" if row["floor_kind"] == "unknown" else "regret"] if math.isfinite(value)]
    if not curve:
        return math.inf
    first, last = curve[0], curve[-1]
    if row["floor_kind"] == "unknown":
        return float(last - first)
    ratio = float(last / abs(first)) if first else float(last)  # the initial design may be optimal already
    return math.log10(max(ratio, SMALLEST_REGRET)) if row["floor_kind"] == "optimum" else ratio


class TuningProblem:
    """A problem at work: one configuration of the hyperparameters is judged after the other.

    Args:
        record: what was judged before.
    """

    def __init__(self, record: TuningRecord) -> None:
        self.record = record
        self.key = key_of(record.cell)
        self._space = compbo.Space(get_entry(self.key.maximizer).domain)
        self._current: dict[str, Any] = {}
        self._waiting: dict[str, float | None] = {}  # hash of a cell of the current configuration -> its result

    @property
    def left(self) -> int:
        """How many cells have not finished, those that are running included."""
        done = sum(value is not None for value in self._waiting.values())
        return max(0, self.record.left * len(self.record.judges) - done)

    def advance(self) -> list[Cell]:
        """Begin the next configuration.

        Returns:
            The cells that judge it; none while one is being judged, or if all are.
        """
        if self._waiting or not self.record.left:
            return []
        hyperparameters = self._ask()
        cells = [cell.with_hyperparameters(hyperparameters) for cell in self.record.judges]
        self._current = hyperparameters
        self._waiting = {cell.hash: None for cell in cells}
        return cells

    def _ask(self) -> dict[str, Any]:
        """The next configuration: a function of the key and of what was judged."""
        with single_threaded_blas(), threads_for(0.0):
            (point,) = self._optimizer().ask(1)
        return point

    def _optimizer(self) -> compbo.Optimizer:
        optimizer = compbo.Optimizer(
            self._space,
            seed=derive_seed(0, "tuning", *self.key) % 2**31,
            starts=compbo.StartPolicy(raw_batches=256, restarts=8),  # few: it is one point of a few dimensions
            budget=compbo.Budget(steps=32),
        )
        history = self.record.history
        optimizer.tell([entry["hyperparameters"] for entry in history], [entry["objective"] for entry in history])
        return optimizer

    def tell(self, cell_hash: str, row: schema.Row) -> bool:
        """Take in the row of a cell.

        Args:
            cell_hash: of the cell.
            row: its results.

        Returns:
            Whether the configuration is judged now.
        """
        self._waiting[cell_hash] = tuning_loss(row)
        if None in self._waiting.values():
            return False
        values = [value for value in self._waiting.values() if value is not None]
        judged = None if any(math.isinf(value) for value in values) else float(np.mean(values))
        entry = {"hyperparameters": self._current, "cells": list(self._waiting), "objective": judged}
        self.record = replace(self.record, history=(*self.record.history, entry))
        self._waiting = {}
        return True

    def best(self) -> dict[str, Any] | None:
        """The configuration with the smallest objective.

        Returns:
            Its entry in the history; None if all failed.
        """
        judged = [entry for entry in self.record.history if entry["objective"] is not None]
        return min(judged, key=lambda entry: float(entry["objective"])) if judged else None
