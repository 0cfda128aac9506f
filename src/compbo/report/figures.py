"""Charts of the evaluations: progress, parallel coordinates. Data in, Plotly figures as plain dictionaries out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.bo.history import sign_of
from compbo.report.axes import fraction, label
from compbo.report.labels import name, number, text

if TYPE_CHECKING:
    from compbo.report.axes import ParameterAxis
    from compbo.report.data import Report, Row

Figure = dict[str, Any]

LINES = 300  # of the parallel coordinates
NAMED = 6  # parameters in a hover label


def value_title(report: Report) -> str:
    """The objective as the title of an axis."""
    return f"Objective value ({'higher' if report['direction'] == 'maximize' else 'lower'} is better)"


def counting_axis(title: str, count: int) -> Figure:
    """An axis of whole numbers from 0 to count, with its title."""
    ticks = {"dtick": 1} if count <= 12 else {"nticks": 12}
    return {"title": {"text": title}, "range": [-0.8, max(count, 2) - 0.2], "tickformat": "d", **ticks}


def progress(report: Report) -> Figure:
    """All evaluations, the best so far, and the failed ones on the axis."""
    rows = report["evaluations"]
    done = [row for row in rows if row["value"] is not None]
    failed = [row for row in rows if row["value"] is None]
    shown = list(report["positions"])[:NAMED]
    best = report["best"]
    data: list[Figure] = [
        {
            **_markers("Evaluation", [row["number"] for row in done], [row["value"] for row in done]),
            "marker": {"color": "$dot", "size": 6 if len(done) <= 500 else 4},
            "hovertext": [_described(row, shown) for row in done],
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "Best so far",
            "x": [row["number"] for row in rows],
            "y": report["best_so_far"],
            "line": {"color": "$blue", "shape": "hv", "width": 2.5},
            "hoverinfo": "skip",
        },
    ]
    if best is not None:
        data.append(best_marker(best["number"], best["value"], "Best"))
    if failed:
        data.append(
            {
                **_markers("Failed", [row["number"] for row in failed], [0.0] * len(failed)),
                "yaxis": "y2",
                "cliponaxis": False,
                "marker": {"color": "$vermillion", "symbol": "x-thin", "size": 9, "line": _outline("$vermillion", 2)},
                "hovertext": [f"Evaluation {row['number']} failed<br>{text(row['message'], 90)}" for row in failed],
            }
        )
    return {"data": data, "layout": _progress_layout(report)}


def _progress_layout(report: Report) -> Figure:
    layout: Figure = {
        "xaxis": counting_axis("Evaluation number", len(report["evaluations"])),
        "yaxis": {"title": {"text": value_title(report)}, "showticklabels": report["best"] is not None},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
    }
    start, count = report["model_from"], len(report["evaluations"])
    if start and start < count:
        side = "left" if start < 0.6 * count else "right"
        line = {"color": "$line", "width": 1, "dash": "dot"}
        layout["shapes"] = [
            {"type": "line", "x0": start - 0.5, "x1": start - 0.5, "y0": 0, "y1": 1, "yref": "paper", "line": line}
        ]
        layout["annotations"] = [
            {
                "x": start - 0.5,
                "y": 1,
                "yref": "paper",
                "text": "the model proposes from here",
                "showarrow": False,
                "xanchor": side,
                "yanchor": "top",
                "xshift": 4 if side == "left" else -4,
                "font": {"size": 11, "color": "$muted"},
            }
        ]
    return layout


def log_scale_helps(report: Report) -> bool:
    """Whether the values can be shown on a log axis and spread over more than a decade."""
    values = [row["value"] for row in report["evaluations"] if row["value"] is not None]
    return len(values) > 1 and min(values) > 0 and max(values) > 10 * min(values)


def parallel(report: Report) -> Figure:
    """One line per evaluation through its parameters to its value; one trace per tenth, the best tenth on top."""
    axes = [(axis, report["positions"][axis["name"]]) for axis in report["axes"] if axis["name"] in report["positions"]]
    rows = _ranked(report)
    values = [row["value"] for row in rows if row["value"] is not None]
    tenths = np.array_split(np.arange(len(rows)), 10)
    thin = 1.2 if len(rows) <= 150 else 0.8
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    data = []
    for tenth in reversed(range(10)):
        trace = _polylines([rows[int(i)] for i in tenths[tenth]], axes, low, high)
        trace["meta"] = tenth + 1  # for the control that hides the worse ones
        trace["line"] = {"color": f"$decile{tenth}", "width": thin + 0.6 * (tenth == 0)}
        data.append(trace)
    best = _polylines(rows[:1], axes, low, high)
    marker = {"color": "$vermillion", "size": 6}
    data.append({**best, "name": "best", "mode": "lines+markers", "line": _outline("$vermillion", 3), "marker": marker})
    return {"data": data, "layout": _parallel_layout([axis for axis, _ in axes], low, high)}


def _ranked(report: Report) -> list[Row]:
    """Successful evaluations, best first, thinned evenly to `LINES`."""
    sign = sign_of(report["direction"])
    done = [row for row in report["evaluations"] if row["value"] is not None]
    done.sort(key=lambda row: -sign * (row["value"] or 0.0))
    if len(done) <= LINES:
        return done
    return [done[int(i)] for i in np.linspace(0, len(done) - 1, LINES)]


def _polylines(rows: list[Row], axes: list[tuple[ParameterAxis, list[float]]], low: float, high: float) -> Figure:
    x: list[float | None] = []
    y: list[float | None] = []
    hover: list[str] = []
    for row in rows:
        value = row["value"] or 0.0
        heights = [fraction(axis, places[row["number"]]) for axis, places in axes]
        heights.append((value - low) / (high - low) if high > low else 0.5)
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


def _parallel_layout(axes: list[ParameterAxis], low: float, high: float) -> Figure:
    uprights = len(axes) + 1
    line = {"color": "$line", "width": 1}
    notes = [note for i, axis in enumerate(axes) for note in _upright_notes(i, axis)]
    notes += [_note(uprights - 1, 0.0, number(low, 4), below=True), _note(uprights - 1, 1.0, number(high, 4))]
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
        **_markers(title, [x], [y]),
        "marker": {"color": "$vermillion", "symbol": "star", "size": 13, "line": _outline("$surface", 1)},
        "hoverinfo": "skip",
    }


def _markers(title: str, x: list[Any], y: list[Any]) -> Figure:
    return {"type": "scatter", "mode": "markers", "name": title, "x": x, "y": y, "hoverinfo": "text"}


def _outline(colour: str, width: float) -> Figure:
    return {"color": colour, "width": width}


def _described(row: Row, names: list[str]) -> str:
    lines = [f"Evaluation {row['number']}<br>value {number(row['value'])}"]
    lines += [f"{name(n)} = {text(label(row['params'][n]), 40)}" for n in names]
    return "<br>".join([*lines, "…"] if len(names) < len(row["params"]) else lines)
