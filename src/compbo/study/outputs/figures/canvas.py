"""What all figures share: their style, bands, labels at the ends of curves, and files that come out the same."""

from __future__ import annotations

import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.extras import load_optional
from compbo.study.outputs.look import for_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from compbo.study.outputs.look import Look
    from compbo.study.outputs.statistics.bootstrap import Estimate

FORMATS = ("png", "svg", "pdf")
INK, MUTED, GRID = "#1f2933", "#5b6775", "#e3e7eb"
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#9aa5b1",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.0,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    "svg.hashsalt": "compbo",  # the ids inside an SVG file depend on it
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
METADATA: dict[str, dict[str, Any]] = {  # no dates and no versions: the same table gives the same file
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Drawing(NamedTuple):
    """A figure and its caption."""

    figure: Figure
    caption: str  # what it shows, and how much data is behind it


@contextmanager
def styled() -> Iterator[None]:
    """The style, while a figure is made and saved."""
    matplotlib = load_optional("matplotlib", "study")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "backend": "agg"}):
        yield


def panels(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure of width x height inches and its grid of axes, (rows, columns); options: of Matplotlib's `subplots`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(drawing: Drawing, folder: Path, name: str, formats: Iterable[str] = FORMATS) -> list[Path]:
    """The files of a drawing, folder / name in each of these formats, after they were written."""
    paths = []
    for kind in formats:
        paths.append(folder / f"{name}.{kind}")
        drawing.figure.savefig(paths[-1], format=kind, metadata=METADATA[kind])
    return paths


def curve(
    axes: Axes,
    x: Any,
    found: Estimate,
    look: Look,
    *,
    width: float = 1.5,
    band: float = 0.11,
    bars: Sequence[int] = (),
    shift: float = 0.0,
) -> None:
    """A line of this width with its interval as a band, and a few markers, which stay readable without colour.

    x, found: places and values of the curve. band: how opaque it is. bars: instead of a band, bars at the places with
    these numbers, moved aside by `shift` so that those of many curves stand beside each other.
    """
    if found.unit != "nothing" and bars:
        at = np.asarray(bars)
        axes.vlines(
            np.asarray(x)[at] + shift, found.low[at], found.high[at], color=look.colour, linewidth=1.1, alpha=0.8
        )
    elif found.unit != "nothing":
        axes.fill_between(x, found.low, found.high, color=look.colour, alpha=band, linewidth=0)
        for edge in (found.low, found.high):  # where bands lie on each other, their edges still tell them apart
            axes.plot(x, edge, color=look.colour, linewidth=0.35, alpha=0.55)
    every = max(1, len(np.atleast_1d(x)) // 6)
    axes.plot(
        x,
        found.value,
        color=look.colour,
        linestyle=look.line,
        marker=look.marker,
        markevery=every,
        linewidth=width,
    )


LEADER = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0, "relpos": (0.0, 0.5)}


class EndLabel(NamedTuple):
    """A text at the right end of a curve: at the height y, in the colour of the curve."""

    y: float
    text: str
    colour: str


def label_ends(
    axes: Axes, labels: Sequence[EndLabel], *, size: float = 7.5, leaders: bool = True, x: float | None = None
) -> None:
    """Write the labels right of the axes at the height of their curves, moved apart where they would meet.

    size: of the letters, in points.

    leaders: with a thin line to where the curve ends. x: beside that place inside the axes instead. Call it when the
    layout of the figure is known.
    """
    known = sorted((label for label in labels if np.isfinite(label.y)), key=lambda label: label.y)
    if not known:
        return
    height = axes.get_window_extent().height * 72.0 / axes.figure.dpi
    places = _places(axes, [label.y for label in known])
    gap = size * 1.15 / height
    moved = spread_apart(places, gap)
    anchor = 1.0 if x is None else float(axes.transAxes.inverted().transform(axes.transData.transform((x, 1.0)))[0])
    for label, place, wanted in zip(known, moved, places, strict=True):
        axes.annotate(
            label.text,
            xy=(anchor, wanted),
            xytext=(anchor + 0.03, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=size,
            color=for_text(label.colour),
            va="center",
            ha="left",
            annotation_clip=False,
            arrowprops={**LEADER, "color": label.colour} if leaders else None,
        )


def _places(axes: Axes, values: Sequence[float]) -> list[float]:
    """Heights in data as parts of the axes."""
    inverse = axes.transAxes.inverted()
    left = axes.get_xlim()[0]
    return [float(inverse.transform(axes.transData.transform((left, value)))[1]) for value in values]


def spread_apart(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places with at least this gap, moved as little as possible in the sense of squares, in their order."""
    groups: list[list[float]] = []  # [sum of wanted places of the first, number of labels]
    for i, place in enumerate(places):
        groups.append([place - i * gap, 1.0])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    starts = [total / count for total, count in groups for _ in range(int(count))]
    return [start + i * gap for i, start in enumerate(starts)]


def legend(figure: Figure, entries: Sequence[tuple[str, Look]], size: float = 7.5) -> None:
    """Entries, names with their looks, above the panels, once for the whole figure; size: of the letters, in points."""
    from matplotlib.lines import Line2D

    longest = max((len(name) for name, _ in entries), default=1)
    inches = (longest * 0.62 * size + 5.2 * size) / 72.0
    columns = max(1, min(len(entries), int(figure.get_figwidth() / inches)))
    handles = [
        Line2D([], [], color=look.colour, linestyle=look.line, marker=look.marker, label=name)  # type: ignore[arg-type]
        for name, look in entries
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, fontsize=size, handlelength=2.8)


def footnote(figure: Figure, text: str) -> None:
    """A text in small letters under the figure, broken to its width: how much data is behind it."""
    width = int(figure.get_figwidth() * 17.5)
    lines = [line for part in text.split("\n") for line in textwrap.wrap(part, width)]
    figure.supxlabel("\n".join(lines), fontsize=7.0, color=MUTED, x=0.01, ha="left")


def forest(place: Axes, names: Sequence[str], found: Sequence[Estimate], colours: Sequence[str]) -> None:
    """Numbers with their intervals, one below the other, the first on top; a hollow mark where there is no interval.

    place: the axes. names, found, colours: one of each per line.
    """
    for row, (one, colour) in enumerate(zip(found, colours, strict=True)):
        known = one.unit != "nothing"
        if known:
            place.plot([one.low, one.high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt", alpha=0.55)
        place.plot([one.value], [row], marker="o", color=colour, markerfacecolor=colour if known else "white")
    place.locator_params(axis="x", nbins=4)
    place.set_yticks(range(len(names)), names)
    place.set_ylim(len(names) - 0.5, -0.5)
    place.grid(visible=False, axis="y")
