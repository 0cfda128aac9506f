"""BoTorch's acquisition functions as oracles: value, gradient and the bias that a tracker removes.

Runs on the pinned BoTorch and on the oldest supported one (`make test-oldest`).
"""

from __future__ import annotations

from functools import partial

import pytest
import torch
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.sampling.list_sampler import ListSampler
from botorch.sampling.normal import SobolQMCNormalSampler

from botorch_problems import ACQUISITIONS, BEST, QUIET, UNITS, gp, seeded, sobol
from compbo.acquisition.samples import FreshSamples, make_samples
from compbo.integrations.botorch.oracles import UtilityOracle
from compbo.maximizers.memory import FreshMemory
from compbo.maximizers.trackers import smoothed
from compbo.types import Draw

pytestmark = QUIET


class Reference(SobolQMCNormalSampler):
    """BoTorch's sampler with our base samples: what an acquisition function makes of z, without any of our code."""

    def __init__(self, z: torch.Tensor) -> None:
        super().__init__(torch.Size([z.shape[-1]]), seed=0)
        self.z = z

    def _construct_base_samples(self, posterior: object) -> None:
        self.base_samples = self.z.mT.reshape(self._get_collapsed_shape(posterior))


def reference_sampler(name: str, z: torch.Tensor) -> torch.nn.Module:
    if "list of models" in name:
        return ListSampler(*(Reference(part) for part in z.chunk(2)))
    return Reference(z)


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_value_and_gradient_are_the_acquisition_functions_own(name: str) -> None:
    x = seeded(5, 3, 3, seed=1) * UNITS
    acqf = ACQUISITIONS[name](sobol())
    oracle = UtilityOracle(acqf, x, lambda width: FreshSamples(width, 32), tracked=False)
    oracle.start(torch.Generator().manual_seed(1))
    draw = oracle.draw()
    inner = oracle.inner(x, draw, gradient_rows=3)
    free = x.clone().requires_grad_()
    joint = {"cache_root": False} if "NEI" in name else {}
    value = ACQUISITIONS[name](reference_sampler(name, draw.z), **joint)(free)
    (gradient,) = torch.autograd.grad(value.sum(), free)
    torch.testing.assert_close(oracle.outer(inner.v), value.detach(), rtol=1e-8, atol=1e-12)
    ours = inner.pullback(oracle.outer_gradient(inner.v)[:3])
    torch.testing.assert_close(ours, gradient[:3], rtol=1e-6, atol=1e-10 * float(gradient.abs().max()))


LOGARITHMIC = [name for name in ACQUISITIONS if name.startswith("qLog")]


@pytest.mark.parametrize("name", LOGARITHMIC)
@pytest.mark.parametrize("q", [1, 3])
def test_in_log_space_a_tracker_sees_utilities_and_the_same_value(name: str, q: int) -> None:
    """w = exp(v - s) is another coordinate of the same function: value and gradient at zeta = w do not change."""
    x = seeded(4, q, 3, seed=2) * UNITS
    acqf = ACQUISITIONS[name](sobol())
    plain, tracked = (
        UtilityOracle(acqf, x, lambda width: FreshSamples(width, 64), tracked=flag) for flag in (False, True)
    )
    tracked.start(torch.Generator().manual_seed(1))
    draw = tracked.draw()
    v, w = plain.inner(x, draw), tracked.inner(x, draw)
    assert not tracked.linear_outer
    assert plain.linear_outer
    torch.testing.assert_close(tracked.outer(w.v), plain.outer(v.v), rtol=1e-9, atol=1e-9)
    exact, ours = v.pullback(plain.outer_gradient(v.v)), w.pullback(tracked.outer_gradient(w.v))
    # The cap on the derivative of the smooth maximum only touches points with a millionth of the best one's utility.
    torch.testing.assert_close(ours, exact, rtol=1e-5, atol=1e-5 * float(exact.abs().max()))


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_a_tracked_utility_is_homogeneous(name: str) -> None:
    """Largest of q, or a smooth largest of logarithms: 64 v is worth 64 times as much as v."""
    x = seeded(4, 2, 3, seed=2) * UNITS
    oracle = UtilityOracle(ACQUISITIONS[name](sobol()), x, lambda width: FreshSamples(width, 32), tracked=True)
    assert oracle.homogeneous_utility


