"""The bar of a run: of Rich in a terminal, a line of HTML that changes in a notebook."""

from __future__ import annotations

import importlib
import sys
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress


class BarState(NamedTuple):
    """What a bar shows.

    Args:
        done: evaluations that have ended.
        total: evaluations of the run.
        best: the best value, None if there is none yet.
        ask: the last ask, in a few words.
        failures: evaluations that failed.
    """

    done: int
    total: int
    best: float | None
    ask: str
    failures: int

    @property
    def best_text(self) -> str:
        """The best value in six digits."""
        return "no value yet" if self.best is None else f"{self.best:.6g}"


class Bar(Protocol):
    """Something that shows how far a run is."""

    def show(self, state: BarState) -> None:
        """Show this state in the place of the last one."""
        ...

    def close(self) -> None:
        """End; the last state stays to be seen."""
        ...


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, of Jupyter or another that shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class TerminalBar:
    """A bar of Rich, imported before the first evaluation: its first import draws from the global `random`.

    Args:
        first: the state that it shows first.
    """

    def __init__(self, first: BarState) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.fields[state]}")
        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), text, TimeElapsedColumn())
        self._bar: Progress = Progress(*columns, console=Console(stderr=True), redirect_stdout=False)
        self._task = self._bar.add_task("", total=first.total, completed=first.done, state=_marked(first))
        self._bar.start()

    def show(self, state: BarState) -> None:
        """Draw it at once."""
        self._bar.update(self._task, completed=state.done, state=_marked(state), refresh=True)

    def close(self) -> None:
        """Leave the last state on the screen."""
        self._bar.stop()


def _marked(state: BarState) -> str:
    """The text beside the bar, in Rich's markup."""
    best = state.best_text if state.best is None else f"best [bold]{state.best_text}[/]"
    failed = f"  [red]{state.failures} failed[/]" if state.failures else ""
    return f"{best}  {state.ask}{failed}"


class NotebookBar:
    """A line of HTML below the cell; it needs no widgets, and stays in the saved notebook.

    Args:
        first: the state that it shows first.
    """

    def __init__(self, first: BarState) -> None:
        display: Any = importlib.import_module("IPython.display")
        self._html = display.HTML
        self._line = display.display(display.HTML(bar_html(first)), display_id=True)

    def show(self, state: BarState) -> None:
        """Change the line."""
        self._line.update(self._html(bar_html(state)))

    def close(self) -> None:
        """Nothing is open."""


def bar_html(state: BarState) -> str:
    """The line of a notebook.

    Args:
        state: what to show.

    Returns:
        HTML in which every text is escaped.

    >>> "3/8" in bar_html(BarState(3, 8, 0.25, "ask 1 s, converged", 1))
    True
    """
    best = state.best_text if state.best is None else f"best <strong>{state.best_text}</strong>"
    words = [f"{state.done}/{state.total}", best, escape(state.ask)]
    if state.failures:
        words.append(f"{state.failures} failed")
    bar = f'<progress value="{state.done}" max="{state.total}" style="vertical-align:middle"></progress>'
    return f"<div>{bar} {' &nbsp; '.join(words)}</div>"
