"""Acquisition functions in turn: whose turn it is depends on the history alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import torch

from compbo import (
    SR,
    UCB,
    Bool,
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
    minimize,
)
from compbo.acquisition.portfolio import get_portfolio, portfolio_from_dict, portfolio_to_dict, spelled
from compbo.bo.history import History, Observations
from compbo.bo.suggest import acquisition_of, suggest

if TYPE_CHECKING:
    from pathlib import Path

SPACE = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
FEW: dict[str, Any] = {"starts": StartPolicy(32, 2), "budget": Budget(4), "initial_points": 2}


def known(size: int, pending: int = 0) -> Observations:
    return history_of(size, pending).observations(SPACE, "minimize")


def history_of(size: int, pending: int = 0) -> History:
    points = SPACE.sample(size + pending, torch.Generator().manual_seed(0))
    return History(tuple(Evaluation(p, p["x"] ** 2 + p["y"]) for p in points[:size]), tuple(points[size:]))


def test_the_default_is_ucb_and_sr_in_turn() -> None:
    assert Settings().acquisition == Portfolio((UCB(), SR()), alone=(UCB(4.0), SR()))
    assert Settings(acquisition="portfolio") == Settings()
    turns = Settings(acquisition=["ucb", "sr"])
    assert turns == Settings(acquisition="ucb, SR")
    assert turns.acquisition == Portfolio((UCB(), SR())), "betas as they were given"


def test_a_single_point_among_choices_has_functions_of_its_own() -> None:
    mixed = Space({"x": Float(0, 1), "kind": Categorical(["a", "b", "c"])})
    switched, whole = Space({"on": Bool(), "y": Float(0, 1)}), Space({"x": Float(0, 1), "n": Int(0, 9)})

    def asked(space: Space, size: int, pending: int, count: int, acquisition: Any = "portfolio") -> Any:
        return acquisition_of(space, Settings(acquisition=acquisition), known(size, pending), count)

    assert asked(mixed, 6, 0, 1) == asked(switched, 6, 0, 1) == UCB(4.0)
    assert asked(mixed, 7, 0, 1) == SR()
    assert asked(mixed, 8, 0, 2) == asked(mixed, 6, 2, 1) == asked(whole, 6, 0, 1) == asked(SPACE, 6, 0, 1) == UCB()
    for own in ("ucb", ["ucb", "sr"]):
        assert asked(mixed, 6, 0, 1, own) == UCB()


@pytest.mark.parametrize("gap", [0.2, 0.3])
def test_a_single_point_leaves_the_best_choice_once_that_is_known(gap: float) -> None:
    """Ten points around the optimum of one choice, one point of both others: with the beta of batches it stays."""
    space = Space({"x": Float(0, 1), "kind": Categorical(["known", "second", "third"])})
    points = [{"x": 0.35 + 0.05 * i, "kind": "known"} for i in range(10)]
    points += [{"x": 0.3, "kind": "second"}, {"x": 0.4, "kind": "third"}]
    history = History(tuple(Evaluation(p, (p["x"] - 0.45) ** 2 + gap * (p["kind"] != "known")) for p in points))
    (far,), (near,) = (
        suggest(space, Settings(acquisition=name, initial_points=2), history, 1).points
        for name in ("portfolio", "ucb,sr")
    )
    assert far["kind"] != "known"
    assert near["kind"] == "known"
    assert near["x"] == pytest.approx(0.45, abs=0.01)


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
    for acquisition in (UCB(beta=0.5), Portfolio((LogEI(tau=1e-3), "sr")), Settings().acquisition):
        assert portfolio_from_dict(portfolio_to_dict(acquisition)) == acquisition
    earlier = {"name": "portfolio", "members": [{"name": "ucb", "beta": 2.0}, {"name": "sr"}]}
    assert portfolio_from_dict(earlier) == Portfolio(("ucb", "sr")), "stored before single points had their own"
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
        ([["ucb"]], "is unknown"),
    ],
)
def test_what_is_no_portfolio_is_refused(acquisition: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Settings(acquisition=acquisition)


@pytest.mark.parametrize("given", [3, None, "ucb", UCB(), {}])
@pytest.mark.parametrize("name", ["members", "alone"])
def test_what_takes_turns_is_a_list(name: str, given: Any) -> None:
    with pytest.raises(OptionError, match=f"{name} of a Portfolio is a list of acquisition functions, got"):
        Portfolio(**{name: given})


@pytest.mark.parametrize(
    ("acquisition", "words"),
    [
        ("portfolio", "portfolio"),
        ("ucb, sr", "ucb,sr"),
        ([UCB(4.0), "sr"], "UCB(beta=4.0),sr"),
        ("ei", "ei"),
        (UCB(0.5), "UCB(beta=0.5)"),
        (Portfolio(alone=("logei",)), "Portfolio(members=(UCB(beta=2.0), SR()), alone=(LogEI(tau=1e-06),))"),
    ],
)
def test_an_acquisition_is_spelled_as_one_would_give_it(acquisition: Any, words: str) -> None:
    assert spelled(get_portfolio(acquisition)) == words


def test_an_acquisition_that_cannot_be_made_without_arguments_is_spelled_too() -> None:
    @dataclass(frozen=True)
    class Bold(UCB):
        share: float = field(kw_only=True)

    assert spelled(Bold(share=0.5)) == repr(Bold(share=0.5))
    assert spelled(Portfolio((Bold(share=0.5), "sr"))) == f"{Bold(share=0.5)!r},sr"


def test_a_run_of_another_portfolio_is_resumed_by_what_the_message_says(tmp_path: Path) -> None:
    space, url = Space({"x": Float(0, 1), "on": Bool()}), f"sqlite:///{tmp_path}/run.db"

    def run(evaluations: int, **options: Any) -> Any:
        return minimize(lambda p: p["x"], space, evaluations=evaluations, storage=url, seed=1, **FEW, **options)

    run(3, acquisition=["ucb", "sr"])
    with pytest.raises(OptionError, match=r"acquisition \(stored 'ucb,sr', given 'portfolio'\)"):
        run(5)
    assert len(run(5, acquisition="ucb,sr").records) == 5


def test_why_names_the_functions_that_took_turns() -> None:
    space = Space({"x": Float(0, 1), "on": Bool()})
    optimizer = Optimizer(space, seed=0, **FEW)
    for _ in range(4):
        [point] = optimizer.ask()
        optimizer.tell([point], [point["x"]])
    assert "whose turn it was among UCB(beta=4.0), sr" in optimizer.explain()
    optimizer.ask(2)
    assert "whose turn it was among ucb, sr" in optimizer.explain()
