"""Which part of compbo is to blame where another method is ahead: one part exchanged at a time, for docs/league.md."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.league.measures import OURS, runs_of
from compbo.words import counted

PARTS = {  # by the name of the method: which part, and what it is exchanged for
    "compbo-outputs-none": ("surrogate", '`outputs="none"`'),
    "outputs-evidence-or-none": ("surrogate", "no transform is one of the choices by evidence"),
    "outputs-left-out": ("surrogate", "the same choices, by values that are left out"),
    "compbo-dimension-scaled": ("surrogate", '`priors="dimension-scaled"`'),
    "compbo-warped": ("surrogate", '`inputs="warped"`'),
    "compbo-ucb": ("acquisition function", '`acquisition="ucb"`'),
    "compbo-sr": ("acquisition function", '`acquisition="sr"`'),
    "compbo-logei": ("acquisition function", '`acquisition="logei"`'),
    "compbo-adam": ("maximizer", '`maximizer="Adam-ERM"`'),
    "compbo-race-polish": ("maximizer", "`StartPolicy(race=True, polish=True)`"),
}


def parts_table(parts: pd.DataFrame, league: pd.DataFrame) -> str:
    """The regret with one part exchanged in units of compbo's, task by task, above that of the best other method.

    Args:
        parts: the cells of parts.toml.
        league: those of the league.

    Returns:
        A table in Markdown; geometric means over the seeds that both have run.
    """
    tasks = list(dict.fromkeys(parts["task"]))
    ours = league["batch"].isin(set(parts["batch"])) & league["task"].isin(tasks)
    runs = runs_of(pd.concat([parts, league[ours]]))
    logs = np.log(runs.pivot_table("regret", ["task", "seed"], "method"))
    ratios = np.exp(logs.sub(logs[OURS], axis=0).groupby("task").mean()).T
    lines = [f"| part | exchanged for | {' | '.join(tasks)} | all |", "|---" * (len(tasks) + 3) + "|"]
    for method, (part, words) in PARTS.items():
        if method in ratios.index:
            lines.append(f"| {part} | {words} | {_cells(ratios.loc[method, tasks].to_numpy())} |")
    others = ratios.drop(index=[*PARTS, OURS], errors="ignore")[tasks]
    seeds = runs.groupby(["method", "task"])["seed"].nunique()
    best = [f"{others.at[m, task]:.2f} ({m}, {counted(seeds[m, task], 'seed')})" for task, m in others.idxmin().items()]
    return "\n".join([*lines, f"| everything | the best other method | {' | '.join(best)} | |"])


def _cells(ratios: np.ndarray) -> str:
    """The numbers, and their geometric mean."""
    return " | ".join(f"{ratio:.2f}" for ratio in (*ratios, np.exp(np.log(ratios).mean())))
