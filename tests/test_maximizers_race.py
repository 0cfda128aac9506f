"""Racing restarts: who is dropped, what the budget bounds, and that a race is a function of its seed."""

from __future__ import annotations

import math

import pytest
import torch

from compbo import Settings, StartPolicy
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.maximizers.ascend import Way
from compbo.maximizers.budget import Clock
from compbo.maximizers.climb import Maximisation
from compbo.maximizers.contenders import Look, contenders, has_stopped, have_met
from compbo.maximizers.race import FINALISTS, LEADERS, can_race, raced
from compbo.maximizers.restarts import RestartBatch
from compbo.types import DTYPE, Box, Budget, Failure, Status, Trace
from maximizer_toys import Toy, seeded, starts

ASCENTS = [name for name in CATALOGUE if can_race(make_maximizer(name))]
BOX = Box.unit(2)


def toy(name: str, **options) -> Toy:
    return Toy(2, pool=12 if CATALOGUE[name].form in ("Comp", "FSM") else None, **options)


def race(
    name: str = "Adam-ERM", *, polish: bool = False, oracle: Toy | None = None, restarts: int = 16, **budget
) -> Trace:
    return raced(make_maximizer(name), polish)(
        oracle if oracle is not None else toy(name),
        starts(restarts, 2, 2),
        budget=Budget(**{"steps": 32, **budget}),
        box=BOX,
        generator=seeded(3),
        record=True,
    )


# -- restarts that leave an ascent ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASCENTS)
def test_those_that_stay_go_where_they_would_have_gone(name):
    """Rule, tracker and memory of the others do not enter: to the bit, with the same draws."""
    ends = []
    for rows in (None, torch.tensor([2, 0])):
        maximizer, oracle = make_maximizer(name), toy(name)
        task = Maximisation(oracle, Budget(8), BOX, seeded(5))
        oracle.start(task.generator)
        restarts = RestartBatch(starts(4, 2, 2), Clock(None), record=False)
        way = Way.begin(maximizer.entry.build(**maximizer.hyperparameters), task, restarts)
        for _ in range(4):
            way.step()
        way = way if rows is None else way.only(rows)
        for _ in range(4):
            way.step()
        ends.append(way.restarts.x)
    torch.testing.assert_close(ends[1], ends[0][[2, 0]], rtol=1e-12, atol=1e-14)


def test_only_gradient_ascents_race():
    assert {"CAdam-ME", "CAdam", "Adam-ERM", "SCGA", "Rprop-FSM"} <= set(ASCENTS)
    assert not {"RS", "CMA-ES", "L-BFGS-B"} & set(ASCENTS)
    with pytest.raises(ValueError, match="L-BFGS-B: only the restarts of a gradient ascent can race"):
        raced(make_maximizer("L-BFGS-B"))


# -- the race ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("name", ["Adam-ERM", "CAdam-ME", "CAdam", "SCGA"])
def test_a_race_is_a_function_of_its_seed_and_keeps_its_promises(name, polish):
    trace, again = race(name, polish=polish), race(name, polish=polish)
    assert torch.equal(trace.best, again.best)
    assert torch.equal(trace.final, again.final)
    assert trace.status == again.status
    assert bool((trace.best_value >= trace.start_value).all())
    assert float(trace.best_value.max()) > float(trace.start_value.max())
    assert bool(((trace.best >= 0) & (trace.best <= 1)).all())
    assert len(trace.values) == len(trace.points) == trace.steps
    torch.testing.assert_close(trace.points[-1], trace.final)
    running = [status for status in trace.status if status is not Status.DROPPED]
    assert 1 <= len(running) <= FINALISTS
    assert len(trace.status) == 16


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize(("restarts", "steps"), [(16, 32), (32, 64), (1, 8), (3, 1), (8, 5)])
def test_the_budget_bounds_steps_times_restarts(restarts, steps, polish):
    oracle = toy("Adam-ERM")
    trace = race(polish=polish, oracle=oracle, restarts=restarts, steps=steps)
    gradients = sum(rows for _, rows in oracle.calls)
    begun = restarts + LEADERS + FINALISTS  # x_0 of a way is evaluated before its first step
    assert gradients <= restarts * steps + begun
    assert 1 <= trace.steps <= restarts * steps
    if not polish:
        assert trace.steps <= steps


def test_a_race_costs_a_fraction_of_all_steps_of_all_restarts():
    oracle = toy("Adam-ERM")
    race(oracle=oracle, restarts=32, steps=64)
    assert sum(rows for rows, _ in oracle.calls) < 32 * 64 / 2


def test_polishing_ends_higher():
    plain, polished = race("CAdam-ME", restarts=32), race("CAdam-ME", polish=True, restarts=32)
    assert float(polished.best_value.max()) >= float(plain.best_value.max())


class Plateau(Toy):
    """The same value everywhere."""

    def mean(self, x):
        return torch.zeros(*x.shape[:-1], 1, dtype=DTYPE)


