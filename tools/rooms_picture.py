"""The rooms as a picture, docs/rooms.svg, made from the imports themselves: `python -m tools.rooms --draw`.

A room lies above the rooms that it imports. `base`, which every room imports, is the ground; an arrow that follows from
two others is left out. Rooms called `study.*` are drawn in a frame of their own.
"""

from __future__ import annotations

import itertools
from graphlib import TopologicalSorter
from typing import NamedTuple
from xml.sax.saxutils import escape

from tools.rooms import ROOMS, ROOT, uses

PICTURE = ROOT / "docs" / "rooms.svg"
GROUND, STUDY = "base", "study"
ABOUT_STUDY = "experiments by the thousand"

BOX_WIDTH, BOX_HEIGHT, GAP, ROW, MARGIN = 216, 50, 26, 96, 24  # pixels
THREAD = 18  # width kept free for an arrow that passes a row
SWEEPS = 24

STYLE = """
  text { font-family: system-ui, sans-serif; text-anchor: middle; fill: #1f2933; }
  .name { font-size: 15px; font-weight: 600; } .about { font-size: 12px; fill: #52606d; }
  .room rect { fill: #eef4fb; stroke: #2b6cb0; } .ground rect { fill: #f0f1f3; stroke: #7b8794; }
  .frame { fill: none; stroke: #7b8794; stroke-dasharray: 5 4; }
  .use { fill: none; stroke: #52606d; stroke-width: 1.3; }
"""

TIP = """<defs><marker id="tip" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0L8 4L0 8z" fill="#52606d"/></marker></defs>"""

Edge = tuple[str, str]  # a room and one that it imports


class Panel(NamedTuple):
    """Rooms in rows, the ground row first, with the middle of every room and the way of every arrow."""

    middles: dict[str, tuple[float, float]]
    ways: dict[Edge, list[tuple[float, float]]]
    width: float
    height: float


def needed(edges: set[Edge]) -> set[Edge]:
    """The edges that do not follow from others (the transitive reduction)."""
    reachable: dict[str, set[str]] = {}
    for room in _from_the_ground(edges):
        direct = {there for here, there in edges if here == room}
        reachable[room] = direct.union(*(reachable[other] for other in direct))
    return {
        (here, there)
        for here, there in edges
        if not any(there in reachable[other] for start, other in edges if start == here and other != there)
    }


def _from_the_ground(edges: set[Edge]) -> list[str]:
    """The rooms so that each stands after those that it imports; CycleError if there is a way back."""
    imported: dict[str, set[str]] = {}
    for here, there in edges:
        imported.setdefault(here, set()).add(there)
    return list(TopologicalSorter(imported).static_order())


def rows_of(rooms: list[str], edges: set[Edge]) -> dict[str, int]:
    """The row of every room: one above the highest that it imports."""
    rows = dict.fromkeys(rooms, 0)
    for room in _from_the_ground(edges):
        rows[room] = 1 + max((rows[there] for here, there in edges if here == room), default=-1)
    return rows


def arrange(rooms: list[str], edges: set[Edge]) -> Panel:
    """Places for the rooms and ways for the arrows; an arrow over several rows passes between the rooms there."""
    rows = rows_of(rooms, edges)
    chains: dict[Edge, list[str]] = {}
    threads: dict[str, int] = {}
    for here, there in sorted(edges):
        between = [f"{here}>{there}@{row}" for row in range(rows[here] - 1, rows[there], -1)]
        threads |= {name: rows[here] - 1 - i for i, name in enumerate(between)}
        chains[here, there] = [here, *between, there]
    level = {**rows, **threads}
    layers = [[name for name in level if level[name] == row] for row in range(max(rows.values()) + 1)]
    links = [pair for chain in chains.values() for pair in itertools.pairwise(chain)]
    neighbours = {name: [b if a == name else a for a, b in links if name in (a, b)] for name in level}
    x = _spread_out(layers, neighbours, set(rooms))
    left = min(x[name] - BOX_WIDTH / 2 for name in rooms)
    top = len(layers) - 1
    place = {name: (x[name] - left + MARGIN, (top - level[name]) * ROW + MARGIN + BOX_HEIGHT / 2) for name in level}
    width = max(place[name][0] for name in rooms) + BOX_WIDTH / 2 + MARGIN
    ways = {edge: [place[name] for name in chain] for edge, chain in chains.items()}
    return Panel({room: place[room] for room in rooms}, ways, width, top * ROW + BOX_HEIGHT + 2 * MARGIN)


