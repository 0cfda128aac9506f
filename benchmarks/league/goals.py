"""What the league is to show, and whether it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.league import measures
from compbo.study.outputs.phrases import listed
from compbo.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.league.measures import Versus

SYNTHETIC = measures.GROUPS[:3]
MOST = 0.7  # of the best other's regret there


def best_other(runs: pd.DataFrame) -> Versus | None:
    """The method that comes closest to compbo, or is ahead of it, of those with at least half of the tasks.

    Args:
        runs: of a group in batches of one size.

    Returns:
        None if there is none.
    """
    enough = runs["task"].nunique() / 2
    others = [each for each in measures.versus(runs) if each.method != measures.OURS and each.tasks >= enough]
    return others[0] if others else None


def goals_table(runs: pd.DataFrame) -> str:
    """The goals, by the size of a batch, in Markdown.

    Args:
        runs: as `measures.runs_of` gives them.

    Returns:
        A row for every goal, a column for every size.
    """
    sizes = sorted(set(runs["batch"][runs["method"] == measures.OURS]))
    lines = [f"| goal | {' | '.join(counted(q, 'point') for q in sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    rows = {
        "first in every group": _first,
        f"at most {MOST} of the best other's regret without noise and choices": _by_far,
        "never worse than random search": _random,
    }
    for goal, said in rows.items():
        lines.append(f"| {goal} | {' | '.join(said(runs[runs['batch'] == q]) for q in sizes)} |")
    return "\n".join(lines)


def _first(runs: pd.DataFrame) -> str:
    found = {group: best_other(runs[runs["group"] == group]) for group in measures.GROUPS}
    ahead = {group: each for group, each in found.items() if each and each.ratio.value < 1.0}
    close = [group for group, each in found.items() if each and each.ratio.value >= 1.0 and not each.ratio.low > 1.0]
    words = [
        f"{group} ({each.method} has {each.ratio.value:.2f} of our regret in {counted(each.runs, 'run')})"
        for group, each in ahead.items()
    ]
    methods = counted(runs["method"].nunique(), "method")
    parts = [f"missed: {listed(words)}"] if words else [f"met, of the {methods} that ran"]
    return "; ".join(parts + ([f"not sure: {listed(close)}"] if close else []))


def _by_far(runs: pd.DataFrame) -> str:
    parts = []
    for group in SYNTHETIC:
        each = best_other(runs[runs["group"] == group])
        if each:
            part, low, high = (1.0 / float(number) for number in (each.ratio.value, each.ratio.high, each.ratio.low))
            said = "missed" if part > MOST else "met" if high <= MOST else "met, not sure"
            interval = "" if np.isnan(high) else f" [{low:.2f}, {high:.2f}]"
            runs_of_it = f" in {counted(each.runs, 'run')}" if np.isnan(high) else ""
            parts.append(f"{group}: {part:.2f}{interval} of {each.method}'s{runs_of_it}, {said}")
    return "; ".join(parts)


def _random(runs: pd.DataFrame) -> str:
    worse = measures.worse_than_random(runs)
    return f"missed: {listed(worse)}" if worse else "met"
