"""The driver: what is not yet stored is run, and stored as it arrives, by this process alone.

It may be killed at any moment: at most the cells in flight are lost, and the same call goes on with the rest.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, Protocol

from compbo.study import schema
from compbo.study.pools import PoolError
from compbo.study.progress import Progress
from compbo.versions import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from compbo.study.cell import Cell
    from compbo.study.pools import Finished, Pool
    from compbo.study.store import Store, Survey

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
        """How many cells have not finished, handed out or not."""
        ...


class Fixed:
    """A list of cells, in order."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._waiting = deque(cells)
        self._unfinished = len(self._waiting)

    def next(self) -> Cell | None:
        """The next of the list."""
        return self._waiting.popleft() if self._waiting else None

    def finished(self, cell: Cell, row: schema.Row) -> None:  # noqa: ARG002
        """One less to come; nothing else depends on it."""
        self._unfinished -= 1

    def ahead(self) -> Iterable[Cell]:
        """The rest of the list."""
        return self._waiting

    def __len__(self) -> int:
        return self._unfinished


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
    once = {cell.hash: cell for cell in cells}.values()  # tuned, two cells may have become the same
    with store.writing() as survey:
        store.add_to_plan(once)
        todo = [cell for cell in once if _is_due(cell, survey, retry)]
        there = len(once) - len(todo)
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
    progress = Progress(survey, show=show)
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
            progress.show([*flying.values(), *source.ahead()], len(source), pool.slots)
    finally:
        progress.close()
        pool.close()


def _store(finished: Finished, store: Store) -> schema.Row:
    """Write the row; a cell that no worker survives is a failed one, any other trouble of the pool is the driver's."""
    if finished.data is not None:
        try:
            return store.write(finished.cell, finished.data)
        except ValueError as error:
            raise PoolError(
                f"A worker sent something else than the result of {finished.cell.name}: {error}; "
                f"do all workers have the compbo of this driver, {VERSION}?"
            ) from error
    if type(finished.error).__name__ == "KilledWorker":
        from compbo.study.experiment import lost_row

        return store.write(finished.cell, schema.to_bytes(lost_row(finished.cell, f"Dask gave up: {finished.error}")))
    raise PoolError(f"The workers cannot run cells: {type(finished.error).__name__}: {finished.error}")
