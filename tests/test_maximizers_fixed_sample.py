"""The methods on one fixed sample: L-BFGS-B, CMA-ES, differential evolution, random search."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.maximizers.population import SEPARABLE_ABOVE
from compbo.types import DTYPE, Box, Budget, Status
from maximizer_toys import Toy, seeded, starts

FIXED = [name for name, entry in CATALOGUE.items() if entry.samples == "fixed"]
RANKED = [name for name in FIXED if CATALOGUE[name].order == 0]
LBFGS = ["L-BFGS-B", "CL-BFGS-B"]


def toy_for(name: str, **options) -> Toy:
    return Toy(2, K=16, pool=64 if CATALOGUE[name].form == "Comp" else None, **options)


class OneDraw(Toy):
    """Counts draws."""

    drawn = 0

    def draw(self):
        self.drawn += 1
        return super().draw()


@pytest.mark.parametrize("name", FIXED)
def test_one_draw_serves_the_whole_run(name):
    toy = OneDraw(2, K=16, pool=64 if CATALOGUE[name].form == "Comp" else None)
    make_maximizer(name)(toy, starts(6, 2, 2), budget=Budget(10), box=Box.unit(2), generator=seeded())
    assert toy.drawn == 1


# L-BFGS-B. ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LBFGS)
def test_every_restart_runs_as_if_it_were_alone(name):
    """SciPy's own L-BFGS-B on one restart after the other, on the same sample."""
    x0 = starts(5, 2, 3)
    trace = make_maximizer(name, ftol=0.0, gtol=1e-9)(
        toy_for(name), x0, budget=Budget(6), box=Box.unit(3), generator=seeded(), record=True
    )
    toy = toy_for(name)
    toy.start(seeded())
    draw = toy.fixed_draw()

    def cost(flat):
        inner = toy.inner(torch.as_tensor(flat).reshape(1, 2, 3), draw)
        gradient = inner.pullback(toy.outer_gradient(inner.v))
        return -float(toy.outer(inner.v)), -gradient.flatten().numpy()

    for restart in range(5):
        path = []
        result = minimize(
            cost,
            x0[restart].flatten().numpy(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, 1)] * 6,
            options={"maxiter": 6, "ftol": 0.0, "gtol": 1e-9},
            callback=lambda x, path=path: path.append(x.copy()),
        )
        assert float(trace.best_value[restart]) == pytest.approx(-result.fun, abs=1e-12)
        assert np.allclose(trace.best[restart].flatten().numpy(), result.x, atol=1e-10)
        alone = [-cost(x)[0] for x in path]
        assert np.allclose(trace.values[: len(path), restart].numpy(), alone, atol=1e-12)


def test_restarts_are_evaluated_together():
    toy = toy_for("L-BFGS-B")
    trace = make_maximizer("L-BFGS-B")(toy, starts(6, 2, 2), budget=Budget(4), box=Box.unit(2), generator=seeded())
    assert toy.calls[0] == (6, 6)
    assert all(rows <= 6 for rows, _ in toy.calls)
    assert len(toy.calls) < 6 * 4
    assert trace.steps <= 4


def test_converged_restarts_say_so():
    x0 = starts(3, 1, 2)
    toy = Toy(1, K=16, slope=0.0)
    trace = make_maximizer("L-BFGS-B")(toy, x0, budget=Budget(100), box=Box.unit(2), generator=seeded())
    assert trace.status == (Status.CONVERGED,) * 3
    assert torch.allclose(trace.final, torch.full_like(trace.final, 0.6), atol=1e-4)


@pytest.mark.parametrize("name", LBFGS)
def test_a_restart_that_breaks_on_its_way_keeps_its_best_point(name):
    x0 = starts(4, 2, 2)
    toy = toy_for(name, breaks=lambda x: (torch.arange(len(x)) == 2) & (len(toy.calls) == 2))
    trace = make_maximizer(name)(toy, x0, budget=Budget(30), box=Box.unit(2), generator=seeded(), record=True)
    whole = make_maximizer(name)(toy_for(name), x0, budget=Budget(30), box=Box.unit(2), generator=seeded(), record=True)
    assert trace.status[2] is Status.FAILED
    assert torch.equal(trace.best[2], x0[2])
    assert torch.isfinite(trace.values).all()
    for restart in (0, 1, 3):
        assert torch.allclose(trace.best[restart], whole.best[restart], atol=1e-12)
        assert trace.status[restart] is whole.status[restart]


# Populations and random search. ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RANKED)
def test_rows_are_the_best_of_everything_evaluated(name):
    toy, x0 = toy_for(name), starts(6, 2, 2)
    trace = make_maximizer(name)(toy, x0, budget=Budget(8), box=Box.unit(2), generator=seeded())
    evaluated = torch.cat(toy.points)
    inner = Toy.inner(toy, evaluated, toy.fixed_draw(), 0)
    expected = toy.outer(inner.v).sort(descending=True).values[:6]
    assert torch.allclose(trace.best_value, expected)
    assert torch.equal(toy.outer(Toy.inner(toy, trace.best, toy.fixed_draw(), 0).v), trace.best_value)
    assert trace.best_value[0] >= trace.start_value.max()
    assert torch.isnan(trace.gradient_norm).all()


