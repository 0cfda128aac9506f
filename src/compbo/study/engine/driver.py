"""The driver: it runs the cells that are not stored yet, and stores each row when it arrives.

It may be killed at any moment: at most the cells that are running are lost, and the same call goes on with the rest.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Protocol

from compbo.study.engine.pools import CellLostError, PoolError
from compbo.study.engine.progress import StudyProgress
from compbo.study.results import schema
from compbo.versions import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from compbo.study.cell import Cell
    from compbo.study.engine.pools import FinishedCell, Pool
    from compbo.study.results.store import Store
    from compbo.study.results.survey import StoredCell, Survey

POLL_SECONDS = 1.0


class CellSource(Protocol):
    """Gives the driver one cell after the other."""

    def next(self) -> Cell | None:
        """The cell to run now.

        Returns:
            A cell; None if there is none, or none before another has finished.
        """
        ...

    def finished(self, cell: Cell, row: schema.Row) -> None:
        """A cell was run and stored.

        Args:
            cell: the experiment.
            row: its results, without the points.
        """
        ...

    def ahead(self) -> Iterable[Cell]:
        """The cells that are still to be handed out.

        Returns:
            Those that are known.
        """
        ...

    def __len__(self) -> int:
        """How many cells have not finished, handed out or not."""
        ...


class CellList:
    """Cells that are known from the beginning, in order.

    Args:
        cells: to be run.

    >>> from compbo.study.cell import Cell, MethodSpec
    >>> cell = Cell("levy-2", 2, MethodSpec("bohb"), seed=0, batch=1, steps=1, initial=1)
    >>> source = CellList([cell])
    >>> source.next() is cell, source.next(), len(source)
    (True, None, 1)
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._waiting = deque(cells)
        self._unfinished = len(self._waiting)

    def next(self) -> Cell | None:
        """The next of the list."""
        return self._waiting.popleft() if self._waiting else None

    def finished(self, cell: Cell, row: schema.Row) -> None:  # noqa: ARG002
        """Count it; no other cell depends on it."""
        self._unfinished -= 1

    def ahead(self) -> Iterable[Cell]:
        """The rest of the list."""
        return self._waiting

    def __len__(self) -> int:
        return self._unfinished


class RunSummary(NamedTuple):
    """What a call of the driver did.

    Args:
        run: cells that it has run.
        failed: of these.
        there_before: cells that were stored before, in the folder or elsewhere.
    """

    run: int
    failed: int
    there_before: int


def run_study(
    cells: Sequence[Cell],
    store: Store,
    make_pool: Callable[[], Pool],
    *,
    known: Mapping[str, StoredCell] | None = None,
    retry: bool = False,
    show: bool | None = None,
) -> RunSummary:
    """Run the cells that are not stored yet.

    Args:
        cells: what is wanted; a cell that is there twice is run once.
        store: the results folder.
        make_pool: makes what runs the cells, once the folder is locked.
        known: cells that are done and stored elsewhere, by hash; they are neither run nor added to the plan.
        retry: run those that are stored as failed as well.
        show: as for `StudyProgress`.

    Returns:
        How many were run, how many of these failed, and how many were there before. PoolError if the workers are gone.

    >>> import tempfile
    >>> from compbo.study.engine.messages import Limits
    >>> from compbo.study.engine.pools import LocalPool
    >>> from compbo.study.grid import Block
    >>> from compbo.study.results import Store
    >>> cells = list(Block(("levy-2", "ackley-2"), ("random-search",), steps=2).cells())
    >>> store = Store(tempfile.mkdtemp())
    >>> run_study(cells, store, lambda: LocalPool(1, Limits()), show=False)
    RunSummary(run=2, failed=0, there_before=0)
    >>> run_study(cells, store, lambda: LocalPool(1, Limits()), show=False)
    RunSummary(run=0, failed=0, there_before=2)
    """
    once = {cell.hash: cell for cell in cells}.values()  # tuning may have made two cells the same
    with store.writing() as own:
        store.add_to_plan(cell for cell in once if not known or cell.hash not in known)
        survey = own.joined(known or {})
        todo = [cell for cell in once if _is_due(cell, survey, retry)]
        there = len(once) - len(todo)
        if not todo:
            return RunSummary(0, 0, there)
        run, failed = drive(CellList(todo), store, make_pool, survey, show=show)
        return RunSummary(run, failed, there)


def _is_due(cell: Cell, survey: Survey, retry: bool) -> bool:
    stored = survey.stored.get(cell.hash)
    return stored is None or (retry and stored.status == schema.FAILED)


def drive(
    source: CellSource, store: Store, make_pool: Callable[[], Pool], survey: Survey, *, show: bool | None = None
) -> tuple[int, int]:
    """Keep the pool busy until the source has no more cells.

    Args:
        source: gives the cells.
        store: the results folder; it must be locked (`Store.writing`).
        make_pool: makes what runs the cells.
        survey: of the folder, for the time left.
        show: as for `StudyProgress`.

    Returns:
        How many cells were run, and how many of these failed.
    """
    pool = make_pool()
    progress = StudyProgress(survey, show=show)
    running: dict[str, Cell] = {}
    run = failed = 0
    try:
        while True:
            window = pool.window
            while len(running) < window and (cell := source.next()) is not None:
                running[cell.hash] = cell
                pool.submit(cell)
            if not running:
                return run, failed
            finished = pool.wait(POLL_SECONDS)
            if finished is not None:
                row = _store(finished, store)
                del running[finished.cell.hash]
                source.finished(finished.cell, row)
                run, failed = run + 1, failed + (row["status"] == schema.FAILED)
                progress.add(finished.cell, row)
            progress.show([*running.values(), *source.ahead()], len(source), pool.slots)
    finally:
        progress.close()
        pool.close()


def _store(finished: FinishedCell, store: Store) -> schema.Row:
    """Write the row. A cell that no worker survives has failed; any other error of the pool ends the run."""
    if finished.data is not None:
        try:
            return store.write(finished.cell, finished.data)
        except ValueError as error:
            raise PoolError(
                f"A worker sent something else than the result of {finished.cell.name}: {error}; "
                f"do all workers have the compbo of this driver, {VERSION}?"
            ) from error
    if isinstance(finished.error, CellLostError):
        from compbo.study.engine.rows import failed_row

        return store.write(finished.cell, schema.to_bytes(failed_row(finished.cell, str(finished.error))))
    raise PoolError(f"The workers cannot run cells: {type(finished.error).__name__}: {finished.error}")