def test_a_utility_that_is_not_homogeneous_is_found_out() -> None:
    x = seeded(4, 2, 3, seed=2) * UNITS
    acqf = ACQUISITIONS["qSR"](sobol())
    acqf._q_reduction = lambda v: v.sigmoid().amax(-1)
    assert not UtilityOracle(acqf, x, lambda width: FreshSamples(width, 32), tracked=True).homogeneous_utility


def test_log_space_mean_utility_is_that_of_all_columns() -> None:
    """(M/K) grad f from K of M columns, with the pool's mean utility, averages to the gradient over the whole pool."""
    x = seeded(2, 2, 3, seed=2) * UNITS
    acqf = ACQUISITIONS["qLogEI"](sobol())
    oracle = UtilityOracle(acqf, x, partial(make_samples, "Comp", minibatch=8, steps=8), tracked=True)
    oracle.start(torch.Generator().manual_seed(1))
    pool = oracle.inner(x, oracle.expectation_draw())
    whole = pool.pullback(oracle.outer_gradient(pool.v))
    mean_utility = oracle.utility(pool.v).mean(-1)
    columns = torch.arange(64).reshape(8, 8)
    parts = []
    for chosen in columns:
        draw = Draw(oracle.expectation_draw().z[:, chosen], chosen)
        inner = oracle.inner(x, draw)
        parts.append(inner.pullback(oracle.outer_gradient(pool.v[..., chosen], mean_utility)))
    torch.testing.assert_close(torch.stack(parts).mean(0), whole, rtol=1e-8, atol=1e-12)


def test_the_tracker_removes_the_bias_of_a_small_minibatch() -> None:
    """E log mean_K is below log E by about Var / (2 K mean^2): with K = 4 the naive value and gradient are off.

    Truth: 4096 samples. The tracked zeta averages the utility over steps before the logarithm is taken. Both see the
    same 512 minibatches at a fixed x, so that what is left after averaging over them is bias.
    """
    x = torch.tensor([[[0.45, 0.4, 0.5]]], dtype=torch.float64) * UNITS
    acqf = qLogExpectedImprovement(gp(), BEST, sobol())
    oracle = UtilityOracle(acqf, x, lambda width: FreshSamples(width, 4096), tracked=True)
    oracle.start(torch.Generator().manual_seed(0))
    many = oracle.inner(x, oracle.draw())
    value = float(oracle.outer(many.v))
    gradient = many.pullback(oracle.outer_gradient(many.v)) * UNITS

    steps, k, skipped = 512, 4, 64
    samples = FreshSamples(1, k)
    samples.start(torch.Generator().manual_seed(1))
    z = torch.cat([samples.draw().z for _ in range(steps)], -1)
    inner = oracle.inner(x, Draw(z))
    minibatches = inner.v.split(k, -1)
    tracker, memory = smoothed(lambda t: max(0.03, 1 / (1 + t))), FreshMemory(minibatches[0])
    zetas = [minibatches[0]]
    for t, v in enumerate(minibatches[1:], start=1):
        zetas.append(memory.update(tracker.blend(t, 1.0), Draw(z[:, :k]), v, v[:0]).clone())

    def errors(points: list[torch.Tensor]) -> tuple[float, float]:
        points = [torch.zeros_like(p) if t < skipped else p for t, p in enumerate(points)]
        cotangent = [oracle.outer_gradient(p) * (t >= skipped) for t, p in enumerate(points)]
        average = inner.pullback(torch.cat(cotangent, -1)) * UNITS / (steps - skipped)  # the pullback is linear
        values = [float(oracle.outer(p)) for p in points[skipped:]]
        off = abs(sum(values) / len(values) - value)
        return off, float((average - gradient).norm() / gradient.norm())

    naive_value, naive_gradient = errors(list(minibatches))
    tracked_value, tracked_gradient = errors(zetas)
    assert naive_value > 0.1
    assert tracked_value < 0.05 * naive_value
    assert naive_gradient > 0.2
    assert tracked_gradient < 0.05 * naive_gradient
