"""Every maximizer across its tuning domain, corners and inside, under every acquisition: no restart ever fails."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import pytest
import torch

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import ACQUISITIONS, get_acquisition
from compbo.acquisition.samples import make_samples
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.space import Space
from compbo.surrogate.gp import GP, fit_gp
from compbo.types import DTYPE, Box, Budget, Status
from maximizer_toys import seeded

if TYPE_CHECKING:
    from torch import Tensor

D, N, Q, B, STEPS = 2, 10, 2, 4, 12
INSIDE = 64  # random points of a domain
TUNED = [name for name, entry in CATALOGUE.items() if entry.domain]


@cache
def surrogate() -> GP:
    """Of a smooth function, with noise: nothing about it is hard."""
    x = torch.rand(N, D, dtype=DTYPE, generator=seeded(0))
    return fit_gp(x, torch.sin(6 * x).sum(-1))


def domain_points(name: str, inside: int) -> Tensor:
    """All corners of the tuning domain and random points of it, in the unit cube."""
    width = len(CATALOGUE[name].domain)
    corners = torch.tensor(list(product((0.0, 1.0), repeat=width)), dtype=DTYPE)
    return torch.cat([corners, torch.rand(inside, width, dtype=DTYPE, generator=seeded(1))])


def failures(name: str, acquisition: str, points: Tensor) -> list[str]:
    """The hyperparameters at which a restart fails, leaves the box or has no value."""
    gp, entry = surrogate(), CATALOGUE[name]
    oracle = AcquisitionOracle(
        get_acquisition(acquisition), gp.posterior, make_samples(entry.form, Q, minibatch=8, steps=STEPS), gp.best
    )
    x0 = torch.rand(B, Q, D, dtype=DTYPE, generator=seeded(2))
    found = []
    for given in Space(entry.domain).from_unit(points):
        trace = make_maximizer(name, **given)(oracle, x0, budget=Budget(STEPS), box=Box.unit(D), generator=seeded(3))
        inside = bool(((trace.best >= 0) & (trace.best <= 1)).all())
        if Status.FAILED in trace.status or not inside or not bool(torch.isfinite(trace.best_value).all()):
            found.append(f"{name} under {acquisition} at {given}: {[status.value for status in trace.status]}")
    return found


@pytest.mark.parametrize("name", TUNED)
def test_no_restart_fails_anywhere_in_a_tuning_domain(name):
    """A few points per acquisition, other ones for each; all of them in the long test below."""
    points = domain_points(name, 16)
    shuffled = points[torch.randperm(len(points), generator=seeded(4))]
    some = shuffled.chunk(len(shuffled) // 4)
    for i, acquisition in enumerate(ACQUISITIONS):
        assert failures(name, acquisition, some[i % len(some)]) == []


@pytest.mark.long
@pytest.mark.parametrize("name", TUNED)
def test_no_restart_fails_at_any_corner_of_a_tuning_domain(name):
    points = domain_points(name, INSIDE)
    assert [text for acquisition in ACQUISITIONS for text in failures(name, acquisition, points)] == []
