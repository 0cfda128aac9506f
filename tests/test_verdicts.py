"""Verdicts: they never flatter, and their reasons and numbers are those of what happened."""

from __future__ import annotations

import inspect
import math
from itertools import product, starmap
from typing import Any

import pytest
import torch
from benchmarks import verdicts
from benchmarks.second_maximisation import beaten
from benchmarks.verdict_scenes import Scene, ask, generator_of
from benchmarks.verdict_scenes import problem as problem_of
from torch import Tensor

from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import OneSample, sobol_normals
from compbo.bo import propose as proposing
from compbo.bo import verdict
from compbo.bo.choice import COMMON_SAMPLE, values_on_scrambles
from compbo.bo.starts import StartPolicy
from compbo.bo.verdict import Judgement, Verdict
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.posterior import BatchPosterior
from compbo.types import DTYPE, Budget, Draw
from propose_examples import Broken, Redone, columns, everywhere, gp, left_half, problem, run, seeded

ACQUISITIONS = [EI(), PI(), SR(), UCB(), LogEI()]
ONE_TINY_STEP = {"hyperparameters": {"lr": 1e-6}, "budget": Budget(steps=1), "starts": StartPolicy(4, 4, 0.0)}


# -- the four of a maximisation that was carried out ------------------------------------------------------------------


def test_flat_where_nothing_can_improve() -> None:
    telemetry = run(problem(best=1e3)).telemetry
    assert telemetry.verdict is Verdict.FLAT, telemetry.reason
    assert (telemetry.acquisition_value, telemetry.acquisition_gain) == (0.0, 0.0)
    assert (telemetry.spread, telemetry.winner) == (0.0, -1)


class Plateau:
    """A posterior with two levels and no slope: better in three quarters of the square."""

    extra_points = 0

    def __init__(self) -> None:
        self.sound = gp()
        self.dim, self.bytes_per_row, self.flops_per_row = 2, self.sound.bytes_per_row, self.sound.flops_per_row

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        b, q, _ = x.shape
        mean = (x.amax(-1) > 0.5).to(DTYPE)
        factor = 0.1 * torch.eye(q, dtype=DTYPE).expand(b, q, q)
        rows = b if gradient_rows is None else gradient_rows
        none = torch.zeros(b, dtype=torch.bool)
        return BatchPosterior(mean, factor, none, 0.0, lambda dmean, dfactor: torch.zeros_like(x[:rows]))


@pytest.mark.parametrize("maximizer", ["Adam-ERM", "NASA", "SCGA", "RS"])
def test_no_slope_at_the_chosen_batch_is_flat_whatever_lies_between_others(maximizer: str) -> None:
    telemetry = run(problem(UCB(), Plateau()), maximizer=maximizer, starts=StartPolicy(32, 8)).telemetry
    assert telemetry.verdict is Verdict.FLAT, telemetry.reason
    assert telemetry.reason == "the acquisition function has no slope at the chosen batch"
    assert max(telemetry.start_values) - min(telemetry.start_values) > 0.05


@pytest.mark.parametrize("acquisition", [SR(), UCB(), EI()], ids=lambda a: a.name)
def test_converged_on_a_smooth_problem_given_the_steps(acquisition: Any) -> None:
    telemetry = run(problem(acquisition), q=1, maximizer="Adam-ERM", budget=Budget(steps=200)).telemetry
    assert telemetry.verdict is Verdict.CONVERGED, telemetry.reason


def test_a_corner_where_the_gradient_points_outwards_has_converged() -> None:
    """SR of one point rises towards the best mean, which lies beyond this box."""
    box = proposing.Box(torch.full((2,), 0.1, dtype=DTYPE), torch.full((2,), 0.2, dtype=DTYPE))
    task = problem(SR(), incumbents=torch.empty(0, 2, dtype=DTYPE))
    telemetry = run(task, q=1, maximizer="L-BFGS-B", budget=Budget(steps=50), box=box).telemetry
    assert telemetry.verdict is Verdict.CONVERGED, telemetry.reason


@pytest.mark.parametrize("acquisition", [SR(), UCB(), EI()], ids=lambda a: a.name)
def test_one_tiny_step_did_not_move(acquisition: Any) -> None:
    telemetry = run(problem(acquisition), q=4, maximizer="SGA-ERM", **ONE_TINY_STEP).telemetry
    assert telemetry.verdict is Verdict.DID_NOT_MOVE, telemetry.reason
    assert "over the best start batch; a step along the gradient gains" in telemetry.reason
    assert telemetry.ascent_steps == 1


