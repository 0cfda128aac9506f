"""What is done, failed and left, and how long the rest will take."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from compbo.study.results import schema
from compbo.study.tuner.records import key_of, read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from compbo.study.cell import Cell
    from compbo.study.results.store import Known, Store, Survey
    from compbo.study.tuner.records import Record


@dataclass
class Estimator:
    """Seconds of a cell, from those that are done: of its optimiser, else of its kind, of its size, of all."""

    _sums: dict[tuple[object, ...], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    @classmethod
    def of(cls, survey: Survey) -> Estimator:
        """With what the cells of a results folder took."""
        estimator = cls()
        for known in survey.known.values():
            if known.status == schema.DONE:
                estimator.add(known.cell, known.seconds)
        return estimator

    def add(self, cell: Cell, seconds: float) -> None:
        """Learn from a cell."""
        for key in _keys(cell):
            total = self._sums[key]
            total[0] += seconds
            total[1] += 1.0

    def seconds(self, cell: Cell) -> float | None:
        """The mean of the most similar cells known; None while none is."""
        for key in _keys(cell):
            if key in self._sums:
                total, count = self._sums[key]
                return total / count
        return None

    def total(self, cells: Iterable[Cell]) -> float | None:
        """Seconds of all these cells one after the other; None while nothing is known."""
        expected = [self.seconds(cell) for cell in cells]
        return None if None in expected else sum(seconds for seconds in expected if seconds is not None)


def _keys(cell: Cell) -> list[tuple[object, ...]]:
    size = (cell.dimension, cell.batch, cell.steps)
    method = cell.method
    return [(*size, method.optimiser, method.acquisition), (*size, method.optimiser), (*size, method.kind), size, ()]


class TuningStatus(NamedTuple):
    """How far `compbo study tune` is."""

    problems: int
    tuned: int  # of them
    configurations: int  # asked for, of all problems
    judged: int  # of them
    seconds_left: float | None  # one cell after the other; None while nothing is known


class Status(NamedTuple):
    """Where a study stands."""

    done: list[Known]
    failed: list[Known]
    left: list[Cell]
    damaged: dict[Path, str]
    seconds_spent: float  # of all cells, one after the other
    seconds_left: float | None  # the same for those left; None while nothing is known
    owner: str | None  # who is writing now
    tuning: TuningStatus

    @property
    def total(self) -> int:
        """Cells in all."""
        return len(self.done) + len(self.failed) + len(self.left)


def study_status(
    store: Store, cells: Iterable[Cell] | None = None, keep: Callable[[list[Cell]], list[Cell]] = list
) -> Status:
    """The status of these cells, or of all that were ever asked for in this folder and `keep` keeps."""
    survey, records = store.survey(), read_records(store)
    if cells is not None:
        wanted = list(cells)
        keys = {key_of(cell) for cell in wanted}
        records = [record for record in records if key_of(record.cell) in keys]
    else:
        asked_for = {**store.plan(), **{key: known.cell for key, known in survey.known.items()}}
        tuned_for = {record.cell.hash: record.cell for record in records}
        kept = {cell.hash for cell in keep([*{**asked_for, **tuned_for}.values()])}
        wanted = [cell for key, cell in asked_for.items() if key in kept]
        records = [record for record in records if record.cell.hash in kept]
    return summarise(wanted, records, survey, store.owner())


def summarise(cells: Iterable[Cell], records: Sequence[Record], survey: Survey, owner: str | None) -> Status:
    """Sort the cells by what the survey knows of them."""
    done: list[Known] = []
    failed: list[Known] = []
    left: list[Cell] = []
    estimator = Estimator.of(survey)
    for cell in cells:
        known = survey.known.get(cell.hash)
        if known is None:
            left.append(cell)
        elif known.status == schema.DONE:
            done.append(known)
        else:
            failed.append(known)
    spent = sum(known.seconds for known in (*done, *failed))
    tuning = _summarise_tuning(records, estimator)
    return Status(done, failed, left, survey.damaged, spent, estimator.total(left), owner, tuning)


def _summarise_tuning(records: Sequence[Record], estimator: Estimator) -> TuningStatus:
    return TuningStatus(
        problems=len(records),
        tuned=sum(not record.left for record in records),
        configurations=sum(record.configurations for record in records),
        judged=sum(record.configurations - record.left for record in records),
        seconds_left=estimator.total(cell for record in records for cell in record.judges * record.left),
    )


def in_words(seconds: float | None) -> str:
    """A time as a person would say it."""
    if seconds is None:
        return "unknown"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:.0f} min"
    return f"{seconds / 86400:.1f} days"