def _spread_out(layers: list[list[str]], neighbours: dict[str, list[str]], boxes: set[str]) -> dict[str, float]:
    """Order every row by the middle of its neighbours, again and again, and keep what is in a row apart."""
    x = {name: float(i * (BOX_WIDTH + GAP)) for layer in layers for i, name in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wanted = {name: _mean([x[other] for other in neighbours[name]], x[name]) for name in layer}
            layer.sort(key=lambda name: (wanted[name], name))
            x |= _apart(layer, wanted, boxes)
    return x


def _apart(layer: list[str], wanted: dict[str, float], boxes: set[str]) -> dict[str, float]:
    """The wanted places, moved as far as neighbours in the row need room; the row as a whole stays in its middle."""
    placed: dict[str, float] = {}
    right = -float("inf")
    for name in layer:
        half = (BOX_WIDTH if name in boxes else THREAD) / 2
        placed[name] = max(wanted[name], right + GAP + half)
        right = placed[name] + half
    shift = _mean([wanted[name] - placed[name] for name in layer], 0.0)
    return {name: place + shift for name, place in placed.items()}


def _mean(numbers: list[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _box(name: str, middle: tuple[float, float], width: float, kind: str) -> str:
    x, y = middle
    about = escape(ROOMS[name].about if name in ROOMS else ABOUT_STUDY)
    return (
        f'<g class="{kind}"><rect x="{x - width / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" width="{width:.0f}" '
        f'height="{BOX_HEIGHT}" rx="6"/><text class="name" x="{x:.0f}" y="{y - 3:.0f}">{escape(name)}</text>'
        f'<text class="about" x="{x:.0f}" y="{y + 15:.0f}">{about}</text></g>'
    )


def _arrow(way: list[tuple[float, float]]) -> str:
    """A smooth line from the lower edge of a room to the upper edge of another, through all points between."""
    points = [(way[0][0], way[0][1] + BOX_HEIGHT / 2), *way[1:-1], (way[-1][0], way[-1][1] - BOX_HEIGHT / 2 - 5)]
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x, y), (to_x, to_y) in itertools.pairwise(points):
        half = (y + to_y) / 2
        path += f" C{x:.0f} {half:.0f} {to_x:.0f} {half:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path class="use" marker-end="url(#tip)" d="{path}"/>'


def _drawn(panel: Panel) -> list[str]:
    return [_arrow(panel.ways[edge]) for edge in sorted(panel.ways)] + [
        _box(room, middle, BOX_WIDTH, "room") for room, middle in panel.middles.items()
    ]


def picture() -> str:
    """The picture as the text of an SVG file."""
    found = set(uses())
    inside = [room for room in ROOMS if room.startswith(f"{STUDY}.")]
    outside = [room for room in ROOMS if room not in inside and room != GROUND] + ([STUDY] if inside else [])
    whole = {(STUDY if a in inside else a, STUDY if b in inside else b) for a, b in found}
    library = arrange(outside, needed({(a, b) for a, b in whole if a != b and GROUND not in (a, b)}))
    parts, width, height = _drawn(library), library.width, library.height
    ground = (width / 2, height + BOX_HEIGHT / 2)
    parts.append(_box(GROUND, ground, width - 2 * MARGIN, "ground"))
    height += BOX_HEIGHT + MARGIN
    if inside:
        study = arrange(inside, needed({(a, b) for a, b in found if a in inside and b in inside}))
        size = f'width="{study.width:.0f}" height="{study.height + BOX_HEIGHT:.0f}"'
        parts.append(f'<rect class="frame" x="{width:.0f}" y="{MARGIN}" {size} rx="10"/>')
        parts.append(f'<text class="name" x="{width + study.width / 2:.0f}" y="{MARGIN + 30}">inside study</text>')
        parts += [f'<g transform="translate({width:.0f} {MARGIN + BOX_HEIGHT - 6})">', *_drawn(study), "</g>"]
        width += study.width + MARGIN
        height = max(height, study.height + BOX_HEIGHT + 2 * MARGIN)
    return _document(parts, width, height)


def _document(parts: list[str], width: float, height: float) -> str:
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            "<title>The rooms of compbo: an arrow leads from a room to one that it imports</title>",
            f"<style>{STYLE}</style>",
            TIP,
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )
