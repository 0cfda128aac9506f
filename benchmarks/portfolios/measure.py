"""`python -m benchmarks.portfolios.measure`: runs of every policy, into results/portfolios.csv.

Batches of 8 points (16 steps), also beside pending ones, and of one point (48 steps), after a design of 16; the
maximizer and the transform that were the default when the file was begun, whatever they are now. About 20 minutes of
one core; what the file holds is not run again.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import compbo
from benchmarks.defaults import tasks
from benchmarks.portfolios.policies import INITIAL, VARIANTS, Past
from compbo.bo.history import History
from compbo.bo.suggest import suggest
from compbo.seeds import stream

RESULTS = Path(__file__).parents[2] / "results" / "portfolios.csv"


class Plan(NamedTuple):
    """What is run of a kind: points of a batch, batches that are pending at an ask, batches, tasks, seeds, variants."""

    q: int
    pending: int
    steps: int
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    variants: tuple[str, ...]


FOUR = ("griewank_10", "valley_60", "michalewicz_10", "ellipsoid_20")
EIGHT = (*FOUR, "griewank_40", "schwefel_20", "pushing_14", "valley_20")
ONE = ("griewank_10", "michalewicz_10", "valley_20", "ellipsoid_20")
BESIDE = ("ellipsoid_20", "valley_20", "griewank_40")
BOTH = ("default", "winstay")
HOPEFUL = (*BOTH, "ucb4+sr", "beta-ask")
TURNS = ("ucb0.25+sr", "ucb0.5+sr", "ucb2+ucb0.1", "blend+sr", "marginal+sr")
OTHERS = (*TURNS, "mixed", "mixedmax", "credit", "beta-point")
# First all variants, then the best of them on more tasks and seeds.
PLANS = (
    Plan(8, 0, 16, FOUR, (0,), OTHERS),
    Plan(8, 0, 16, EIGHT, (0,), (*HOPEFUL, "logei")),
    Plan(8, 0, 16, ("griewank_10", "ellipsoid_20", "michalewicz_10"), (1,), HOPEFUL),
    Plan(8, 0, 16, EIGHT, (1,), BOTH),
    Plan(8, 1, 16, BESIDE, (0,), BOTH),
    Plan(1, 0, 48, ONE, (0,), (*HOPEFUL, "ucb0.5+sr", "ucb", "sr")),
    Plan(1, 0, 48, ONE, (1,), BOTH),
)


class Run(NamedTuple):
    """A row of the file: what was run, the best loss of the initial design, and that of the whole run."""

    q: int
    pending: int
    task: str
    seed: int
    variant: str
    first: float
    last: float


def run(plan: Plan, task: str, seed: int, variant: str) -> Run:
    """A run of one variant; with pending points, a batch is told when `plan.pending` others were asked after it."""
    problem, policy = getattr(tasks, task), VARIANTS[variant].policy
    settings = compbo.Settings(
        initial_points=1, batch_size=plan.q, seed=seed, maximizer="CAdam-ME", outputs="yeo-johnson", priors="paper"
    )
    design = problem.space.sample(INITIAL, stream(seed, "initial design", problem.name))
    history = History(tuple(compbo.Evaluation(point, problem.evaluate(point)) for point in design))
    bests = [_best(history)]
    waiting: list[list[dict[str, object]]] = []
    for step in range(plan.steps):
        acquisition = policy(Past(step, bests, plan.q, seed))
        points = suggest(problem.space, replace(settings, acquisition=acquisition), history).points
        history = history.asked(points)
        waiting.append(points)
        while len(waiting) > (plan.pending if step < plan.steps - 1 else 0):
            told = [compbo.Evaluation(point, problem.evaluate(point)) for point in waiting.pop(0)]
            history = history.told(told)
        bests.append(_best(history))
    return Run(plan.q, plan.pending, task, seed, variant, bests[0], bests[-1])


def _best(history: History) -> float:
    return min(evaluation.value for evaluation in history.evaluations if evaluation.value is not None)


def load() -> list[Run]:
    """The rows of the file."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [
        Run(int(q), int(pending), task, int(seed), variant, float(first), float(last))
        for q, pending, task, seed, variant, first, last in rows
    ]


def save(rows: list[Run]) -> None:
    """Write the rows, in their order, to the file."""
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Run._fields)
        writer.writerows([*row[:-2], f"{row.first:.6g}", f"{row.last:.6g}"] for row in sorted(rows))


def main() -> None:
    """Run what the file does not hold."""
    rows = load()
    known = {row[:5] for row in rows}
    for plan in PLANS:
        cells = [(task, seed, name) for seed in plan.seeds for task in plan.tasks for name in plan.variants]
        for task, seed, name in cells:
            if (plan.q, plan.pending, task, seed, name) in known:
                continue
            rows.append(run(plan, task, seed, name))
            save(rows)
            sys.stderr.write(f"{rows[-1]}\n")


if __name__ == "__main__":
    main()
