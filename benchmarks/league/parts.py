"""Which part of compbo is to blame where another method is ahead: one part exchanged at a time, for docs/league.md."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.league.measures import OURS, runs_of
from compbo.study.outputs.statistics.student import mean_over_tasks
from compbo.words import counted

PARTS = {  # by the name of the method: which part, and what it is exchanged for
    "compbo-outputs-none": ("surrogate", '`outputs="none"`'),
    "outputs-evidence-or-none": ("surrogate", "no transform is one of the choices by evidence"),
    "outputs-left-out": ("surrogate", "the same choices, by values that are left out"),
    "compbo-dimension-scaled": ("surrogate", '`priors="dimension-scaled"`'),
    "compbo-paper-priors": ("surrogate", '`priors="paper"`: choices share nothing'),
    "compbo-warped": ("surrogate", '`inputs="warped"`'),
    "compbo-ucb": ("acquisition function", '`acquisition="ucb"`'),
    "compbo-ucb4-sr": ("acquisition function", '`acquisition=[UCB(beta=4.0), "sr"]`'),
    "compbo-sr": ("acquisition function", '`acquisition="sr"`'),
    "compbo-logei": ("acquisition function", '`acquisition="logei"`'),
    "compbo-adam": ("maximizer", '`maximizer="Adam-ERM"`'),
    "compbo-race-polish": ("maximizer", "`StartPolicy(race=True, polish=True)`"),
    "levels-as-a-whole": ("maximizer", "eight moves between levels for a whole batch, not for each point"),
}


def parts_table(parts: pd.DataFrame, league: pd.DataFrame) -> str:
    """The regret with one part exchanged in units of compbo's, task by task, above that of the best other method.

    Args:
        parts: the cells of parts.toml.
        league: those of the league.

    Returns:
        A table in Markdown; geometric means over the seeds that both have run, with Student's interval over them.
    """
    columns = list(dict.fromkeys(zip(parts["task"], parts["batch"], strict=True)))
    there = [place in columns for place in zip(league["task"], league["batch"], strict=True)]
    runs = runs_of(pd.concat([parts, league[there]]))
    logs = np.log(runs.pivot_table("regret", ["task", "batch", "seed"], "method"))
    logs = logs.sub(logs[OURS], axis=0)
    titles = [f"{task}, {counted(int(q), 'point')}" for task, q in columns]
    lines = [f"| part | exchanged for | {' | '.join(titles)} |", "|---" * (len(columns) + 2) + "|"]
    for method, (part, words) in PARTS.items():
        if method in logs.columns:
            cells = [_ratio(found) if len(found := logs.loc[column, method].dropna()) else "" for column in columns]
            lines.append(f"| {part} | {words} | {' | '.join(cells)} |")
    others = logs.drop(columns=[*PARTS, OURS], errors="ignore")
    best = []
    for column in columns:
        found = others.loc[column]
        method = found.mean().idxmin()
        best.append(f"{_ratio(found[method])} ({method}, {counted(int(found[method].count()), 'seed')})")
    return "\n".join([*lines, f"| everything | the best other method | {' | '.join(best)} |"])


def _ratio(logs: pd.Series) -> str:
    """The geometric mean over the seeds and its interval; without one where there are fewer than three."""
    known = logs.dropna()
    found = mean_over_tasks(known.to_numpy(), known.index.to_numpy())
    ratio = f"{np.exp(found.value):.2f}"
    return ratio if np.isnan(found.low) else f"{ratio} [{np.exp(found.low):.2f}, {np.exp(found.high):.2f}]"