@pytest.mark.parametrize("polish", [False, True])
def test_a_plateau_ends_the_race_after_one_round(polish):
    class Flat(Plateau):
        def inner(self, x, draw, gradient_rows=None):
            inner = super().inner(x, draw, gradient_rows)
            return inner._replace(pullback=lambda c: torch.zeros(len(c), *x.shape[1:], dtype=DTYPE))

    trace = race(polish=polish, oracle=Flat(2, slope=0.0))
    assert set(trace.status) == {Status.CONVERGED}
    assert trace.steps == 4


def test_restarts_that_fail_are_left_behind():
    trace = race(oracle=toy("Adam-ERM", breaks=lambda x: x[:, 0, 0] < 0.3))
    failed = [status is Status.FAILED for status in trace.status]
    assert 0 < sum(failed) < 16
    assert all((why is Failure.NO_FACTOR) == bad for why, bad in zip(trace.failures, failed, strict=True))
    assert math.isfinite(float(trace.best_value.nan_to_num(nan=-math.inf).max()))
    everywhere = race(oracle=toy("Adam-ERM", breaks=lambda x: torch.ones(len(x), dtype=torch.bool)))
    assert set(everywhere.status) == {Status.FAILED}


def test_the_clock_ends_a_race():
    trace = race(seconds=1e-9)
    assert set(trace.status) == {Status.TIME}
    assert trace.steps == 0
    assert bool(torch.isfinite(trace.best_value).all())


# -- who can win ------------------------------------------------------------------------------------------------------


def chosen(values, *, gain=None, x=None, running=None, noise=0.01, most=8):
    """Of restarts with these values, whose columns differ by independent noise."""
    value = torch.tensor(values, dtype=DTYPE)
    columns = noise * torch.randn(len(value), 64, dtype=DTYPE, generator=seeded(0))
    look = Look(value, value[:, None] + columns - columns.mean(-1, keepdim=True), value.isnan(), 0.0)
    count = len(value)
    apart = torch.linspace(0, 1, count, dtype=DTYPE)[:, None, None].expand(count, 1, 2)
    return contenders(
        look,
        torch.zeros(count, dtype=DTYPE) if gain is None else torch.tensor(gain, dtype=DTYPE),
        apart if x is None else torch.tensor(x, dtype=DTYPE),
        torch.ones(count, dtype=torch.bool) if running is None else torch.tensor(running),
        BOX,
        most,
    )


def test_who_goes_on():
    assert chosen([0.0, 1.0, 0.5, 0.999]).rows.tolist() == [1, 3]  # 0.999 is behind by no more than chance explains
    assert chosen([0.0, 1.0, 0.5, 0.999], noise=1e-6).rows.tolist() == [1]
    assert chosen([0.0, 1.0, 0.5], gain=[0.1, 0.1, 0.3]).rows.tolist() == [1, 2]  # two more such gains
    assert chosen([0.0, 1.0, 0.9], noise=10.0, most=2).rows.tolist() == [1, 2]
    assert chosen([0.0, 1.0, 0.9], noise=10.0, running=[True, False, True]).rows.tolist() == [2, 0]
    assert chosen([math.nan, 1.0], noise=10.0).rows.tolist() == [1]
    assert chosen([math.nan, math.nan]).rows.tolist() == []


def test_of_those_that_have_met_the_best_goes_on():
    here, there = [[0.1, 0.1], [0.9, 0.9]], [[0.5, 0.5], [0.9, 0.9]]
    met = chosen([0.9, 1.0, 0.8], x=[here, [here[1], here[0]], there], noise=10.0)
    assert met.rows.tolist() == [1, 2]
    assert not met.all_met
    assert chosen([0.9, 1.0], x=[here, here], noise=10.0).all_met
    assert not chosen([0.0, 1.0], noise=1e-6).all_met  # one cannot win
    one = torch.tensor(here, dtype=DTYPE)
    assert have_met(one, one.flip(0) + 0.004, BOX)
    assert not have_met(one, one + 0.02, BOX)
    assert have_met(100 * one, 100 * one + 0.9, Box(BOX.lower, 100 * BOX.upper))


def test_who_has_stopped():
    value = torch.tensor([1.0, 1e6, 1.0, math.nan], dtype=DTYPE)
    gain = torch.tensor([0.0, 1e-8, 1e-8, math.nan], dtype=DTYPE)
    assert has_stopped(value, gain).tolist() == [True, True, False, False]


# -- the option -------------------------------------------------------------------------------------------------------


def test_the_option_is_checked_where_it_is_named():
    with pytest.raises(ValueError, match="StartPolicy: race must be True or False, got 1"):
        StartPolicy(race=1)
    with pytest.raises(ValueError, match="polish=True is for the leaders of a race; add race=True"):
        StartPolicy(polish=True)
    with pytest.raises(ValueError, match="starts: L-BFGS-B is no gradient ascent, so its restarts cannot race"):
        Settings(maximizer="L-BFGS-B", starts=StartPolicy(race=True))
    settings = Settings(starts=StartPolicy(race=True, polish=True))
    assert Settings.from_dict(settings.to_dict()) == settings
