"""What was tried for many dimensions beside the library's default: other lengthscales, and a trust region.

A plugin of the study: `--plugin benchmarks.defaults.dimensions --grid benchmarks/defaults/dimensions.toml`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from compbo.bo.duplicates import distinct_points
from compbo.bo.model import log_evidence, model_of
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.settings import as_maximizer
from compbo.bo.suggest import INCUMBENTS, acquisition_of, suggest
from compbo.seeds import stream
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method
from compbo.surrogate import priors as library
from compbo.surrogate.priors import Gamma, LogNormal, PriorSet, dimension_scaled, paper
from compbo.types import DTYPE, Box

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task
    from compbo.surrogate.gp import GP

LONGEST, FIRST, SHORTEST = 1.6, 0.8, 0.5**7  # side of the region, in the unit cube
SUCCESSES = 3  # in a row, before the region grows
LEAST_GAIN = 1e-3  # of the size of the best value: less is no success


class Mixture(NamedTuple):
    """The density of two priors, each with half of the weight."""

    one: Gamma
    other: LogNormal

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """log((p + q) / 2)."""
        return np.asarray(np.logaddexp(self.one.log_density(x), self.other.log_density(x)) - math.log(2.0))

    def slope(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of both slopes, weighted by their share of the density."""
        share = 1.0 / (1.0 + np.exp(self.other.log_density(x) - self.one.log_density(x)))
        return np.asarray(share * self.one.slope(x) + (1.0 - share) * self.other.slope(x))

    @property
    def middle(self) -> float:
        """That of the first."""
        return self.one.middle


def either_lengthscale(dimensions: int) -> PriorSet:
    """Those of the paper, with lengthscale ~ an even mixture of the paper's prior and the dimension-scaled one."""
    other = dimension_scaled(dimensions).lengthscale
    assert isinstance(other, LogNormal)
    return paper(dimensions)._replace(lengthscale=Mixture(Gamma(3.0, 6.0), other))


class ByEvidence(DefaultMethod):
    """The default with the prior set, of the paper's and the dimension-scaled one, that has more evidence at each ask.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        history, space = self._optimizer.history, self._optimizer.space
        observations = history.observations(space, self.settings.direction)
        each = [replace(self.settings, priors=name) for name in ("shared-choices", "dimension-scaled")]
        best = max(each, key=lambda settings: log_evidence(model_of(space, settings, observations), observations.y))
        found = suggest(space, best, history, count)
        self._found: Any = found.telemetry.to_dict()
        return list(found.points)

    @property
    def last_ask(self) -> Any:
        """The telemetry of the last ask."""
        return self._found


def region_side(losses: Sequence[float], initial: int, q: int, dimensions: int) -> float:
    """The side of TuRBO's trust region after some batches (Eriksson et al., 2019), a function of the losses alone.

    Args:
        losses: in the order of arrival.
        initial: how many of them are the initial design.
        q: points of a batch.
        dimensions: of the space.

    Returns:
        Twice as long after three batches in a row that found something better, half as long after several that did
        not; from the start again when it gets too short.

    >>> region_side([5.0, 4.0, 3.0, 2.0, 1.0, 0.5], 3, 1, 1)
    1.6
    """
    side, successes, failures = FIRST, 0, 0
    patience = math.ceil(max(4.0, dimensions) / q)
    best = min(losses[:initial])
    for start in range(initial, len(losses), q):
        lowest = min(losses[start : start + q])
        if lowest < best - LEAST_GAIN * abs(best):
            successes, failures = successes + 1, 0
        else:
            successes, failures = 0, failures + 1
        best = min(best, lowest)
        if successes == SUCCESSES:
            side, successes = min(2.0 * side, LONGEST), 0
        elif failures == patience:
            side, failures = side / 2.0, 0
        if side < SHORTEST:
            side, successes, failures = FIRST, 0, 0
    return side


def region(gp: GP, centre: Tensor, side: float) -> Box:
    """The box around a centre (d,) whose sides are in the ratio of the lengthscales, within the unit cube."""
    weights = gp.hyperparameters.lengthscale.to(DTYPE)
    half = 0.5 * side * weights / weights.log().mean().exp()
    return Box((centre - half).clamp(0.0, 1.0), (centre + half).clamp(0.0, 1.0))


class InRegion(DefaultMethod):
    """The default, whose batches lie in TuRBO's trust region around the best observation.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    turns: tuple[str, ...] = ("ucb", "sr")  # the acquisition functions that are confined

    def __init__(self, cell: Cell, task: Task) -> None:
        super().__init__(cell, task)
        self._initial = 0

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        optimizer, settings = self._optimizer, self.settings
        space, history = optimizer.space, optimizer.history
        self._initial = self._initial or len(history.evaluations)
        observations = history.observations(space, settings.direction)
        generator = stream(settings.seed, "ask", observations.digest(), count)
        gp = model_of(space, settings, observations)
        problem = AcquisitionProblem(
            gp.posterior,
            acquisition_of(settings, observations, count),
            gp.best,
            incumbents=observations.incumbents(INCUMBENTS),
        )
        losses = [math.inf if e.value is None else e.value for e in history.evaluations]
        side = region_side(losses, self._initial, count, gp.posterior.dim)
        confined = problem.acquisition.name in self.turns
        batch, telemetry = propose(
            problem,
            count,
            maximizer=as_maximizer(settings.maximizer),
            generator=generator,
            budget=settings.budget,
            starts=settings.starts,
            minibatch=settings.minibatch,
            box=region(gp, problem.incumbents[0], side) if confined else None,
        )
        self._found: Any = telemetry.to_dict()
        return distinct_points(space, history, batch, problem, noisy=False, generator=generator).points

    @property
    def last_ask(self) -> Any:
        """The telemetry of the last ask."""
        return self._found


class HalfInRegion(InRegion):
    """The same for the turns of SR alone: those of UCB go anywhere.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    turns = ("sr",)


library.PRIOR_SETS["either-lengthscale"] = either_lengthscale
register_method("dimensions-mixture", MethodKind(DefaultMethod, options=settings_with(priors="either-lengthscale")))
register_method("dimensions-evidence", MethodKind(ByEvidence, options=settings_with()))
register_method("dimensions-region", MethodKind(InRegion, options=settings_with()))
register_method("dimensions-half-region", MethodKind(HalfInRegion, options=settings_with()))
