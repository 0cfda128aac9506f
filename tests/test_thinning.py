"""More observations than a model takes: which are kept, and that an ask stays a function of what is known."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compbo import Budget, Evaluation, Float, Settings, Space, StartPolicy
from compbo.bo.history import History
from compbo.bo.model import model_of
from compbo.bo.suggest import suggest
from compbo.bo.thinning import kept_by_rank, thinned

SPACE = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
FEW: dict[str, Any] = {"starts": StartPolicy(32, 2), "budget": Budget(4)}


def history_of(size: int, failures: int = 0, pending: int = 3) -> History:
    points = SPACE.sample(size + pending, torch.Generator().manual_seed(0))
    values = [None if failures and i % failures == 0 else p["x"] ** 2 + p["y"] for i, p in enumerate(points[:size])]
    return History(tuple(map(Evaluation, points, values)), tuple(points[size:]))


@pytest.mark.parametrize(("n", "most"), [(10, 10), (11, 10), (100, 7), (100, 2), (1000, 64)])
def test_half_of_what_is_kept_is_the_best(n: int, most: int) -> None:
    quality = torch.randperm(n, generator=torch.Generator().manual_seed(1)).double()
    kept = kept_by_rank(quality, most)
    assert len(kept) == len(set(kept.tolist())) == min(n, most)
    assert kept.tolist() == sorted(kept.tolist())
    values = quality[kept].sort(descending=True).values
    best = most - most // 2
    if n > most:
        assert values[:best].tolist() == list(range(n - 1, n - 1 - best, -1))
        gaps = -values[best:].diff()
        assert gaps.numel() == 0 or float(gaps.max() - gaps.min()) <= 1


def test_the_others_reach_down_to_the_worst() -> None:
    assert kept_by_rank(torch.arange(100.0), 8).tolist() == [0, 32, 63, 95, 96, 97, 98, 99]


def test_ties_keep_as_many() -> None:
    assert len(kept_by_rank(torch.zeros(50), 8)) == 8


def test_pending_points_and_the_best_stay() -> None:
    observations = history_of(60, failures=5).observations(SPACE, "minimize")
    few = thinned(observations, 16)
    assert len(few.x) == len(few.y) == len(few.failed) == 16
    assert torch.equal(few.pending, observations.pending)
    assert few.y.max() == observations.y.max()
    assert thinned(observations, None) is thinned(observations, 60) is observations


def test_the_model_takes_no_more_and_the_telemetry_says_so() -> None:
    history = history_of(40)
    settings = Settings(model_points=12, initial_points=2, **FEW)
    assert len(model_of(SPACE, settings, history.observations(SPACE, "minimize")).train_y) == 12
    telemetry = suggest(SPACE, settings, history).telemetry
    assert (telemetry.observations, telemetry.modelled) == (40, 12)
    assert suggest(SPACE, Settings(initial_points=2, **FEW), history).telemetry.modelled == 40


def test_the_order_of_arrival_changes_nothing() -> None:
    history = history_of(50)
    settings = Settings(model_points=10, initial_points=2, **FEW)
    turned = History(history.evaluations[::-1], history.pending[::-1])
    assert suggest(SPACE, settings, history).points == suggest(SPACE, settings, turned).points


@pytest.mark.parametrize("given", [1, 0, -3, 1.5, "all"])
def test_what_is_no_number_of_points_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="model_points"):
        Settings(model_points=given)
