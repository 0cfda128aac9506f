"""A second, independent maximisation of an acquisition function: is a batch that "converged" really the best?

L-BFGS-B, on the common sample, from the batch itself and from 64 others of another generator. Where the slope of the
acquisition vanishes (EI, PI), once more on LogEI and from there again on the acquisition itself. Where parameters are
rounded, single levels and choices are changed as long as that gains.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from compbo.acquisition.integrands import EI, PI, Acquisition, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import OneSample, sobol_normals
from compbo.bo.choice import COMMON_SAMPLE, values_on_scrambles
from compbo.bo.propose import AcquisitionProblem
from compbo.bo.starts import StartPolicy, boltzmann, raw_batches
from compbo.maximizers.climb import run_within
from compbo.maximizers.lbfgsb import LBFGSB
from compbo.types import Box, Budget, Draw

STARTS = StartPolicy(raw_batches=512, restarts=64)
ITERATIONS, LEVEL_CHANGES, CARRIED_ON = 48, 8, 8


class Beaten(NamedTuple):
    """By how much a batch is beaten on the common sample, and the standard error of that difference."""

    by: float
    error: float


def beaten(problem: AcquisitionProblem, batch: Tensor, generator: Generator, again: Generator) -> Beaten:
    """The best of a second maximisation against the batch (q, d).

    generator: fresh, seeded as that of the first maximisation: the common sample is its first draw.
    again: what is random in the second.
    """
    q, d = batch.shape
    common = sobol_normals(q, COMMON_SAMPLE, generator)
    oracle = _oracle(problem, problem.acquisition, common)
    raw = raw_batches(q, Box.unit(d), problem.incumbents, STARTS, again)
    others = raw[boltzmann(oracle.value(raw, Draw(common[:, :128])), STARTS.restarts, STARTS.eta, again)]
    starts = torch.cat([batch.unsqueeze(0), others])
    ends = [_climb(oracle, starts, again)]
    if isinstance(problem.acquisition, EI | PI):
        guided = _climb(_oracle(problem, LogEI(), common), starts, again)
        good = guided[oracle.value(guided, Draw(common)).argsort(descending=True)[:CARRIED_ON]]
        ends += [guided, _climb(oracle, good, again)]
    found = torch.cat(ends)
    found_values = oracle.value(found, Draw(common)).nan_to_num(nan=-torch.inf)
    best, value = found[found_values.argmax()], float(found_values.max())
    if problem.neighbours is not None:
        good = found[found_values.argsort(descending=True)[:CARRIED_ON]]
        ways = [_levels(problem, oracle, common, start) for start in (batch, *good)]
        best, value = max(ways, key=lambda end: end[1])
    first = float(oracle.value(batch.unsqueeze(0), Draw(common)))
    on_scrambles = values_on_scrambles(oracle, torch.stack([best, batch]))
    return Beaten(value - first, float((on_scrambles[0] - on_scrambles[1]).std()))


def _oracle(problem: AcquisitionProblem, acquisition: Acquisition, z: Tensor) -> AcquisitionOracle:
    return AcquisitionOracle(acquisition, problem.posterior, OneSample(z), problem.best)


def _climb(oracle: AcquisitionOracle, starts: Tensor, generator: Generator) -> Tensor:
    box, budget = Box.unit(starts.shape[-1]), Budget(steps=ITERATIONS)
    return run_within(LBFGSB(), oracle, starts, budget=budget, box=box, generator=generator).best


def _levels(problem: AcquisitionProblem, oracle: AcquisitionOracle, z: Tensor, batch: Tensor) -> tuple[Tensor, float]:
    """Change the one level or choice that gains most, as long as one gains."""
    assert problem.neighbours is not None
    value = float(oracle.value(batch.unsqueeze(0), Draw(z)))
    for _ in range(LEVEL_CHANGES):
        moves = []
        for i, point in enumerate(batch):
            copies = batch.repeat(len(near := problem.neighbours(point)), 1, 1)
            copies[:, i] = near
            moves.append(copies)
        candidates = torch.cat(moves)
        gains = oracle.value(candidates, Draw(z)).nan_to_num(nan=-torch.inf) - value
        if float(gains.max()) <= 0:
            break
        batch, value = candidates[gains.argmax()], value + float(gains.max())
    return batch, value
