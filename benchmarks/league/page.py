"""docs/league.md, its figure and docs/league_tables.md, from results/league.parquet.

python -m benchmarks.league.page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.league import measures
from benchmarks.league.__main__ import league_cells
from benchmarks.league.figure import draw, left_out
from benchmarks.league.goals import best_other, goals_table
from benchmarks.league.parts import parts_table
from benchmarks.made_of import made_of
from benchmarks.suggestions import PEERS
from compbo.plugins import load_plugin
from compbo.study.outputs.compact import finished, from_bytes
from compbo.study.outputs.phrases import listed
from compbo.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from benchmarks.league.measures import Versus
    from compbo.study.outputs.statistics.bootstrap import Estimate

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results" / "league.parquet"
PAGE = ROOT / "docs" / "league.md"
TABLES = ROOT / "docs" / "league_tables.md"
FIGURE = ROOT / "docs" / "league.svg"
PARTS = ROOT / "results" / "parts.parquet"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
PARTS_BEGIN, PARTS_END = "<!-- parts -->", "<!-- /parts -->"
SPEED = ROOT / "benchmarks" / "results.json"  # of make bench
SPEED_BEGIN, SPEED_END = "<!-- speed -->", "<!-- /speed -->"
PANELS_BEGIN, PANELS_END = "<!-- panels -->", "<!-- /panels -->"
FASTER = 8  # times: the goal
MAIN_BATCH = 8  # of the summary and the figure
PACKAGES = ("torch", "botorch", "gpytorch", "optuna", "cma")


def planned() -> pd.DataFrame:
    """The league as its grids have it: the hash of every cell, its batch and method, and whether it is of the core."""
    load_plugin("benchmarks.league.plugin")
    core = {cell.hash for cell in league_cells("core")}
    cells = league_cells("all")
    return pd.DataFrame(
        {
            "cell": [cell.hash for cell in cells],
            "task": [cell.task for cell in cells],
            "batch": [cell.batch for cell in cells],
            "method": [cell.method.optimiser for cell in cells],
            "core": [cell.hash in core for cell in cells],
        }
    )


def measured(table: pd.DataFrame, plan: pd.DataFrame) -> str:
    """What there is and how it ended: the numbers of the page.

    Args:
        table: compact results of the league.
        plan: what was to be run, as `planned` gives it.

    Returns:
        Markdown: counts, a summary with the goals, then all groups together by batch.
    """
    runs = measures.runs_of(table)
    parts = [_counts(table, runs, plan), _summary(runs)]
    parts += [_section(f"## {_head(part)}", part) for part in _by_batch(runs)]
    return "\n\n".join(parts)


def every_group(table: pd.DataFrame) -> str:
    """The numbers of the page of tables, group by group and task by task.

    Args:
        table: compact results of the league.

    Returns:
        Markdown.
    """
    parts = []
    for runs in _by_batch(measures.runs_of(table)):
        parts.append(f"## {_head(runs)}")
        groups = {group: runs[runs["group"] == group] for group in measures.GROUPS}
        parts += [_section(f"### {group}", part) for group, part in groups.items() if len(part)]
        parts += [f"### Every task, {counted(int(runs['batch'].iloc[0]), 'point')} per ask", _task_table(runs)]
    return "\n\n".join(parts)


def _by_batch(runs: pd.DataFrame) -> list[pd.DataFrame]:
    """The runs in batches of each size, the main one first; none where compbo has none, the unit of all ratios."""
    ours = set(runs["batch"][runs["method"] == measures.OURS])
    return [runs[runs["batch"] == size] for size in sorted(ours, key=lambda size: (size != MAIN_BATCH, size))]


def _head(runs: pd.DataFrame) -> str:
    return f"{counted(int(runs['batch'].iloc[0]), 'point')} per ask, {runs['evaluations'].iloc[0]} evaluations"


def _header(*columns: str) -> list[str]:
    """The first two lines of a table."""
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def _counts(table: pd.DataFrame, runs: pd.DataFrame, plan: pd.DataFrame) -> str:
    """What was run, what is missing, and with what."""
    lines = _header("batch", "evaluations", "tasks", "methods", "seeds", "runs of the core", "all runs", "not run yet")
    there = plan[plan["cell"].isin(finished(table)["cell"])]
    for (batch, evaluations), part in runs.groupby(["batch", "evaluations"]):
        tasks, methods, seeds = (part[name].nunique() for name in ("task", "method", "seed"))
        have, wanted = there[there["batch"] == batch], plan[plan["batch"] == batch]
        absent = ", ".join(sorted(set(wanted["method"]) - set(part["method"]))) or "–"
        counts = f"{have['core'].sum()} of {wanted['core'].sum()} | {len(have)} of {len(wanted)} | {absent}"
        lines.append(f"| {batch} | {evaluations} | {tasks} | {methods} | {seeds} | {counts} |")
    failed = table[table["status"] != finished(table)["status"].iloc[0]]
    names = sorted({f"{row.optimiser} on {row.task}, seed {row.seed}" for row in failed.itertuples()})
    words = f"{counted(len(failed), 'run')} failed ({'; '.join(names)})" if names else "No run failed"
    return "\n".join([*lines, "", f"{words}. {_versions(table)}"])


def _versions(table: pd.DataFrame) -> str:
    """Which versions were compared."""
    known = json.loads(finished(table)["versions"].iloc[-1])
    parts = [f"{name} {known[name]}" for name in PACKAGES if name in known]
    own = finished(table)[["optimiser", "hyperparameters"]].drop_duplicates().itertuples()
    parts += [f"{row.optimiser} {v}" for row in own if (v := json.loads(row.hyperparameters or "{}").get("version"))]
    return f"With {', '.join(parts)}."


def _summary(runs: pd.DataFrame) -> str:
    """A row for every group: the best peer with half of its tasks or more, and how far compbo is from it; the goals."""
    lines = _header("group", "the best of the others", "its regret / compbo's", "95 % interval", "tasks", "runs")
    for group in measures.GROUPS:
        best = best_other(runs[(runs["group"] == group) & (runs["batch"] == MAIN_BATCH)])
        if best:
            numbers = f"{best.ratio.value:.2f} | {_interval(best.ratio)} | {best.tasks} | {best.runs}"
            lines.append(f"| {group} | {best.method} | {numbers} |")
    rule = "The lowest ratio among the methods that ran at least half of the tasks of the group, in batches of 8:"
    wanted = f"The goals, judged by the same method of each group; {FASTER} times as fast is judged [below](#how-fast):"
    return "\n".join(["## In short", "", rule, "", *lines, "", wanted, "", goals_table(runs)])


def _times(ratio: float) -> str:
    """A ratio of seconds, without an exponent."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _section(heading: str, runs: pd.DataFrame) -> str:
    found = measures.versus(runs)
    return "\n\n".join([heading, _table(found, runs), _in_words(found, runs)])


