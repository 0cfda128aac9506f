"""Statistics in pictures: interquartile means, performance profiles, probability of improvement, mean ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from compbo.study.outputs.aggregate import classes_in
from compbo.study.outputs.axes import CLASSES, sorted_optimisers
from compbo.study.outputs.contests import finals, ranked
from compbo.study.outputs.figures.canvas import (
    MUTED,
    Drawing,
    EndLabel,
    curve,
    footnote,
    forest,
    label_ends,
    panels,
)
from compbo.study.outputs.figures.regret import named, require_synthetic
from compbo.study.outputs.look import class_look, for_text, look
from compbo.study.outputs.phrases import UNITS, basis, coverage, coverage_words, intervals, listed, number
from compbo.study.outputs.runs import NothingToShowError, blocks, contest_places
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate, iqm
from compbo.study.outputs.statistics.improvement import below, probability_of_improvement
from compbo.study.outputs.statistics.ranks import ALPHA, indistinct_groups

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from compbo.study.outputs.runs import Study

LEVELS = np.linspace(0.0, 1.0, 101)
NAMED = 6  # optimisers of the profiles that are drawn strongly and named


def _each(study: Study, stem: str, draw: Callable[[pd.DataFrame], Drawing]) -> dict[str, Drawing]:
    return {named(stem, variant): draw(study.synthetic(variant)) for variant in require_synthetic(study)}


def final_regret(study: Study) -> dict[str, Drawing]:
    """Interquartile mean and mean of the final regret of every optimiser."""
    return _each(study, "final-regret", _final_regret)


def _final_regret(rows: pd.DataFrame) -> Drawing:
    names = sorted_optimisers(rows["optimiser"])
    parts = {name: rows[rows["optimiser"] == name] for name in names}
    middle = {name: estimate(part["nfr"].to_numpy(), blocks(part), iqm) for name, part in parts.items()}
    means = {name: estimate(part["nfr"].to_numpy(), blocks(part)) for name, part in parts.items()}
    order = sorted(names, key=lambda name: float(middle[name].value))
    figure, axes = panels(1, 2, 8.6, 0.19 * len(names) + 1.3, sharey=True, sharex=True)
    colours, notes = [look(name).colour for name in order], coverage(rows, "optimiser")
    for place, found, title in ((axes[0, 0], middle, "interquartile mean"), (axes[0, 1], means, "mean")):
        forest(place, [name + notes[name] for name in order], [found[name] for name in order], colours)
        place.set_title(title)
        place.set_xlabel("normalised final regret")
    for label, name in zip(axes[0, 0].get_yticklabels(), order, strict=True):
        label.set(color=for_text(look(name).colour), fontsize=7.5)
    units = {one.unit for found in (middle, means) for one in found.values()}
    text = f"{basis(rows)}. Bars: {intervals(units)}. Lower is better.{coverage_words(notes)}"
    footnote(figure, text)
    return Drawing(figure, f"Final regret of every optimiser. {text}")


def performance_profiles(study: Study) -> dict[str, Drawing]:
    """The share of runs that end at or below a regret, by class and by optimiser."""
    return _each(study, "performance-profiles", _profiles)


def profile(rows: pd.DataFrame) -> Estimate:
    """The share of the rows at or below every level of LEVELS; a class counts as one member on a task and seed."""
    shares = below(rows["nfr"], LEVELS)
    each = contest_places(rows)
    reduced = np.stack([shares[places].mean(axis=0) for _, places in each])
    return estimate(reduced, np.array([stratum for stratum, _ in each], dtype=np.object_))


def _profiles(rows: pd.DataFrame) -> Drawing:
    figure, axes = panels(1, 2, 10.2, 4.0, sharey=True)
    classes = {group: profile(rows[rows["group"] == group]) for group in classes_in(rows)}
    each = {name: profile(rows[rows["optimiser"] == name]) for name in sorted_optimisers(rows["optimiser"])}
    for group, one in classes.items():
        curve(axes[0, 0], LEVELS, one, class_look(group))
    strong = sorted(each, key=lambda name: -float(each[name].value.mean()))[:NAMED]
    for name, one in each.items():
        style = look(name)
        if name in strong:
            curve(axes[0, 1], LEVELS, one, style, band=0.05)
        else:
            axes[0, 1].plot(LEVELS, one.value, color=style.colour, linestyle=style.line, linewidth=0.7, alpha=0.6)
    for place, title in zip(axes[0], ("classes", f"optimisers; named: the {NAMED} largest areas"), strict=True):
        place.set_title(title, loc="left")
        place.set_xlabel("normalised final regret τ")
    axes[0, 0].set_ylabel("share of runs that end at or below τ")
    figure.draw_without_rendering()  # the labels need to know how high the axes are
    notes = coverage(rows, "group") | coverage(rows, "optimiser")
    shown = {CLASSES[group] + notes[group]: (one, class_look(group).colour) for group, one in classes.items()}
    _label_where_apart(axes[0, 0], shown)
    _label_where_apart(axes[0, 1], {name + notes[name]: (each[name], look(name).colour) for name in strong})
    units = {one.unit for one in (*classes.values(), *each.values())}
    text = f"{basis(rows)}. Bands: {intervals(units)}. Higher is better.{coverage_words(notes)}"
    footnote(figure, text)
    return Drawing(figure, f"Performance profiles of the final regret. {text}")


def _label_where_apart(place: Any, found: dict[str, tuple[Estimate, str]]) -> None:
    """All profiles end at 1: the labels stand in the order of the areas under them."""
    order = sorted(found, key=lambda name: float(found[name][0].value.mean()))
    heights = np.linspace(0.5 - 0.045 * len(order), 0.5 + 0.045 * len(order), len(order)) if len(order) > 1 else [0.5]
    labels = [EndLabel(float(y), name, found[name][1]) for y, name in zip(heights, order, strict=True)]
    label_ends(place, labels, leaders=False)


def improvement(study: Study) -> dict[str, Drawing]:
    """The probability that one optimiser ends lower than another, for every two."""
    return _each(study, "probability-of-improvement", _improvement)


def _improvement(rows: pd.DataFrame) -> Drawing:
    found = finals(rows)
    if len(found.optimisers) < 2:
        raise NothingToShowError("it takes two optimisers with an acquisition function")
    one = probability_of_improvement(found.values)
    order = np.argsort(-np.nan_to_num(one.probability, nan=0.5).mean(axis=1), kind="stable")
    names = [found.optimisers[i] for i in order]
    size = 0.235 * len(names) + 2.2
    figure, axes = panels(1, 1, size + 1.0, size)
    place = axes[0, 0]
    table = 100.0 * one.probability[np.ix_(order, order)]
    np.fill_diagonal(table, np.nan)
    image = place.imshow(table, cmap="PuOr_r", vmin=0.0, vmax=100.0)
    sure = ((one.low > 0.5) | (one.high < 0.5))[np.ix_(order, order)]
    _write_cells(place, table, sure)
    place.set_xticks(range(len(names)), names, rotation=90, fontsize=6.8)
    place.set_yticks(range(len(names)), names, fontsize=6.8)
    place.grid(visible=False)
    place.spines[:].set_visible(False)
    figure.colorbar(image, ax=place, shrink=0.6, label="% of pairs in which the row ends lower")
    bold = "bold: the interval leaves 50 % out" if one.unit != "nothing" else "no interval could be drawn"
    text = f"{basis(rows[rows['acquisition'] != ''])}. {UNITS[one.unit]}; {bold}. Best row first."
    footnote(figure, text)
    return Drawing(figure, f"Probability that the row ends lower than the column. {text}")


def _write_cells(place: Any, table: np.ndarray[Any, Any], sure: np.ndarray[Any, Any]) -> None:
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            ink = "white" if abs(value - 50.0) > 32.0 else "#1f2933"
            weight = "bold" if sure[i, j] else "normal"
            place.text(j, i, f"{value:.0f}", ha="center", va="center", fontsize=5.2, color=ink, fontweight=weight)


def critical_difference(study: Study) -> dict[str, Drawing]:
    """Mean ranks; a bar joins optimisers that do not differ in any pair (Wilcoxon with Holm's correction)."""
    return _each(study, "critical-difference", _critical_difference)


def _critical_difference(rows: pd.DataFrame) -> Drawing:
    result = ranked(rows)
    names, found = result.optimisers, result.ranking
    if len(names) < 2:
        raise NothingToShowError("it takes two optimisers that ran on the same tasks")
    order = np.argsort(found.mean_ranks, kind="stable")
    groups = indistinct_groups(found.mean_ranks, found.pairs) if found.tasks > 1 else []
    half = -(-len(order) // 2)
    figure, axes = panels(1, 1, 9.2, 0.19 * half + 0.11 * len(groups) + 1.5)
    _draw_ranks(axes[0, 0], [(names[i], float(found.mean_ranks[i])) for i in order], groups)
    friedman = (
        f"Friedman's test: χ² = {number(found.friedman, 4)}, p {_p(found.p)}."
        if np.isfinite(found.p)
        else "Too few tasks or optimisers for Friedman's test."
    )
    pairs = len(names) * (len(names) - 1) / 2
    if found.tasks > 1 and pairs * 2.0 ** (1 - found.tasks) >= ALPHA:
        friedman += f" With {found.tasks} tasks no pair can differ by this test, whatever the results."
    left = f" Left out, because they did not run on all of these tasks: {listed(result.left_out)}." * bool(
        result.left_out
    )
    text = (
        f"Ranks on {found.tasks} tasks (black box × acquisition, mean over seeds), 1 is best. {friedman} A bar joins "
        f"neighbours of which no two differ (Wilcoxon, Holm's correction over all pairs, p ≥ {ALPHA}).{left}"
    )
    footnote(figure, text)
    return Drawing(figure, f"Critical-difference diagram. {text}")


def _p(value: float) -> str:
    return f"= {number(value, 2)}" if value >= 1e-12 else "< 1e-12"


def _draw_ranks(place: Any, ranks: list[tuple[str, float]], groups: list[tuple[int, int]]) -> None:
    """Names on both sides, lines to their place on the axis above, bars of the groups below it."""
    best, worst = ranks[0][1], ranks[-1][1]
    span = max(worst - best, 1e-9)
    left, right = best - 0.06 * span, worst + 0.06 * span
    half = -(-len(ranks) // 2)
    first_name = 0.55 * len(groups) + 1.2
    for k, (name, rank) in enumerate(ranks):
        colour = look(name).colour
        on_left = k < half
        depth = first_name + (k if on_left else len(ranks) - 1 - k)
        edge = left if on_left else right
        place.plot([rank, rank, edge], [0.0, depth, depth], color=colour, linewidth=0.9)
        place.plot([rank], [0.0], marker=look(name).marker, color=colour, clip_on=False)
        place.annotate(
            f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}",
            (edge, depth),
            xytext=(-3 if on_left else 3, 0),
            textcoords="offset points",
            ha="right" if on_left else "left",
            va="center",
            fontsize=7.2,
            color=for_text(colour),
        )
    for g, (first, last) in enumerate(groups):
        depth = 0.5 + 0.55 * g
        place.plot([ranks[first][1], ranks[last][1]], [depth, depth], color="#1f2933", linewidth=2.6, alpha=0.85)
    place.set_ylim(first_name + half, -0.6)
    place.set_xlim(left, right)
    place.xaxis.set_ticks_position("top")
    place.xaxis.set_label_position("top")
    place.set_xlabel("mean rank", color=MUTED)
    place.set_yticks([])
    place.grid(visible=False)
    place.spines[["left", "bottom"]].set_visible(False)
    place.spines["top"].set_visible(True)
