"""The driver: what is not yet stored is run, and stored as it arrives, by this process alone.

It may be killed at any moment: at most the cells in flight are lost, and the same call goes on with the rest.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from compbo.study import schema
from compbo.study.pools import DaskPool, Finished, LocalPool, Pool, PoolError
from compbo.study.status import Estimator, in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compbo.study.cell import Cell
    from compbo.study.store import Store, Survey
    from compbo.study.worker import Limits

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0


class Source(Protocol):
    """Where the next cell comes from."""

    def next(self) -> Cell | None:
        """A cell to run now; None if there is none (or none until another has finished)."""
        ...

    def finished(self, cell: Cell, row: schema.Row) -> None:
        """A cell was run and stored."""
        ...

    def ahead(self) -> Iterable[Cell]:
        """The cells that are still to be handed out, as far as they are known."""
        ...

    def __len__(self) -> int:
        """How many cells are still to come, handed out or not."""
        ...


class Fixed:
    """A list of cells, in order."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._waiting = deque(cells)

    def next(self) -> Cell | None:
        """The next of the list."""
        return self._waiting.popleft() if self._waiting else None

    def finished(self, cell: Cell, row: schema.Row) -> None:
        """Nothing depends on it."""

    def ahead(self) -> Iterable[Cell]:
        """The rest of the list."""
        return self._waiting

    def __len__(self) -> int:
        return len(self._waiting)


class Summary(NamedTuple):
    """What a call of the driver did."""

    run: int
    failed: int
    there_before: int


def run_study(
    cells: Sequence[Cell],
    store: Store,
    make_pool: Callable[[], Pool],
    *,
    retry: bool = False,
    show: bool | None = None,
) -> Summary:
    """Run the cells that are not stored yet; with `retry`, those that are stored as failed, too."""
    with store.writing() as survey:
        store.add_to_plan(cells)
        todo = [cell for cell in cells if _is_due(cell, survey, retry)]
        there = len(cells) - len(todo)
        if not todo:
            return Summary(0, 0, there)
        run, failed = drive(Fixed(todo), store, make_pool, survey, show=show)
        return Summary(run, failed, there)


def _is_due(cell: Cell, survey: Survey, retry: bool) -> bool:
    known = survey.known.get(cell.hash)
    return known is None or (retry and known.status == schema.FAILED)


def drive(
    source: Source, store: Store, make_pool: Callable[[], Pool], survey: Survey, *, show: bool | None = None
) -> tuple[int, int]:
    """Keep the pool busy until the source is dry; how many cells were run, and how many of them failed."""
    pool = make_pool()
    progress = Progress(len(source), survey, show=show)
    flying: dict[str, Cell] = {}
    run = failed = 0
    try:
        while True:
            window = pool.window
            while len(flying) < window and (cell := source.next()) is not None:
                flying[cell.hash] = cell
                pool.submit(cell)
            if not flying:
                return run, failed
            finished = pool.wait(POLL_SECONDS)
            if finished is not None:
                row = _store(finished, store)
                del flying[finished.cell.hash]
                source.finished(finished.cell, row)
                run, failed = run + 1, failed + (row["status"] == schema.FAILED)
                progress.add(finished.cell, row)
            progress.show([*flying.values(), *source.ahead()], pool.slots)
    finally:
        progress.close()
        pool.close()


def _store(finished: Finished, store: Store) -> schema.Row:
    """Write the row; a cell that no worker survives is a failed one, any other trouble of the pool is the driver's."""
    if finished.data is not None:
        return store.write(finished.cell, finished.data)
    if type(finished.error).__name__ == "KilledWorker":
        from compbo.study.experiment import lost_row

        return store.write(finished.cell, schema.to_bytes(lost_row(finished.cell, f"Dask gave up: {finished.error}")))
    raise PoolError(f"The workers cannot run cells: {type(finished.error).__name__}: {finished.error}")


class Progress:
    """A bar with the time left where somebody watches; a log line per cell always."""

    def __init__(self, total: int, survey: Survey, *, show: bool | None = None) -> None:
        self._total, self._done, self._failed = total, 0, 0
        self._estimator = Estimator()
        for known in survey.known.values():
            if known.status == schema.DONE:
                self._estimator.add(known.cell, known.seconds)
        self._bar = _bar(total) if (sys.stderr.isatty() if show is None else show) else None
        if self._bar is not None:
            self._bar.start()

    def add(self, cell: Cell, row: schema.Row) -> None:
        """A cell has ended."""
        self._done += 1
        if row["status"] == schema.DONE:
            self._estimator.add(cell, row["seconds"])
            log.info("%s: done in %.1f s", cell.name, row["seconds"])
        else:
            self._failed += 1
            log.warning("%s: failed: %s", cell.name, row["error"])

    def show(self, left: list[Cell], slots: int) -> None:
        """Bring the bar up to date."""
        if self._bar is None:
            return
        seconds = self._estimator.total(left)
        remaining = "no worker yet" if slots == 0 else in_words(None if seconds is None else seconds / slots)
        failed = f"  [red]{self._failed} failed[/]" if self._failed else ""
        total = max(self._total, self._done + len(left))
        self._bar.update(self._bar.task_ids[0], completed=self._done, total=total, state=f"left: {remaining}{failed}")

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._bar is not None:
            self._bar.stop()


def _bar(total: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), redirect_stdout=False)
    bar.add_task("cells", total=total, state="starting")
    return bar


def pool_maker(workers: int, dask: str | None, limits: Limits) -> Callable[[], Pool]:
    """Local processes, or a Dask cluster; nothing is started before the results folder is locked."""
    if dask is not None:
        return lambda: DaskPool(dask, limits)
    return lambda: LocalPool(workers, limits)
