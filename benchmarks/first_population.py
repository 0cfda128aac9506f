"""Where CMA-ES begins: around the best start point, or with the start points as its first population, as in the paper.

    python -m benchmarks.first_population        prints the table of docs/catalogue.md

The optimum of a shifted function lies at a random place: the mean of start points is close to the centre, where most
of the plain functions have theirs.
"""

from __future__ import annotations

import statistics

from benchmarks.climbs import Hill, surrogate
from compbo.acquisition.registry import ACQUISITIONS
from compbo.maximizers import make_maximizer
from compbo.maximizers.population import FIRST_POPULATIONS

TASKS = {"levy-6-shifted": 30, "ackley-16-shifted": 48, "levy-16-shifted": 48}  # and their numbers of points
SEEDS = range(6)


def gains(task: str, acquisition: str) -> dict[str, float]:
    """Median over the seeds of what the best batch gains over the best start point, by the first population."""
    found: dict[str, list[float]] = {name: [] for name in FIRST_POPULATIONS}
    for seed in SEEDS:
        hill = Hill(surrogate(task, TASKS[task], seed), acquisition, seed, raw_batches=512, restarts=32)
        start = float(hill.values(hill.starts()).max())
        for name in FIRST_POPULATIONS:
            trace = hill.climb(make_maximizer("CMA-ES", first_population=name))
            found[name].append(float(hill.values(trace.best[:1])) - start)
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    print(f"| task | acquisition | {' | '.join(FIRST_POPULATIONS)} |", "|---|---|---|---|", sep="\n")
    for task in TASKS:
        for acquisition in ACQUISITIONS:
            row = gains(task, acquisition)
            print(f"| {task} | {acquisition} | {' | '.join(f'{gain:.3f}' for gain in row.values())} |", flush=True)


if __name__ == "__main__":
    main()
