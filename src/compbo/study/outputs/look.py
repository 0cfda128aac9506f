"""One look per optimiser and per class, the same in every figure and on the page.

Hue tells the class: cool colours for non-compositional methods, warm ones for compositional methods, greys for
baselines, with the hues of Okabe and Ito, which colour-blind readers can tell apart. Line and marker tell the same
without colour: dashed is non-compositional, solid compositional, dotted a baseline; squares, circles and triangles
are order 0, 1 and 2.
"""

from __future__ import annotations

from typing import NamedTuple

from compbo.study.outputs.axes import method_axes

DASHED, SOLID, DOTTED, DASHDOT = "dashed", "solid", "dotted", "dashdot"


class Look(NamedTuple):
    """Colour as #rrggbb, line style and marker, by Matplotlib's names."""

    colour: str
    line: str
    marker: str


CLASS_LOOKS = {
    "random": Look("#8a8a8a", DASHED, "x"),
    "zeroth": Look("#009e73", DASHED, "s"),
    "zeroth-comp": Look("#cc79a7", SOLID, "s"),
    "first": Look("#0072b2", DASHED, "o"),
    "first-comp": Look("#d55e00", SOLID, "o"),
    "second": Look("#56b4e9", DASHED, "^"),
    "second-comp": Look("#e69f00", SOLID, "^"),
    "extended": Look("#6a3d9a", SOLID, "D"),
    "default": Look("#117733", SOLID, "h"),
    "thompson": Look("#222222", DOTTED, "v"),
    "bohb": Look("#5c5c5c", DASHDOT, "P"),
    "random-search": Look("#a3a3a3", DOTTED, "X"),
    "peer": Look("#7a5c3e", DASHDOT, "*"),
    "other": Look("#000000", DASHDOT, "."),
}

_COLOURS = {
    "CMA-ES": "#009e73",
    "DE": "#4db391",
    "CMA-ES-Comp": "#cc79a7",
    "DE-Comp": "#8e3a6b",
    "SGA": "#08306b",
    "Adagrad": "#5fa8cf",
    "RMSprop": "#3b4cc0",
    "Adam": "#0072b2",
    "Adadelta": "#7b8fd4",
    "Rprop": "#5e3c99",
    "AdamW": "#4292c6",
    "AdamOS": "#8f84c2",
    "L-BFGS-B": "#56b4e9",
    "CL-BFGS-B": "#e69f00",
    "SCGA": "#7a4a1e",
    "ASCGA": "#b58450",
    "CAdam": "#d55e00",
    "NASA": "#a50f15",
    "Nested-MC": "#fc8d59",
    "SCSC": "#6a3d9a",
    "SCSC-Adam": "#b15bd0",
    "SOX": "#3f007d",
    "MSVR": "#a98bc0",
    "compbo": "#117733",
    "compbo-plain": "#44aa99",
    "compbo-outputs-none": "#332288",
    "compbo-outputs-log": "#88ccee",
    "compbo-ucb": "#999933",
    "compbo-sr": "#ddcc77",
    "compbo-logei": "#661100",
    "compbo-ucb-sr-logei": "#cc6677",
    "compbo-ucb4-sr": "#7a7a1f",
    "compbo-ucb05-sr": "#c9b35b",
    "compbo-cadam": "#882255",
    "compbo-adam": "#aa4499",
    "compbo-random": "#bbbbbb",
    "compbo-adamos": "#994455",
    "compbo-sox": "#004488",
    "compbo-msvr": "#997700",
    "compbo-race": "#225555",
    "compbo-race-polish": "#ccbb44",
    "compbo-around-90": "#6699cc",
    "compbo-cadam-90": "#ee99aa",
    "compbo-adamos-90": "#663333",
    "compbo-dimension-scaled": "#aa4466",
    "compbo-warped": "#0077bb",
    "compbo-no-levels": "#33bbee",
    "compbo-model-128": "#228833",
    "compbo-sequential": "#4477aa",
    "thompson-function": "#222222",
    "thompson-weight": "#4d4d4d",
    "thompson-decoupled": "#707070",
    "botorch-qlogei": "#7a5c3e",
    "optuna-tpe": "#b08d57",
    "optuna-gp": "#4e342e",
    "pycma": "#8d6e63",
}
_LINES = {"FSM": DASHDOT, "ME": DOTTED}  # of a form that shares its colour with another


def class_look(group: str) -> Look:
    """The look of a class of optimisers, a group."""
    return CLASS_LOOKS[group]


def look(optimiser: str) -> Look:
    """The look of an optimiser.

    ERM and FSM of one rule share a colour, and so do a method and its memory-efficient form.
    """
    axes = method_axes(optimiser)
    of_class = CLASS_LOOKS[axes.group]
    colour = _COLOURS.get(axes.member.removesuffix("-ME"), of_class.colour)
    return Look(colour, _LINES.get(axes.form, of_class.line), of_class.marker)


def for_text(colour: str) -> str:
    """A colour of the same hue, dark enough for small words on white: a contrast of 4.5, as WCAG asks for."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    keep = 1.0
    while 1.05 / (_luminance([part * keep for part in parts]) + 0.05) < 4.5:
        keep -= 0.02
    return "#" + "".join(f"{int(part * keep):02x}" for part in parts)


def _luminance(parts: list[float]) -> float:
    """Relative luminance of sRGB values from 0 to 255."""
    linear = [(v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4) for v in (part / 255.0 for part in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def on_dark(colour: str) -> str:
    """A colour of the same hue, light enough for a dark page."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    brightness = (0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2]) / 255.0
    share = max(0.0, min(0.65, 1.1 * (0.62 - brightness)))
    return "#" + "".join(f"{round(part + share * (255 - part)):02x}" for part in parts)