def _table(found: list[Versus], runs: pd.DataFrame) -> str:
    won = measures.shares_of_wins(runs)
    lines = _header(
        *("method", "normalised regret", "95 % interval", "compbo's there", "regret / compbo's", "95 % interval"),
        *("ends lower", "won", "tasks", "seeds", "runs"),
    )
    for each in found:
        lower = "" if each.method == measures.OURS else f"{100 * each.lower:.0f} %"
        share = f"{100 * won[each.method]:.0f} %" if each.method in won else "–"
        lines.append(
            f"| {each.method} | {each.mean.value:.3f} | {_interval(each.mean, 3)} | {each.ours:.3f} "
            f"| {each.ratio.value:.2f} | {_interval(each.ratio)} | {lower} | {share} "
            f"| {each.tasks} | {len(each.seeds)} | {each.runs} |"
        )
    return "\n".join(lines)


def _interval(estimate: Estimate, digits: int = 2) -> str:
    if np.isnan(estimate.low):
        return "–"
    return f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"


def _in_words(found: list[Versus], runs: pd.DataFrame) -> str:
    """Whether compbo is first, of whom that cannot be told, and where random search is better."""
    others = [each for each in found if each.method != measures.OURS]
    ahead, behind = ([each for each in others if (each.ratio.value < 1.0) == first] for first in (True, False))
    sentences = [
        f"compbo is not first. Ahead: {_listed(ahead)}." if ahead else f"compbo is first of {len(found)} methods."
    ]
    if open_ones := [each for each in behind if each.ratio.low <= 1.0]:
        sentences.append(f"Not told apart from it: {_listed(open_ones)}.")
    if few := [each for each in behind if np.isnan(each.ratio.low)]:
        sentences.append(f"Behind it, with too few runs for an interval: {_listed(few)}.")
    if lower := [each for each in behind if each.mean.value < each.ours]:
        sentences.append(f"Lower in the mean of the normalised regret: {', '.join(each.method for each in lower)}.")
    worse = measures.worse_than_random(runs)
    if worse:
        sentences.append(f"Worse than random search on {', '.join(worse)}.")
    sentences.append(f"Won: of the {counted(len(measures.complete(runs)), 'run')} that all methods have.")
    return " ".join(sentences)


def _listed(methods: list[Versus]) -> str:
    return "; ".join(f"{each.method} ({each.ratio.value:.2f}{_sure(each)})" for each in methods)


def _sure(each: Versus) -> str:
    """Whether the interval of a ratio says on which side of 1 it is."""
    if np.isnan(each.ratio.low):
        return ""
    return ", not sure" if each.ratio.low <= 1.0 <= each.ratio.high else ", sure"


