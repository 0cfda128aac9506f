"""The notebooks run from top to bottom, are kept without outputs, and their pages are made of their cells."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tools import notebooks

if TYPE_CHECKING:
    from pathlib import Path

BOOKS = notebooks.notebooks()
CODE = re.compile(r"^```python\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


def shapes(page: str) -> list[str]:
    """What a page shows, in order, without the numbers: code, printed texts, tables and pictures."""
    kinds = {"```python": "code", "```text": "text", "<div": "table", "![": "picture"}
    return [kind for line in page.splitlines() for start, kind in kinds.items() if line.startswith(start)]


def test_there_are_three_and_the_site_shows_them() -> None:
    assert [path.stem for path in BOOKS] == ["botorch", "getting_started", "reading_a_study"]
    navigation = (notebooks.ROOT / "mkdocs.yml").read_text()
    assert [path.stem for path in BOOKS if f"notebooks/{path.stem}.md" not in navigation] == []


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_page_is_made_of_it(path: Path) -> None:
    written = json.loads(path.read_text())
    assert [cell["outputs"] for cell in written["cells"] if cell["cell_type"] == "code" and cell["outputs"]] == []
    page = notebooks.page_of(notebooks.executed(path), path.stem)
    committed = path.with_suffix(".md").read_text()
    texts = [cell["source"] for cell in written["cells"] if cell["cell_type"] == "markdown"]
    assert CODE.findall(committed) == CODE.findall(page.text), "run: make notebooks"
    assert ["".join(text) for text in texts[1:] if "".join(text) not in committed] == [], "run: make notebooks"
    assert shapes(committed) == shapes(page.text)
    assert {file.name for file in path.parent.glob(f"{path.stem}-*.png")} == set(page.pictures)


def test_things_show_themselves_as_tables() -> None:
    page = (notebooks.FOLDER / "getting_started.md").read_text()
    for title in ("Space: 3 parameters", "Result (minimize)", "Optimizer (minimize, CAdam-ME"):
        assert f"<strong>{title}" in page
    assert "<progress" not in page


def test_printed_pieces_are_one_text_and_colours_go() -> None:
    nbformat = pytest.importorskip("nbformat")
    new = nbformat.v4
    pieces = [new.new_output("stream", name="stdout", text=text) for text in ("a\n", "\x1b[31mb\x1b[0m\n")]
    other = new.new_output("stream", name="stderr", text="a warning")
    cell = new.new_code_cell("print()", outputs=[*pieces, other])
    book = new.new_notebook(cells=[new.new_markdown_cell("# Title\n\nText."), cell])
    assert notebooks.page_of(book, "x").text.endswith("Text.\n\n```python\nprint()\n```\n\n```text\na\nb\n```\n")
