"""The chart of progress: every evaluation, the best so far, what failed, was pruned, or lies off the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compbo.records import COMPLETE, FAIL, PRUNED
from compbo.report.axes import label
from compbo.report.data import of_state
from compbo.report.far_values import outside, value_range
from compbo.report.figures import Figure, best_marker, counting_axis, markers, outline
from compbo.report.labels import name, number, text
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compbo.report.data import Report, Row

NAMED = 6  # parameters in a hover label


def progress(report: Report) -> Figure:
    """All evaluations, the best so far, and the failed ones on the axis."""
    done, best, cut = of_state(report, COMPLETE), report["best"], value_range(report)
    shown = list(report["positions"])[:NAMED]
    data: list[Figure] = [
        {
            **markers("Evaluation", [row["number"] for row in done], [row["value"] for row in done]),
            "marker": {"color": "$dot", "size": 6 if len(done) <= 500 else 4},
            "hovertext": [_described(row, shown) for row in done],
        },
        {
            "type": "scatter",
            "mode": "lines",
            "name": "Best so far",
            "x": [row["number"] for row in report["evaluations"]],
            "y": report["best_so_far"],
            "line": {"color": "$blue", "shape": "hv", "width": 2.5},
            "hoverinfo": "skip",
        },
    ]
    if best is not None:
        data.append(best_marker(best["number"], best["value"], "Best"))
    data += _pruned(report, shown) + _failed(report)
    if cut is not None:
        data += _off_the_chart(report, shown, cut)
    return {"data": data, "layout": _layout(report, cut)}


def progress_note(report: Report) -> str:
    """What the chart alone does not show."""
    words = []
    if of_state(report, PRUNED):
        words.append("Pruned trials are open circles at the last value that they reported.")
    cut = value_range(report)
    far = outside(report, cut) if cut is not None else []
    if far:
        verb = "lies" if len(far) == 1 else "lie"
        words.append(f"{counted(len(far), 'value')} {verb} off the chart: triangles at its edge.")
    return " ".join(words)


def _pruned(report: Report, shown: list[str]) -> list[Figure]:
    """Where they stood when they were stopped; those that had reported nothing stand on the axis."""
    rows = of_state(report, PRUNED)
    silent = [row for row in rows if row["value"] is None]
    told = [row for row in rows if row["value"] is not None]
    groups: list[tuple[str, list[Row], list[float | None], Figure]] = [
        ("Pruned", told, [row["value"] for row in told], {}),
        ("Pruned, no value", silent, [0.0] * len(silent), {"yaxis": "y2", "cliponaxis": False}),
    ]
    looks = {"color": "$muted", "symbol": "circle-open", "size": 7, "line": outline("$muted", 1.5)}
    return [
        {
            **markers(title, [row["number"] for row in members], heights),
            **where,
            "marker": looks,
            "hovertext": [_described(row, shown) for row in members],
        }
        for title, members, heights, where in groups
        if members
    ]


def _failed(report: Report) -> list[Figure]:
    rows = of_state(report, FAIL)
    if not rows:
        return []
    return [
        {
            **markers("Failed", [row["number"] for row in rows], [0.0] * len(rows)),
            "yaxis": "y2",
            "cliponaxis": False,
            "marker": {"color": "$vermillion", "symbol": "x-thin", "size": 9, "line": outline("$vermillion", 2)},
            "hovertext": [f"Evaluation {row['number']} failed<br>{text(row['message'], 90)}" for row in rows],
        }
    ]


def _off_the_chart(report: Report, shown: list[str], cut: tuple[float, float]) -> list[Figure]:
    """Triangles at the edge for what lies beyond it; `meta` lets the page take them away."""
    rows = outside(report, cut)
    above = [(row["value"] or 0.0) > cut[1] for row in rows]
    return [
        {
            **markers("Off the chart", [row["number"] for row in rows], [1.0 if up else 0.0 for up in above]),
            "yaxis": "y2",
            "cliponaxis": False,
            "meta": "off the chart",
            "marker": {
                "color": "$dot",
                "size": 9,
                "symbol": ["triangle-up" if up else "triangle-down" for up in above],
            },
            "hovertext": [_described(row, shown) for row in rows],
        }
    ]


def _layout(report: Report, cut: tuple[float, float] | None) -> Figure:
    last = max((row["number"] for row in report["evaluations"]), default=0)
    layout: Figure = {
        "xaxis": counting_axis("Trial number" if report["optuna"] else "Evaluation number", last + 1),
        "yaxis": {"title": {"text": value_title(report)}, "showticklabels": report["best"] is not None},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
    }
    if cut is not None:
        layout["yaxis"]["range"] = list(cut)
    start, count = report["model_from"], len(report["evaluations"])
    if start and start < count:
        line = {"color": "$line", "width": 1, "dash": "dot"}
        layout["shapes"] = [
            {"type": "line", "x0": start - 0.5, "x1": start - 0.5, "y0": 0, "y1": 1, "yref": "paper", "line": line}
        ]
        layout["annotations"] = [_where_the_model_begins(start, count)]
    return layout


def _where_the_model_begins(start: int, count: int) -> Figure:
    side = "left" if start < 0.6 * count else "right"
    return {
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


def value_title(report: Report) -> str:
    """The objective as the title of an axis."""
    return f"Objective value ({'higher' if report['direction'] == 'maximize' else 'lower'} is better)"


def log_scale_helps(report: Report) -> bool:
    """Whether the values can be shown on a log axis and spread over more than a decade."""
    rows = [*of_state(report, COMPLETE), *of_state(report, PRUNED)]
    values = [row["value"] for row in rows if row["value"] is not None]
    return len(values) > 1 and min(values) > 0 and max(values) > 10 * min(values)


def _described(row: Row, names: Sequence[str]) -> str:
    how = " pruned, last" if row["state"] == PRUNED else "<br>"
    lines = [f"Evaluation {row['number']}{how} value {number(row['value']) if row['value'] is not None else 'none'}"]
    lines += [f"{name(n)} = {text(label(row['params'][n]), 40)}" for n in names if n in row["params"]]
    return "<br>".join([*lines, "…"] if len(lines) <= len(row["params"]) else lines)
