"""Notebooks: functions of a cell in worker processes, the progress bar, and how things show themselves."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import pytest

import compbo
from compbo import Categorical, Float, Int
from compbo.html_table import LONGEST_CELL, MOST_ROWS, html_table
from compbo.run.bars import BarState, bar_html

SETUP = """
import math
import compbo
OFFSET = 0.25
class Shift:
    def __init__(self, by): self.by = by
    def __call__(self, value): return value + self.by
shift = Shift(OFFSET)
def cell_function(p):
    if p["x"] < -4: raise Mine("too far")
    return shift(math.fabs(p["x"]))
class Mine(Exception): pass
"""
RUN = """
result = compbo.minimize(cell_function, {"x": compbo.Float(-5, 5)}, evaluations=8, workers=2)
print([r.value == 0.25 + abs(r.params["x"]) for r in result.records])
"""
RIGHT = "[True, True, True, True, True, True, True, True]"

# IPython's shell as a kernel makes it, with what it shows kept in a list.
SHELL = f"""
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.display_pub = CapturingDisplayPublisher(shell=shell)
shell.kernel = object()
for cell in ({SETUP!r}, {RUN!r}):
    shell.run_cell(cell).raise_error()
for shown in shell.display_pub.outputs:
    print("update" if shown["update"] else "new", shown["data"]["text/html"])
"""


def test_functions_that_no_file_has_reach_worker_processes() -> None:
    """What is typed at a prompt, or stands in a cell: `__main__` has no file that a new process could import."""
    ended = subprocess.run([sys.executable, "-c", SETUP + RUN], capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.returncode) == (RIGHT, 0), ended.stderr


def test_a_cell_of_ipython_runs_in_processes_and_shows_a_bar() -> None:
    ended = subprocess.run([sys.executable, "-c", SHELL], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    right, *shown = ended.stdout.strip().splitlines()
    assert right == RIGHT
    assert shown[0].startswith("new <div><progress")
    assert {line.partition(" ")[0] for line in shown[1:]} == {"update"}
    assert "0/8" in shown[0]
    assert "8/8" in shown[-1]
    assert "\x1b[" not in ended.stderr  # no bar of the terminal beside it


@pytest.mark.long
def test_a_notebook_with_a_real_kernel() -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [SETUP, RUN, "result", "result.optimizer.space"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    bar, right = notebook.cells[1].outputs
    assert right.text.strip() == RIGHT
    assert "8/8" in bar.data["text/html"]
    assert ["<table" in cell.outputs[0].data["text/html"] for cell in notebook.cells[2:]] == [True, True]


class Reader(HTMLParser):
    """The texts of a piece of HTML; every tag that opens must close."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        assert tag in {"div", "strong", "table", "tr", "th", "td", "progress"}, "a name must not become a tag"
        assert all("color" not in value and "background" not in value for _, value in attributes), (
            "the page has its own"
        )
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_space_optimizer_and_result_show_themselves() -> None:
    evil = "<script>&"
    space = compbo.Space({evil: Float(1e-3, 1, scale="log"), "n": Int(1, 3), "kind": Categorical(["<b>", "c"])})
    assert Reader(space._repr_html_()).texts == [
        *("Space: 3 parameters, 4 dimensions", "name", "type", "values"),
        *(evil, "float", "low 0.001, high 1.0, scale log", "n", "int", "low 1, high 3, scale linear"),
        *("kind", "categorical", "choices ['<b>', 'c']"),
    ]

    empty = compbo.Optimizer(space)
    assert Reader(empty._repr_html_()).texts[1:] == ["evaluations", "0", "pending", "0"]

    def fails_at_three(p: dict[str, Any]) -> float:
        return 1 / (3 - p["n"])

    result = compbo.minimize(fails_at_three, space, evaluations=6)
    failed = sum(r.state == "FAIL" for r in result.records)
    assert result.best is not None
    assert failed > 0
    for thing, title in ((result, "Result (minimize)"), (result.optimizer, "Optimizer (minimize, CAdam, 4 dim")):
        texts = Reader(thing._repr_html_()).texts
        assert texts[0].startswith(title)
        shown = dict(zip(texts[1::2], texts[2::2], strict=True))
        assert shown["evaluations"] == f"6 ({failed} failed)"
        assert shown["best value"] == repr(result.best_value)
        assert {name: shown[name] for name in space.names} == {k: repr(v) for k, v in result.best.params.items()}


def test_long_tables_are_cut_and_say_so() -> None:
    texts = Reader(html_table("t", [("x" * 999, number) for number in range(MOST_ROWS + 7)])).texts
    assert texts[-1] == "… and 7 more"
    assert texts[1] == "x" * LONGEST_CELL + "…"
    assert len(texts) == 2 * MOST_ROWS + 2


def test_the_line_of_a_notebook() -> None:
    texts = Reader(bar_html(BarState(3, 8, None, "ask <1 s", 2))).texts
    assert "".join(texts).split() == ["3/8", "no", "value", "yet", "ask", "<1", "s", "2", "failed"]
    assert "best 0.25" in "".join(Reader(bar_html(BarState(3, 8, 0.25, "", 0))).texts)
