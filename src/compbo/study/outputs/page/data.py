"""What the page's script draws from: runs with their curves, and figures that need no filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.report.labels import text
from compbo.report.theme import PALETTES
from compbo.study.outputs.axes import CLASSES, PLAIN, method_axes, sorted_acquisitions, sorted_optimisers, task_axes
from compbo.study.outputs.contests import finals
from compbo.study.outputs.figures.cost import by_dimension, timed_runs
from compbo.study.outputs.look import CLASS_LOOKS, DASHDOT, DASHED, DOTTED, look, on_dark
from compbo.study.outputs.runs import blocks
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate, iqm
from compbo.study.outputs.statistics.improvement import probability_of_improvement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from compbo.study.outputs.runs import Study

Figure = dict[str, Any]
DASHES = {DASHED: "dash", DOTTED: "dot", DASHDOT: "dashdot"}
SYMBOLS = {"x": "x", "s": "square", "o": "circle", "^": "triangle-up", "D": "diamond", "v": "triangle-down"}
SYMBOLS |= {"P": "cross", "X": "x", "*": "star", ".": "circle"}
IMPROVEMENT = {  # low, middle, high
    "light": ("#5e3c99", "#f7f7f7", "#e66101"),
    "dark": ("#b2abd2", "#2a323b", "#fdb863"),
}


def palettes(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The colours of the run report, and for every optimiser in `names` and every class a colour and a band."""
    colours = {f"o:{name}": look(name).colour for name in names}
    colours |= {f"c:{group}": one.colour for group, one in CLASS_LOOKS.items()}
    made = {}
    for theme, base in PALETTES.items():
        shown = {key: colour if theme == "light" else on_dark(colour) for key, colour in colours.items()}
        bands = {f"{key}:band": _band(colour) for key, colour in shown.items()}
        scale = [[i / 2, colour] for i, colour in enumerate(IMPROVEMENT[theme])]
        made[theme] = {**base, **shown, **bands, "improvement": scale}
    return made


def _band(colour: str) -> str:
    parts = ", ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return f"rgba({parts}, 0.11)"


def looks(names: Sequence[str]) -> dict[str, dict[str, dict[str, str]]]:
    """Dash and symbol by Plotly's names, of the optimisers in `names` and of all classes."""
    shown = {"optimisers": {name: look(name) for name in names}, "classes": CLASS_LOOKS}
    return {
        kind: {
            key: {"dash": DASHES.get(one.line, "solid"), "symbol": SYMBOLS.get(one.marker, "circle")}
            for key, one in entries.items()
        }
        for kind, entries in shown.items()
    }


def function_label(task: str) -> str:
    """The function of a task, with its variant: `levy`, `levy (shifted)`."""
    axes = task_axes(task)
    return axes.function if axes.variant in (PLAIN, "own") else f"{axes.function} ({axes.variant})"


SYNTHETIC_AXES: dict[str, Callable[[str, int], Any]] = {
    "dimension": lambda _task, dimension: dimension,
    "function": lambda task, _dimension: function_label(task),
}
TUNING_AXES: dict[str, Callable[[str, int], Any]] = {
    "model": lambda task, _dimension: task_axes(task).model,
    "data set": lambda task, _dimension: task_axes(task).data,
    "metric": lambda task, _dimension: task_axes(task).metric,
}


def explorer(rows: pd.DataFrame, axes: dict[str, Callable[[str, int], Any]], *, higher: bool) -> dict[str, Any]:
    """The rows for the script to filter and put together; `scale` is the first regret, for the raw one.

    axes: what can be filtered, each with a function of task and dimension. higher: whether higher values are better.
    """
    tasks = list(dict.fromkeys(zip(rows["task"], rows["dimension"], strict=True)))
    values = {name: _ordered({axis(*task) for task in tasks}) for name, axis in axes.items()}
    optimisers = sorted_optimisers(rows["optimiser"])
    acquisitions = sorted_acquisitions(rows["acquisition"])
    groups = [group for group in CLASSES if group in set(rows["group"])]
    places = {task: place for place, (task, _) in enumerate(tasks)}
    return {
        "higher": higher,
        "filters": {
            **{name: [str(value) for value in found] for name, found in values.items()},
            "acquisition": [name.upper() for name in acquisitions],
            "class": [CLASSES[group] for group in groups],
        },
        "tasks": [
            {"name": task, **{name: values[name].index(axis(task, dimension)) for name, axis in axes.items()}}
            for task, dimension in tasks
        ],
        "optimisers": [[name, groups.index(method_axes(name).group)] for name in optimisers],
        "groups": groups,
        "titles": [CLASSES[group] for group in groups],
        "runs": {
            "optimiser": [optimisers.index(name) for name in rows["optimiser"]],
            "task": [places[name] for name in rows["task"]],
            "acquisition": [acquisitions.index(name) if name else -1 for name in rows["acquisition"]],
            "seed": [int(seed) for seed in rows["seed"]],
            "scale": [1.0 if higher else _short(abs(regret[0]), 6) for regret in rows["regret"]],
            "curve": [[_short(value, 4) for value in curve] for curve in rows["curve"]],
        },
    }


