"""The fair controls of docs/reproduction.md, from runs of the study and of its controls: one thing changed each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from compbo.study.outputs.aggregate import common_blocks, paired_difference
from compbo.study.outputs.axes import PLAIN, SHIFTED, with_axes
from compbo.study.outputs.compact import finished
from compbo.study.outputs.page.answer import MARGIN, decide
from compbo.study.outputs.phrases import with_interval
from compbo.study.results.scores import with_final_scores
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

PAPERS_STEPS, DIMENSION = 64, 16


class Control(NamedTuple):
    """Two arms that differ in one thing, on the plain or on the shifted functions."""

    words: str
    first: str
    second: str
    variant: str = PLAIN


CONTROLS = (
    Control("The tracker, at equal steps.", "CAdam", "AdamOS-FSM"),
    Control("The tracker, at equal evaluations of the posterior.", "CAdam", "AdamOS-FSM, 128 steps"),
    Control("Against nested Monte Carlo, at equal steps.", "CAdam", "Nested-MC"),
    Control("... at equal evaluations.", "CAdam", "Nested-MC, 128 steps"),
    Control("Against Adam, at equal steps.", "CAdam", "Adam-FSM"),
    Control("... at equal evaluations.", "CAdam", "Adam-FSM, 128 steps"),
    Control("Memory-efficient against standard.", "CAdam-ME", "CAdam"),
    Control("The tracker, optimum shifted.", "CAdam", "AdamOS-FSM", SHIFTED),
    Control("Against Adam, optimum shifted.", "CAdam", "Adam-FSM", SHIFTED),
    Control("Memory-efficient against standard, optimum shifted.", "CAdam-ME", "CAdam", SHIFTED),
    Control("Restarts of L-BFGS-B stacked into one problem against one state each.", "L-BFGS-B-stacked", "L-BFGS-B"),
    Control("The tracker of PI as printed against the corrected one.", "CAdam, as printed", "CAdam, corrected"),
    Control("The same for NASA.", "NASA, as printed", "NASA, corrected"),
    Control("The same for SCGA.", "SCGA, as printed", "SCGA, corrected"),
    Control("The library's transform of the outputs, CAdam.", "CAdam, outputs transformed", "CAdam"),
    Control("The same, CAdam-ME.", "CAdam-ME, outputs transformed", "CAdam-ME"),
    Control("The same, Adam.", "Adam-FSM, outputs transformed", "Adam-FSM"),
    Control("The same, L-BFGS-B.", "L-BFGS-B, outputs transformed", "L-BFGS-B"),
)
HOW = """\
Run by run from the same start points, 16 dimensions, UCB but for PI's trackers. Below zero, the first arm ends at the
lower normalised regret. A step with a tracker evaluates the posterior twice, at x and at the query point, so at equal
evaluations the arm without one has 128 steps instead of 64. Intervals and verdicts as above. The library's own
surrogate differs from the paper's here by the transform of the outputs alone: without choices the priors are the same,
and the noise is fixed in both."""


def controlled(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of a compact table that a control may compare.

    Args:
        table: of the study and of the controls.

    Returns:
        Those in 16 dimensions under UCB, and under PI those of the optimisers whose trackers have two forms.
    """
    names = {name.partition(",")[0] for control in CONTROLS for name in (control.first, control.second)}
    printed = {control.first.partition(",")[0] for control in CONTROLS if control.first.endswith("as printed")}
    rows = table[(table["dimension"] == DIMENSION) & table["optimiser"].isin(names)]
    return rows[(rows["acquisition"] == "ucb") | ((rows["acquisition"] == "pi") & rows["optimiser"].isin(printed))]


def arm_of(row: Mapping[str, object]) -> str:
    """An optimiser and what is changed about it.

    Args:
        row: of the compact table.

    Returns:
        The name of the arm.
    """
    definition = json.loads(str(row["definition"]))
    words = [str(row["optimiser"])]
    if definition["inner"]["steps"] != PAPERS_STEPS:
        words.append(f"{definition['inner']['steps']} steps")
    if definition["surrogate"]["outputs"] != "none":
        words.append("outputs transformed")
    if row["acquisition"] == "pi":
        words.append("as printed" if json.loads(str(row["hyperparameters"]))["zeta_update"] == "paper" else "corrected")
    return ", ".join(words)


def arms(table: pd.DataFrame) -> pd.DataFrame:
    """The finished runs with the columns `arm`, `variant` and `nfr`.

    Args:
        table: the compact one.

    Returns:
        A row per run.
    """
    rows = with_final_scores(with_axes(finished(table)))
    return rows.assign(arm=[arm_of(row) for row in rows.to_dict("records")])


def controls_table(table: pd.DataFrame) -> str:
    """Every control with its number.

    Args:
        table: the compact one.

    Returns:
        A table in Markdown.
    """
    rows = arms(table)
    lines = ["| control | compared | difference in final regret | on | verdict on the first |", "|---|---|---|---|---|"]
    for control in CONTROLS:
        chosen = rows[rows["variant"] == control.variant]
        compared = f"{control.first} minus {control.second}"
        if common_blocks(chosen, [control.first, control.second], "arm").empty:
            lines.append(f"| {control.words} | {compared} | | | not run |")
            continue
        found = paired_difference(chosen, control.first, control.second, "arm")
        on = f"{counted(found.tasks, 'task')}, {counted(found.runs, 'run')}"
        said = decide(found, "better", "worse", MARGIN)
        lines.append(f"| {control.words} | {compared} | {with_interval(found, 3)} | {on} | {said} |")
    return "\n".join(lines)
