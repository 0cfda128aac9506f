"""`python -m tools.figures [NAME ...]`: draw the pictures of docs/figures/ again, all or those that are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from compbo.study.outputs.figures.canvas import METADATA, STYLE
from tools.figures import forms, plateau, step, tracker, why

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
FIGURES: dict[str, Callable[[], Figure]] = {
    "step": step.draw,
    "forms": forms.draw,
    "tracker": tracker.draw,
    "plateau": plateau.draw,
    "why": why.draw,
}


def save(name: str, folder: Path = FOLDER) -> Path:
    """Draw one picture into a folder.

    Args:
        name: one of FIGURES.
        folder: where its file goes.

    Returns:
        The file. It is the same, byte for byte, on every machine that computes the same numbers.
    """
    mpl.use("Agg")
    from matplotlib import pyplot

    path = folder / f"{name}.svg"
    with mpl.rc_context(STYLE):
        figure = FIGURES[name]()
        figure.savefig(path, metadata=METADATA["svg"])
        pyplot.close(figure)
    return path


def main(names: Sequence[str]) -> None:
    """Draw the pictures that are named, or all."""
    unknown = sorted(set(names) - set(FIGURES))
    if unknown:
        sys.exit(f"No picture is called {', '.join(unknown)}; choose among {', '.join(FIGURES)}.")
    for name in names or FIGURES:
        sys.stderr.write(f"{save(name)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
