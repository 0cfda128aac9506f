"""What the tests of plugins share: the skeletons of docs/own_parts.md as a file, and a grid that uses them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "own_parts.md"
SKELETONS = 3  # a maximizer, an acquisition function, a task

GRID = """
[[block]]
tasks = ["furnace"]
acquisitions = ["squared-improvement", "ei"]
optimisers = ["own"]
seeds = [0, 1]
batch = 2
steps = 2
inner = { raw_batches = 16, restarts = 2, steps = 3, minibatch = 8 }
"""


def skeletons() -> str:
    """The three blocks of the page that are a plugin."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[:SKELETONS])


def write_plugin(folder: Path, name: str = "own_skeletons.py") -> Path:
    """The page's plugin as a file."""
    path = folder / name
    path.write_text(skeletons())
    return path


def write_grid(folder: Path) -> Path:
    """A grid of four cells, all of the plugin."""
    path = folder / "mine.toml"
    path.write_text(GRID)
    return path
