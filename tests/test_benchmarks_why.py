"""What docs/defaults.md says of the default maximizer is that of the committed files: `make results` writes it."""

from __future__ import annotations

import pandas as pd
import pytest
import torch
from benchmarks.why import page
from benchmarks.why.measure import Watched
from benchmarks.why.settings import SETTINGS

from compbo import UCB
from compbo.acquisition.samples import make_samples
from compbo.surrogate.gp import fit_gp
from compbo.types import DTYPE, Box, Budget


def test_the_section_is_current() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text, "run: make results"


def test_ratios_are_paired_with_the_base_and_averaged_by_task() -> None:
    def row(task: str, seed: int, setting: str, last: float) -> dict[str, object]:
        return {"task": task, "seed": seed, "setting": setting, "first": 10.0, "last": last}

    rows = [row("a", 0, page.BASE, 1.0), row("a", 1, page.BASE, 2.0), row("b", 0, page.BASE, 4.0)]
    rows += [row("a", 0, "other", 0.5), row("a", 1, "other", 1.0), row("b", 0, "other", 1.0)]
    base, other = page.ratios(pd.DataFrame(rows))
    assert (base.setting, base.middle, base.low, base.high) == (page.BASE, 1.0, 1.0, 1.0)
    assert other.middle == pytest.approx((0.5 * 0.25) ** 0.5)  # the two seeds of task a count once


def test_differences_are_medians_over_the_cases() -> None:
    cases = [(n, name, value) for n, values in ((32, (1.0, 2.0)), (80, (1.0, 4.0)), (136, (0.0, 9.0)))
             for name, value in zip((page.BASE, "other"), values, strict=True)]  # fmt: skip
    table = pd.DataFrame(cases, columns=["observations", "setting", "mean"]).assign(task="a", seed=0)
    base, other = page.differences(table, "mean")
    assert (base.middle, base.low, base.high) == (0.0, 0.0, 0.0)
    assert (other.setting, other.middle) == ("other", 3.0)


def test_winners_are_lucky_under_joint_ucb_less_so_with_a_tracker_and_not_under_marginal_ucb(generator) -> None:
    x = torch.rand(12, 3, dtype=DTYPE, generator=generator)
    gp = fit_gp(x, -(x - 0.4).square().sum(-1))
    start = torch.rand(4, 4, 3, dtype=DTYPE, generator=generator)

    def luck(name: str) -> float:
        setting = SETTINGS[name]
        samples = make_samples(setting.maximizer.form, 4, steps=24)
        oracle = Watched(setting.acquisition, gp.posterior, samples, gp.best).begin()
        box = Box.unit(3)
        setting.maximizer(oracle, start, budget=Budget(24), box=box, generator=torch.Generator().manual_seed(0))
        return sum(oracle.luck) / len(oracle.luck)

    assert SETTINGS["AdamOS-ERM"].acquisition == UCB()
    assert luck("Adam-ERM, marginal") == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < luck("CAdam-ME") < luck("AdamOS-ERM")