@pytest.mark.parametrize("acquisition", [SR(), UCB(), EI()], ids=lambda a: a.name)
def test_some_steps_are_still_climbing(acquisition: Any) -> None:
    options = {"hyperparameters": {"lr": 0.01}, "budget": Budget(steps=3), "starts": StartPolicy(4, 4, 0.0)}
    telemetry = run(problem(acquisition), q=4, maximizer="Adam-ERM", **options).telemetry
    assert telemetry.verdict is Verdict.CLIMBING, telemetry.reason
    assert "% of what the climb gained" in telemetry.reason


def test_judging_changes_nothing_of_what_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the batch, and not the generator: what is asked for next stays the same as well."""

    def states() -> tuple[Tensor, Tensor]:
        generator = seeded()
        options: dict[str, Any] = {"budget": Budget(steps=8), "starts": StartPolicy(32, 4), "minibatch": 16}
        made = make_maximizer("Adam-ERM")
        batch = proposing.propose(problem(), 2, maximizer=made, generator=generator, **options).batch
        return batch, generator.get_state()

    judged = states()
    monkeypatch.setattr(proposing, "judge", lambda case: Judgement(Verdict.DESIGN, str(case.box), 0.0))
    assert all(map(torch.equal, judged, states()))


# -- why it was not carried out ---------------------------------------------------------------------------------------


def test_degraded_when_no_batch_has_a_value() -> None:
    batch, telemetry = run(problem(posterior=Broken(everywhere)))
    assert telemetry.verdict is Verdict.DEGRADED
    assert "no batch has a finite acquisition value" in telemetry.reason
    assert set(telemetry.statuses) == {"failed"}
    assert bool(((batch >= 0) & (batch <= 1)).all())


def test_degraded_when_every_restart_fails() -> None:
    task = problem(posterior=Broken(everywhere, only_with_gradient=True))
    batch, telemetry = run(task)
    again = Redone(problem())
    best = columns(problem(), again.x0, again.z).mean(-1).argmax()
    assert telemetry.verdict is Verdict.DEGRADED
    failed = "every restart failed after 0 steps (no Cholesky factor); the best batch so far is proposed"
    assert telemetry.reason == failed
    assert torch.equal(batch, again.x0[best])


@pytest.mark.parametrize("maximizer", ["Adam-ERM", "CAdam", "L-BFGS-B", "DE"])
def test_degraded_when_the_memory_does_not_do_for_one_step(maximizer: str) -> None:
    batch, telemetry = run(problem(), maximizer=maximizer, budget=Budget(steps=8, memory=1))
    again = Redone(problem())
    best = columns(problem(), again.x0, again.z).mean(-1).argmax()
    assert telemetry.verdict is Verdict.DEGRADED
    assert telemetry.reason == "not enough memory for one step; the best start batch is proposed"
    assert (telemetry.ascent_steps, telemetry.winner, telemetry.acquisition_gain) == (0, -1, 0.0)
    assert torch.equal(batch, again.x0[best])


def test_the_time_limit_is_in_the_reason() -> None:
    telemetry = run(problem(), budget=Budget(steps=1_000_000, seconds=1e-9)).telemetry
    assert telemetry.ascent_steps < 1_000_000
    steps = "1 step" if telemetry.ascent_steps == 1 else f"{telemetry.ascent_steps} steps"
    assert telemetry.reason.endswith(f"stopped by the time limit after {steps}")
    assert "time" in telemetry.statuses
    assert telemetry.verdict is not Verdict.DEGRADED


@pytest.mark.parametrize("maximizer", ["Adam-ERM", "CAdam-ME", "L-BFGS-B", "CMA-ES"])
def test_batches_without_a_value_are_never_proposed(maximizer: str) -> None:
    for seed in range(4):
        batch, telemetry = run(problem(posterior=Broken(left_half)), maximizer=maximizer, seed=seed)
        assert bool(torch.isfinite(batch).all())
        assert not bool(left_half(batch.unsqueeze(0)).any())
        assert math.isfinite(telemetry.acquisition_value)
        assert math.isfinite(telemetry.acquisition_gain)
        assert math.isfinite(telemetry.acquisition_error)
        # L-BFGS-B gives a restart up when its line search meets such a batch
        assert (telemetry.verdict is Verdict.DEGRADED) == (set(telemetry.statuses) == {"failed"})


def test_some_failed_restarts_are_counted_in_the_reason() -> None:
    """Two of the four have no gradient; the chosen batch has one."""
    starts = StartPolicy(4, 4, 1.0)

    def the_first_two(x: Tensor) -> Tensor:
        return (torch.arange(len(x)) < 2) & (len(x) == 4)

    broken = Broken(the_first_two, only_with_gradient=True)
    telemetry = run(problem(posterior=broken), starts=starts, budget=Budget(steps=1)).telemetry
    assert telemetry.statuses.count("failed") == 2
    assert "2 of 4 restarts failed" in telemetry.reason


class Fails:
    """A posterior that runs out of memory, or whose gradient is not a number, from the n-th gradient on."""

    extra_points = 0

    def __init__(self, how: str, after: int) -> None:
        self.sound, self.how, self.left = gp(), how, after
        self.dim, self.bytes_per_row, self.flops_per_row = 2, self.sound.bytes_per_row, self.sound.flops_per_row

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        batch = self.sound(x, gradient_rows)
        self.left -= gradient_rows != 0
        if self.left >= 0 or gradient_rows == 0:
            return batch
        if self.how == "memory":
            raise MemoryError
        rows = len(x) if gradient_rows is None else gradient_rows
        nothing = torch.full_like(x[:rows], torch.nan)
        return batch._replace(pullback=lambda dmean, dfactor: nothing)


def test_memory_that_runs_out_later_says_after_how_many_steps() -> None:
    telemetry = run(problem(posterior=Fails("memory", 29)), budget=Budget(steps=64)).telemetry
    assert telemetry.verdict is Verdict.DEGRADED
    assert (telemetry.ascent_steps, telemetry.winner >= 0) == (28, True)
    assert telemetry.reason == "stopped after 28 steps: out of memory; the best batch so far is proposed"


@pytest.mark.parametrize("maximizer", ["Adam-ERM", "CAdam", "L-BFGS-B"])
def test_a_gradient_that_is_not_a_number_is_called_so(maximizer: str) -> None:
    telemetry = run(problem(posterior=Fails("gradient", 4)), maximizer=maximizer).telemetry
    assert telemetry.verdict is Verdict.DEGRADED
    assert "(a gradient that is not finite)" in telemetry.reason
    assert "Cholesky" not in telemetry.reason


def test_without_a_gradient_at_the_chosen_batch_nothing_has_converged() -> None:
    """Random search needs none, the judge does."""
    telemetry = run(problem(posterior=Fails("gradient", 0)), maximizer="RS").telemetry
    assert telemetry.verdict is Verdict.CLIMBING
    assert telemetry.reason == "at the chosen batch there is no gradient to judge by"


@pytest.mark.parametrize("maximizer", ["Adam-ERM", "L-BFGS-B", "DE", "RS"])
def test_what_the_clock_stops_has_never_converged(maximizer: str) -> None:
    for seconds in (1e-9, 0.01):
        options = {"budget": Budget(steps=10**6, seconds=seconds), "seed": 5}
        telemetry = run(problem(SR()), q=1, maximizer=maximizer, **options).telemetry
        assert telemetry.verdict in (Verdict.CLIMBING, Verdict.DID_NOT_MOVE), telemetry.reason
        assert "the time limit" in telemetry.reason


def test_a_second_opinion_that_is_cut_short_does_not_say_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The climb was over before the time was used up."""
    options: dict[str, Any] = {"q": 1, "maximizer": "Adam-ERM", "budget": Budget(steps=200, seconds=1e3)}
    assert run(problem(SR()), **options).telemetry.verdict is Verdict.CONVERGED
    monkeypatch.setattr(verdict.Clock, "expired", lambda clock: inspect.stack()[1].function == "_verdict")
    limited = run(problem(SR()), **options).telemetry
    assert limited.verdict is Verdict.CLIMBING
    assert limited.reason == "the time limit left no room for a second opinion"


