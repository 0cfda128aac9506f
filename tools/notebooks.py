"""The notebooks of docs/notebooks/, executed, as pages of the site: the cells with what they show.

    python -m tools.notebooks      # writes docs/notebooks/NAME.md beside NAME.ipynb, and the pictures

The notebooks are kept without outputs. tests/test_notebooks.py executes them and holds the pages to their cells.
"""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "notebooks"
NOTE = (
    "*The notebook: [{name}.ipynb]({name}.ipynb). This page is made from it by `make notebooks`; numbers may differ "
    "in the last digits on another machine.*"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours of a terminal


class Page(NamedTuple):
    """A page and its pictures by file name."""

    text: str
    pictures: dict[str, bytes]


def notebooks() -> list[Path]:
    """The notebooks, in the order of their names."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """A notebook with its outputs.

    Args:
        path: of the notebook; the cells run in its folder, with this interpreter. A `CellExecutionError` of nbclient if
            one of them fails.

    Returns:
        What nbformat reads.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    return notebook


def page_of(notebook: Any, name: str) -> Page:
    """The page of an executed notebook.

    Args:
        notebook: with outputs.
        name: of its file, without the ending.

    Returns:
        Markdown: texts, code and what the code shows.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [shown for output in _joined(cell.outputs) if (shown := _shown(output, name, pictures))]
    title, _, rest = parts[0].partition("\n")
    return Page("\n\n".join([title, NOTE.format(name=name), rest.strip(), *parts[1:]]) + "\n", pictures)


def _joined(outputs: list[Any]) -> list[Any]:
    """The outputs; what was printed piece by piece is one text."""
    joined: list[Any] = []
    for output in outputs:
        same = joined and output.output_type == joined[-1].output_type == "stream" and output.name == joined[-1].name
        if same:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    """One output in Markdown: a picture, a table, or text; a progress bar is left out."""
    if output.output_type == "stream":
        return _block(output.text) if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        file = f"{name}-{len(pictures) + 1}.png"
        pictures[file] = base64.b64decode(data["image/png"])
        return f"![What the cell above draws]({file})"
    if "text/html" in data:
        html = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        return "" if "<progress" in html else " ".join(html.split()).replace(' border="1" class="dataframe"', "")
    return _block(data.get("text/plain", ""))


def _block(text: str) -> str:
    return f"```text\n{ESCAPES.sub('', text).rstrip()}\n```" if text.strip() else ""


def main() -> None:
    """Execute every notebook, and write its page and its pictures."""
    for path in notebooks():
        page = page_of(executed(path), path.stem)
        for old in FOLDER.glob(f"{path.stem}-*.png"):
            old.unlink()
        for file, content in page.pictures.items():
            (FOLDER / file).write_bytes(content)
        path.with_suffix(".md").write_text(page.text, encoding="utf-8")


if __name__ == "__main__":
    main()
