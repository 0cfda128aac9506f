"""The pages on results are those of the committed files: `make results` writes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from benchmarks import readme
from benchmarks.defaults import page as defaults
from benchmarks.league import page as league
from tools import reproduction

from compbo.study.outputs.compact import from_bytes
from compbo.study.outputs.statistics.bootstrap import Estimate

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_on_the_paper_is_current() -> None:
    controlled = from_bytes(reproduction.CONTROLLED.read_bytes())
    assert reproduction.page(reproduction.committed(), controlled) == reproduction.PAGE.read_text(encoding="utf-8")


def test_the_page_on_the_defaults_is_current() -> None:
    regret = defaults.normalised_regrets(from_bytes(defaults.RESULTS.read_bytes()))
    table = defaults.table_of(defaults.effects(regret), regret)
    text = defaults.PAGE.read_text(encoding="utf-8")
    assert table in text
    assert defaults.large_table(from_bytes(defaults.LARGE.read_bytes())) in text
    special = from_bytes(defaults.SPECIAL.read_bytes())
    assert defaults.special_table(special) in text
    assert defaults.high_table(special) in text


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


class TestReadme:
    def test_its_numbers_are_those_of_the_files(self) -> None:
        lines = readme.lines_of(from_bytes(readme.SOURCE.read_bytes()))
        text = readme.PAGE.read_text(encoding="utf-8")
        assert readme.page_with(text, lines, json.loads(readme.SPEED.read_text())) == text, "run: make results"
        assert {readme.OURS, "random-search"} <= {line.method for line in lines}

    def test_regret_is_in_units_of_the_initial_design_and_methods_are_paired(self) -> None:
        def cell(optimiser: str, task: str, seed: int, end: float) -> dict[str, object]:
            curves = {"regret": [10.0, end], "best": [10.0, end], "ask_seconds": [4.0]}
            clock = {"seconds": 8.0, "cpu_seconds": 2.0, "initial": 16, "steps": 1, "batch": 8}
            known = {"floor_kind": "optimum", "status": "done"}
            return {"optimiser": optimiser, "task": task, "seed": seed, **curves, **clock, **known}

        both = [
            cell(method, "levy", seed, 10.0 * r) for method, r in (("compbo", 0.1), ("pycma", 0.4)) for seed in (0, 1)
        ]
        both += [cell("compbo", "levy", 2, 0.01), cell("pycma", "levy", 2, 4.0)]
        ours, theirs = readme.lines_of(pd.DataFrame(both))
        assert (ours.method, theirs.method, ours.runs, ours.tasks) == ("compbo", "pycma", 3, 1)
        assert ours.regret.tolist() == pytest.approx([1.0, (0.1 * 0.1 * 0.001) ** (1 / 3)])
        assert (ours.low[-1], ours.high[-1]) == pytest.approx((0.001, 0.1))
        assert ours.per_batch == pytest.approx(4.0)
        assert ours.evaluations.tolist() == [16, 24]
        assert readme.table_of([ours, theirs]).splitlines()[2] == "| **compbo** | 0.022 | 4 | 3 on 1 task |"
        # A method with one seed: all are compared on that seed
        three = readme.lines_of(pd.DataFrame([*both, cell("turbo", "levy", 0, 0.5)]))
        assert [(line.method, line.runs) for line in three] == [("turbo", 1), ("compbo", 1), ("pycma", 1)]

    def test_the_figure_is_drawn(self, tmp_path: Path) -> None:
        lines = readme.lines_of(from_bytes(readme.SOURCE.read_bytes()))
        readme.draw(lines, tmp_path / "regret.svg")
        assert (tmp_path / "regret.png").stat().st_size > 10_000
        assert (tmp_path / "regret.svg").stat().st_size > 10_000
