"""Colours of the charts, light and dark, and what all charts share.

A figure names its colours by tokens ("$blue"); the page puts in the palette of the day, in colour fields only, so
that no text of the user's can be taken for one. Hues are those of Okabe and Ito, which colour-blind readers can tell
apart; what a colour means is always said by a word, a place or a shape as well.
"""

from __future__ import annotations

from typing import Any

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def _ramp(*colours: str) -> list[list[Any]]:
    return [[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)]


def _deciles(*colours: str) -> dict[str, str]:
    return {f"decile{i}": colour for i, colour in enumerate(colours)}


LIGHT: dict[str, Any] = {
    "ink": "#1f2933",
    "muted": "#5b6775",
    "line": "#c3cad2",
    "grid": "#e8ecf0",
    "surface": "#ffffff",
    "none": "rgba(0,0,0,0)",
    "blue": "#0072B2",
    "band": "rgba(0,114,178,0.16)",
    "vermillion": "#D55E00",
    "green": "#00805d",
    "orange": "#b87a00",
    "purple": "#b0578a",
    "grey": "#8a94a0",
    "dot": "rgba(91,103,117,0.55)",
    # Strong is good (mean) or uncertain (error).
    "better": _ramp("#f3f6f9", "#d3e3ee", "#9dc3dd", "#5b9cc6", "#2070a6", "#0b3c6f"),
    "unsure": _ramp("#f7f5f2", "#f3ddc4", "#e8b98a", "#d68e56", "#b7612f", "#7f3a17"),
    # Best tenth of the evaluations first.
    **_deciles(
        *("#0b4a80", "#1f6ca3", "#4388b6", "#6fa3c4", "#93b9d1", "#adc7d8", "#bfd1dc", "#cdd8df", "#d8dfe4", "#e1e6ea")
    ),
}

DARK: dict[str, Any] = {
    "ink": "#e3e8ed",
    "muted": "#9eabb8",
    "line": "#4a5561",
    "grid": "#2a323b",
    "surface": "#1a2027",
    "none": "rgba(0,0,0,0)",
    "blue": "#56B4E9",
    "band": "rgba(86,180,233,0.20)",
    "vermillion": "#ff8a3d",
    "green": "#2cc295",
    "orange": "#E69F00",
    "purple": "#e08fc0",
    "grey": "#8593a1",
    "dot": "rgba(158,171,184,0.60)",
    "better": _ramp("#1c242c", "#1c3a50", "#1d5c84", "#2b87bd", "#62b5e8", "#c4e6fc"),
    "unsure": _ramp("#22201e", "#422c1c", "#784821", "#b26a29", "#e0903f", "#ffc384"),
    **_deciles(
        *("#a5d8f8", "#7cc4f0", "#56a9da", "#4089b5", "#376f91", "#335b75", "#304c60", "#2e4250", "#2c3945", "#2a333d")
    ),
}

PALETTES = {"light": LIGHT, "dark": DARK}

_AXIS = {
    "automargin": True,
    "exponentformat": "e",
    "gridcolor": "$grid",
    "linecolor": "$line",
    "showline": True,
    "tickcolor": "$line",
    "ticks": "outside",
    "ticklen": 4,
    "tickfont": {"color": "$muted", "size": 11},
    "title": {"font": {"color": "$muted", "size": 12}, "standoff": 8},
    "zeroline": False,
}

TEMPLATE: dict[str, Any] = {
    "layout": {
        "font": {"family": FONT, "size": 12, "color": "$ink"},
        "paper_bgcolor": "$none",
        "plot_bgcolor": "$none",
        "margin": {"l": 56, "r": 14, "t": 10, "b": 44},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "hoverlabel": {
            "align": "left",
            "bgcolor": "$surface",
            "bordercolor": "$line",
            "font": {"family": FONT, "size": 12, "color": "$ink"},
        },
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "modebar": {"bgcolor": "$none", "color": "$grey", "activecolor": "$ink"},
    }
}