# -- the number beside it ---------------------------------------------------------------------------------------------


BEST = {1: 0.0, 4: 0.5, 16: 1.0}  # f* by q: neither out of reach nor certain to be beaten


def truth(acquisition: Any, x: Tensor, repeats: int = 60) -> Tensor:
    """Values (B, repeats) of batches on scrambles of the common sample that nobody else has seen."""
    generator = seeded(77)
    draws = [sobol_normals(x.shape[1], COMMON_SAMPLE, generator) for _ in range(repeats)]
    oracle = AcquisitionOracle(acquisition, gp(4), OneSample(draws[0]), BEST[x.shape[1]])
    return torch.stack([oracle.value(x, Draw(z)) for z in draws], -1)


@pytest.mark.parametrize("q", [1, 4, 16])
@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=lambda a: a.name)
def test_the_standard_error_is_that_of_another_scramble(acquisition: Any, q: int) -> None:
    """Of a value, and of the difference of two batches; the i.i.d. formula says up to a hundred times too much."""
    x = torch.rand(2, q, 4, dtype=DTYPE, generator=seeded(8))
    oracle = AcquisitionOracle(acquisition, gp(4), OneSample(torch.zeros(q, COMMON_SAMPLE, dtype=DTYPE)), BEST[q])
    reported, true = values_on_scrambles(oracle, x), truth(acquisition, x)
    for ours, theirs in ((reported[0], true[0]), (reported[0] - reported[1], true[0] - true[1])):
        assert 0.5 < float(ours.std() / theirs.std()) < 2.0
        assert abs(float(ours.mean() - theirs.mean())) < 4 * float(theirs.std()) / math.sqrt(16)


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=lambda a: a.name)
def test_telemetry_has_the_standard_error_of_its_batch(acquisition: Any) -> None:
    batch, telemetry = run(problem(acquisition))
    z = torch.zeros(2, COMMON_SAMPLE, dtype=DTYPE)
    [values] = values_on_scrambles(AcquisitionOracle(acquisition, gp(), OneSample(z), 0.5), batch.unsqueeze(0))
    assert telemetry.acquisition_error == pytest.approx(float(values.std()), rel=1e-6)


