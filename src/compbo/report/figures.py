"""Parallel coordinates, and what charts share. Data in, Plotly figures as plain dictionaries out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.bo.history import sign_of
from compbo.records import COMPLETE
from compbo.report.axes import fraction, label
from compbo.report.data import of_state
from compbo.report.far_values import value_range
from compbo.report.labels import name, number, text

if TYPE_CHECKING:
    from compbo.report.axes import ParameterAxis
    from compbo.report.data import Report, Row

Figure = dict[str, Any]

LINES = 300  # of the parallel coordinates


def counting_axis(title: str, count: int) -> Figure:
    """An axis of whole numbers from 0 to count, with its title."""
    ticks = {"dtick": 1} if count <= 12 else {"nticks": 12}
    return {"title": {"text": title}, "range": [-0.8, max(count, 2) - 0.2], "tickformat": "d", **ticks}


def parallel(report: Report) -> Figure:
    """One line per evaluation through its parameters to its value; one trace per tenth, the best tenth on top."""
    axes = [(axis, report["positions"][axis["name"]]) for axis in report["axes"] if axis["name"] in report["positions"]]
    rows = _ranked(report)
    values = [row["value"] for row in rows if row["value"] is not None]
    tenths = np.array_split(np.arange(len(rows)), 10)
    thin = 1.2 if len(rows) <= 150 else 0.8
    cut = value_range(report) or (-math.inf, math.inf)
    kept = [value for value in values if cut[0] <= value <= cut[1]]
    low, high = (min(kept), max(kept)) if kept else (0.0, 1.0)
    data = []
    for tenth in reversed(range(10)):
        trace = _polylines([rows[int(i)] for i in tenths[tenth]], axes, low, high)
        trace["meta"] = tenth + 1  # for the control that hides the worse ones
        trace["line"] = {"color": f"$decile{tenth}", "width": thin + 0.6 * (tenth == 0)}
        data.append(trace)
    best = _polylines(rows[:1], axes, low, high)
    marker = {"color": "$vermillion", "size": 6}
    data.append({**best, "name": "best", "mode": "lines+markers", "line": outline("$vermillion", 3), "marker": marker})
    return {"data": data, "layout": _parallel_layout([axis for axis, _ in axes], _ends(values, low, high))}


def _ranked(report: Report) -> list[Row]:
    """Successful evaluations, best first, thinned evenly to `LINES`."""
    sign = sign_of(report["direction"])
    done = of_state(report, COMPLETE)
    done.sort(key=lambda row: -sign * (row["value"] or 0.0))
    if len(done) <= LINES:
        return done
    return [done[int(i)] for i in np.linspace(0, len(done) - 1, LINES)]


def _polylines(
    rows: list[Row], axes: list[tuple[ParameterAxis, list[float | None]]], low: float, high: float
) -> Figure:
    x: list[float | None] = []
    y: list[float | None] = []
    hover: list[str] = []
    for row in rows:
        value = row["value"] or 0.0
        heights = [fraction(axis, places[row["place"]] or 0.0) for axis, places in axes]
        heights.append(min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5)
        x += [*range(len(heights)), None]
        y += [*(round(height, 4) for height in heights), None]
        head = f"Evaluation {row['number']}, value {number(value)}<br>"
        names = [axis["name"] for axis, _ in axes]
        hover += [f"{head}{name(n)} = {text(label(row['params'][n]), 40)}" for n in names] + [head, ""]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "hovertext": hover,
        "hoverinfo": "text",
        "showlegend": False,
    }


def _ends(values: list[float], low: float, high: float) -> tuple[str, str]:
    """The two ends of the upright of the values; beyond one of them there may be more."""
    below, above = min(values, default=low) < low, max(values, default=high) > high
    return ("≤ " if below else "") + number(low, 4), ("≥ " if above else "") + number(high, 4)


def _parallel_layout(axes: list[ParameterAxis], ends: tuple[str, str]) -> Figure:
    uprights = len(axes) + 1
    line = {"color": "$line", "width": 1}
    notes = [note for i, axis in enumerate(axes) for note in _upright_notes(i, axis)]
    notes += [_note(uprights - 1, 0.0, ends[0], below=True), _note(uprights - 1, 1.0, ends[1])]
    return {
        "xaxis": {
            "range": [-0.45, uprights - 0.55],
            "tickvals": list(range(uprights)),
            "ticktext": [*(name(axis["name"], 18) for axis in axes), "<b>value</b>"],
            "tickfont": {"size": 12, "color": "$ink"},
            "showgrid": False,
            "showline": False,
            "ticks": "",
            "fixedrange": True,
        },
        "yaxis": {"range": [-0.09, 1.09], "visible": False, "fixedrange": True},
        "shapes": [
            {"type": "line", "x0": i, "x1": i, "y0": 0, "y1": 1, "line": line, "layer": "below"}
            for i in range(uprights)
        ],
        "annotations": notes,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 40},
    }


def _upright_notes(i: int, axis: ParameterAxis) -> list[Figure]:
    """The two ends of an upright, or every one of a few levels beside it."""
    if axis["ticks"] and axis["points"] and len(axis["ticks"]) > 2:
        levels = zip(axis["ticks"], axis["labels"], strict=True)
        return [_note(i, fraction(axis, where), name(words, 12), beside=True) for where, words in levels]
    ends = (axis["labels"][0], axis["labels"][-1]) if axis["ticks"] else (label(axis["low"]), label(axis["high"]))
    return [_note(i, 0.0, name(ends[0], 14), below=True), _note(i, 1.0, name(ends[1], 14))]


def _note(x: float, y: float, words: str, *, below: bool = False, beside: bool = False) -> Figure:
    note: Figure = {"x": x, "y": y, "text": words, "showarrow": False, "font": {"size": 11, "color": "$muted"}}
    if beside:
        return {**note, "xanchor": "left", "xshift": 3, "bgcolor": "$surface", "opacity": 0.85, "borderpad": 1}
    return {**note, "yanchor": "top" if below else "bottom"}


def best_marker(x: float, y: float, title: str) -> Figure:
    """The mark of the best point at (x, y), with its title, the same in every chart."""
    return {
        **markers(title, [x], [y]),
        "marker": {"color": "$vermillion", "symbol": "star", "size": 13, "line": outline("$surface", 1)},
        "hoverinfo": "skip",
    }


def markers(title: str, x: list[Any], y: list[Any]) -> Figure:
    """Points at x and y with a text for each; title: in the legend."""
    return {"type": "scatter", "mode": "markers", "name": title, "x": x, "y": y, "hoverinfo": "text"}


def outline(colour: str, width: float) -> Figure:
    """A line around a mark, of a colour and a width."""
    return {"color": colour, "width": width}
