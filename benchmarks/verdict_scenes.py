"""Histories on which verdicts are tried: functions, dimensions, early and late, some with rounded parameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch

from compbo.acquisition.registry import get_acquisition
from compbo.bo.propose import AcquisitionProblem, Proposal, propose
from compbo.bo.starts import StartPolicy, around
from compbo.bo.suggest import INCUMBENTS
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.space import Categorical, Float, Int, Space
from compbo.study.tasks.synthetic import SyntheticTask
from compbo.surrogate.gp import GP, NOISELESS, fit_gp
from compbo.types import DTYPE, Box, Budget

MIXED = Space(
    {
        **{f"n{i}": Int(0, 3) for i in range(3)},
        **{f"x{i}": Float(0.0, 1.0) for i in range(2)},
        "c": Categorical(["a", "b", "c"]),
    }
)
INTS = Space({f"n{i}": Int(0, 3) for i in range(8)})
SPACES = {"mixed": MIXED, "ints": INTS}


@dataclass(frozen=True)
class Scene:
    """A function in d dimensions, n observations of it, and the size q of the batch that is asked for.

    late: half of the observations lie around the best of the others, as in the middle of a run.
    """

    function: str  # of the study, or a key of SPACES
    d: int
    n: int
    q: int
    late: bool = True

    @property
    def name(self) -> str:
        return f"{self.function} {self.d}-D, n = {self.n}, q = {self.q}, {'late' if self.late else 'early'}"

    @property
    def space(self) -> Space:
        return SPACES[self.function] if self.function in SPACES else SyntheticTask(self.function, self.d).space


class Observed(NamedTuple):
    """The model of a scene, and its best observations (k, d)."""

    gp: GP
    incumbents: torch.Tensor


@lru_cache(maxsize=2)
def observed(scene: Scene) -> Observed:
    """Fit the model of a scene."""
    generator = stream(0, "verdicts", scene.name)
    d, space = scene.space.dim, scene.space
    x = torch.rand(scene.n, d, dtype=DTYPE, generator=generator)
    first = scene.n // 2 if scene.late else scene.n
    y = values(scene, x)
    centres = x[:first][y[:first].argsort(descending=True)[:3]]
    x[first:] = around(centres, (scene.n - first, 1), Box.unit(d), generator)[:, 0]
    x = space.round_unit(x)
    y = values(scene, x)
    gp = fit_gp(x, y, noise=NOISELESS, rounder=space.rounder())
    return Observed(gp, x[y.argsort(descending=True)[:INCUMBENTS]])


def values(scene: Scene, x: torch.Tensor) -> torch.Tensor:
    """What is maximised, at x (n, d) of the unit cube."""
    if scene.function in SPACES:
        wanted = torch.linspace(0.2, 0.9, x.shape[-1], dtype=DTYPE)
        gap = (scene.space.round_unit(x) - wanted).abs()
        return -(gap**2 + 0.1 * gap).sum(-1)
    task = SyntheticTask(scene.function, scene.d)
    return -torch.tensor([task.evaluate(point) for point in scene.space.from_unit(x)], dtype=DTYPE)


def problem(scene: Scene, acquisition: str) -> AcquisitionProblem:
    """What is maximised in an ask."""
    gp, incumbents = observed(scene)
    return AcquisitionProblem(
        gp.posterior,
        get_acquisition(acquisition),
        gp.best,
        incumbents=incumbents,
        neighbours=scene.space.neighbours if scene.space.is_discrete else None,
    )


def generator_of(scene: Scene, acquisition: str, maximizer: str) -> torch.Generator:
    """The source of everything random in an ask."""
    return stream(0, "verdicts", scene.name, acquisition, maximizer)


def ask(scene: Scene, acquisition: str, maximizer: str, steps: int = 64, restarts: int = 32) -> Proposal:
    """One maximisation, with its verdict."""
    return propose(
        problem(scene, acquisition),
        scene.q,
        maximizer=make_maximizer(maximizer),
        generator=generator_of(scene, acquisition, maximizer),
        budget=Budget(steps=steps),
        starts=StartPolicy(restarts=restarts),
    )
