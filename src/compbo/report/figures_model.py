"""Charts of the surrogate: importance, slices along one and over two parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compbo.report.figures import Figure, best_marker
from compbo.report.labels import name, number

if TYPE_CHECKING:
    from compbo.report.axes import ParameterAxis
    from compbo.report.data import Report
    from compbo.report.slices import ModelSummary, Pair, Slice

BARS = 20
OF_THE_MODEL = "Share of the sum of 1 / lengthscale (%)"


def importance(report: Report) -> Figure:
    """A bar for each of the most important parameters of the report, the first on top."""
    shares = [(name(share["name"]), share["share"]) for share in report["importance"][:BARS]]
    how = f"Share by Optuna's {report['evaluator']} (%)" if report["evaluator"] else OF_THE_MODEL
    places = list(range(len(shares)))
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": [round(100.0 * share, 3) for _, share in shares],
        "y": places,
        "text": [f"{100.0 * share:.1f} %" for _, share in shares],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": "$blue"},
        "hoverinfo": "skip",
    }
    layout = {
        "xaxis": {"title": {"text": how}, "rangemode": "tozero"},
        "yaxis": {
            "tickvals": places,
            "ticktext": [words for words, _ in shares],
            "tickfont": {"size": 12, "color": "$ink"},
            "range": [len(shares) - 0.4, -0.6],
            "showgrid": False,
            "ticks": "",
        },
        "bargap": 0.35,
        "margin": {"r": 56},
    }
    return {"data": [bar], "layout": layout}


def slice_range(surrogate: ModelSummary) -> list[float]:
    """One range of values for all slices of the surrogate, so that they can be compared."""
    pairs = [
        (m, 2.0 * s) for piece in surrogate["slices"] for m, s in zip(piece["mean"], piece["deviation"], strict=True)
    ]
    low, high = min(m - s for m, s in pairs), max(m + s for m, s in pairs)
    pad = 0.06 * (high - low) or 0.5
    return [low - pad, high + pad]


def slice_figure(report: Report, surrogate: ModelSummary, piece: Slice) -> Figure:
    """Mean and two standard deviations along one parameter, and the observations nearest to the best point.

    piece: one of the slices of the surrogate.
    """
    band = [2.0 * s for s in piece["deviation"]]
    hover = [
        f"{name(words)}<br>{number(m, 4)} ± {number(s, 3)}"
        for words, m, s in zip(piece["labels"], piece["mean"], band, strict=True)
    ]
    mean: Figure = {"type": "scatter", "x": piece["at"], "y": piece["mean"], "hovertext": hover, "hoverinfo": "text"}
    data: list[Figure] = []
    if piece["axis"]["points"]:
        mean["mode"] = "markers"
        mean["marker"] = {"color": "$blue", "size": 9}
        mean["error_y"] = {"type": "data", "array": band, "color": "$blue", "thickness": 2, "width": 6}
    else:
        data = _band(piece, band)
        mean["mode"] = "lines"
        mean["line"] = {"color": "$blue", "width": 2}
    places, values = _observed(report, surrogate, piece["axis"]["name"])
    dots = {"type": "scatter", "mode": "markers", "x": places, "y": values, "hoverinfo": "skip"}
    data += [{**dots, "marker": {"color": "$dot", "size": 4}}, mean]
    if not piece["axis"]["points"]:
        rug = {"color": "$dot", "symbol": "line-ns-open", "size": 7, "line": {"width": 1}}
        data.append({**dots, "y": [0.0] * len(places), "yaxis": "y2", "cliponaxis": False, "marker": rug})
    where = _best_position(report, piece["axis"]["name"])
    best = report["best"]
    if best is not None:
        data.append(best_marker(where, best["value"], "Best"))
    layout = {
        "xaxis": axis_layout(piece["axis"]),
        "yaxis": {"title": {"text": "Value"}, "range": slice_range(surrogate), "nticks": 5},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        "margin": {"l": 48, "r": 10, "t": 8, "b": 40},
        "showlegend": False,
    }
    return {"data": data, "layout": layout}


def _band(piece: Slice, band: list[float]) -> list[Figure]:
    edge = {"type": "scatter", "mode": "lines", "x": piece["at"], "line": {"width": 0}, "hoverinfo": "skip"}
    upper = [m + s for m, s in zip(piece["mean"], band, strict=True)]
    lower = [m - s for m, s in zip(piece["mean"], band, strict=True)]
    return [{**edge, "y": lower}, {**edge, "y": upper, "fill": "tonexty", "fillcolor": "$band"}]


def pair_figures(report: Report, surrogate: ModelSummary, pair: Pair) -> dict[str, Any]:
    """Two heat maps of the surrogate over a pair of parameters: the mean, and twice the standard deviation."""
    hover = [
        [
            f"{name(x)}, {name(y)}<br>{number(m, 4)} ± {number(2.0 * s, 3)}"
            for x, m, s in zip(pair["x_labels"], means, errors, strict=True)
        ]
        for y, means, errors in zip(pair["y_labels"], pair["mean"], pair["deviation"], strict=True)
    ]
    doubled = [[float(f"{2.0 * s:.6g}") for s in row] for row in pair["deviation"]]
    strong_is_low = report["direction"] == "minimize"
    return {
        "label": f"{pair['x']['name']} × {pair['y']['name']}",
        "mean": _heat(
            report, surrogate, pair, pair["mean"], hover, {"colorscale": "$better", "reversescale": strong_is_low}
        ),
        "error": _heat(report, surrogate, pair, doubled, hover, {"colorscale": "$unsure"}),
    }


def _heat(
    report: Report, surrogate: ModelSummary, pair: Pair, z: list[list[float]], hover: list[list[str]], colours: Figure
) -> Figure:
    x_name, y_name = pair["x"]["name"], pair["y"]["name"]
    smooth = "best" if not pair["x"]["points"] and not pair["y"]["points"] else False
    bar = {"thickness": 12, "outlinewidth": 0, "tickfont": {"color": "$muted", "size": 11}, "nticks": 6}
    heat = {"type": "heatmap", "x": pair["x_at"], "y": pair["y_at"], "z": z, "hovertext": hover, "hoverinfo": "text"}
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": _observed(report, surrogate, x_name)[0],
        "y": _observed(report, surrogate, y_name)[0],
        "marker": {"color": "$surface", "size": 5, "opacity": 0.8, "line": {"color": "$ink", "width": 0.8}},
        "hoverinfo": "skip",
    }
    star = best_marker(_best_position(report, x_name), _best_position(report, y_name), "Best")
    layout = {
        "xaxis": {**axis_layout(pair["x"]), "showgrid": False},
        "yaxis": {**axis_layout(pair["y"]), "showgrid": False},
        "margin": {"l": 48, "r": 8, "t": 8, "b": 40},
        "showlegend": False,
    }
    return {"data": [{**heat, **colours, "zsmooth": smooth, "colorbar": bar}, dots, star], "layout": layout}


def axis_layout(axis: ParameterAxis) -> Figure:
    """The Plotly axis of a parameter."""
    layout: Figure = {"title": {"text": name(axis["name"])}, "type": axis["type"], "nticks": 6}
    if axis["ticks"]:
        pad = 0.5 if axis["points"] else 0.04 * (axis["high"] - axis["low"])
        layout |= {"tickvals": axis["ticks"], "ticktext": [name(words, 14) for words in axis["labels"]]}
        layout["range"] = [axis["low"] - pad, axis["high"] + pad]
    elif axis["points"]:
        layout |= {"tickformat": "d"}
    return layout


def _observed(report: Report, surrogate: ModelSummary, which: str) -> tuple[list[float | None], list[float | None]]:
    places = report["positions"][which]
    nearest = surrogate["nearest"]
    return [places[i] for i in nearest], [report["evaluations"][i]["value"] for i in nearest]


def _best_position(report: Report, which: str) -> float:
    best = report["best"]
    return report["positions"][which][best["place"] if best is not None else 0] or 0.0
