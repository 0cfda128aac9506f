"""Why CAdam-ME climbs lower and ends lower: every setting against Adam-ERM on joint UCB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from benchmarks.why.measure import CLIMBS, RUNS
from benchmarks.why.page import BASE, Difference, differences, ratios
from benchmarks.why.settings import SETTINGS

from compbo.acquisition.integrands import UCB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#5b6775"
PANELS = (
    ("joint_ucb", "joint UCB reached"),
    ("mean", "posterior mean\nof the batch"),
    ("distance", "distance to the\nnearest incumbent"),
)


def draw() -> Figure:
    """Three panels of where the chosen batch lies, from the same starts, and one of how runs end."""
    from matplotlib import pyplot

    climbs, runs = pd.read_csv(CLIMBS), pd.read_csv(RUNS)
    figure, axes = pyplot.subplots(1, 4, figsize=(7.2, 3.1), sharey=True, width_ratios=(1, 1, 1, 1.2))
    for panel, (column, title) in zip(axes, PANELS, strict=False):
        _dots(panel, differences(climbs, column))
        panel.axvline(0.0, color=GREY, linewidth=0.8)
        panel.set_title(title, loc="left")
        panel.set_xlabel(f"minus {BASE}'s")
    _dots(axes[3], ratios(runs))
    axes[3].axvline(1.0, color=GREY, linewidth=0.8)
    axes[3].set_title("final regret of runs", loc="left")
    axes[3].set_xlabel(f"over {BASE}'s")
    names = list(SETTINGS)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    return figure


def _dots(axes: Axes, found: Sequence[Difference]) -> None:
    for y, (name, middle, low, high) in enumerate(found):
        colour = BLUE if SETTINGS[name].acquisition == UCB() else ORANGE
        axes.plot([low, high], [y, y], color=colour, linewidth=2, solid_capstyle="round")
        axes.plot(middle, y, "o", color=colour, markersize=5)
    axes.margins(x=0.12)
