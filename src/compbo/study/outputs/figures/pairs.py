"""Two forms of the same optimiser side by side: FSM against ERM, memory-efficient against standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.study.outputs.aggregate import by_optimiser, common_blocks, over_black_boxes, paired_difference
from compbo.study.outputs.axes import method_axes, sorted_optimisers
from compbo.study.outputs.figures.canvas import Drawing, EndLabel, curve, footnote, forest, label_ends, panels
from compbo.study.outputs.figures.regret import STEPS, named, require_synthetic
from compbo.study.outputs.look import DASHED, SOLID, Look, look
from compbo.study.outputs.phrases import basis, intervals
from compbo.study.outputs.runs import NothingToShowError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

    Find = Callable[[pd.DataFrame], list["FormPair"]]

COLUMNS = 4


class FormPair(NamedTuple):
    """Two optimisers that differ in one thing."""

    title: str  # its name in figures
    first: str  # the older form
    second: str  # the newer form


def erm_fsm_pairs(rows: pd.DataFrame) -> list[FormPair]:
    """The first-order rules that ran in both forms in the rows."""
    names = set(rows["optimiser"])
    rules = [method_axes(name).member for name in sorted_optimisers(names) if name.endswith("-ERM")]
    return [FormPair(rule, f"{rule}-ERM", f"{rule}-FSM") for rule in rules if f"{rule}-FSM" in names]


def standard_me_pairs(rows: pd.DataFrame) -> list[FormPair]:
    """The compositional optimisers that ran in the standard and in the memory-efficient form in the rows."""
    names = set(rows["optimiser"])
    return [FormPair(name, name, f"{name}-ME") for name in sorted_optimisers(names) if f"{name}-ME" in names]


def fsm_against_erm(study: Study) -> dict[str, Drawing]:
    """Finite sums against empirical risk for the first-order optimisers."""
    return _figures(study, "fsm-against-erm", erm_fsm_pairs, ("ERM", "FSM"), "both forms (ERM and FSM) of a rule")


def standard_against_me(study: Study) -> dict[str, Drawing]:
    """Memory-efficient against standard compositional optimisers."""
    words = "both the standard and the memory-efficient form of an optimiser"
    return _figures(study, "standard-against-me", standard_me_pairs, ("standard", "ME"), words)


def _figures(study: Study, stem: str, find: Find, forms: tuple[str, str], needed: str) -> dict[str, Drawing]:
    drawings = {}
    for variant in require_synthetic(study):
        rows = study.synthetic(variant)
        pairs = [pair for pair in find(rows) if len(common_blocks(rows, [pair.first, pair.second]))]
        if pairs:
            drawings[named(stem, variant)] = _drawing(rows, pairs, forms)
    if not drawings:
        raise NothingToShowError(f"no task has a finished run of {needed}")
    return drawings


def all_pairs_difference(rows: pd.DataFrame, pairs: list[FormPair]) -> Estimate:
    """Second minus first in final regret: the mean over all pairs, on the tasks and seeds of the rows that all ran.

    The interval is Student's over black boxes.
    """
    sides = []
    for pair in pairs:
        both = common_blocks(rows, [pair.first, pair.second])
        wide = both.pivot_table(index=["task", "acquisition", "seed", "function"], columns="optimiser", values="nfr")
        sides.append((wide[pair.second] - wide[pair.first]).rename(pair.title))
    import pandas as pd

    difference = pd.concat(sides, axis=1).dropna().mean(axis=1).rename("difference").reset_index()
    return over_black_boxes(difference, "difference")


def _drawing(rows: pd.DataFrame, pairs: list[FormPair], forms: tuple[str, str]) -> Drawing:
    columns = min(COLUMNS, len(pairs))
    lines = -(-len(pairs) // columns)
    figure, axes = panels(
        lines, columns + 1, 2.2 * columns + 3.4, max(2.0 * lines, 2.4) + 0.6,
        width_ratios=[1.0] * columns + [1.25],
    )  # fmt: skip
    units, ends = set(), []
    for k, pair in enumerate(pairs):
        place = axes[k // columns, k % columns]
        found = by_optimiser(common_blocks(rows, [pair.first, pair.second]))
        units |= {one.unit for one in found.values()}
        colour = look(pair.first).colour
        for name, line in ((pair.first, DASHED), (pair.second, SOLID)):
            marker = "s" if name == pair.first else "o"
            curve(place, np.arange(len(found[name].value)), found[name], Look(colour, line, marker), width=1.4)
        place.set_title(pair.title)
        place.set_ylim(0.0, 1.02)
        ends.append((place, found, pair, colour))
        if k % columns == 0:
            place.set_ylabel("normalised regret")
        if k + columns >= len(pairs):
            place.set_xlabel(STEPS)
    for k in range(len(pairs), lines * columns):
        axes[k // columns, k % columns].set_axis_off()
    _differences(axes[:, columns], rows, pairs, forms)
    figure.draw_without_rendering()  # the labels need to know how high the axes are
    for place, found, pair, colour in ends:
        labels = [
            EndLabel(float(found[name].value[-1]), form, colour)
            for name, form in zip((pair.first, pair.second), forms, strict=True)
        ]
        label_ends(place, labels, size=7.0)
    used = rows[rows["optimiser"].isin([name for pair in pairs for name in (pair.first, pair.second)])]
    bars = f" Bars on the right: {intervals({'black boxes'})}."
    text = f"{basis(used)}. Bands: {intervals(units)}.{bars} Only tasks and seeds that both forms ran."
    footnote(figure, text)
    return Drawing(figure, f"{forms[1]} (solid) against {forms[0]} (dashed), mean normalised regret. {text}")


def _differences(places: Any, rows: pd.DataFrame, pairs: list[FormPair], forms: tuple[str, str]) -> None:
    """What the second form gains at the end, per pair and over all, from the same starts: one panel for all places."""
    for place in places[1:]:
        place.remove()
    place = places[0]
    if len(places) > 1:
        place.set_subplotspec(place.get_gridspec()[:, -1])
    found = [paired_difference(rows, pair.second, pair.first) for pair in pairs]
    names = [pair.title for pair in pairs]
    colours = [look(pair.first).colour for pair in pairs]
    together = all_pairs_difference(rows, pairs)
    if len(pairs) > 1 and together.runs:
        found, names, colours = [*found, together], [*names, "all"], [*colours, "#1f2933"]
    forest(place, names, found, colours)
    place.axvline(0.0, color="#5b6775", linewidth=0.8)
    place.set_title(f"final regret: {forms[1]} − {forms[0]}")
    place.set_xlabel(f"below 0: {forms[1]} ends lower")
