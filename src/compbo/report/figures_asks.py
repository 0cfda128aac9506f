"""Charts of the asks: how well was the acquisition function maximised, and what did it cost?"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from compbo.bo.verdict import Verdict
from compbo.report.figures import counting_axis
from compbo.report.labels import number, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compbo.bo.telemetry import Telemetry
    from compbo.report.figures import Figure


class Reading(NamedTuple):
    """How a verdict looks (colour, symbol), its meaning, and advice what to do about it."""

    colour: str
    symbol: str
    meaning: str
    advice: str


READINGS: dict[Verdict, Reading] = {
    Verdict.CONVERGED: Reading(
        "green",
        "circle",
        "A second opinion found nothing better than the chosen batch: no step, no exchange of a point and no short "
        "climb from other batches gained. It is no proof: a better batch may be where nobody looked.",
        "Nothing to do.",
    ),
    Verdict.CLIMBING: Reading(
        "orange",
        "triangle-up",
        "The ascent gained, and a second opinion found something better still, near the chosen batch or elsewhere.",
        "Usual where a batch has many coordinates. If the share in the reason is large, allow more steps or seconds "
        "with budget=Budget(steps=...), or choose another maximizer.",
    ),
    Verdict.DID_NOT_MOVE: Reading(
        "blue",
        "triangle-down",
        "The ascent gained nothing over its best start batch, although something better was to be found.",
        "Choose another maximizer, or another learning rate with hyperparameters={...}; the reason says what gained.",
    ),
    Verdict.FLAT: Reading(
        "purple",
        "square",
        "The acquisition function had no slope at the chosen batch: no small step changes its value.",
        "Check that the objective's values differ. With EI or PI, use LogEI or UCB, which keep a slope where "
        "improvement is unlikely.",
    ),
    Verdict.DEGRADED: Reading(
        "vermillion",
        "x",
        "The maximisation could not be carried out, and the best batch until then was proposed, often a start batch.",
        "Read the reason in the table of asks: raise the memory budget, declare the noise of the objective, or look "
        "for huge or repeated values.",
    ),
    Verdict.DESIGN: Reading(
        "grey",
        "diamond",
        "There was no model yet: the points come from the initial design, which spreads over the space.",
        "Nothing to do.",
    ),
}

_SECONDS = (
    ("fit_seconds", "Fit the model", "$blue"),
    ("start_seconds", "Choose start points", "$orange"),
    ("maximise_seconds", "Maximise", "$green"),
)


def verdicts(asks: list[Telemetry]) -> Figure:
    """One mark per ask, in the row of its verdict."""
    rows = list(READINGS)
    places = {verdict: len(rows) - 1 - i for i, verdict in enumerate(rows)}
    readings = [READINGS[ask.verdict] for ask in asks]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": list(range(len(asks))),
        "y": [places[ask.verdict] for ask in asks],
        "marker": {
            "color": [f"${reading.colour}" for reading in readings],
            "symbol": [reading.symbol for reading in readings],
            "size": 10 if len(asks) <= 100 else 6,
        },
        "hovertext": [f"Ask {n}: {text(ask.verdict)}<br>{wrapped(ask.reason)}" for n, ask in enumerate(asks)],
        "hoverinfo": "text",
    }
    counts = {verdict: sum(ask.verdict == verdict for ask in asks) for verdict in rows}
    layout = {
        "xaxis": counting_axis("Ask", len(asks)),
        "yaxis": {
            "tickvals": [places[verdict] for verdict in rows],
            "ticktext": [f"{verdict} ({counts[verdict]})" for verdict in rows],
            "tickfont": {"size": 12, "color": "$ink"},
            "range": [-0.6, len(rows) - 0.4],
            "fixedrange": True,
            "ticks": "",
        },
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout}


def restarts(asks: list[Telemetry]) -> Figure:
    """For all asks: range and median of the restarts' values before and after the ascent, and the chosen batch."""
    before, after = [ask.start_values for ask in asks], [ask.end_values for ask in asks]
    data = [
        _ranges(before, "Restarts at the start", "$grey", -0.14),
        _ranges(after, "Restarts at the end", "$blue", 0.14),
    ]
    chosen = [(n, ask) for n, ask in enumerate(asks) if math.isfinite(ask.acquisition_value)]
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "Chosen batch",
            "x": [n for n, _ in chosen],
            "y": [ask.acquisition_value for _, ask in chosen],
            "marker": {"color": "$vermillion", "symbol": "diamond", "size": 7},
            "hovertext": [
                f"Ask {n}: chosen batch<br>{number(ask.acquisition_value)} ± {number(ask.acquisition_error, 2)}"
                for n, ask in chosen
            ],
            "hoverinfo": "text",
        }
    )
    return {
        "data": data,
        "layout": {"xaxis": counting_axis("Ask", len(asks)), "yaxis": _acquisition_axis(asks, "Acquisition value")},
    }


