"""What random search reaches on Bayesmark's tasks: L* and L_rand of the Bayesmark score, a table of the package.

score_t = 100 (1 - (L_t - L*) / (L_t^rand - L*)): 0 is random search after the same number of evaluations, 100 the
best loss known, which is the smaller of the best one here and that of all methods of a study (`scores.best_losses`).
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
COMMAND = "python -m compbo.study.tasks.bayesmark.measure_reference"  # writes the table
COLUMNS = ("task", "evaluations", "failures", "best", *(f"after_{k}" for k in COUNTS))


class ReferenceLosses(NamedTuple):
    """What random search reached on a task: one row of the table.

    Args:
        task: the spec.
        evaluations: random points that gave a loss.
        failures: random points that gave none.
        best: the smallest loss, L*.
        curve: the expected smallest loss after each number of evaluations in `COUNTS`, as far as there are enough.

    >>> found = ReferenceLosses("mine", 4, 0, 1.0, (5.0, 3.0, 2.0, 1.0))
    >>> found.random_loss(2)
    3.0
    """

    task: str
    evaluations: int
    failures: int
    best: float
    curve: tuple[float, ...]

    @property
    def evaluations_known(self) -> int:
        """The most evaluations for which L_rand is stored."""
        return COUNTS[len(self.curve) - 1]

    def random_loss(self, evaluations: int) -> float:
        """L_rand: the expected smallest loss of a random search.

        Args:
            evaluations: how many points it has; a ValueError if fewer are stored.

        Returns:
            The loss, between two stored counts linear in the logarithm of the count.
        """
        counts = COUNTS[: len(self.curve)]
        if not 1 <= evaluations <= self.evaluations_known:
            raise ValueError(
                f"Task {self.task}: random search is stored for 1 to {counts[-1]} evaluations, not {evaluations}; "
                f"measure more with {COMMAND}."
            )
        return float(np.interp(np.log(evaluations), np.log(counts), self.curve))

    def row(self) -> tuple[str, ...]:
        """As a line of the table; floats with all their digits."""
        blanks = ("",) * (len(COUNTS) - len(self.curve))
        numbers = (repr(float(x)) for x in (self.best, *self.curve))
        return (self.task, str(self.evaluations), str(self.failures), *numbers, *blanks)


def expected_best(losses: list[float], count: int) -> float:
    """The mean of the smallest of some losses over all ways to choose them among those measured.

    Args:
        losses: those measured.
        count: how many are chosen.

    Returns:
        The mean.

    >>> expected_best([1.0, 2.0, 3.0], 2)  # 1, 1 and 2
    1.3333333333333333
    """
    n = len(losses)
    weight, total = count / n, 0.0  # weight of the i-th smallest: C(n - i, count - 1) / C(n, count)
    for i, loss in enumerate(sorted(losses), start=1):
        total += weight * loss
        weight *= (n - i - count + 1) / (n - i) if i < n else 0.0
    return total


def reference_from(task: str, losses: list[float], failures: int) -> ReferenceLosses:
    """The row of a task.

    Args:
        task: the spec.
        losses: those of a random search.
        failures: how many points gave none.

    Returns:
        The row.

    >>> reference_from("mine", [3.0, 1.0], failures=1).curve
    (2.0, 1.0)
    """
    curve = tuple(expected_best(losses, k) for k in COUNTS if k <= len(losses))
    return ReferenceLosses(task, len(losses), failures, min(losses), curve)


def table_path() -> Path:
    """Where the table of the package is.

    Returns:
        The path of a CSV file.

    >>> table_path().name
    'reference.csv'
    """
    return Path(str(resources.files("compbo.study.tasks.bayesmark").joinpath("data", "reference.csv")))


def read_table(path: Path) -> dict[str, ReferenceLosses]:
    """A table of reference losses.

    Args:
        path: of a CSV file.

    Returns:
        Its rows by task; none if the file does not exist.
    """
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != COLUMNS:
            raise ValueError(f"{path}: not a table of reference losses; write it again with {COMMAND}.")
        rows = [
            ReferenceLosses(task, int(evaluations), int(failures), float(best), tuple(float(x) for x in curve if x))
            for task, evaluations, failures, best, *curve in reader
        ]
    return {row.task: row for row in rows}


@lru_cache(maxsize=1)
def _shipped_table() -> dict[str, ReferenceLosses]:
    return read_table(table_path())


def stored_reference(task: str) -> ReferenceLosses | None:
    """The stored random search of a task.

    Args:
        task: the spec.

    Returns:
        Its row of the package's table, or None.

    >>> stored_reference("rf-boston-mse").evaluations, stored_reference("levy-16")
    (200, None)
    """
    return _shipped_table().get(task)


def require_reference(task: str) -> ReferenceLosses:
    """The stored random search of a task that must have one.

    Args:
        task: the spec.

    Returns:
        Its row of the package's table; a ValueError that says how to measure one if there is none.

    >>> require_reference("rf-boston-mse").task
    'rf-boston-mse'
    """
    reference = stored_reference(task)
    if reference is None:
        raise ValueError(f"Task {task}: no reference loss is stored; measure one with {COMMAND} {task}.")
    return reference
