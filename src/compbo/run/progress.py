"""What a run shows while it goes on: lines in the log always, a progress bar if stderr is a terminal."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from compbo.words import counted

if TYPE_CHECKING:
    from rich.progress import Progress

    from compbo.bo.telemetry import Telemetry
    from compbo.records import Record

log = logging.getLogger("compbo")


class RunProgress:
    """The lines of the log, and the bar: evaluations, best value, time of the last ask and its verdict.

    Args:
        total: number of evaluations of the run.
        show: whether there is a bar; None: only if stderr is a terminal.
    """

    def __init__(self, total: int, *, show: bool | None = None) -> None:
        self._total = total
        self._failures = 0
        self._best: float | None = None
        self._ask = "…"
        self._bar: Progress | None = None
        self._task: Any = None
        self._show = sys.stderr.isatty() if show is None else show

    def start(self, records: list[Record], best: float | None) -> None:
        """Begin; records: what is stored already."""
        done = sum(record.state != "RUNNING" for record in records)
        self._failures = sum(record.state == "FAIL" for record in records)
        self._best = best
        if records:
            again = len(records) - done
            log.info("resuming: %s stored, %d to be evaluated again", counted(done, "evaluation"), again)
        if self._show:
            self._bar = _bar()
            self._task = self._bar.add_task("", total=self._total, completed=done, state=self._state())
            self._bar.start()

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
            self._bar.stop()

    def _refresh(self, advance: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, advance=advance, state=self._state(), refresh=True)

    def _state(self) -> str:
        best = "no value yet" if self._best is None else f"best [bold]{self._best:.6g}[/]"
        failed = f"  [red]{self._failures} failed[/]" if self._failures else ""
        return f"{best}  {self._ask}{failed}"


def _bar() -> Progress:
    """A bar of Rich, imported before the first evaluation: its first import draws from the global `random`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), redirect_stdout=False)
