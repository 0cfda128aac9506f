"""A guard against slow paths that cannot flake: operators and allocated elements of a step, counted, not timed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.maximizers.memory import TOGETHER
from compbo.seeds import stream
from compbo.surrogate.kernels import MATERN52
from compbo.surrogate.posterior import GPPosterior, PosteriorSamples
from compbo.types import DTYPE, Box, Budget

B, Q, D, N, K = 32, 16, 40, 250, 128


class Counter(TorchDispatchMode):
    """Counts operators, the elements of the results that own new memory, and the largest result."""

    def __init__(self) -> None:
        super().__init__()
        self.operators, self.elements, self.largest = 0, 0, 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inputs = [a for a in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
        old = {tensor.untyped_storage().data_ptr() for tensor in inputs}
        out = func(*args, **(kwargs or {}))
        self.operators += 1
        for tensor in torch.utils._pytree.tree_leaves(out):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().data_ptr() not in old:
                self.elements += tensor.numel()
                self.largest = max(self.largest, tensor.numel())
        return out


@pytest.fixture(scope="module")
def posterior() -> GPPosterior:
    x = torch.rand(N, D, dtype=DTYPE, generator=stream(0, "counts"))
    return GPPosterior(
        x, x.sum(-1), kernel=MATERN52, lengthscale=torch.ones(D, dtype=DTYPE), outputscale=1.0, noise=0.01
    )


def oracle(posterior: GPPosterior, form: str, steps: int = 64) -> AcquisitionOracle:
    return AcquisitionOracle(UCB(), posterior, make_samples(form, Q, minibatch=K, steps=steps), best=1.0)


def step_counts(posterior: GPPosterior, name: str, pool_steps: int = 64, restarts: int = B) -> tuple[float, float, int]:
    """Operators and elements per step: the difference of two lengths leaves out what is done once."""
    x = torch.rand(restarts, Q, D, dtype=DTYPE, generator=stream(0, "start"))
    counts = []
    for steps in (4, 12):
        objective = oracle(posterior, CATALOGUE[name].form, pool_steps)
        with Counter() as counter:
            make_maximizer(name)(objective, x, budget=Budget(steps=steps), box=Box.unit(D), generator=stream(0, "run"))
        counts.append(counter)
    short, long = counts
    return (long.operators - short.operators) / 8, (long.elements - short.elements) / 8, long.largest


def test_a_value_and_gradient_keeps_its_operators_and_memory(posterior: GPPosterior) -> None:
    objective = oracle(posterior, "ERM")
    objective.start(stream(0, "draw"))
    draw = objective.draw()
    x = torch.rand(B, Q, D, dtype=DTYPE, generator=stream(0, "start"))
    with Counter() as counter:
        inner = objective.inner(x, draw)
        objective.outer(inner.v)
        inner.pullback(objective.outer_gradient(inner.v))
    assert counter.operators <= 136
    # Ks with its slope and exponential, U, the cotangent of Ks: six arrays of B q n; of v: eight of B q K
    assert counter.elements <= 6 * B * Q * N + 8 * B * Q * K + 12 * B * Q * (D + Q)
    assert counter.largest <= B * Q * max(N, K)


def test_a_compositional_step_adds_a_forward_pass_only(posterior: GPPosterior) -> None:
    adam_operators, adam_elements, _ = step_counts(posterior, "Adam-ERM")
    operators, elements, largest = step_counts(posterior, "CAdam-ME")
    assert adam_operators <= 165
    assert operators <= adam_operators + 68
    assert elements <= 1.9 * adam_elements
    assert largest <= 2 * B * Q * max(N, K)


def test_a_smoothed_tracker_evaluates_nothing_more(posterior: GPPosterior) -> None:
    _, nested, _ = step_counts(posterior, "Nested-MC")
    _, smoothed, _ = step_counts(posterior, "SCGA")
    assert smoothed <= 1.3 * nested


def test_the_cost_of_a_step_does_not_grow_with_the_pool(posterior: GPPosterior) -> None:
    """The gradient sums over the K drawn columns of M: at M = 65,536 a step does what it does at M = 16,384.

    In both nearly all drawn columns are new ones.
    """
    small = step_counts(posterior, "CAdam", pool_steps=128, restarts=4)
    large = step_counts(posterior, "CAdam", pool_steps=512, restarts=4)
    assert large[1] <= 1.01 * small[1]
    assert large[0] <= 1.05 * small[0]


class CountedUCB(UCB):
    """UCB that counts the columns it is asked for."""

    columns = 0

    def inner(self, samples: PosteriorSamples, best: float) -> torch.Tensor:
        CountedUCB.columns += samples.deviation.shape[-1]
        return super().inner(samples, best)


@pytest.mark.parametrize("pool_steps", [64, 512])
def test_columns_of_zeta_that_are_never_drawn_are_never_made(posterior: GPPosterior, pool_steps: int) -> None:
    """9 draws of K: at most twice as many columns, on the way and at x_0, and the few that BLAS takes together."""
    x = torch.rand(2, Q, D, dtype=DTYPE, generator=stream(0, "start"))
    samples = make_samples("Comp", Q, minibatch=K, steps=pool_steps)
    objective, CountedUCB.columns = AcquisitionOracle(CountedUCB(), posterior, samples, best=1.0), 0
    make_maximizer("CAdam")(objective, x, budget=Budget(steps=8), box=Box.unit(D), generator=stream(0, "run"))
    assert 9 * K < CountedUCB.columns <= 9 * (2 * K + TOGETHER) + 2 * TOGETHER
    assert CountedUCB.columns < samples.pool_size / 2
