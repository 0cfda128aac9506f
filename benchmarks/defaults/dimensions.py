"""What was tried for many dimensions beside the library's default: other lengthscales, and a trust region.

A plugin of the study: `--plugin benchmarks.defaults.dimensions --grid benchmarks/defaults/dimensions.toml`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.defaults.trials import box_around, either_lengthscale, trust_region
from compbo.bo.duplicates import distinct_points
from compbo.bo.model import log_evidence, model_of
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.settings import as_maximizer
from compbo.bo.suggest import INCUMBENTS, acquisition_of, suggest
from compbo.seeds import stream
from compbo.study.methods.defaults import DefaultMethod, settings_with
from compbo.study.methods.registry import MethodKind, register_method
from compbo.surrogate import priors as library

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.bo.history import Observations
    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task
    from compbo.surrogate.gp import GP


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

    def incumbents(self, gp: GP, observations: Observations) -> Tensor:  # noqa: ARG002 - of subclasses
        """The points (k, d) around which raw batches are drawn, best first."""
        return observations.incumbents(INCUMBENTS)

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
            acquisition_of(space, settings, observations, count),
            gp.best,
            incumbents=self.incumbents(gp, observations),
        )
        losses = [math.inf if e.value is None else e.value for e in history.evaluations]
        region = trust_region(losses, self._initial, count, gp.posterior.dim)
        confined = problem.acquisition.name in self.turns
        batch, telemetry = propose(
            problem,
            count,
            maximizer=as_maximizer(settings.maximizer),
            generator=generator,
            budget=settings.budget,
            starts=settings.starts,
            minibatch=settings.minibatch,
            box=box_around(problem.incumbents[0], region.length, gp) if confined else None,
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


class SmoothedIncumbents(InRegion):
    """The default with incumbents by the posterior mean, not by the values, which noise may flatter.

    Args:
        cell: the experiment.
        task: of the cell.
    """

    turns = ()

    def incumbents(self, gp: GP, observations: Observations) -> Tensor:
        """The points (k, d) with the highest means, best first."""
        mean, _ = gp.marginals(observations.x)
        return observations.x[mean.argsort(descending=True, stable=True)[:INCUMBENTS]]


library.PRIOR_SETS["either-lengthscale"] = either_lengthscale
register_method("dimensions-mixture", MethodKind(DefaultMethod, options=settings_with(priors="either-lengthscale")))
register_method("dimensions-evidence", MethodKind(ByEvidence, options=settings_with()))
register_method("dimensions-region", MethodKind(InRegion, options=settings_with()))
register_method("dimensions-half-region", MethodKind(HalfInRegion, options=settings_with()))
register_method("dimensions-smoothed", MethodKind(SmoothedIncumbents, options=settings_with()))
