"""Why a plateau is not convergence: no slope under EI, and a climb whose steps are too short to be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchmarks.climbs import Hill, surrogate
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.types import DTYPE, Box, Budget
from tools.figures import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#5b6775"
TASK, OBSERVATIONS, STEPS = "levy-40", 120, 512


def draw() -> Figure:
    """Left: EI and LogEI of one model with the climbs on them. Right: the value of a batch by step, of two climbs."""
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(7.2, 3.6))
    grid = figure.add_gridspec(2, 2, width_ratios=(1.1, 1))
    for row, (name, label) in enumerate((("ei", "EI"), ("logei", "LogEI"))):
        _climbs(figure.add_subplot(grid[row, 0]), name, label)
    _two_climbs(figure.add_subplot(grid[:, 1]))
    return figure


def _climbs(axes: Axes, name: str, label: str) -> None:
    gp = line.model()
    climbs = line.climb(gp, name, torch.tensor([0.04, 0.20, 0.40, 0.53, 0.70, 0.95], dtype=DTYPE))
    axes.plot(line.GRID, line.acquisition_values(gp, name, line.GRID), color=ORANGE)
    axes.plot(climbs.starts, line.acquisition_values(gp, name, climbs.starts), "o", mfc="white", color=GREY)
    axes.plot(climbs.ends, line.acquisition_values(gp, name, climbs.ends), "o", color=ORANGE, markersize=5)
    moved = int(((climbs.ends - climbs.starts).abs() > 1e-3).sum())
    axes.set_title(f"{label}: {moved} of {len(climbs.starts)} climbs moved", loc="left")
    axes.set_xlabel("x" if name == "logei" else "")


def _two_climbs(axes: Axes) -> None:
    hill = Hill(surrogate(TASK, OBSERVATIONS, seed=0), "ei", seed=0, restarts=4, steps=STEPS)
    steps = range(1, STEPS + 1)
    for name, hyperparameters, colour in (("SGA-ERM", {"lr": 0.03}, GREY), ("Adam-ERM", {}, BLUE)):
        maximizer = make_maximizer(name, **hyperparameters)
        trace = maximizer(
            hill.oracle(maximizer.form),
            hill.starts(),
            budget=Budget(STEPS),
            box=Box.unit(hill.d),
            generator=stream(0, "climb"),
            record=True,
        )
        assert trace.points is not None
        label = ", ".join([name, *(f"{key} {value}" for key, value in hyperparameters.items())])
        axes.plot(steps, [float(hill.values(points[:1])) for points in trace.points], color=colour, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("step")
    axes.set_title(f"EI of a batch by step, {hill.d} dimensions,\nfrom the same start", loc="left")
    axes.legend(loc="upper left", fontsize=8)