# -- where "converged" was said and nothing had moved -----------------------------------------------------------------


def not_converged(scene: Scene, acquisition: str, maximizer: str, **options: Any) -> str:
    telemetry = ask(scene, acquisition, maximizer, **options).telemetry
    assert telemetry.verdict in (Verdict.CLIMBING, Verdict.DID_NOT_MOVE, Verdict.FLAT), telemetry.reason
    return telemetry.reason


@pytest.mark.parametrize("maximizer", ["CAdam", "CAdam-ME", "RS", "CMA-ES", "DE"])
def test_pi_on_ackley_in_16_dimensions(maximizer: str) -> None:
    telemetry = ask(Scene("ackley", 16, 48, 4), "pi", maximizer).telemetry
    assert telemetry.verdict is Verdict.DID_NOT_MOVE, telemetry.reason


@pytest.mark.long
@pytest.mark.parametrize("maximizer", ["CAdam", "CAdam-ME", "RS", "CMA-ES", "DE"])
def test_pi_on_ackley_in_16_dimensions_could_have_moved(maximizer: str) -> None:
    scene = Scene("ackley", 16, 48, 4)
    batch, task = ask(scene, "pi", maximizer).batch, problem_of(scene, "pi")
    assert beaten(task, batch, generator_of(scene, "pi", maximizer), stream(1, "again")).by > 0.1


@pytest.mark.parametrize("maximizer", ["NASA", "SCGA"])
@pytest.mark.parametrize("d", [40, 60])
def test_levy_in_many_dimensions(d: int, maximizer: str) -> None:
    not_converged(Scene("levy", d, 3 * d, 8, late=False), "ucb", maximizer, steps=32, restarts=8)


@pytest.mark.long
@pytest.mark.parametrize("maximizer", ["NASA", "SCGA"])
def test_ackley_in_120_dimensions(maximizer: str) -> None:
    not_converged(Scene("ackley", 120, 515, 16, late=False), "ucb", maximizer)


