"""The progress of the driver on the screen, with the time left: a bar in a terminal, a line a minute in a log."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from compbo.study.engine.estimate import Estimator, duration_in_words
from compbo.study.results import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.study.cell import Cell
    from compbo.study.results.survey import Survey

log = logging.getLogger(__name__)

LINE_SECONDS = 60.0  # between two lines where no terminal is


class StudyProgress:
    """How many cells are done, and the time left.

    Args:
        survey: of the results folder: what is known of the time that cells take.
        show: True: a bar; False: nothing; None: a bar in a terminal, elsewhere a line a minute.
    """

    def __init__(self, survey: Survey, *, show: bool | None = None) -> None:
        self._done = self._failed = 0
        self._estimator = Estimator.of(survey)
        self._screen = None if show is False else _Bar() if show or sys.stderr.isatty() else _Lines()

    def add(self, cell: Cell, row: schema.Row) -> None:
        """Count a cell that has ended.

        Args:
            cell: the experiment.
            row: its results.
        """
        self._done += 1
        if row["status"] == schema.DONE:
            self._estimator.add(cell, row["seconds"])
            log.info("%s: done in %.1f s", cell.name, row["seconds"])
        else:
            self._failed += 1
            log.warning("%s: failed: %s", cell.name, row["error"])

    def show(self, known: Sequence[Cell], left: int, slots: int) -> None:
        """Bring the screen up to date.

        Args:
            known: cells that have not finished, as far as they are known.
            left: how many have not finished in all.
            slots: how many run at the same time.
        """
        if self._screen is None or not self._screen.due():
            return
        seconds = self._estimator.total(known)
        if seconds is not None and known:
            seconds *= left / len(known)  # those not yet known are taken to be like those known
        remaining = "no worker yet" if slots == 0 else duration_in_words(None if seconds is None else seconds / slots)
        failed = f", {self._failed} failed" if self._failed else ""
        try:
            self._screen.show(self._done, self._done + left, f"left: {remaining}{failed}")
        except OSError:  # the terminal is closed; the study goes on
            self._screen = None

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._screen is not None:
            with suppress(OSError):
                self._screen.close()


class _Bar:
    """A bar in a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        state = TextColumn("{task.fields[state]}")
        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), state, TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), redirect_stdout=False)
        self._task = self._bar.add_task("cells", total=None, state="starting")
        self._bar.start()

    def due(self) -> bool:
        """Always."""
        return True

    def show(self, done: int, total: int, state: str) -> None:
        """Redraw it."""
        self._bar.update(self._task, completed=done, total=total, state=state)

    def close(self) -> None:
        """Leave it as it is."""
        self._bar.stop()


class _Lines:
    """A line a minute on standard error, for logs."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether the last line is old enough."""
        return time.monotonic() - self._last >= LINE_SECONDS

    def show(self, done: int, total: int, state: str) -> None:
        """Write one."""
        self._last = time.monotonic()
        sys.stderr.write(f"{time.strftime('%H:%M')}  {done} of {total} cells, {state}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Nothing stays open."""