def _ordered(values: set[Any]) -> list[Any]:
    return sorted(values)


def _short(value: float, digits: int) -> float:
    """A number with few digits: what a chart can show."""
    return float(f"{value:.{digits}g}")


def final_figure(rows: pd.DataFrame) -> Figure:
    """Interquartile mean of the final regret of every optimiser in the rows, lowest first."""
    found = {}
    for name in sorted_optimisers(rows["optimiser"]):
        part = rows[rows["optimiser"] == name]
        found[name] = estimate(part["nfr"].to_numpy(), blocks(part), iqm)
    order = sorted(found, key=lambda name: -float(found[name].value))
    traces = [_final_trace(name, found[name]) for name in order]
    axis = {"categoryorder": "array", "categoryarray": [text(name) for name in order], "tickfont": {"size": 11}}
    layout = {"xaxis": {"title": {"text": "normalised final regret, interquartile mean"}}, "yaxis": axis}
    return {"data": traces, "layout": layout}


def _final_trace(name: str, one: Estimate) -> dict[str, Any]:
    value, low, high = float(one.value), float(one.low), float(one.high)
    known = one.unit != "nothing"
    ends = f"95 %: {low:.3f} to {high:.3f}" if known else "no interval"
    words = f"<b>{text(name)}</b><br>%{{x:.3f}}<br>{ends}<br>{one.runs} runs, {one.tasks} tasks<extra></extra>"
    bars = {"type": "data", "symmetric": False, "array": [high - value], "arrayminus": [value - low]}
    return {
        "type": "scatter",
        "x": [value],
        "y": [text(name)],
        "mode": "markers",
        "marker": {"color": f"$o:{name}", "size": 8, "symbol": SYMBOLS.get(look(name).marker, "circle")},
        "error_x": {**bars, "color": f"$o:{name}", "thickness": 2, "width": 0} if known else {},
        "showlegend": False,
        "hovertemplate": words,
    }


def improvement_figure(rows: pd.DataFrame) -> Figure | None:
    """Probability that the row ends lower than the column; None with fewer than two optimisers in the rows."""
    found = finals(rows)
    if len(found.optimisers) < 2:
        return None
    one = probability_of_improvement(found.values)
    table = 100.0 * one.probability
    np.fill_diagonal(table, np.nan)
    order = np.argsort(-np.nan_to_num(one.probability, nan=0.5).mean(axis=1), kind="stable")
    names = [text(found.optimisers[i]) for i in order]
    shown = table[np.ix_(order, order)]
    low, high = 100.0 * one.low[np.ix_(order, order)], 100.0 * one.high[np.ix_(order, order)]
    words = [
        [f"{low[i, j]:.0f} to {high[i, j]:.0f} %" if np.isfinite(low[i, j]) else "none" for j in range(len(names))]
        for i in range(len(names))
    ]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [[float(value) for value in line] for line in np.round(shown, 1)],
        "customdata": words,
        "colorscale": "$improvement",
        "zmin": 0,
        "zmax": 100,
        "colorbar": {"title": {"text": "%"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": "<b>%{y}</b> ends lower than <b>%{x}</b><br>in %{z:.0f} % of the pairs<br>95 %: %{customdata}"
        "<extra></extra>",
    }
    layout = {
        "yaxis": {"autorange": "reversed", "tickfont": {"size": 10}},
        "xaxis": {"tickangle": -90, "tickfont": {"size": 10}},
    }
    return {"data": [trace], "layout": layout}


def time_figure(study: Study) -> Figure | None:
    """Seconds of a maximisation against dimension; None where nothing was timed."""
    rows = timed_runs(study)
    if not len(rows):
        return None
    traces = []
    for name, (dimensions, one) in by_dimension(rows, "step_seconds").items():
        style = look(name)
        traces.append(
            {
                "type": "scatter",
                "name": text(name),
                "x": [int(dimension) for dimension in dimensions],
                "y": [_short(float(value), 4) for value in one.value],
                "mode": "lines+markers",
                "line": {"color": f"$o:{name}", "dash": DASHES.get(style.line, "solid"), "width": 1.6},
                "marker": {"color": f"$o:{name}", "symbol": SYMBOLS.get(style.marker, "circle"), "size": 6},
                "hovertemplate": f"<b>{text(name)}</b><br>%{{x}} dimensions: %{{y:.3g}} s<extra></extra>",
            }
        )
    layout = {
        "xaxis": {"title": {"text": "dimension"}, "tickvals": sorted({int(d) for d in rows["dimension"]})},
        "yaxis": {"title": {"text": "seconds per maximisation"}, "type": "log"},
        "legend": {"orientation": "v", "x": 1.01, "y": 1, "yanchor": "top", "font": {"size": 10}},
    }
    return {"data": traces, "layout": layout}
