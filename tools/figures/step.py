"""One step of Bayesian optimisation on a line: the model, the acquisition function, climbs, the next point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from compbo.types import DTYPE
from tools.figures import line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#5b6775"


def draw() -> Figure:
    """Two panels, one above the other: what is believed, and what is asked next."""
    from matplotlib import pyplot

    gp = line.model()
    mean, deviation = gp.predict(line.GRID[:, None])
    observed = torch.tensor(line.OBSERVED, dtype=DTYPE)
    climbs = line.climb(gp, "ucb", torch.tensor([0.10, 0.27, 0.42, 0.66, 0.92], dtype=DTYPE))
    heights = line.acquisition_values(gp, "ucb", climbs.ends)
    chosen = float(climbs.ends[heights.argmax()])

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(7.2, 4.6), sharex=True, height_ratios=(3, 2))
    above.fill_between(line.GRID, mean - 2 * deviation, mean + 2 * deviation, color=BLUE, alpha=0.15, linewidth=0)
    above.plot(line.GRID, mean, color=BLUE, label="model: mean and two deviations")
    above.plot(line.GRID, line.objective(line.GRID), color=GREY, linestyle=":", label="objective (not known)")
    above.plot(observed, line.objective(observed), "o", color="black", markersize=6, label="evaluated")
    above.set_ylabel("value (higher is better)")
    above.legend(loc="lower left", fontsize=8)

    below.plot(line.GRID, line.acquisition_values(gp, "ucb", line.GRID), color=ORANGE, label="acquisition: UCB")
    below.plot(
        climbs.starts, line.acquisition_values(gp, "ucb", climbs.starts), "o", mfc="white", color=GREY, label="starts"
    )
    below.plot(climbs.ends, heights, "o", color=ORANGE, label="ends of the climbs")
    for start, end in zip(climbs.starts, climbs.ends, strict=True):
        heights_of = line.acquisition_values(gp, "ucb", torch.stack([start, end]))
        below.annotate(
            "", (end, heights_of[1]), (start, heights_of[0]), arrowprops={"arrowstyle": "->", "color": GREY, "lw": 0.8}
        )
    below.set_ylabel("acquisition")
    below.set_xlabel("x")
    below.legend(loc="lower left", fontsize=8)
    for axes in (above, below):
        axes.axvline(chosen, color=ORANGE, linewidth=0.9, linestyle="--")
    above.annotate(
        "next point",
        (chosen, 0.03),
        (5, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        color=ORANGE,
    )
    return figure
