"""Where the driver gets the cells of a tuning from: many problems at the same time, each judged step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.study.tuner.records import save_record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.study.cell import Cell
    from compbo.study.results import Store
    from compbo.study.results.schema import Row
    from compbo.study.tuner.problem import TuningProblem


class TuningSource:
    """The cells of all problems; of each problem those of one configuration after the other.

    Args:
        problems: to be solved at the same time.
        store: the results folder.
    """

    def __init__(self, problems: Iterable[TuningProblem], store: Store) -> None:
        self.problems = list(problems)
        self._store = store
        self._by_cell: dict[str, list[TuningProblem]] = {}
        self._stored = {path.stem for path in store.cells.rglob("*.parquet")}
        self._ready: list[Cell] = []
        self._idle = list(reversed(self.problems))

    def next(self) -> Cell | None:
        """The next cell that is not stored; configurations whose cells are all stored are judged on the way."""
        while not self._ready and self._idle:
            self._begin(self._idle.pop())
        return self._ready.pop(0) if self._ready else None

    def _begin(self, problem: TuningProblem) -> None:
        for cell in problem.advance():
            running = cell.hash in self._by_cell
            self._by_cell.setdefault(cell.hash, []).append(problem)
            if cell.hash in self._stored:
                self.finished(cell, self._store.row(cell.hash))
            elif not running:
                self._ready.append(cell)

    def finished(self, cell: Cell, row: Row) -> None:
        """Tell the problems that wait for this cell; a problem whose configuration is judged may begin the next."""
        self._stored.add(cell.hash)
        for problem in self._by_cell.pop(cell.hash, []):
            if problem.tell(cell.hash, row):
                save_record(self._store, problem.record)
                self._idle.append(problem)

    def ahead(self) -> Iterable[Cell]:
        """Those of the configurations that have begun."""
        return self._ready

    def __len__(self) -> int:
        return sum(problem.left for problem in self.problems)