def _task_table(runs: pd.DataFrame) -> str:
    ratios = measures.by_task(runs)
    names = [name for name in ratios.columns if name != measures.OURS]
    lines = _header("task", *names)
    for group in measures.GROUPS:
        for (_, task), row in ratios[ratios.index.get_level_values("group") == group].iterrows():
            cells = ["" if np.isnan(row[name]) else f"{row[name]:.2f}" for name in names]
            lines.append(f"| {task} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def core_runs(table: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """The runs of the figure: those of the core in the main batches, which all methods are to have.

    Args:
        table: compact results of the league.
        plan: what was to be run, as `planned` gives it.

    Returns:
        As `measures.runs_of` gives them; regrets are still in units of all runs.
    """
    runs = measures.runs_of(table)
    tasks = set(plan.loc[plan["core"] & (plan["batch"] == MAIN_BATCH), "task"])
    return runs[(runs["batch"] == MAIN_BATCH) & runs["task"].isin(tasks)]


def panels(table: pd.DataFrame, plan: pd.DataFrame) -> str:
    """How many runs the panels of the figure have of whom, and who is missing.

    Args:
        table: compact results of the league.
        plan: what was to be run, as `planned` gives it.

    Returns:
        A sentence.
    """
    runs = core_runs(table, plan)
    words = [f"{group}: {', '.join(methods)}" for group, methods in left_out(runs).items()]
    counts: dict[int, list[str]] = {}
    for method, count in runs.groupby("method").size().sort_index().items():
        counts.setdefault(int(count), []).append(str(method))
    each = [
        f"{count} of {listed(methods, most=len(methods))}" for count, methods in sorted(counts.items(), reverse=True)
    ]
    return f"Runs: {'; '.join(each)}." + (f" Not in the panels: {'; '.join(words)}." if words else "")


def speed(rows: Sequence[Mapping[str, Any]]) -> str:
    """How long the others take for a suggestion, from the rows of `benchmarks.suggestions`: a table and sentences."""
    sizes = sorted({row["q"] for row in rows}, reverse=True)
    ranges = {(name, q): _range([row[name] for row in rows if row["q"] == q]) for name in rows[0] for q in sizes}
    lines = _header("seconds of an ask / compbo's", *(counted(q, "point") for q in sizes))
    for peer in PEERS:
        found = [ranges[f"{peer} / {measures.OURS}", q] for q in sizes]
        lines.append(f"| {peer} | {' | '.join(_to(ends) for ends in found)} |")
    own = [f"{_to(ranges[f'{measures.OURS} s', q])} s for {counted(q, 'point')}" for q in sizes]
    said = [f"compbo takes {listed(own)}."]
    for q in sizes:
        known = {peer: ends for peer in PEERS if (ends := ranges[f"{peer} / {measures.OURS}", q])}
        short = [peer for peer, ends in known.items() if ends[0] < FASTER]
        faster = [peer for peer, ends in known.items() if ends[0] < 1]
        words = f"For {counted(q, 'point')} the goal of {FASTER} times "
        words += f"is missed against {listed(short)}" if short else "is met against all of them"
        said.append(words + (f", and {listed(faster)} can be the faster one." if faster else "."))
    return "\n".join([*lines, "", " ".join(said)])


def _range(values: Sequence[object]) -> tuple[float, float] | None:
    """The smallest and the largest number; None if one was not measured."""
    known = [value for value in values if isinstance(value, float)]
    return (min(known), max(known)) if len(known) == len(values) else None


def _to(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return "–"
    words = list(dict.fromkeys(map(_times, ends)))
    return " to ".join(words)


def filled(text: str, numbers: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with new numbers between two of its marks."""
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n\n{numbers}\n\n{end}{rest.partition(end)[2]}"


def current(text: str, table: pd.DataFrame) -> str:
    """The page with the numbers of the committed results.

    Args:
        text: of the page.
        table: compact results of the league.

    Returns:
        The new text.
    """
    blamed = parts_table(from_bytes(PARTS.read_bytes(), str(PARTS)), table)
    plan = planned()
    text = filled(filled(text, measured(table, plan)), blamed, PARTS_BEGIN, PARTS_END)
    text = filled(text, panels(table, plan), PANELS_BEGIN, PANELS_END)
    rows = json.loads(SPEED.read_text(encoding="utf-8"))["suggestions"]["rows"]
    return filled(text, speed(rows), SPEED_BEGIN, SPEED_END)


def main() -> None:
    """Write the numbers into the page, and the figure."""
    table = from_bytes(RESULTS.read_bytes(), str(RESULTS))
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")
    TABLES.write_text(filled(TABLES.read_text(encoding="utf-8"), every_group(table)), encoding="utf-8")
    draw(core_runs(table, planned()), FIGURE, made_of(RESULTS))


if __name__ == "__main__":
    main()
