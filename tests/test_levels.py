"""Rounded parameters in a maximisation: where it begins, and the moves from level to level at its end."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from compbo import Bool, Budget, Categorical, Float, Int, Settings, Space, StartPolicy
from compbo.acquisition.integrands import SR
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import FreshSamples
from compbo.bo.choice import Chosen
from compbo.bo.levels import MOST_MOVES, ROUNDS, moved_by_levels, moves_from, switched
from compbo.bo.starts import around
from compbo.bo.suggest import suggest
from compbo.surrogate.gp import fit_gp
from compbo.types import DTYPE, Box, Draw
from objectives import bowl, mixed
from test_suggest import MIXED, PLANE, cheap, history_of

SPACE = Space({"x": Float(0, 1), "c": Categorical(["a", "b", "z"]), "on": Bool(), "n": Int(0, 4), "fixed": 7})
POINT = {"x": 0.5, "c": "b", "on": False, "n": 2, "fixed": 7}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_columns_of_rounded_parameters_are_counted() -> None:
    assert SPACE.rounded_columns().tolist() == [-1, 0, 0, 0, 1, 2]


def test_rounded_parameters_are_drawn_again_one_in_three_and_whole() -> None:
    """Three of them: each with probability 1/3. The floats stay, and a choice is drawn with all its columns."""
    x = SPACE.to_unit([POINT]).expand(3000, -1)
    again = switched(x, SPACE.rounded_columns(), seeded()) != x
    assert not bool(again[:, 0].any())
    assert bool((again[:, 1:4].any(-1) == again[:, 1:4].all(-1)).all())
    for column in (1, 4, 5):
        assert float(again[:, column].to(DTYPE).mean()) == pytest.approx(1 / 3, abs=5 * math.sqrt(2 / 9 / 3000))


def test_a_single_rounded_parameter_is_drawn_again_half_of_the_time() -> None:
    again = switched(torch.zeros(2000, 1, dtype=DTYPE), torch.tensor([0]), seeded()) != 0
    assert float(again.to(DTYPE).mean()) == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(2000))


def test_around_an_incumbent_choices_change_only_where_levels_are_searched() -> None:
    centre, box = SPACE.to_unit([POINT]), Box.unit(SPACE.dim)
    with_levels = around(centre, (100, 4), box, seeded(), SPACE.rounded_columns())
    without = around(centre, (100, 4), box, seeded())
    choices = [{p["c"] for p in SPACE.from_unit(near.flatten(0, 1))} for near in (with_levels, without)]
    assert choices == [{"a", "b", "z"}, {"b"}]
    assert torch.equal(with_levels[..., 0], without[..., 0])


def oracle_of(batch: int) -> AcquisitionOracle:
    """SR over a model of a loss whose best point is z, on, 4."""
    points = SPACE.sample(60, seeded(1))
    y = [(p["c"] == "z") + p["on"] + 0.5 * p["n"] - (p["x"] - 0.5) ** 2 for p in points]
    gp = fit_gp(SPACE.to_unit(points), torch.tensor(y, dtype=DTYPE), rounder=SPACE.rounder())
    oracle = AcquisitionOracle(SR(), gp.posterior, FreshSamples(batch), gp.best)
    oracle.start(seeded())
    return oracle


def chosen_at(oracle: AcquisitionOracle, batch: torch.Tensor, common: Draw) -> Chosen:
    value = oracle.value(batch.unsqueeze(0), common)
    return Chosen(batch, float(value), 0, value, value, batch)


@pytest.mark.parametrize("q", [1, 2, 12])
def test_the_batch_moves_to_where_no_level_is_better(q: int) -> None:
    """No single move is left that gains; and a batch of twelve makes more moves than the eight of one point."""
    oracle = oracle_of(q)
    common = oracle.draw()
    start = chosen_at(oracle, SPACE.to_unit([{**POINT, "c": "a", "x": (i + 1) / (q + 1)} for i in range(q)]), common)
    end = moved_by_levels(oracle, start, common, SPACE.neighbours, seeded(), Budget())
    if q <= 2:
        assert {"c": "z", "on": True, "n": 4}.items() <= max(SPACE.from_unit(end.batch), key=lambda p: p["n"]).items()
    assert end.value == pytest.approx(float(oracle.value(end.batch.unsqueeze(0), common)), abs=1e-9)
    assert end.value > start.value
    assert torch.equal(end.batch[:, 0], start.batch[:, 0])  # floats do not move
    around_it = moves_from(end.batch, SPACE.neighbours, seeded())
    assert float(oracle.value(around_it, common).max()) <= end.value + 1e-9
    before, after = (SPACE.from_unit(each.batch) for each in (start, end))
    moved = sum(one[name] != other[name] for one, other in zip(before, after, strict=True) for name in ("c", "on", "n"))
    assert moved > (ROUNDS if q == 12 else 0)


def test_every_point_has_its_turn_where_there_are_too_many_moves() -> None:
    """Twenty points with 300 choices each, more moves than are tried: the last points move too."""
    space = Space({"c": Categorical([f"c{i}" for i in range(300)]), "x": Float(0, 1)})
    tried = []

    class Counted:
        """An oracle for which a batch is the better, the more of its points have left the first choice."""

        def value(self, batches: torch.Tensor, common: Draw) -> torch.Tensor:
            tried.append(len(batches))
            return (batches[..., 0] != batch[0, 0]).sum(-1).to(DTYPE)

    batch = space.to_unit([{"c": "c0", "x": 0.5}] * 20)
    start = Chosen(batch, 0.0, 0, torch.zeros(1, dtype=DTYPE), torch.zeros(1, dtype=DTYPE), batch)
    oracle: Any = Counted()
    end = moved_by_levels(oracle, start, Draw(torch.zeros(20, 1)), space.neighbours, seeded(), Budget())
    assert bool((end.batch != batch).any(-1).all())
    assert sum(tried) <= ROUNDS * MOST_MOVES + max(tried)


def test_a_point_moves_at_most_so_often() -> None:
    """Two points with more levels to climb than there are rounds: each stops after its share."""
    space = Space({"n": Int(0, 30), "x": Float(0, 1)})
    points = space.sample(60, seeded(1))
    y = torch.tensor([p["n"] / 30 for p in points], dtype=DTYPE)
    gp = fit_gp(space.to_unit(points), y, rounder=space.rounder())
    oracle = AcquisitionOracle(SR(), gp.posterior, FreshSamples(2), gp.best)
    oracle.start(seeded())
    common = oracle.draw()
    start = chosen_at(oracle, space.to_unit([{"n": 10, "x": x} for x in (0.2, 0.8)]), common)
    end = moved_by_levels(oracle, start, common, space.neighbours, seeded(), Budget())
    assert all(10 < p["n"] <= 10 + ROUNDS for p in space.from_unit(end.batch))


def test_no_move_begins_after_the_time() -> None:
    oracle = oracle_of(1)
    common = oracle.draw()
    start = chosen_at(oracle, SPACE.to_unit([POINT]), common)
    assert moved_by_levels(oracle, start, common, SPACE.neighbours, seeded(), Budget(seconds=1e-12)) is start


def test_many_moves_are_a_selection() -> None:
    wide = Space({f"c{i}": Categorical(list("abcdefghij")) for i in range(8)})
    batch = wide.to_unit(wide.sample(8, seeded()))
    moves = moves_from(batch, wide.neighbours, seeded())
    assert moves.shape == (256, 8, 80)
    assert bool(((moves != batch).any(-1).sum(-1) == 1).all())


@pytest.mark.parametrize(("space", "f", "same"), [(PLANE, bowl, True), (MIXED, mixed, False)])
def test_levels_matter_in_mixed_spaces_only(space: Space, f: Any, same: bool) -> None:
    history = history_of(space, f)
    settings: list[Settings] = [cheap(starts=StartPolicy(64, 4, levels=levels)) for levels in (True, False)]
    first, second = (suggest(space, each, history, 3).points for each in settings)
    assert (first == second) is same


def test_levels_is_true_or_false() -> None:
    with pytest.raises(ValueError, match="levels must be True or False, got 1"):
        StartPolicy(levels=1)  # type: ignore[arg-type]
