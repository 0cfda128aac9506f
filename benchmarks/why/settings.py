"""What is compared: four maximizers of UCB, and Adam on acquisition functions that leave out the maximum over noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from compbo.acquisition.integrands import UCB
from compbo.maximizers import make_maximizer

if TYPE_CHECKING:
    from torch import Tensor

    from compbo.acquisition.integrands import Acquisition
    from compbo.maximizers import Maximizer

POINTS = 8  # q, of every batch


@dataclass(frozen=True)
class MarginalUCB(UCB):
    """UCB of every point by itself: f(v) = (1/M) sum_m (share max_j v_jm + (1 - share) mean_j v_jm).

    Args:
        beta: how much the uncertainty counts.
        share: of the joint maximum; with 1 it is UCB, with 0 the mean of mu_j + sqrt(beta) sigma_j over the points.
    """

    share: float = 0.0
    name: ClassVar[str] = "marginal-ucb"

    def utility(self, v: Tensor) -> Tensor:
        """The maximum over the points, their mean, or both."""
        return self.share * self.maxima(v) + (1.0 - self.share) * v.mean(-2)

    def outer_gradient(self, zeta: Tensor, mean_utility: Tensor | None = None) -> Tensor:  # noqa: ARG002 - linear
        """1/K at the winner of each column, 1/(q K) everywhere, or both."""
        q, k = zeta.shape[-2:]
        return self.winners(zeta, self.share / k).add_((1.0 - self.share) / (q * k))


class Setting(NamedTuple):
    """A maximizer and the acquisition function that it climbs."""

    maximizer: Maximizer
    acquisition: Acquisition


def _adam(acquisition: Acquisition, **hyperparameters: float) -> Setting:
    return Setting(make_maximizer("Adam-ERM", **hyperparameters), acquisition)


SETTINGS = {
    "CAdam-ME": Setting(make_maximizer("CAdam-ME"), UCB()),
    "CAdam": Setting(make_maximizer("CAdam"), UCB()),
    "AdamOS-ERM": Setting(make_maximizer("AdamOS-ERM"), UCB()),
    "Adam-ERM": _adam(UCB()),
    "Adam-ERM, lr 0.005": _adam(UCB(), lr=0.005),
    "Adam-ERM, beta 0.5": _adam(UCB(0.5)),
    "Adam-ERM, beta 2/q": _adam(UCB(2.0 / POINTS)),
    "Adam-ERM, half marginal": _adam(MarginalUCB(share=0.5)),
    "Adam-ERM, marginal": _adam(MarginalUCB()),
}
