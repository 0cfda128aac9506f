"""Where cells run: processes of this machine, or a Dask cluster. Both hand back one finished cell at a time."""

from __future__ import annotations

import queue
import threading
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from compbo.dask_client import NoSchedulerError, connect
from compbo.extras import load_optional
from compbo.inputs import whole_number
from compbo.plugins import named_plugins
from compbo.study.engine.launcher import Launcher, LauncherClosedError, run_remote

if TYPE_CHECKING:
    from compbo.study.cell import Cell
    from compbo.study.engine.messages import Limits

UNSETTLED = ("pending", "lost")


class PoolError(RuntimeError):
    """The workers are gone or cannot run cells; what was finished is stored."""


class CellLostError(RuntimeError):
    """Every worker that was given this cell has died."""


class FinishedCell(NamedTuple):
    """A cell that a pool is done with.

    Args:
        cell: the experiment.
        data: the file of its row; None if the pool could not run it.
        error: why it could not.
    """

    cell: Cell
    data: bytes | None
    error: BaseException | None = None


class Pool(Protocol):
    """Runs cells, in any order, several at a time."""

    @property
    def slots(self) -> int:
        """Cells that run at the same time, now."""
        ...

    @property
    def window(self) -> int:
        """Cells that it makes sense to have submitted."""
        ...

    def submit(self, cell: Cell) -> None:
        """Begin a cell, now or when there is room for it.

        Args:
            cell: the experiment.
        """
        ...

    def wait(self, seconds: float) -> FinishedCell | None:
        """Wait for a cell to finish.

        Args:
            seconds: how long.

        Returns:
            The next finished cell; None if there is none within these seconds.
        """
        ...

    def close(self) -> None:
        """Stop everything at once."""
        ...


class LocalPool:
    """Worker processes of this machine, each with a thread here that talks to it. They load its plugins.

    Args:
        workers: cells at the same time.
        limits: of every cell.

    >>> from compbo.study.engine.messages import Limits
    >>> pool = LocalPool(2, Limits())  # the processes start with the first cell
    >>> pool.slots
    2
    >>> pool.close()
    """

    def __init__(self, workers: int, limits: Limits) -> None:
        self.slots = self.window = whole_number("workers", workers)
        self._todo: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[FinishedCell] = queue.SimpleQueue()
        self._launchers = [Launcher(limits, named_plugins()) for _ in range(workers)]
        for launcher in self._launchers:
            threading.Thread(target=self._work, args=(launcher,), name="compbo cells", daemon=True).start()

    def _work(self, launcher: Launcher) -> None:
        while (cell := self._todo.get()) is not None:
            try:
                self._finished.put(FinishedCell(cell, launcher.run(cell.definition)))
            except LauncherClosedError:
                return
            except Exception as error:  # handed to the driver, which raises it
                self._finished.put(FinishedCell(cell, None, error))

    def submit(self, cell: Cell) -> None:
        """Begin a cell when a process is free."""
        self._todo.put(cell)

    def wait(self, seconds: float) -> FinishedCell | None:
        """The next finished cell; None if there is none within these seconds."""
        try:
            return self._finished.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Kill the processes, running cells included."""
        for launcher in self._launchers:
            launcher.close()
            self._todo.put(None)


def cell_error(error: BaseException) -> BaseException:
    """What kept Dask from running a cell.

    Args:
        error: that Dask raised.

    Returns:
        `CellLostError` if its workers died, any other error as it is.
    """
    if isinstance(error, load_optional("distributed", "study").KilledWorker):
        return CellLostError(f"Dask gave up: {error}")
    return error


class DaskPool:
    """Any Dask cluster. A lost worker's cells run again on another, by Dask. Workers load the plugins of this process.

    Args:
        address: of its scheduler; PoolError if none answers there.
        limits: of every cell.
    """

    def __init__(self, address: str, limits: Limits) -> None:
        self._address, self._limits, self._plugins = address, limits, named_plugins()
        try:
            self._client = connect(address, "compbo study")
        except NoSchedulerError as error:
            raise PoolError(str(error)) from error
        self._submitted: dict[str, tuple[Any, Cell]] = {}  # Dask takes back a future that is not kept
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._again: list[Any] = []  # finished on a worker that died before its result was fetched: Dask runs it again
        self._run = uuid.uuid4().hex[:8]  # keys that no earlier driver has left on the scheduler

    @property
    def slots(self) -> int:
        """Threads of all workers, now; workers may come and go."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError) as error:
            raise PoolError(self._lost()) from error

    @property
    def window(self) -> int:
        """Enough to keep every worker busy while results travel."""
        return 2 * self.slots + 2

    def submit(self, cell: Cell) -> None:
        """Send a cell to the cluster."""
        limits = self._limits
        arguments = (cell.definition, limits.threads, limits.time_limit, limits.memory_limit, self._plugins)
        future = self._client.submit(run_remote, *arguments, key=f"{cell.hash}-{self._run}", pure=False)
        self._submitted[future.key] = future, cell
        future.add_done_callback(self._finished.put)

    def wait(self, seconds: float) -> FinishedCell | None:
        """The next finished cell; None if there is none within these seconds; PoolError if the scheduler is gone."""
        future = next((again for again in self._again if again.status not in UNSETTLED), None)
        if future is not None:
            self._again.remove(future)
            return self._outcome(future)
        try:
            future = self._finished.get(timeout=seconds)
        except queue.Empty:
            if self._client.status != "running":
                raise PoolError(self._lost()) from None
            return None
        if future.status in UNSETTLED:
            self._again.append(future)
            return None
        return self._outcome(future)

    def _outcome(self, future: Any) -> FinishedCell:
        if future.status == "cancelled":
            raise PoolError(self._lost())
        _, cell = self._submitted.pop(future.key)
        if future.status == "error":
            return FinishedCell(cell, None, cell_error(future.exception()))
        data: bytes = future.result()
        return FinishedCell(cell, data)

    def _lost(self) -> str:
        return f"The Dask scheduler at {self._address} is gone; start it and give the same command to go on."

    def close(self) -> None:
        """Take back what has not begun; a cell that runs on a worker ends there, and its row is lost."""
        self._submitted.clear()
        self._client.close(timeout=5)
