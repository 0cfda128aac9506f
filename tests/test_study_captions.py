"""The preset paper-exact has the number of experiments that every caption of the paper gives, and paper has more."""

from __future__ import annotations

import re
from functools import cache

import pytest

from compbo.study.cell import Cell
from compbo.study.grid import load_grid
from compbo.study.grid.captions import CAPTIONS, CaptionCount, count_captions, experiments, more_than_exact
from study_helpers import ROOT

# In the order of the paper's text: what its captions say.
IN_THE_PAPER = {
    "all synthetic functions": 3100,
    "ERM against FSM": 960,
    "log-regret, 100D": 545,
    "standard against memory-efficient": 360,
    "execution time": 152,
    "regression tasks": 672,
    "classification tasks": 288,
    "log-regret, 16D": 490,
    "log-regret, 40D": 490,
    "log-regret, 60D": 485,
    "log-regret, 80D": 545,
    "log-regret, 120D": 545,
    "execution time, all optimisers": 184,
}


@cache
def cells_of(preset: str) -> list[Cell]:
    return load_grid(preset).cells()


def counts(preset: str) -> list[CaptionCount]:
    return count_captions(preset, cells_of(preset))


def test_every_caption_is_counted_from_the_grid() -> None:
    counted = {one.where: one for preset in ("paper-exact", "paper-time") for one in counts(preset)}
    assert {where: one.here for where, one in counted.items()} == IN_THE_PAPER
    assert all(one.here == one.paper for one in counted.values())
    assert len(experiments(cells_of("paper-exact"))) == 3100 + 672 + 288


def test_the_exact_grid_is_made_as_the_captions_say() -> None:
    at = {
        d: [one for one in cells_of("paper-exact") if one.dimension == d and one.batch == 16]
        for d in (16, 40, 60, 80, 100, 120)
    }
    for dimension, cells in at.items():
        maximizers = {one.method.optimiser for one in cells if one.method.maximizer}
        baselines = {one.method.optimiser for one in cells} - maximizers
        assert len(maximizers) == (27 if dimension >= 80 else 24)
        assert len(baselines) == (2 if dimension <= 40 else 1)
        assert len(cells) == 20 * len(maximizers) + 5 * len(baselines)
        assert {name for name in maximizers if name.endswith("-ME")} == (
            {"CAdam-ME", "NASA-ME", "Nested-MC-ME"} if dimension >= 80 else set()
        )
        assert len([name for name in maximizers if name.endswith("-ERM")]) == 8
        assert len([name for name in maximizers if name.endswith("-FSM")]) == 4
    of_maximizers = [one for cells in at.values() for one in cells if one.method.maximizer]
    assert (len(of_maximizers), sum(map(len, at.values())) - len(of_maximizers)) == (3060, 40)


def test_time_is_measured_on_the_23_names_of_table_1() -> None:
    cells = cells_of("paper-time")
    names = {one.method.optimiser for one in cells}
    assert len({name.removesuffix("-ERM") for name in names}) == 23
    assert {one.seed for one in cells} == set(range(5))
    assert {one.method.acquisition for one in cells} == {"ucb"}
    assert {(one.batch, one.steps) for one in cells} == {(16, 32)}


def test_paper_holds_paper_exact_and_every_difference_has_a_reason() -> None:
    paper, exact = cells_of("paper"), cells_of("paper-exact")
    assert {one.hash for one in exact} < {one.hash for one in paper}
    more = more_than_exact(paper, exact)
    assert more == {
        "finite sums for the other four rules": 4 * 20 * 6,
        "memory-efficient forms below 80D": 3 * 20 * 3,
        "baselines on synthetic functions": 5 * 30 - 40,
        "baselines on tuning tasks": 5 * 40,
    }
    assert len(experiments(paper)) - len(experiments(exact)) == sum(more.values()) == 970


def test_the_document_has_the_same_numbers() -> None:
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    section = text[text.index("### The paper's numbers of experiments") : text.index("### Filters")]
    more = more_than_exact(cells_of("paper"), cells_of("paper-exact"))
    wanted = [*IN_THE_PAPER.values(), *more.values(), sum(more.values()), len(experiments(cells_of("paper")))]
    assert [number for number in wanted if not re.search(rf"\b{number}\b", section)] == []


@pytest.mark.parametrize("preset", CAPTIONS)
def test_no_preset_has_fewer_experiments_than_a_caption(preset: str) -> None:
    assert all(one.here >= one.paper for one in counts(preset))


@pytest.mark.parametrize("preset", ["paper", "paper-exact", "paper-time"])
def test_the_papers_presets_run_its_methods_as_published(preset: str) -> None:
    """The recursion of zeta that decays all columns, and start points that are the first population."""
    seen = set()
    for cell in cells_of(preset):
        given = dict(cell.method.hyperparameters)
        for name, published in (("zeta_update", "paper"), ("first_population", "starts")):
            if name in given:
                assert given[name] == published, cell.method.optimiser
                seen.add(cell.method.optimiser)
    expected = {"CMA-ES", "CMA-ES-Comp", "SCGA", "ASCGA", "CAdam", "NASA"}
    assert seen == expected
