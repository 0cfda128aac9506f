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


def climbs(name: str) -> line.Climb:
    """Six climbs of the acquisition function of that name, five of them from close to an observation."""
    return line.climb(line.model(), name, torch.tensor([0.04, 0.20, 0.40, 0.53, 0.70, 0.95], dtype=DTYPE))


def moved(climb: line.Climb) -> int:
    """How many of the climbs ended elsewhere than they began."""
    return int(((climb.ends - climb.starts).abs() > 1e-3).sum())


def values_by_step(method: str) -> list[float]:
    """EI of the first batch after every step of a climb of that maximizer, with its defaults, on one common sample."""
    hill = Hill(surrogate(TASK, OBSERVATIONS, seed=0), "ei", seed=0, restarts=4, steps=STEPS)
    maximizer = make_maximizer(method)
    trace = maximizer(
        hill.oracle(maximizer.form),
        hill.starts()[:1],
        budget=Budget(STEPS),
        box=Box.unit(hill.d),
        generator=stream(0, "climb"),
        record=True,
    )
    return [] if trace.points is None else [float(hill.values(points)) for points in trace.points]


def _climbs(axes: Axes, name: str, label: str) -> None:
    gp, found = line.model(), climbs(name)
    axes.plot(line.GRID, line.acquisition_values(gp, name, line.GRID), color=ORANGE)
    axes.plot(found.starts, line.acquisition_values(gp, name, found.starts), "o", mfc="white", color=GREY)
    axes.plot(found.ends, line.acquisition_values(gp, name, found.ends), "o", color=ORANGE, markersize=5)
    axes.set_title(f"{label}: {moved(found)} of {len(found.starts)} climbs moved", loc="left")
    axes.set_xlabel("x" if name == "logei" else "")


def _two_climbs(axes: Axes) -> None:
    steps = range(1, STEPS + 1)
    axes.plot(steps, values_by_step("SGA-ERM"), color=GREY, label="SGA-ERM")
    axes.plot(steps, values_by_step("Adam-ERM"), color=BLUE, label="Adam-ERM")
    axes.set_xscale("log")
    axes.set_xlabel("step")
    axes.set_title("EI of a batch by step, 40 dimensions,\nfrom the same start", loc="left")
    axes.legend(loc="upper left", fontsize=8)
