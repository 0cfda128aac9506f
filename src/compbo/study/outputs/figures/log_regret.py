"""Immediate log-regret of every optimiser, a figure per dimension: acquisition functions by functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.study.outputs.aggregate import by_optimiser
from compbo.study.outputs.axes import VARIANT_WORDS, sorted_acquisitions, sorted_functions, sorted_optimisers
from compbo.study.outputs.figures.canvas import Drawing, EndLabel, footnote, label_ends, legend, panels
from compbo.study.outputs.figures.regret import STEPS, named, require_synthetic
from compbo.study.outputs.look import look
from compbo.study.outputs.phrases import intervals, seeds_of
from compbo.study.outputs.runs import NothingToShowError, objects
from compbo.study.outputs.source import scores
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

NAMED = 3  # optimisers of a panel that are drawn strongly and named: those that end lowest


def log_regret(study: Study) -> dict[str, Drawing]:
    """log10 of the raw regret, every optimiser, in a grid of acquisition functions by functions."""
    drawings = {}
    for variant in require_synthetic(study):
        rows = study.synthetic(variant)
        for dimension in sorted(set(rows["dimension"])):
            here = rows[rows["dimension"] == dimension]
            if (here["acquisition"] != "").any():
                drawings[named(f"log-regret-{dimension}d", variant)] = _grid(here, dimension, variant)
    if not drawings:
        raise NothingToShowError("no optimiser with an acquisition function has a finished run")
    return drawings


def _grid(rows: pd.DataFrame, dimension: int, variant: str) -> Drawing:
    rows = rows.assign(logs=objects(scores.log10_regret(curve) for curve in rows["regret"]))
    acquisitions, functions = sorted_acquisitions(rows["acquisition"]), sorted_functions(rows["function"])
    optimisers = sorted_optimisers(rows["optimiser"])
    width, height = max(6.5, 2.55 * len(functions) + 0.4), 2.0 * len(acquisitions) + 1.8
    figure, axes = panels(len(acquisitions), len(functions), width, height, sharex=True, sharey="col")
    found = {}
    for i, acquisition in enumerate(acquisitions):
        for j, function in enumerate(functions):
            here = rows[rows["acquisition"].isin([acquisition, ""]) & (rows["function"] == function)]
            found[i, j] = by_optimiser(here, "logs")
            _draw(axes[i, j], found[i, j])
            if i == 0:
                axes[i, j].set_title(function)
        axes[i, 0].set_ylabel(f"{acquisition.upper()}\nlog10 regret")
    for place in axes[-1]:
        place.set_xlabel(STEPS)
    legend(figure, [(name, look(name)) for name in optimisers], size=6.8)
    figure.draw_without_rendering()  # the labels need to know how high the axes are
    for (i, j), curves in found.items():
        _name_lowest(axes[i, j], curves)
    units = {one.unit for curves in found.values() for one in curves.values()}
    text = (
        f"{dimension}D, {VARIANT_WORDS[variant]}: {counted(len(rows), 'run')} of "
        f"{counted(len(optimisers), 'optimiser')}, {seeds_of(rows)}; baselines are the same in every row. "
        f"Strong and named: the {NAMED} that end lowest. Bands: {intervals(units)}."
    )
    footnote(figure, text)
    return Drawing(figure, f"Immediate log10 regret of every optimiser. {text}")


def _lowest(curves: dict[str, Estimate]) -> list[str]:
    return sorted(curves, key=lambda name: float(curves[name].value[-1]))[:NAMED]


def _draw(place: Axes, curves: dict[str, Estimate]) -> None:
    if not curves:
        place.text(0.5, 0.5, "not run", transform=place.transAxes, ha="center", color="#8a94a0")
        return
    strong = _lowest(curves)
    for name, one in sorted(curves.items(), key=lambda item: item[0] in strong):
        style, x = look(name), np.arange(len(one.value))
        top = name in strong
        if top and one.unit != "nothing":
            place.fill_between(x, one.low, one.high, color=style.colour, alpha=0.18, linewidth=0)
        place.plot(
            x, one.value, color=style.colour, linestyle=style.line, linewidth=1.9 if top else 0.8,
            alpha=1.0 if top else 0.75, marker=style.marker if top else None, markersize=3.2,
            markevery=max(1, len(x) // 4),
        )  # fmt: skip


def _name_lowest(place: Axes, curves: dict[str, Estimate]) -> None:
    labels = [EndLabel(float(curves[name].value[-1]), name, look(name).colour) for name in _lowest(curves)]
    label_ends(place, labels, size=6.3)
