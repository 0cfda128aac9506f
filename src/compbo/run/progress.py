"""What a run shows while it goes on: lines in the log always, a progress bar in a terminal or a notebook."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from compbo.run.bars import BarState, NotebookBar, TerminalBar, in_notebook
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.bo.telemetry import Telemetry
    from compbo.records import Record
    from compbo.run.bars import Bar

log = logging.getLogger("compbo")


class RunProgress:
    """The lines of the log, and the bar: evaluations, best value, time of the last ask and its verdict.

    Args:
        total: number of evaluations of the run.
        show: whether there is a bar; None: only if stderr is a terminal, or in a notebook.
    """

    def __init__(self, total: int, *, show: bool | None = None) -> None:
        self._total = total
        self._failures = 0
        self._best: float | None = None
        self._ask = "…"
        self._done = 0
        self._bar: Bar | None = None
        self._show = sys.stderr.isatty() or in_notebook() if show is None else show

    def start(self, records: list[Record], best: float | None) -> None:
        """Begin; records: what is stored already."""
        self._done = done = sum(record.state != "RUNNING" for record in records)
        self._failures = sum(record.state == "FAIL" for record in records)
        self._best = best
        if records:
            again = len(records) - done
            log.info("resuming: %s stored, %d to be evaluated again", counted(done, "evaluation"), again)
        if self._show:
            self._bar = NotebookBar(self._state()) if in_notebook() else TerminalBar(self._state())

    def asked(self, telemetry: Telemetry, seconds: float) -> None:
        """A batch was suggested."""
        self._ask = f"ask {seconds:.2g} s, {telemetry.verdict}"
        points = counted(telemetry.points, "point")
        log.info("asked for %s in %.2f s: %s (%s)", points, seconds, telemetry.verdict, telemetry.reason)
        self._refresh(0)

    def evaluated(self, record: Record, best: float | None) -> None:
        """An evaluation has ended."""
        self._best = best
        if record.value is None:
            self._failures += 1
            level = logging.WARNING if self._failures == 1 else logging.INFO  # one warning is enough
            log.log(level, "evaluation %d failed: %s", record.number, record.message)
        else:
            log.info("evaluation %d: %r (best %r)", record.number, record.value, best)
        self._refresh(1)

    def close(self) -> None:
        """End the bar; its last state stays on the screen."""
        if self._bar is not None:
            self._bar.close()

    def _refresh(self, advance: int) -> None:
        self._done += advance
        if self._bar is not None:
            self._bar.show(self._state())

    def _state(self) -> BarState:
        return BarState(self._done, self._total, self._best, self._ask, self._failures)
