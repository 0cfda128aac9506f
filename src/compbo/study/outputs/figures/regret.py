"""Regret on the synthetic functions: by class, and by dimension and acquisition function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.study.outputs.aggregate import FAIR, HOW_WORDS, PAPER, by_class, classes_in
from compbo.study.outputs.axes import CLASSES, PLAIN, VARIANT_WORDS, sorted_acquisitions
from compbo.study.outputs.figures.canvas import Drawing, EndLabel, curve, footnote, label_ends, legend, panels
from compbo.study.outputs.look import class_look
from compbo.study.outputs.phrases import basis, coverage, coverage_words, intervals
from compbo.study.outputs.runs import NothingToShowError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from compbo.study.outputs.aggregate import How
    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

STEPS, REGRET = "acquisition step", "normalised immediate regret"
MOST_BANDS = 4  # classes
BESIDE = 0.011  # from bar to bar, as a part of the axis


def named(stem: str, variant: str) -> str:
    """The name of a figure: the stem, with the variant of the functions behind it unless it is the plain one."""
    return stem if variant == PLAIN else f"{stem}-{variant}"


def require_synthetic(study: Study) -> list[str]:
    """The variants that have runs, or the reason why there is nothing to show."""
    if not study.variants:
        raise NothingToShowError("there is no finished run on a task whose optimum is known")
    return study.variants


def regret_by_class(study: Study) -> dict[str, Drawing]:
    """Summary of the regret by class of optimisers: the paper's first figure, in a fair form and in its own."""
    return {
        named("regret-by-class", variant): _regret_by_class(study.synthetic(variant), variant)
        for variant in require_synthetic(study)
    }


def _regret_by_class(rows: pd.DataFrame, variant: str) -> Drawing:
    figure, axes = panels(1, 2, 9.6, 4.0, sharey=True)
    found = {how: by_class(rows, how) for how in (FAIR, PAPER)}
    units = {one.unit for classes in found.values() for one in classes.values()}
    for place, (how, classes) in zip(axes[0], found.items(), strict=True):
        draw_classes(place, classes, bars=3 if len(classes_in(rows)) > MOST_BANDS else 0)
        place.set_title(HOW_WORDS[how], loc="left", fontsize=8.5)
        place.set_xlabel(STEPS)
    axes[0, 0].set_ylabel(REGRET)
    axes[0, 0].set_ylim(0.0, None)
    figure.draw_without_rendering()  # the labels need to know how high the axes are
    notes = coverage(rows, "group")
    for place, classes in zip(axes[0], found.values(), strict=True):
        label_classes(place, classes, notes)
    shown = f"{interval_word(rows)}: {intervals(units)}"
    text = f"{_what(variant)}: {basis(rows)}. {shown}. Lower is better.{coverage_words(notes)}"
    footnote(figure, text)
    return Drawing(figure, f"Mean regret by class of optimisers, over all tasks. {text}")


def _what(variant: str) -> str:
    return VARIANT_WORDS[variant].capitalize()


def interval_word(rows: pd.DataFrame) -> str:
    """How the figures of all classes in the rows show intervals: bands on each other would hide what lies below."""
    return "Bands" if len(classes_in(rows)) <= MOST_BANDS else "Bars, moved apart"


def draw_classes(place: Axes, found: dict[str, Estimate], *, width: float = 1.5, bars: int = 0) -> None:
    """Draw a curve of this width for every class in `found` into the axes `place`.

    bars: how often the interval is shown, the last time near the end; 0: as a band.
    """
    for number, (group, one) in enumerate(found.items()):
        steps = len(one.value)
        shift = BESIDE * steps * (number - (len(found) - 1) / 2)
        last = max(steps - 1 - round(BESIDE * steps * len(found) / 2), 0)
        at = sorted({round(last * (k + 1) / bars) for k in range(bars)})
        curve(place, np.arange(steps), one, class_look(group), width=width, bars=at, shift=shift)


def label_classes(place: Axes, found: dict[str, Estimate], notes: dict[str, str], *, size: float = 7.5) -> None:
    """Write every class in `found` beside the end of its curve in the axes `place`, with one of the notes.

    size: of the letters, in points.
    """
    labels = [
        EndLabel(float(one.value[-1]), CLASSES[group] + notes[group], class_look(group).colour)
        for group, one in found.items()
        if len(one.value)
    ]
    label_ends(place, labels, size=size)


def dimension_by_acquisition(study: Study) -> dict[str, Drawing]:
    """Regret by class for every dimension and acquisition function, baselines in every column."""
    return {
        named(f"dimension-by-acquisition{suffix}", variant): _grid(study.synthetic(variant), variant, how)
        for variant in require_synthetic(study)
        for suffix, how in (("", FAIR), ("-paper", PAPER))
    }


def _grid(rows: pd.DataFrame, variant: str, how: How) -> Drawing:
    dimensions, acquisitions = sorted(set(rows["dimension"])), sorted_acquisitions(rows["acquisition"])
    if not acquisitions:
        raise NothingToShowError("no optimiser with an acquisition function has a finished run")
    figure, axes = panels(
        len(dimensions), len(acquisitions), 2.1 * len(acquisitions) + 2.0, 1.65 * len(dimensions) + 1.2,
        sharex=True, sharey="row",
    )  # fmt: skip
    units: set[Any] = set()
    best = {}
    for i, dimension in enumerate(dimensions):
        here = rows[rows["dimension"] == dimension]
        ends = {}
        for j, acquisition in enumerate(acquisitions):
            place = axes[i, j]
            found = by_class(here[here["acquisition"].isin([acquisition, ""])], how)
            units |= {one.unit for one in found.values()}
            draw_classes(place, found, width=1.2, bars=len(classes_in(rows)) > MOST_BANDS)
            place.set_ylim(0.0, 1.02)
            if i == 0:
                place.set_title(acquisition.upper())
            with_acquisition = here[here["acquisition"] == acquisition]
            ends[acquisition] = _lowest_end(with_acquisition, how)
            if not len(with_acquisition):
                place.text(0.5, 0.5, "not run", transform=place.transAxes, ha="center", color="#8a94a0")
        axes[i, 0].set_ylabel(f"{dimension}D")
        best[dimension] = min(ends, key=lambda name: ends[name])
        _mark(axes[i, acquisitions.index(best[dimension])])
    for place in axes[-1]:
        place.set_xlabel(STEPS)
    legend(figure, [(CLASSES[group], class_look(group)) for group in classes_in(rows)])
    figure.supylabel(REGRET, fontsize=8.5)
    marked = ", ".join(f"{d}D {name.upper()}" for d, name in best.items())
    text = (
        f"{_what(variant)}, {HOW_WORDS[how]}. {basis(rows)}.\n"
        f"Thick border: the acquisition function whose best class ends lowest in its row ({marked}). "
        f"{interval_word(rows)}: {intervals(units)}."
    )
    footnote(figure, text)
    return Drawing(figure, f"Regret by dimension and acquisition function. {text}".replace("\n", " "))


def _lowest_end(rows: pd.DataFrame, how: How) -> float:
    """The final regret of the class that ends lowest; infinite where nothing ran."""
    ends = [float(one.value[-1]) for one in by_class(rows, how).values() if len(one.value)]
    return min(ends, default=np.inf)


def _mark(place: Axes) -> None:
    """A thick border."""
    for spine in place.spines.values():
        spine.set(visible=True, linewidth=2.6, color="#5b6775")
