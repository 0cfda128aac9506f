"""What the league measures, as functions of the compact results table.

A run is one method on one task with one seed. Methods are compared on the tasks and seeds that both have run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.league.tasks import MIXED
from benchmarks.regrets import normalised_regrets
from compbo.study.outputs.compact import finished
from compbo.study.outputs.statistics.bootstrap import Estimate, estimate
from compbo.study.results.scores import win_shares
from compbo.study.tasks import BayesmarkTask, parse_builtin

OURS, RANDOM = "compbo", "random-search"
WITHOUT_MODEL = (RANDOM, "pycma")
GROUPS = ("2 to 6 dimensions", "16 to 20 dimensions", "60 dimensions and more", "noisy", "mixed", "tuning tasks")


def group_of(task: str, dimension: int) -> str:
    """The group of a task, given the dimension of its unit cube; one of `GROUPS`."""
    if task in MIXED:
        return "mixed"
    if isinstance(parse_builtin(task), BayesmarkTask):
        return "tuning tasks"
    if "-noise" in task:
        return "noisy"
    return GROUPS[0] if dimension <= 6 else GROUPS[1] if dimension <= 20 else GROUPS[2]


def runs_of(table: pd.DataFrame) -> pd.DataFrame:
    """A row for every finished run: task, group, batch, evaluations, seed, method, normalised regret."""
    rows = finished(table)
    groups = [group_of(task, dimension) for task, dimension in zip(rows["task"], rows["dimension"], strict=True)]
    return pd.DataFrame(
        {
            "task": rows["task"].to_numpy(),
            "group": groups,
            "batch": rows["batch"].to_numpy(),
            "evaluations": (rows["initial"] + rows["batch"] * rows["steps"]).to_numpy(),
            "seed": rows["seed"].to_numpy(),
            "method": rows["optimiser"].to_numpy(),
            "regret": normalised_regrets(rows),
        }
    )


class Versus(NamedTuple):
    """A method beside compbo, on the tasks and seeds that both have run."""

    method: str
    mean: Estimate  # of its normalised regrets; every task counts the same
    ours: float  # the same of compbo
    ratio: Estimate  # geometric mean of its regret in units of compbo's
    lower: float  # share of the runs in which it ends lower; a tie counts half
    tasks: int
    seeds: tuple[int, ...]
    runs: int


def versus(runs: pd.DataFrame) -> list[Versus]:
    """Every method that shares runs with compbo, the best ratio first; compbo among them."""
    keys = ["group", "task", "seed"]
    regrets = runs.pivot_table("regret", keys, "method")
    if OURS not in regrets:
        return []
    found = []
    for method in regrets.columns:
        both = regrets[[method, OURS]].dropna() if method != OURS else regrets[[OURS]].dropna()
        if both.empty:
            continue
        theirs, ours = both[method].to_numpy(), both[OURS].to_numpy()
        tasks, groups = both.index.get_level_values("task"), both.index.get_level_values("group")
        logs = estimate(np.log(theirs / ours), tasks, groups=groups)
        found.append(
            Versus(
                method=str(method),
                mean=estimate(theirs, tasks, groups=groups),
                ours=float(estimate(ours, tasks, groups=groups).value),
                ratio=logs._replace(value=np.exp(logs.value), low=np.exp(logs.low), high=np.exp(logs.high)),
                lower=float(np.mean((theirs < ours) + 0.5 * (theirs == ours))),
                tasks=tasks.nunique(),
                seeds=tuple(sorted(int(seed) for seed in set(both.index.get_level_values("seed")))),
                runs=len(both),
            )
        )
    return sorted(found, key=lambda each: float(each.ratio.value))


def complete(runs: pd.DataFrame) -> pd.DataFrame:
    """The regrets of the tasks and seeds that all methods have run, a column for every method."""
    return runs.pivot_table("regret", ["group", "task", "seed"], "method").dropna()


def shares_of_wins(runs: pd.DataFrame) -> dict[str, float]:
    """What each method won of the runs that all methods have, ties split; empty if there are none."""
    regrets = complete(runs)
    if regrets.empty:
        return {}
    won = np.nanmean(win_shares(regrets.to_numpy().T), axis=1)
    return dict(zip(map(str, regrets.columns), won.tolist(), strict=True))


def by_task(runs: pd.DataFrame) -> pd.DataFrame:
    """Tasks x methods: the geometric mean, over the seeds that both have, of the regret in units of compbo's."""
    logs = np.log(runs.pivot_table("regret", ["group", "task", "seed"], "method"))
    return np.exp(logs.sub(logs[OURS], axis=0).groupby(["group", "task"]).mean())


def worse_than_random(runs: pd.DataFrame) -> list[str]:
    """The tasks on which compbo ends higher than random search, in the geometric mean over the seeds."""
    ratios = by_task(runs)
    if RANDOM not in ratios:
        return []
    return [str(task) for (_, task), ratio in ratios[RANDOM].items() if ratio < 1.0]
