"""What a tracker does: the expectation inside of LogEI along one climb, by the minibatch alone and by zeta."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from benchmarks.climbs import Hill, surrogate

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import sobol_normals
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.types import Draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from compbo.types import Inner

TASK, OBSERVATIONS, STEPS, K = "levy-6", 40, 64, 16
BLUE, ORANGE, BLACK = "#0072b2", "#d55e00", "black"


class Followed(NamedTuple):
    """E of one restart by step (T,): of its minibatch, tracked, and exact."""

    minibatch: list[float]
    tracked: list[float]
    exact: list[float]


class Watched(AcquisitionOracle):
    """Notes the mean utility that the gradient of every step uses, for the first restart."""

    def begin(self, exact: Draw) -> Watched:
        """Start with nothing noted; exact: the large sample that stands for the expectation."""
        self._exact = exact
        self.followed = Followed([], [], [])
        return self

    def inner(self, x: Tensor, draw: Draw, gradient_rows: int | None = None) -> Inner:
        """As for the oracle; what is evaluated is noted."""
        inner = super().inner(x, draw, gradient_rows)
        if gradient_rows:
            self._x, self._v = x[:1], inner.v[:1]
        return inner

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:
        """As for the oracle; the three estimates at this step are noted."""
        exact = self.utility(super().inner(self._x, self._exact, gradient_rows=0).v).mean(-1)
        tracked = self.utility(zeta).mean(-1) if mean_utility is None else mean_utility
        self.followed.minibatch.append(float(self.utility(self._v).mean(-1)))
        self.followed.tracked.append(float(tracked[0]))
        self.followed.exact.append(float(exact))
        return super().outer_gradient(zeta, mean_utility)


def followed(method: str = "CAdam") -> Followed:
    """One climb of LogEI with a tracker, by the name of its maximizer."""
    hill = Hill(surrogate(TASK, OBSERVATIONS, seed=0), "logei", seed=0, q=2, restarts=4, steps=STEPS, minibatch=K)
    maximizer = make_maximizer(method)
    plain = hill.oracle(maximizer.form)
    oracle = Watched(plain.acquisition, plain.posterior, plain.samples, plain.best)
    oracle.begin(Draw(sobol_normals(hill.q, 8192, stream(0, "exact"))))
    hill.climb(maximizer, oracle)
    return oracle.followed


def draw() -> Figure:
    """Left: the expectation and its two estimates by step. Right: the logarithm of them minus the exact one."""
    from matplotlib import pyplot

    values = followed()
    steps = range(1, len(values.exact) + 1)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(7.2, 3.1))
    left.plot(steps, values.minibatch, "o", color=BLUE, markersize=3, label=f"minibatch of {K} samples")
    left.plot(steps, values.tracked, color=ORANGE, label="tracked: zeta")
    left.plot(steps, values.exact, color=BLACK, linestyle=":", label="expectation (8192 samples)")
    left.set_title("E[g] along a climb of CAdam", loc="left")
    left.set_ylabel("mean improvement, standardised units")
    left.legend(fontsize=8)
    exact = torch.tensor(values.exact).log()
    for estimate, colour, label in (
        (values.minibatch, BLUE, "log of the minibatch"),
        (values.tracked, ORANGE, "log of zeta"),
    ):
        error = torch.tensor(estimate).log() - exact
        right.plot(
            steps, error, color=colour, linewidth=1.2, label=f"{label}: typically {error.square().mean().sqrt():.2f}"
        )
    right.axhline(0.0, color=BLACK, linestyle=":", linewidth=1)
    right.set_title("error of the acquisition value, LogEI", loc="left")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.set_xlabel("step")
    return figure
