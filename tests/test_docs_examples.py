"""Every Python example of the README and of docs/ runs as it is printed, page by page, from top to bottom.

A block is left out only if the line above it says why: <!-- not run: reason -->.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "docs" / "notebooks"  # run as notebooks, by test_notebooks.py
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent != NOTEBOOKS)]
BLOCK = re.compile(r"(?P<note><!-- not run: [^\n]+ -->\n+)?^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def script(page: Path) -> str:
    """The code of all blocks that are to be run, each on the lines where the page has it."""
    text, lines = page.read_text(), []
    for found in BLOCK.finditer(text):
        if not found["note"]:
            lines += [""] * (text.count("\n", 0, found.start("code")) - len(lines))
            lines += found["code"].splitlines()
    return "\n".join(lines) + "\n"


WITH_EXAMPLES = [page for page in PAGES if script(page).strip()]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path) -> None:
    example = tmp_path / f"example_of_{page.stem}.py"  # no module is called that
    example.write_text(script(page))
    environment = {**os.environ, "SMOKE_TEST": "1"}  # the long examples have a short version
    run = subprocess.run(
        [sys.executable, "-W", "ignore", example.name], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, f"{page.relative_to(ROOT)} (line numbers are the page's):\n{run.stderr[-4000:]}"


def test_there_are_examples() -> None:
    assert ROOT / "README.md" in WITH_EXAMPLES
