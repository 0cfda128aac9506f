"""Acquisition functions in turn: whose turn it is depends on the history alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from compbo import (
    SR,
    UCB,
    Budget,
    Categorical,
    Evaluation,
    Float,
    Int,
    LogEI,
    Optimizer,
    OptionError,
    Portfolio,
    Settings,
    Space,
    StartPolicy,
)
from compbo.acquisition.portfolio import get_portfolio, largest_deviation, portfolio_from_dict, portfolio_to_dict
from compbo.bo.history import History, Observations
from compbo.bo.suggest import acquisition_of, suggest

SPACE = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
FEW: dict[str, Any] = {"starts": StartPolicy(32, 2), "budget": Budget(4), "initial_points": 2}


def known(size: int, pending: int = 0) -> Observations:
    return history_of(size, pending).observations(SPACE, "minimize")


def history_of(size: int, pending: int = 0) -> History:
    points = SPACE.sample(size + pending, torch.Generator().manual_seed(0))
    return History(tuple(Evaluation(p, p["x"] ** 2 + p["y"]) for p in points[:size]), tuple(points[size:]))


def test_the_default_is_ucb_and_sr_in_turn() -> None:
    assert Settings().acquisition == Portfolio((UCB(), SR()), reach=8) == Settings(acquisition="portfolio").acquisition
    turns = Settings(acquisition=["ucb", "sr"])
    assert turns == Settings(acquisition="ucb, SR")
    assert turns.acquisition == Portfolio((UCB(), SR()))  # betas as they were given


def test_the_largest_of_several_deviations_is_the_integral_of_its_tail() -> None:
    for points in (1, 2, 8, 64):
        tail, _ = quad(lambda t, n=points: 1.0 - (2.0 * norm.cdf(t) - 1.0) ** n, 0.0, 12.0)
        assert largest_deviation(points) == pytest.approx(tail, abs=1e-7)  # step^2 / 12 times the slope at 0


@pytest.mark.parametrize("points", [1, 2, 5, 7])
def test_few_points_among_choices_explore_as_far_as_the_reach(points: int) -> None:
    """Joint UCB of points that are all alike, with independent noise: mu + width E max_j |z_j| sigma."""
    widened = Portfolio((UCB(beta=0.5), SR()), reach=8).among_choices(2, points)
    assert isinstance(widened, UCB)
    far = UCB(beta=0.5).width * largest_deviation(8)
    assert widened.width * largest_deviation(points) == pytest.approx(far, rel=1e-12)
    z = torch.randn(points, 200_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert float((widened.width * z.abs()).amax(0).mean()) == pytest.approx(far, rel=0.01)


def test_only_ucb_with_fewer_points_than_the_reach_among_choices_changes() -> None:
    portfolio = Portfolio(("ucb", "sr"), reach=8)
    assert portfolio.among_choices(1, 1) == SR()
    assert portfolio.among_choices(0, 8) == portfolio.among_choices(0, 64) == portfolio.at(0) == UCB()
    assert Portfolio(("ucb", "sr")).among_choices(0, 1) == UCB()  # a list of one's own
    settings, mixed = Settings(), Space({"x": Float(0, 1), "kind": Categorical(["a", "b", "c"])})
    assert acquisition_of(SPACE, settings, known(6), 1) == UCB()
    assert acquisition_of(mixed, settings, known(6), 1) == portfolio.among_choices(0, 1) != UCB()
    assert acquisition_of(mixed, settings, known(2, 6), 1) == portfolio.among_choices(0, 7)  # with what is pending
    assert acquisition_of(mixed, settings, known(2, 8), 1) == UCB()
    assert acquisition_of(mixed, Settings(acquisition="ucb"), known(6), 1) == UCB()
    whole = Space({"x": Float(0, 1), "n": Int(0, 9)})
    assert acquisition_of(whole, settings, known(6), 1) == UCB()


def test_a_single_point_leaves_the_best_choice_once_that_is_known() -> None:
    """Eleven points around the optimum of one choice, one point of each other: with a beta for batches it stays."""
    kinds = [f"k{i}" for i in range(6)]
    space = Space({"x": Float(0, 1), "kind": Categorical(kinds)})
    points = [{"x": 0.3 + 0.05 * i, "kind": "k0"} for i in range(11)]
    points += [{"x": 0.3 + 0.1 * i, "kind": kind} for i, kind in enumerate(kinds[1:])]
    history = History(tuple(Evaluation(p, (p["x"] - 0.6) ** 2 + 0.3 * (p["kind"] != "k0")) for p in points))
    (far,), (near,) = (
        suggest(space, Settings(acquisition=name, initial_points=2), history, 1).points
        for name in ("portfolio", "ucb,sr")
    )
    assert far["kind"] != "k0"
    assert near["kind"] == "k0"
    assert near["x"] == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("q", [1, 8, 16, 64])
def test_members_take_turns_batch_by_batch(q: int) -> None:
    settings = Settings(batch_size=q, acquisition=("ucb", "sr", "logei"))
    names = [acquisition_of(SPACE, settings, known(n * q), q).name for n in range(1, 7)]
    assert names == ["sr", "logei", "ucb", "sr", "logei", "ucb"]


def test_members_take_turns_whatever_the_size_of_an_ask() -> None:
    settings = Settings(batch_size=1)
    for count in (1, 2, 4, 7):
        names = [acquisition_of(SPACE, settings, known(n * count), count).name for n in range(1, 7)]
        assert names == ["sr", "ucb"] * 3


def test_pending_points_count_as_told_ones() -> None:
    settings = Settings(batch_size=1)
    for size in range(6, 10):
        one, other = known(size, 2), known(size - 2, 4)
        assert acquisition_of(SPACE, settings, one, 1) == acquisition_of(SPACE, settings, other, 1)


def test_suggestions_stay_pure_and_do_not_depend_on_the_order_of_arrival() -> None:
    settings = Settings(batch_size=2, **FEW)
    for size in (8, 10):
        history = history_of(size, pending=1)
        turned = History(history.evaluations[::-1], history.pending)
        first, second = suggest(SPACE, settings, history), suggest(SPACE, settings, turned)
        assert first.points == second.points
        assert first.telemetry.acquisition == second.telemetry.acquisition == {8: "ucb", 10: "sr"}[size]


def test_an_asynchronous_run_alternates_and_resumes_bit_for_bit() -> None:
    optimizer = Optimizer(SPACE, seed=3, **FEW)
    waiting = optimizer.ask(1) + optimizer.ask(1)
    for _ in range(6):
        optimizer = Optimizer.from_json(optimizer.to_json())
        point = waiting.pop(0)
        optimizer.tell([point], [point["x"] ** 2])
        waiting += optimizer.ask(1)
    names = [telemetry.acquisition for telemetry in optimizer.telemetry if telemetry.acquisition]
    assert {*names[::2]} != {*names[1::2]}
    assert {*names} == {"ucb", "sr"}


def test_plain_data_and_back() -> None:
    for acquisition in (UCB(beta=0.5), Portfolio((LogEI(tau=1e-3), "sr")), Portfolio(reach=8)):
        assert portfolio_from_dict(portfolio_to_dict(acquisition)) == acquisition
    earlier = {"name": "portfolio", "members": [{"name": "ucb", "beta": 2.0}, {"name": "sr"}]}
    assert portfolio_from_dict(earlier) == Portfolio(("ucb", "sr")), "stored before there was a reach: none"
    assert portfolio_to_dict(Portfolio(("ucb", "sr"))) == earlier, "and cells of a study keep their name"
    assert get_portfolio(UCB()) == UCB()


@pytest.mark.parametrize(
    ("acquisition", "words"),
    [
        ([], "an empty list"),
        (["ucb", "uvb"], "'uvb' is unknown"),
        ("ucb,,sr", "'' is unknown"),
        (["ucb", ["sr"]], "is unknown"),
        (3, "3 is unknown"),
        (Portfolio, "is unknown"),
    ],
)
def test_what_is_no_portfolio_is_refused(acquisition: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Settings(acquisition=acquisition)
