"""`python -m benchmarks.why.measure`: climbs and runs in 60 dimensions, into results/why_climbs.csv and why_runs.csv.

A run has batches of 8, an initial design of 16 points and 16 steps. The climbs of one case begin at the same start
batches, on the model of a run of CAdam-ME. About five minutes of one core; what the files hold is not run again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

import compbo
from benchmarks.defaults import tasks
from benchmarks.why.settings import POINTS, SETTINGS
from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples, sobol_normals
from compbo.bo.choice import COMMON_SAMPLE, choose
from compbo.bo.history import History
from compbo.bo.model import model_of
from compbo.bo.starts import StartPolicy, boltzmann, raw_batches
from compbo.bo.suggest import INCUMBENTS
from compbo.seeds import stream
from compbo.types import Box, Budget, Draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from benchmarks.why.settings import Setting
    from compbo.bo.history import Observations
    from compbo.surrogate.posterior import GPPosterior
    from compbo.types import Inner

RESULTS = Path(__file__).parents[2] / "results"
CLIMBS, RUNS = RESULTS / "why_climbs.csv", RESULTS / "why_runs.csv"
TASKS, SEEDS = ("griewank_60", "schwefel_60", "valley_60"), (0, 1)
INITIAL, STEPS = 16, 16
OBSERVATIONS = (32, 80, 136)  # of the cases
HISTORY = "CAdam-ME"  # the setting whose runs the cases are from


class Watched(AcquisitionOracle):
    """Notes by how much the winners of the columns owe their place to the noise of the sample.

    It is the mean of |L z| over the winners' columns minus its expectation there, in units of that: 0 where who wins
    does not depend on the sample that the gradient is taken on.
    """

    def begin(self) -> Watched:
        """Forget what was noted."""
        self.luck: list[float] = []
        return self

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """As it is; the columns at x are remembered."""
        inner = super().inner(x, draw, gradient_rows)
        if gradient_rows != 0:
            rows = len(x) if gradient_rows is None else gradient_rows
            mean = self.posterior(x[:rows], 0).mean.unsqueeze(-1)
            self._noise = inner.v[:rows] - mean
        return inner

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """As it is; the luck of the winners is noted."""
        gradient = super().outer_gradient(zeta, mean_utility)
        expected = self._noise.mean(-1, keepdim=True).expand_as(self._noise)
        self.luck.append(float((gradient * self._noise).sum() / (gradient * expected).sum()) - 1.0)
        return gradient


def run(task: str, seed: int, setting: Setting) -> tuple[compbo.Optimizer, list[float]]:
    """A run of a setting: the optimizer at its end, and the smallest loss after the design and after every batch."""
    problem = getattr(tasks, task)
    optimizer = compbo.Optimizer(
        problem.space,
        batch_size=POINTS,
        seed=seed,
        initial_points=1,
        maximizer=setting.maximizer,
        acquisition=setting.acquisition,
    )
    points: Sequence[Any] = problem.space.sample(INITIAL, stream(seed, "initial design", problem.name))
    best: list[float] = []
    for step in range(STEPS + 1):
        losses = [problem.evaluate(point) for point in points]
        optimizer.tell(points, losses)
        best.append(min([*best[-1:], *losses]))
        points = optimizer.ask() if step < STEPS else []
    return optimizer, best


def case(optimizer: compbo.Optimizer, count: int) -> tuple[GPPosterior, float, Observations]:
    """Model, best value and observations of the first `count` evaluations of a run."""
    history = History(optimizer.history.evaluations[:count])
    observations = history.observations(optimizer.space, "minimize")
    gp = model_of(optimizer.space, optimizer.settings, observations)
    return gp.posterior, gp.best, observations  # type: ignore[return-value]


def climbs(posterior: GPPosterior, best: float, incumbents: Tensor, seed: int) -> list[dict[str, Any]]:
    """Every setting from the same start batches: where the batch that it chooses lies, a row for each."""
    generator, box, policy = stream(seed, "why"), Box.unit(posterior.dim), StartPolicy()
    common = Draw(sobol_normals(POINTS, COMMON_SAMPLE, generator))
    judge = AcquisitionOracle(UCB(), posterior, make_samples("ERM", POINTS), best)
    raw = raw_batches(POINTS, box, incumbents, policy, generator)
    start = raw[boltzmann(judge.value(raw, common), policy.restarts, policy.eta, generator)]
    rows = []
    for name, setting in SETTINGS.items():
        samples = make_samples(setting.maximizer.form, POINTS, steps=Budget().steps)
        oracle = Watched(setting.acquisition, posterior, samples, best).begin()
        trace = setting.maximizer(oracle, start, budget=Budget(), box=box, generator=stream(seed, "why", name))
        chosen = choose(oracle, trace, start, common)
        batch, begun = chosen.batch[None], start[max(chosen.winner, 0)]
        parts = posterior(batch, 0)
        rows.append(
            {
                "setting": name,
                "joint_ucb": float(judge.value(batch, common)),
                "mean": float(parts.mean.mean()),
                "deviation": float(parts.factor.square().sum(-1).sqrt().mean()),
                "distance": float(torch.cdist(chosen.batch, incumbents).amin(-1).mean()),
                "moved": float((chosen.batch - begun).norm(dim=-1).mean()),
                "luck": sum(oracle.luck) / len(oracle.luck),
            }
        )
    return rows


def main() -> None:
    """Run what the two files do not hold yet."""
    for seed in SEEDS:
        for task in TASKS:
            if _has(RUNS, task, seed):
                continue
            measured = {name: run(task, seed, setting) for name, setting in SETTINGS.items()}
            optimizer = measured[HISTORY][0]
            found = []
            for count in OBSERVATIONS:
                posterior, best, observations = case(optimizer, count)
                rows = climbs(posterior, best, observations.incumbents(INCUMBENTS), seed)
                found += [{"task": task, "seed": seed, "observations": count, **row} for row in rows]
            _add(CLIMBS, found)
            _add(
                RUNS,
                [
                    {"task": task, "seed": seed, "setting": name, "first": curve[0], "last": curve[-1]}
                    for name, (_, curve) in measured.items()
                ],
            )
            sys.stderr.write(f"{task} {seed}\n")


def _has(path: Path, task: str, seed: int) -> bool:
    if not path.exists():
        return False
    table = pd.read_csv(path)
    return bool(((table["task"] == task) & (table["seed"] == seed)).any())


def _add(path: Path, rows: list[dict[str, Any]]) -> None:
    before = [pd.read_csv(path)] if path.exists() else []
    pd.concat([*before, pd.DataFrame(rows)]).to_csv(path, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