class ValueRange(NamedTuple):
    """The least (low), the median (middle) and the largest (high) of some values, and their number (size)."""

    low: float
    middle: float
    high: float
    size: int


def value_range(values: Iterable[float]) -> ValueRange | None:
    """The range of the finite values; None if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return ValueRange(min(finite), median(finite), max(finite), len(finite)) if finite else None


def _ranges(values: list[tuple[float, ...]], title: str, colour: str, shift: float) -> Figure:
    """The range of every ask's values, beside its place on the axis."""
    found = [(n, value_range(each)) for n, each in enumerate(values)]
    kept = [(n, *span) for n, span in found if span is not None]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": title,
        "x": [n + shift for n, *_ in kept],
        "y": [middle for _, _, middle, _, _ in kept],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [high - middle for _, _, middle, high, _ in kept],
            "arrayminus": [middle - low for _, low, middle, _, _ in kept],
            "color": colour,
            "thickness": 2,
            "width": 0,
        },
        "marker": {"color": colour, "size": 5, "symbol": "line-ew-open", "line": {"width": 2}},
        "hovertext": [
            f"Ask {n}: {count} {title[0].lower()}{title[1:]}<br>"
            f"{number(low, 4)} to {number(high, 4)}, median {number(middle, 4)}"
            for n, low, middle, high, count in kept
        ],
        "hoverinfo": "text",
    }


def gains(asks: list[Telemetry]) -> Figure:
    """For all asks: what the ascent gained over the best start batch, beside the Monte-Carlo error of the value."""
    shown = [(n, ask) for n, ask in enumerate(asks) if math.isfinite(ask.acquisition_gain)]
    numbers = [n for n, _ in shown]
    bars = {
        "type": "bar",
        "name": "Gain over the best start batch",
        "x": numbers,
        "y": [ask.acquisition_gain for _, ask in shown],
        "marker": {"color": "$blue"},
        "hovertext": [
            f"Ask {n}<br>gain {number(ask.acquisition_gain, 4)}<br>error {number(ask.acquisition_error, 2)}"
            for n, ask in shown
        ],
        "hoverinfo": "text",
    }
    errors = {
        "type": "scatter",
        "mode": "markers",
        "name": "Monte-Carlo error (1 σ)",
        "x": numbers,
        "y": [ask.acquisition_error for _, ask in shown],
        "marker": {"color": "$vermillion", "symbol": "line-ew-open", "size": 10, "line": {"width": 2}},
        "hoverinfo": "skip",
    }
    layout = {"xaxis": counting_axis("Ask", len(asks)), "yaxis": _acquisition_axis(asks, "Gain"), "bargap": 0.3}
    return {"data": [bars, errors], "layout": layout}


def seconds(asks: list[Telemetry]) -> Figure:
    """Wall-clock time of every ask, by what it was spent on."""
    data = [
        {
            "type": "bar",
            "name": title,
            "x": list(range(len(asks))),
            "y": [round(getattr(ask, key), 5) for ask in asks],
            "marker": {"color": colour},
            "hovertext": [f"Ask {n}<br>{title}: {number(getattr(ask, key), 3)} s" for n, ask in enumerate(asks)],
            "hoverinfo": "text",
        }
        for key, title, colour in _SECONDS
    ]
    layout = {"xaxis": counting_axis("Ask", len(asks)), "yaxis": {"title": {"text": "Seconds"}, "rangemode": "tozero"}}
    return {"data": data, "layout": {**layout, "barmode": "stack", "bargap": 0.3, "legend": {"traceorder": "normal"}}}


def _acquisition_axis(asks: list[Telemetry], words: str) -> Figure:
    names = sorted({ask.acquisition for ask in asks if ask.acquisition})
    return {"title": {"text": text(f"{words} ({', '.join(names)})" if names else words, 60)}}
