"""The tuning tasks: scores by model and class, box plots after few and many evaluations, and every curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from compbo.study.outputs.aggregate import FAIR, HOW_WORDS, PAPER, by_optimiser, member_curves
from compbo.study.outputs.axes import (
    CLASSES,
    CLASSIFICATION_TASKS,
    REGRESSION_TASKS,
    sorted_acquisitions,
    sorted_optimisers,
)
from compbo.study.outputs.figures.canvas import MUTED, Drawing, curve, footnote, legend, panels
from compbo.study.outputs.look import class_look, look
from compbo.study.outputs.phrases import basis, intervals, seeds_of
from compbo.study.outputs.runs import NothingToShowError
from compbo.study.outputs.statistics.bootstrap import estimate, median
from compbo.study.tasks.bayesmark.models import MODELS
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

    from compbo.study.outputs.aggregate import How
    from compbo.study.outputs.runs import Study
    from compbo.study.outputs.statistics.bootstrap import Estimate

SCORE = "score (100: best known, 0: random search)"
PROBLEMS = (REGRESSION_TASKS, CLASSIFICATION_TASKS)
COMPARED = ("first", "first-comp")  # the classes of the paper's tuning experiments
STEPS_SHOWN = (1, 2, 16)  # batches of 8: the paper's 8, 16 and 128 evaluations
NOT_SCORED = "no finished run on a tuning task has a score: they need the stored random search of the task"


def scored(study: Study, problem: str) -> pd.DataFrame:
    """The runs that have a score on the tasks of a problem: regression or classification."""
    rows = study.tuning
    return rows[(rows["problem"] == problem) & rows["score"].notna()]


def models_in(rows: pd.DataFrame) -> list[str]:
    """The models in the rows, in the order of the catalogue of tasks."""
    there = set(rows["model"])
    return [model for model in MODELS if model in there]


def _require(study: Study) -> list[str]:
    problems = [problem for problem in PROBLEMS if len(scored(study, problem))]
    if not problems:
        raise NothingToShowError(NOT_SCORED if len(study.tuning) else "there is no finished run on a tuning task")
    return problems


def final_scores(rows: pd.DataFrame, group: str, how: How) -> Estimate:
    """The median final score of a class (`group`) in the rows over its tasks, acquisition functions and seeds."""
    curves, strata = member_curves(rows[rows["group"] == group], how, higher_is_better=True)
    return estimate(curves[:, -1] if curves.size else curves.reshape(0), strata, median)


def bayesmark_summary(study: Study) -> dict[str, Drawing]:
    """Final scores by model, compositional and non-compositional first-order optimisers."""
    return {f"bayesmark-{problem}": _summary(scored(study, problem), problem) for problem in _require(study)}


def _summary(rows: pd.DataFrame, problem: str) -> Drawing:
    models = models_in(rows)
    groups = [group for group in (*COMPARED, "random-search") if (rows["group"] == group).any()]
    figure, axes = panels(1, 2, 9.0, 0.42 * (len(models) + 1) + 1.6, sharey=True, sharex=True)
    units = set()
    for place, how in zip(axes[0], (FAIR, PAPER), strict=True):
        for row, model in enumerate([*models, "all models"]):
            here = rows if model == "all models" else rows[rows["model"] == model]
            for k, group in enumerate(groups):
                one, style = final_scores(here, group, how), class_look(group)
                y = row + 0.22 * (k - (len(groups) - 1) / 2)
                units.add(one.unit)
                if one.unit != "nothing":
                    place.plot([one.low, one.high], [y, y], color=style.colour, linewidth=2.2, alpha=0.5)
                place.plot([one.value], [y], color=style.colour, marker=style.marker, linestyle="none")
        place.axhline(len(models) - 0.5, color=MUTED, linewidth=0.7)
        place.set_title(HOW_WORDS[how], loc="left", fontsize=8.5)
        place.set_xlabel(f"median {SCORE}")
        place.grid(visible=False, axis="y")
    axes[0, 0].set_yticks(range(len(models) + 1), [*models, "all models"])
    axes[0, 0].set_ylim(len(models) + 0.5, -0.5)
    axes[0, 0].set_xlim(-4, 104)
    legend(figure, [(CLASSES[group], class_look(group)) for group in groups])
    text = f"{problem.capitalize()} tasks: {basis(rows)}. Bars: {intervals(units)}. Higher is better."
    footnote(figure, text)
    return Drawing(figure, f"Bayesmark {problem} summary: final scores by model and class. {text}")


def pooled(rows: pd.DataFrame, group: str, way: str, step: int) -> tuple[Array, NDArray[np.object_]]:
    """Scores at a step, one per task and seed, pooled over a class, and the task of each.

    group: the class; its optimisers and acquisition functions in the rows are pooled. way: best, median or average.
    """
    part = rows[rows["group"] == group]
    part = part.assign(at=[float(curve[step]) if len(curve) > step else np.nan for curve in part["curve"]])
    part = part[part["at"].notna()]
    reduce = {"best": "max", "median": "median", "average": "mean"}[way]
    reduced = part.groupby(["task", "seed"], sort=True)["at"].agg(reduce).reset_index()
    return reduced["at"].to_numpy(), reduced["task"].to_numpy(dtype=object)


def bayesmark_boxes(study: Study) -> dict[str, Drawing]:
    """Quartiles of the scores after 8, 16 and 128 evaluations: best, median and average member of a class."""
    return {f"bayesmark-boxes-{problem}": _boxes(scored(study, problem), problem) for problem in _require(study)}


def _boxes(rows: pd.DataFrame, problem: str) -> Drawing:
    models, ways = models_in(rows), ("best", "median", "average")
    groups = [group for group in COMPARED if (rows["group"] == group).any()]
    if not groups:
        raise NothingToShowError("no first-order optimiser has a finished run on a tuning task")
    figure, axes = panels(
        len(models), len(ways), 8.6, 1.35 * len(models) + 1.4, sharex=True, sharey=True,
    )  # fmt: skip
    batch = int(rows["batch"].iloc[0])
    for i, model in enumerate(models):
        for j, way in enumerate(ways):
            _box_panel(axes[i, j], rows[rows["model"] == model], groups, way)
            if i == 0:
                axes[i, j].set_title(f"{way} of the class")
        axes[i, 0].set_ylabel(model)
    axes[0, 0].set_ylim(-4, 104)
    for place in axes[-1]:
        place.set_xticks(range(len(STEPS_SHOWN)), [str(batch * step) for step in STEPS_SHOWN])
        place.set_xlabel("evaluations after the initial design")
    figure.supylabel(SCORE, fontsize=8.5)
    legend(figure, [(CLASSES[group], class_look(group)) for group in groups])
    text = (
        f"{problem.capitalize()} tasks: {basis(rows)}. A box: the quartiles over tasks and seeds, pooled over "
        f"optimisers and acquisition functions; whiskers reach the extremes. 'best', the paper's way, favours the "
        f"larger class."
    )
    footnote(figure, text)
    return Drawing(figure, f"Bayesmark {problem}: quartiles of the scores by model. {text}")


def _box_panel(place: Axes, rows: pd.DataFrame, groups: list[str], way: str) -> None:
    for k, group in enumerate(groups):
        colour, hatch = class_look(group).colour, "" if group.endswith("-comp") else "////"
        for x, step in enumerate(STEPS_SHOWN):
            values, _ = pooled(rows, group, way, step)
            if len(values):
                place.boxplot(
                    [values], positions=[x + 0.34 * (k - (len(groups) - 1) / 2)], widths=0.27, whis=(0, 100),
                    manage_ticks=False, patch_artist=True,
                    boxprops={"facecolor": f"{colour}33", "edgecolor": colour, "hatch": hatch, "linewidth": 0.8},
                    medianprops={"color": colour, "linewidth": 2.0},
                    whiskerprops={"color": colour, "linewidth": 0.8}, capprops={"color": colour, "linewidth": 0.8},
                )  # fmt: skip
    place.grid(visible=False, axis="x")


def tuning_curves(study: Study) -> dict[str, Drawing]:
    """The scores of every optimiser step by step, a figure per data set: tasks by acquisition functions."""
    _require(study)
    rows = study.tuning
    drawings = {}
    for data in dict.fromkeys(rows["data"]):
        here = rows[rows["data"] == data]
        if (here["acquisition"] != "").any():
            drawings[f"tuning-curves-{data}"] = _curves(here, data)
    return drawings


def _curves(rows: pd.DataFrame, data: str) -> Drawing:
    tasks = sorted(set(rows["task"]), key=lambda task: (models_in(rows).index(task.rsplit("-", 2)[0]), task))
    acquisitions = sorted_acquisitions(rows["acquisition"])
    figure, axes = panels(
        len(tasks), len(acquisitions), max(6.0, 2.3 * len(acquisitions) + 0.6), 1.45 * len(tasks) + 1.5,
        sharex=True, sharey=True,
    )  # fmt: skip
    units = set()
    for i, task in enumerate(tasks):
        for j, acquisition in enumerate(acquisitions):
            here = rows[(rows["task"] == task) & rows["acquisition"].isin([acquisition, ""])]
            for name, one in by_optimiser(here, statistic=median).items():
                units.add(one.unit)
                curve(axes[i, j], np.arange(len(one.value)), one, look(name), width=1.2)
            if i == 0:
                axes[i, j].set_title(acquisition.upper())
        model, _, metric = task.rsplit("-", 2)
        axes[i, 0].set_ylabel(f"{model}\n{metric}")
    axes[0, 0].set_ylim(-4, 104)
    for place in axes[-1]:
        place.set_xlabel("acquisition step")
    names = sorted_optimisers(rows["optimiser"])
    legend(figure, [(name, look(name)) for name in names], size=7.0)
    figure.supylabel(SCORE, fontsize=8.5)
    text = (
        f"Data set {data}: {counted(len(rows), 'run')}, {seeds_of(rows)}; median over seeds. "
        f"Bands: {intervals(units)}. Methods without an acquisition function are the same in every column."
    )
    footnote(figure, text)
    return Drawing(figure, f"Scores on the tuning tasks of {data}. {text}")