def test_random_search_evaluates_a_batch_per_restart_and_step():
    toy = toy_for("RS")
    make_maximizer("RS")(toy, starts(6, 2, 2), budget=Budget(8), box=Box.unit(2), generator=seeded())
    assert sum(rows for rows, _ in toy.calls) == 6 * (8 + 1)
    points = torch.cat(toy.points[1:])
    assert float(points.mean()) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("name", ["CMA-ES", "DE", "CMA-ES-Comp", "DE-Comp"])
def test_evolution_climbs_and_uses_its_start_points(name):
    toy, x0 = toy_for(name), starts(12, 2, 2)
    trace = make_maximizer(name)(toy, x0, budget=Budget(40), box=Box.unit(2), generator=seeded(), record=True)
    assert trace.steps == 40
    assert trace.values[-1].max() > trace.start_value.max()
    evaluated = torch.cat(toy.points)
    best_start = x0[trace.start_value.argmax()]
    if name.startswith("DE"):
        assert torch.allclose(evaluated[12:24].sort(0).values, x0.sort(0).values)
        assert (trace.values.diff(dim=0).amax(1) >= 0).all()  # a survivor is never worse
    else:
        spread = (evaluated[12:24] - best_start).flatten(1).std()
        assert float(spread) == pytest.approx(CATALOGUE[name].defaults["sigma"], rel=0.3)


@pytest.mark.parametrize("name", ["CMA-ES", "CMA-ES-Comp"])
def test_the_start_points_can_be_the_first_population_of_cma_es(name):
    toy, x0 = toy_for(name), starts(12, 2, 2)
    maximizer = make_maximizer(name, first_population="starts")
    trace = maximizer(toy, x0, budget=Budget(40), box=Box.unit(2), generator=seeded(), record=True)
    assert torch.allclose(torch.cat(toy.points)[12:24].sort(0).values, x0.sort(0).values, atol=1e-12)
    assert trace.values[-1].max() > trace.start_value.max()


def test_start_points_at_the_bounds_are_a_first_population_too():
    toy, x0 = toy_for("CMA-ES"), starts(8, 2, 2).round()
    maximizer = make_maximizer("CMA-ES", first_population="starts")
    maximizer(toy, x0, budget=Budget(2), box=Box.unit(2), generator=seeded())
    assert torch.allclose(torch.cat(toy.points)[8:16].sort(0).values, x0.sort(0).values, atol=1e-12)


class Plateau(Toy):
    """The same value everywhere, as PI far from the data."""

    def outer(self, v):
        return torch.zeros(len(v), dtype=DTYPE)


@pytest.mark.parametrize("first_population", ["around-best", "starts"])
@pytest.mark.parametrize("name", ["CMA-ES", "DE", "CMA-ES-Comp", "DE-Comp"])
def test_evolution_spends_its_budget_on_a_plateau(name, first_population):
    """A generation of equal values has not converged."""
    toy = Plateau(2, K=16, pool=64 if CATALOGUE[name].form == "Comp" else None)
    given = {"first_population": first_population} if name.startswith("CMA") else {}
    trace = make_maximizer(name, **given)(toy, starts(12, 2, 2), budget=Budget(64), box=Box.unit(2), generator=seeded())
    assert trace.steps == 64
    assert set(trace.status) == {Status.DONE}
    assert torch.isfinite(trace.best).all()


@pytest.mark.parametrize("name", ["CMA-ES", "DE"])
def test_evolution_spends_its_budget_at_the_top(name):
    """Long after its steps have become too small to matter."""
    trace = make_maximizer(name)(
        toy_for(name), starts(12, 2, 2), budget=Budget(600), box=Box.unit(2), generator=seeded()
    )
    assert trace.steps == 600
    assert set(trace.status) == {Status.DONE}


def test_individuals_without_a_value_rank_last():
    for name in ("CMA-ES", "DE", "RS"):
        toy = toy_for(name, breaks=lambda x: x[:, 0, 0] > 0.5)
        trace = make_maximizer(name)(toy, starts(8, 2, 2), budget=Budget(15), box=Box.unit(2), generator=seeded())
        assert (trace.best[:, 0, 0] <= 0.5).all(), name
        assert torch.isfinite(trace.best_value).all(), name


def test_when_nothing_has_a_value_the_start_points_come_back():
    for name in RANKED:
        toy = toy_for(name, breaks=lambda x: torch.ones(len(x), dtype=torch.bool))
        x0 = starts(6, 2, 2)
        trace = make_maximizer(name)(toy, x0, budget=Budget(4), box=Box.unit(2), generator=seeded())
        assert trace.status == (Status.FAILED,) * 6, name
        assert torch.equal(trace.best, x0), name
        assert trace.best_value.isnan().all(), name


def test_cma_es_in_1920_dimensions():
    """q d of the largest benchmark: only the diagonal is adapted, so a generation is cheap."""
    assert SEPARABLE_ABOVE < 1920
    toy = Toy(16, K=8)
    x0 = torch.rand(32, 16, 120, dtype=DTYPE, generator=seeded(1))
    trace = make_maximizer("CMA-ES")(toy, x0, budget=Budget(5), box=Box.unit(120), generator=seeded())
    assert trace.best.shape == (32, 16, 120)
    assert trace.best_value.max() >= trace.start_value.max()
