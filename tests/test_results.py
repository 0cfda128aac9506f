"""The pages on results are those of the committed files: `make results` writes them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.defaults import page as defaults
from benchmarks.league import page as league
from tools import reproduction

from compbo.study.outputs.compact import from_bytes
from compbo.study.outputs.runs import study_of
from compbo.study.outputs.statistics.bootstrap import Estimate


def test_the_page_on_the_paper_is_current() -> None:
    study = study_of(from_bytes(reproduction.RESULTS.read_bytes()))
    assert reproduction.page(study) == reproduction.PAGE.read_text(encoding="utf-8")


def test_the_page_on_the_defaults_is_current() -> None:
    regret = defaults.normalised_regrets(from_bytes(defaults.RESULTS.read_bytes()))
    table = defaults.table_of(defaults.effects(regret), regret)
    text = defaults.PAGE.read_text(encoding="utf-8")
    assert table in text
    assert defaults.large_table(from_bytes(defaults.LARGE.read_bytes())) in text


def test_the_page_on_the_league_is_current() -> None:
    text = league.PAGE.read_text(encoding="utf-8")
    numbers = league.measured(from_bytes(league.RESULTS.read_bytes()))
    assert league.filled(text, numbers) == text


def test_every_claim_has_a_verdict() -> None:
    text = reproduction.PAGE.read_text(encoding="utf-8")
    for claim in reproduction.CLAIMS:
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {claim.words} |")]
        assert line.count("|") == 6
        assert line.rstrip(" |").rpartition("| ")[2]


@pytest.mark.parametrize(
    ("low", "high", "alike", "words"),
    [
        (-0.3, -0.1, False, "holds"),
        (0.1, 0.3, False, "does not hold: the reverse"),
        (-0.1, 0.1, False, "cannot be told"),
        (-0.04, 0.04, True, "holds"),
        (-0.1, 0.1, True, "cannot be told"),
        (0.01, 0.02, True, "does not hold: worse"),
    ],
)
def test_a_claim_is_judged_by_its_interval(low: float, high: float, alike: bool, words: str) -> None:
    ends = (np.asarray((low + high) / 2), np.asarray(low), np.asarray(high))
    claim = reproduction.Claim("", "first", "zeroth", alike=alike)
    assert reproduction.judged(claim, Estimate(*ends, unit="tasks", tasks=10, runs=10)) == words
