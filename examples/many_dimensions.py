"""Sixty parameters, batches of 32 points that are chosen together.

Look at: the best value after every batch, beside a random search with the same number of evaluations, and at how long
a suggestion takes: with 32 points the maximiser works on 60 x 32 = 1920 numbers at a time.
"""

from itertools import pairwise

import torch

import compbo
from compbo import Float, Space

DIMENSIONS, BATCH, BATCHES = 60, 32, 5
space = Space({f"x{i}": Float(-5, 5) for i in range(DIMENSIONS)})
optimum = [3.0 * (-1) ** i * i / DIMENSIONS for i in range(DIMENSIONS)]


def loss(params):
    """A bowl in which neighbouring parameters depend on each other."""
    z = [params[f"x{i}"] - optimum[i] for i in range(DIMENSIONS)]
    return sum(a * a for a in z) + sum((a - b) ** 2 for a, b in pairwise(z)) / 2


if __name__ == "__main__":
    optimizer = compbo.Optimizer(space, batch_size=BATCH, seed=0)
    random_points = space.sample(BATCH * BATCHES, torch.Generator().manual_seed(0))
    for number in range(1, BATCHES + 1):
        points = optimizer.ask()
        optimizer.tell(points, [loss(point) for point in points])
        by_chance = min(loss(point) for point in random_points[: BATCH * number])
        ask = optimizer.telemetry[-1]
        print(
            f"{BATCH * number:4d} evaluations: best {optimizer.best.value:7.1f}, random search {by_chance:7.1f}; "
            f"ask {ask.fit_seconds + ask.start_seconds + ask.maximise_seconds:.1f} s, {ask.verdict}"
        )
