"""More observations than a model takes: which are kept, and that an ask stays a function of what is known."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from compbo import Budget, Evaluation, Float, Settings, Space, StartPolicy
from compbo.bo.cross_validation import cross_validation
from compbo.bo.history import History
from compbo.bo.model import model_of
from compbo.bo.suggest import suggest
from compbo.surrogate.gp import fit_gp
from compbo.surrogate.parts import INCUMBENTS, evenly_by_rank, kept_by_rank, kept_near_best

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


@pytest.mark.parametrize(("n", "most"), [(60, 16), (500, 64), (30, 4), (30, 5)])
def test_the_nearest_to_the_best_stay_and_the_others_reach_out_to_the_farthest(n: int, most: int) -> None:
    generator = torch.Generator().manual_seed(2)
    x, y = torch.rand(n, 5, generator=generator, dtype=torch.float64), torch.rand(n, generator=generator)
    kept = kept_near_best(x, y, most).tolist()
    assert len(kept) == len(set(kept)) == most
    half = most - most // 2
    best = y.argsort(descending=True)[: min(INCUMBENTS, half)]
    order = torch.stack([(x - x[i]).norm(dim=1) for i in best]).min(0).values.argsort()
    assert set(order[:half].tolist()) <= set(kept)
    assert int(order[-1]) in kept


def test_the_best_stay_before_their_copies() -> None:
    x, y = torch.zeros(40, 2, dtype=torch.float64), torch.zeros(40)
    y[30] = 1.0
    assert 30 in kept_near_best(x, y, 4)


@pytest.mark.parametrize(("n", "most"), [(10, 20), (100, 7), (101, 51)])
def test_hyperparameters_see_every_rank(n: int, most: int) -> None:
    y = torch.randperm(n, generator=torch.Generator().manual_seed(1)).double()
    places = evenly_by_rank(y, most)
    assert places.tolist() == sorted(set(places.tolist()))
    values = y[places].sort().values
    assert len(values) == min(n, most)
    assert (values[0], values[-1]) == (0, n - 1)
    assert float(values.diff().max() - values.diff().min()) <= 1


def test_a_model_of_a_part_is_the_exact_posterior_of_it_in_the_units_of_all() -> None:
    observations = history_of(60).observations(SPACE, "minimize")
    gp = fit_gp(observations.x, observations.y, model_points=30)
    assert len(gp.kept) == 30
    assert torch.equal(gp.train_x, observations.x[gp.kept])
    torch.testing.assert_close(gp.mean + gp.scale * gp.train_y, observations.y[gp.kept])
    assert gp.mean == pytest.approx(float(observations.y.mean()))
    mean, _ = gp.predict(gp.train_x)
    torch.testing.assert_close(mean, observations.y[gp.kept], atol=0.01, rtol=0.0)


def test_hyperparameters_of_few_are_refined_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.rand(200, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    y = (4 * x).sin().sum(-1) + (3 * x[:, 0] * x[:, 1]).cos()
    exact = fit_gp(x, y)
    monkeypatch.setattr("compbo.surrogate.gp.FIRST_FIT", 80)
    first = fit_gp(x[part := evenly_by_rank(y, 80)], y[part])
    refined = fit_gp(x, y, model_points=200)
    rough = fit_gp(x, y, warm_start=first.hyperparameters, max_iterations=1)
    assert refined.refined
    assert not exact.refined
    assert len(refined.train_y) == 200
    assert exact.loss <= refined.loss + 1e-6
    assert refined.loss - exact.loss < min(2.0, 0.5 * (rough.loss - exact.loss))


def test_few_observations_are_fitted_as_without_a_limit() -> None:
    observations = history_of(40).observations(SPACE, "minimize")
    for kernel in ("matern52", "se", "linear", "cosine"):
        exact, same = (fit_gp(observations.x, observations.y, kernel=kernel, model_points=m) for m in (None, 100))
        assert exact.loss == same.loss
        assert not same.refined
        assert torch.equal(exact.predict(observations.x)[0], same.predict(observations.x)[0])


def test_errors_stay_with_their_observations() -> None:
    observations = history_of(60).observations(SPACE, "minimize")
    errors = torch.linspace(0.0, 1.0, 60, dtype=torch.float64)
    gp = fit_gp(observations.x, observations.y, errors=errors, model_points=30)
    assert gp.errors is not None
    assert torch.equal(gp.errors, errors[gp.kept])


@pytest.mark.parametrize("kernel", ["se", "linear", "cosine"])
def test_every_kernel_takes_a_part(kernel: str) -> None:
    observations = history_of(40).observations(SPACE, "minimize")
    gp = fit_gp(observations.x, observations.y, kernel=kernel, model_points=20)
    assert len(gp.train_y) == 20
    assert all(bool(torch.isfinite(part).all()) for part in gp.predict(observations.x))


@pytest.mark.parametrize(
    ("model_points", "modelled", "model"),
    [
        (None, 40, "exact"),
        (100, 40, "exact, hyperparameters refined from those of 12"),
        (20, 20, "20 of 40 observations, hyperparameters refined from those of 12"),
        (10, 10, "10 of 40 observations"),
    ],
)
def test_the_telemetry_names_the_model(
    monkeypatch: pytest.MonkeyPatch, model_points: int | None, modelled: int, model: str
) -> None:
    monkeypatch.setattr("compbo.surrogate.gp.FIRST_FIT", 12)
    history = history_of(40)
    settings = Settings(initial_points=2, model_points=model_points, **FEW)
    assert len(model_of(SPACE, settings, history.observations(SPACE, "minimize")).train_y) == modelled
    telemetry = suggest(SPACE, settings, history).telemetry
    assert (telemetry.observations, telemetry.modelled, telemetry.model) == (40, modelled, model)


def test_cross_validation_is_that_of_the_observations_in_the_model() -> None:
    history = history_of(40, failures=7)
    settings = Settings(initial_points=2, model_points=20, **FEW)
    model = model_of(SPACE, settings, observations := history.observations(SPACE, "minimize"))
    kept = observations.at(model.kept)
    found = cross_validation(SPACE, settings, history)
    assert torch.equal(kept.pending, observations.pending)
    assert list(found.numbers) == kept.numbers[~kept.failed].tolist()
    assert list(found.values) == (-kept.y[~kept.failed]).tolist()


def test_the_order_of_arrival_changes_nothing() -> None:
    history = history_of(50)
    settings = Settings(model_points=10, initial_points=2, **FEW)
    turned = History(history.evaluations[::-1], history.pending[::-1])
    assert suggest(SPACE, settings, history).points == suggest(SPACE, settings, turned).points


@pytest.mark.parametrize("given", [1, 0, -3, 1.5, "all"])
def test_what_is_no_number_of_points_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="model_points"):
        Settings(model_points=given)
