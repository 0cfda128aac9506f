"""The portfolios that were tried beside the default: their derivatives, and that they depend on the past alone."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from benchmarks.portfolios import page
from benchmarks.portfolios.acquisitions import Halves, OwnBetas
from benchmarks.portfolios.policies import VARIANTS, Past, drawn, earned, win_stay
from benchmarks.why.settings import MarginalUCB

from compbo import SR, UCB
from compbo.surrogate.posterior import PosteriorSamples
from compbo.types import DTYPE


@pytest.mark.parametrize(
    "acquisition",
    [MarginalUCB(), MarginalUCB(share=0.5), Halves(2), Halves(2, apart=False), OwnBetas((0.1, 1.0, 4.0))],
    ids=repr,
)
def test_the_derivatives_are_those_of_autograd(acquisition, generator) -> None:
    mean = torch.randn(3, 4, 1, dtype=DTYPE, generator=generator).requires_grad_()
    deviation = torch.randn(3, 4, 16, dtype=DTYPE, generator=generator).requires_grad_()
    value = acquisition.outer(acquisition.inner(PosteriorSamples(mean, deviation), 0.0)).sum()
    of_mean, of_deviation = torch.autograd.grad(value, (mean, deviation))
    samples = PosteriorSamples(mean.detach(), deviation.detach())
    c = acquisition.outer_gradient(acquisition.inner(samples, 0.0))
    dmean, ddeviation = acquisition.inner_vjp(c, samples, 0.0)
    torch.testing.assert_close(dmean.sum(-1, keepdim=True), of_mean)
    torch.testing.assert_close(ddeviation, of_deviation)


def test_marginal_ucb_is_the_mean_of_the_points_own_bounds(generator) -> None:
    sigma = torch.tensor([0.5, 2.0], dtype=DTYPE)
    z = torch.randn(1, 2, 400_000, dtype=DTYPE, generator=generator)
    samples = PosteriorSamples(torch.zeros(1, 2, 1, dtype=DTYPE), sigma[:, None] * z)
    marginal = MarginalUCB(beta=2.0)
    expected = float((2.0**0.5 * sigma).mean())
    assert float(marginal.outer(marginal.inner(samples, 0.0))) == pytest.approx(expected, rel=5e-3)


def test_who_improved_goes_on() -> None:
    assert win_stay(Past(0, [3.0], 8, 0)) == UCB()
    assert win_stay(Past(1, [3.0, 2.0], 8, 0)) == UCB()
    assert win_stay(Past(2, [3.0, 2.0, 2.0], 8, 0)) == SR()
    assert win_stay(Past(3, [3.0, 2.0, 2.0, 1.0], 8, 0)) == SR()


def test_success_earns_turns() -> None:
    def share_of_sr(improves: type) -> float:
        bests, asked = [100.0], []
        for batch in range(40):
            asked.append(earned(Past(batch, bests, 8, 0)))
            bests.append(bests[-1] - (isinstance(asked[-1], improves)))
        return sum(isinstance(acquisition, SR) for acquisition in asked) / len(asked)

    assert share_of_sr(SR) > 0.7
    assert share_of_sr(UCB) < 0.3


def test_drawn_betas_depend_on_seed_and_batch() -> None:
    here, later, elsewhere = Past(3, [], 8, 0), Past(4, [], 8, 0), Past(3, [], 8, 1)
    assert drawn(here, 8) == drawn(here, 8)
    assert len({drawn(here, 8), drawn(later, 8), drawn(elsewhere, 8)}) == 3
    assert all(0.02 <= beta <= 4.0 for beta in drawn(here, 64))


def test_a_variant_is_compared_on_the_tasks_and_seeds_that_both_ran() -> None:
    rows = [("a", 0, "default", 2.0), ("a", 0, "ucb", 1.0), ("a", 1, "ucb", 9.0), ("b", 0, "default", 1.0)]
    table = pd.DataFrame(rows, columns=["task", "seed", "variant", "last"]).assign(first=10.0)
    ucb, default = page.effects(table)
    assert (ucb.variant, ucb.runs, ucb.tasks, ucb.better) == ("ucb", 1, 1, 1)
    assert (ucb.ratio, default.ratio, default.runs) == (pytest.approx(0.5), 1.0, 2)


def test_the_page_is_current() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text, "run: make results"


def test_every_variant_has_words_of_its_own() -> None:
    assert len({variant.words for variant in VARIANTS.values()}) == len(VARIANTS)
