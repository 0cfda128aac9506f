"""The chart that says whether to believe the model: every value beside what the others predict of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compbo.bo.cross_validation import SURE
from compbo.report.labels import number
from compbo.words import counted

if TYPE_CHECKING:
    from compbo.report.figures import Figure
    from compbo.report.slices import ModelSummary

FEW = 8  # values: fewer than these say little about a model


def check_figure(surrogate: ModelSummary) -> Figure:
    """Values that the surrogate predicts over measured ones, with 95 % intervals; what lies outside stands out."""
    check, places = surrogate["check"], surrogate["check_places"]
    inside = [abs(residual) <= SURE for residual in check.residuals]
    hover = [
        f"evaluation {place}<br>measured {number(value, 5)}<br>predicted {number(mean, 5)}, from {number(low, 4)} to "
        f"{number(high, 4)}<br>residual {number(residual, 3)}"
        for place, value, mean, low, high, residual in zip(
            places, check.values, check.means, check.low, check.high, check.residuals, strict=True
        )
    ]
    data: list[Figure] = [_diagonal([*check.values, *check.means])]
    for wanted, colour, words in ((True, "$blue", "inside of its interval"), (False, "$orange", "outside")):
        rows = [i for i, within in enumerate(inside) if within is wanted]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": words,
                "x": [check.values[i] for i in rows],
                "y": [check.means[i] for i in rows],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [max(check.high[i] - check.means[i], 0.0) for i in rows],
                    "arrayminus": [max(check.means[i] - check.low[i], 0.0) for i in rows],
                    "color": colour,
                    "thickness": 1,
                    "width": 0,
                },
                "marker": {"color": colour, "size": 6},
                "hovertext": [hover[i] for i in rows],
                "hoverinfo": "text",
            }
        )
    layout = {
        "xaxis": {"title": {"text": "Measured"}, "nticks": 7},
        "yaxis": {"title": {"text": "Predicted from all others"}, "nticks": 7},
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


def _diagonal(values: list[float]) -> Figure:
    """Where measured and predicted are the same."""
    known = [value for value in values if math.isfinite(value)]
    ends = [min(known), max(known)]
    line = {"color": "$muted", "width": 1, "dash": "dot"}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": ends,
        "line": line,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def check_words(surrogate: ModelSummary) -> str:
    """The numbers of the cross-validation of a surrogate in a sentence or two."""
    check = surrogate["check"]
    words = (
        f"{check.coverage:.0%} of {counted(len(check.values), 'value')} inside of the intervals (95 % would be right); "
        f"root mean squared error {check.error:.4g}, mean log density {check.log_density:.4g}."
    )
    return words + (" So few values say little." if len(check.values) < FEW else "")