@pytest.mark.parametrize("acquisition", ["ei", "ucb", "logei"])
@pytest.mark.parametrize("maximizer", ["Adam-ERM", "L-BFGS-B", "RS"])
def test_rounded_parameters_are_tried_one_level_up_and_down(maximizer: str, acquisition: str) -> None:
    """After one step: what has converged cannot be improved by a level of one parameter."""
    scene = Scene("ints", 8, 24, 2, late=False)
    proposal, task = ask(scene, acquisition, maximizer, steps=1), problem_of(scene, acquisition)
    z = sobol_normals(2, COMMON_SAMPLE, generator_of(scene, acquisition, maximizer))
    oracle = AcquisitionOracle(task.acquisition, task.posterior, OneSample(z), task.best)
    moves = []
    for i, point in enumerate(proposal.batch):
        for near in scene.space.neighbours(point):
            moves.append(proposal.batch.clone())
            moves[-1][i] = near
    gain = float(oracle.value(torch.stack(moves), Draw(z)).max()) - proposal.telemetry.acquisition_value
    if gain > 0.05 * max(proposal.telemetry.acquisition_gain, proposal.telemetry.acquisition_error):
        assert proposal.telemetry.verdict in (Verdict.CLIMBING, Verdict.DID_NOT_MOVE), proposal.telemetry.reason
        assert gain > 0


def test_a_level_that_gains_is_named() -> None:
    """A probe along the gradient that never crosses a level sees nothing."""
    telemetry = ask(Scene("ints", 8, 20, 1, late=False), "ucb", "RS").telemetry
    assert telemetry.verdict is Verdict.CLIMBING
    assert telemetry.reason.startswith("another level of one parameter still gains 0.1")


# -- "converged" is earned --------------------------------------------------------------------------------------------


def test_a_small_grid_of_converged_maximisations_holds() -> None:
    scene, maximizers = Scene("levy", 2, 8, 2, late=False), ("L-BFGS-B", "Adam-ERM", "CAdam")
    asks = [verdicts.measure(scene, acquisition, m) for acquisition in ("ei", "ucb") for m in maximizers]
    converged = [ask for ask in asks if ask.verdict == Verdict.CONVERGED]
    assert len(converged) >= 4
    assert [ask for ask in converged if ask.beyond_share and ask.beyond_chance] == []


@pytest.mark.long
def test_a_larger_grid_of_converged_maximisations_holds() -> None:
    scenes = (Scene("styblinski-tang", 6, 20, 4, late=False), Scene("mixed", 6, 24, 4))
    maximizers = ("L-BFGS-B", "Adam-ERM", "CAdam", "DE")
    cells = product(scenes, ("ei", "pi", "sr", "ucb"), maximizers)
    converged = [ask for ask in starmap(verdicts.measure, cells) if ask.verdict == Verdict.CONVERGED]
    assert len(converged) >= 8
    assert sum(ask.beyond_share and ask.beyond_chance for ask in converged) <= 1


def test_the_published_table_is_the_one_of_the_measured_asks() -> None:
    page, asks = verdicts.PAGE.read_text(encoding="utf-8"), verdicts.read_asks()
    assert verdicts.markdown(verdicts.table(asks)) in page
    assert [(ask.history, ask.acquisition, ask.maximizer) for ask in asks] == [
        (scene.name, acquisition, maximizer) for scene, acquisition, maximizer in verdicts.grid()
    ]


def test_fewer_than_one_in_twenty_converged_maximisations_is_beaten() -> None:
    converged = [ask for ask in verdicts.read_asks() if ask.verdict == Verdict.CONVERGED]
    false = [ask for ask in converged if ask.beyond_share and ask.beyond_chance]
    assert len(converged) > 100
    assert len(false) < 0.05 * len(converged)


def test_the_counts_of_a_row() -> None:
    """By more than 5 % of the gain and than 3 standard errors; the stricter column needs one of them."""
    said = verdicts.Ask("h", "ei", "RS", "converged", value=1.0, gain=0.1)
    asks = [
        said._replace(beaten_by=0.004, beaten_error=0.01),
        said._replace(beaten_by=0.006, beaten_error=0.003),
        said._replace(beaten_by=0.006, beaten_error=0.001),
        said._replace(verdict="flat"),
    ]
    row = verdicts.summary("all", asks)
    assert (row["number"], row["converged"], row["flat"]) == (4, 3, 1)
    assert (row["false converged"], row["stricter"]) == ("1 (33.3 %)", "2 (66.7 %)")
