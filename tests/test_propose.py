"""One maximisation: where it starts, what it chooses, what it says about itself."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from compbo.acquisition.integrands import EI, SR, UCB, LogEI
from compbo.acquisition.samples import sobol_normals
from compbo.bo.propose import COMMON_SAMPLE, AcquisitionProblem, Proposal, propose
from compbo.bo.starts import StartPolicy, around, boltzmann, raw_batches
from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import Verdict
from compbo.maximizers import make_maximizer
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.posterior import BatchPosterior, GPPosterior, with_pending
from compbo.types import DTYPE, Box, Budget

Q, D, MINIBATCH = 2, 2, 16
STARTS = StartPolicy(raw_batches=32, restarts=4)
SLANTED = Box(torch.tensor([-2.0, 10.0, 0.0], dtype=DTYPE), torch.tensor([-1.0, 30.0, 1e-3], dtype=DTYPE))
EVERY_NUMBER = st.floats(allow_nan=True, allow_infinity=True, width=32)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gp(d: int = D) -> GPPosterior:
    x = torch.rand(8, d, dtype=DTYPE, generator=seeded(1))
    y = -((x - 0.6) ** 2).sum(-1)
    return GPPosterior(
        x,
        (y - y.mean()) / y.std(),
        kernel=get_kernel("matern52"),
        lengthscale=torch.full((d,), 0.7, dtype=DTYPE),
        outputscale=1.0,
        noise=1e-3,
    )


class Broken:
    """A posterior without a Cholesky factor for the batches that `where` names, values alone or gradients too."""

    extra_points = 0

    def __init__(self, where: Callable[[Tensor], Tensor], *, only_with_gradient: bool = False) -> None:
        self.sound, self.where, self.only_with_gradient = gp(), where, only_with_gradient
        self.dim = self.sound.dim
        self.bytes_per_row, self.flops_per_row = self.sound.bytes_per_row, self.sound.flops_per_row

    def __call__(self, x: Tensor, gradient_rows: int | None = None) -> BatchPosterior:
        batch = self.sound(x, gradient_rows)
        if self.only_with_gradient and gradient_rows == 0:
            return batch
        failed = self.where(x)
        return batch._replace(mean=batch.mean.masked_fill(failed[:, None], torch.nan), failed=failed)


def everywhere(x: Tensor) -> Tensor:
    return torch.ones(len(x), dtype=torch.bool)


def left_half(x: Tensor) -> Tensor:
    return (x[..., 0] < 0.5).any(-1)


def problem(acquisition: Any = None, posterior: Any = None, best: float = 0.5, **options: Any) -> AcquisitionProblem:
    incumbents = torch.tensor([[0.3, 0.3], [0.8, 0.2]], dtype=DTYPE)
    return AcquisitionProblem(posterior or gp(), acquisition or EI(), best, **{"incumbents": incumbents, **options})


def run(task: AcquisitionProblem, q: int = Q, maximizer: str = "Adam-ERM", seed: int = 3, **options: Any) -> Proposal:
    made = make_maximizer(maximizer, **options.pop("hyperparameters", {}))
    settings = {"budget": Budget(steps=8), "starts": STARTS, "minibatch": MINIBATCH, **options}
    return propose(task, q, maximizer=made, generator=seeded(seed), **settings)


def columns(task: AcquisitionProblem, batches: Tensor, z: Tensor) -> Tensor:
    """max_j of ReLU(mu + L z - f*) for every sample, written out: (B, K)."""
    posterior = with_pending(task.posterior, task.pending)(batches)
    samples = posterior.mean.unsqueeze(-1) + torch.einsum("bij,jk->bik", posterior.factor, z)
    return (samples - task.best).clamp_min(0.0).amax(1).masked_fill(posterior.failed[:, None], torch.nan)


class Redone:
    """What `propose` drew from its generator, drawn again: the common sample, the raw batches, their EI on both."""

    def __init__(self, task: AcquisitionProblem, q: int = Q, seed: int = 3) -> None:
        generator = seeded(seed)
        pending = 0 if task.pending is None else len(task.pending)
        self.z = sobol_normals(q + pending, COMMON_SAMPLE, generator)
        self.raw = raw_batches(q, Box.unit(D), task.incumbents, STARTS, generator)
        ranking = columns(task, self.raw, self.z[:, :MINIBATCH]).mean(-1)
        self.x0 = self.raw[boltzmann(ranking, STARTS.restarts, STARTS.eta, generator)]
        self.best_ranked = self.raw[ranking.nan_to_num(-math.inf).argmax()]


# -- StartPolicy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restarts": 0}, "restarts must be between 1 and raw_batches"),
        ({"restarts": 9, "raw_batches": 8}, r"raw_batches \(8\), got 9"),
        ({"around_incumbents": -0.1}, "around_incumbents is a share"),
        ({"around_incumbents": 1.1}, "around_incumbents is a share"),
        ({"around_incumbents": math.nan}, "around_incumbents is a share"),
        ({"eta": 0.0}, "eta must be positive"),
        ({"eta": math.nan}, "eta must be positive"),
        ({"eta": math.inf}, "eta must be positive"),
    ],
)
def test_a_policy_that_starts_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StartPolicy(**options)


def test_the_smallest_policy_proposes() -> None:
    proposal = run(problem(), starts=StartPolicy(raw_batches=1, restarts=1))
    assert proposal.batch.shape == (Q, D)
    assert proposal.telemetry.spread == 0.0


# -- raw batches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_share_around_the_incumbents(share: float) -> None:
    """With 60 coordinates only a third is perturbed: the others are exactly an incumbent's."""
    box = Box.unit(60)
    incumbents = torch.rand(2, 60, dtype=DTYPE, generator=seeded(5))
    raw = raw_batches(Q, box, incumbents, StartPolicy(40, 4, share), seeded())
    assert raw.shape == (40, Q, 60)
    kept = (raw.unsqueeze(2) == incumbents).sum(-1).amax(-1)  # coordinates shared with the nearer incumbent
    near = round(40 * share)
    assert bool((kept[: 40 - near] == 0).all())
    assert bool((kept[40 - near :] > 10).all())


def test_raw_batches_without_incumbents_are_all_uniform() -> None:
    raw = raw_batches(3, SLANTED, torch.empty(0, 3, dtype=DTYPE), StartPolicy(1000, 1, 1.0), seeded())
    scaled = ((raw - SLANTED.lower) / (SLANTED.upper - SLANTED.lower)).reshape(-1, 3)
    assert bool(((raw >= SLANTED.lower) & (raw <= SLANTED.upper)).all())
    for coordinate in scaled.T.sort(-1).values:  # Kolmogorov-Smirnov at a level of about 1e-6
        grid = torch.arange(1, len(coordinate) + 1, dtype=DTYPE) / len(coordinate)
        assert float((coordinate - grid).abs().max()) < 2.7 / math.sqrt(len(coordinate))


def test_around_stays_in_the_box_and_always_moves() -> None:
    centre = SLANTED.lower + 0.5 * (SLANTED.upper - SLANTED.lower)
    near = around(centre.unsqueeze(0), (200, 4), SLANTED, seeded())
    assert bool(((near >= SLANTED.lower) & (near <= SLANTED.upper)).all())
    assert bool((near != centre).any(-1).all())
    corner = around(SLANTED.upper.unsqueeze(0), (200, 4), SLANTED, seeded())
    assert bool(((corner >= SLANTED.lower) & (corner <= SLANTED.upper)).all())


def test_around_scales_with_the_box() -> None:
    centre = (SLANTED.lower + SLANTED.upper) / 2
    moved = (around(centre.unsqueeze(0), (500, 2), SLANTED, seeded()) - centre) / (SLANTED.upper - SLANTED.lower)
    lengths = moved.abs().reshape(-1, 3).median(0).values
    assert float(lengths.max() / lengths.min()) < 1.5
    assert 1e-3 < float(lengths.mean()) < 0.1


@pytest.mark.parametrize(("d", "expected"), [(5, 5.0), (20, 20.0), (200, 20.9), (1000, 20.98)])
def test_around_moves_about_twenty_coordinates(d: int, expected: float) -> None:
    """20 of d by chance, and one always: 20 + (1 - 20 / d)."""
    centre = torch.full((1, d), 0.5, dtype=DTYPE)
    moved = (around(centre, (500, 4), Box.unit(d), seeded()) != centre).sum(-1).to(DTYPE)
    assert float(moved.min()) >= 1
    assert float(moved.mean()) == pytest.approx(expected, abs=5 * math.sqrt(20 / 2000))


def test_around_uses_every_incumbent() -> None:
    incumbents = torch.tensor([[0.1], [0.5], [0.9]], dtype=DTYPE).expand(3, 100)
    near = around(incumbents, (100, 3), Box.unit(100), seeded())
    nearest = (near.unsqueeze(2) == incumbents).sum(-1).argmax(-1)
    assert bool((torch.bincount(nearest.flatten(), minlength=3) > 60).all())


# -- Boltzmann --------------------------------------------------------------------------------------------------------


@given(st.lists(EVERY_NUMBER, min_size=1, max_size=12), st.data())
def test_boltzmann_takes_different_rows_finite_ones_first_and_the_best(numbers: list[float], data: Any) -> None:
    values = torch.tensor(numbers, dtype=DTYPE)
    count = data.draw(st.integers(1, len(numbers)))
    chosen = boltzmann(values, count, data.draw(st.sampled_from([0.1, 1.0, 50.0])), seeded())
    assert len(set(chosen.tolist())) == len(chosen) == count
    finite = torch.isfinite(values)
    assert int(finite[chosen].sum()) == min(count, int(finite.sum()))
    if bool(finite.any()):
        assert float(values[finite].max()) in values[chosen].tolist()


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(
    "values",
    [
        [1.0, math.nan, 1.0, math.nan, 1.0, 1.0, math.nan, 1.0],  # constant
        [math.nan, math.nan, 3.0, math.nan, math.nan],  # one
        [math.nan, -math.inf, 3.0, math.inf, 2.0],  # two
        [math.nan] * 5,  # none
        [0.0, 1e-320, 0.0, math.nan, 0.0],  # a spread that underflows
        [1e308, -1e308, math.nan, 0.0, 1.0],  # a spread that overflows
    ],
)
def test_boltzmann_never_prefers_a_row_without_a_value(values: list[float], count: int) -> None:
    row = torch.tensor(values, dtype=DTYPE)
    finite = torch.isfinite(row)
    for seed in range(20):
        chosen = boltzmann(row, count, 1.0, seeded(seed))
        assert len(set(chosen.tolist())) == count
        assert int(finite[chosen].sum()) == min(count, int(finite.sum()))
        if bool(finite.any()):
            assert float(row[finite].max()) in row[chosen].tolist()


def test_boltzmann_of_constant_values_is_uniform() -> None:
    values = torch.zeros(8, dtype=DTYPE)
    generator = seeded()
    counts = torch.stack([torch.bincount(boltzmann(values, 2, 1.0, generator), minlength=8) for _ in range(800)]).sum(0)
    # 200 expected; the first may count as the best and be chosen every time
    assert bool(((counts[1:] > 70) & (counts[1:] < 270)).all())


def test_boltzmann_draws_with_weights_exp_eta_standardised_value() -> None:
    """Of two rows the best is one; the first drawn of the others follows the weights."""
    values = torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=DTYPE)
    weights = torch.exp(1.5 * (values - values.mean()) / values.std())
    p = (weights / weights.sum()).tolist()
    # without the best: {i, j} drawn in the order i, j, then j gives way to the best; {i, best} in either order
    expected = [
        p[i] * (p[3] / (1 - p[i]) + sum(p[j] / (1 - p[i]) for j in range(3) if j != i)) + p[3] * p[i] / (1 - p[3])
        for i in range(3)
    ]
    generator, n = seeded(), 4000
    counts = torch.stack([torch.bincount(boltzmann(values, 2, 1.5, generator), minlength=4) for _ in range(n)]).sum(0)
    assert int(counts[3]) == n
    for count, chance in zip(counts[:3].tolist(), expected, strict=True):
        assert count / n == pytest.approx(chance, abs=4.5 * math.sqrt(chance * (1 - chance) / n))


def test_boltzmann_is_a_function_of_its_generator() -> None:
    values = torch.rand(64, dtype=DTYPE, generator=seeded(9))
    assert boltzmann(values, 8, 1.0, seeded(4)).tolist() == boltzmann(values, 8, 1.0, seeded(4)).tolist()
    assert len({tuple(boltzmann(values, 8, 1.0, seeded(s)).tolist()) for s in range(5)}) == 5


# -- what is proposed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pending", [None, torch.tensor([[0.55, 0.6]], dtype=DTYPE)], ids=["alone", "pending"])
@pytest.mark.parametrize("maximizer", ["Adam-ERM", "CAdam-ME", "L-BFGS-B", "RS"])
def test_telemetry_agrees_with_values_worked_out_anew(maximizer: str, pending: Tensor | None) -> None:
    task = problem(pending=pending)
    batch, telemetry = run(task, maximizer=maximizer)
    again = Redone(task)
    utilities = columns(task, batch.unsqueeze(0), again.z)[0]
    start_values = columns(task, again.x0, again.z).mean(-1).tolist()

    assert telemetry.acquisition_value == pytest.approx(float(utilities.mean()), rel=1e-9)
    assert telemetry.acquisition_error == pytest.approx(float(utilities.std()) / math.sqrt(COMMON_SAMPLE), rel=1e-9)
    assert telemetry.start_values == pytest.approx(start_values, rel=1e-9)
    assert telemetry.acquisition_gain == pytest.approx(telemetry.acquisition_value - max(start_values), abs=1e-12)
    assert telemetry.acquisition_value >= max(start_values) - 1e-12
    assert telemetry.acquisition_value >= float(columns(task, again.best_ranked.unsqueeze(0), again.z).mean()) - 1e-12
    assert telemetry.acquisition_value == max(telemetry.end_values)
    ends = torch.tensor(telemetry.end_values, dtype=DTYPE)
    assert telemetry.spread == pytest.approx(float(((ends - ends.mean()) ** 2).mean().sqrt()), rel=1e-9)
    assert all(end >= start for start, end in zip(telemetry.start_values, telemetry.end_values, strict=True))
    assert (telemetry.points, telemetry.pending) == (Q, 0 if pending is None else 1)
    assert (telemetry.maximizer, telemetry.acquisition) == (maximizer, "ei")
    if telemetry.winner == -1:
        assert bool((again.x0 == batch).all((1, 2)).any())
        assert telemetry.acquisition_gain == 0.0
    else:
        assert telemetry.end_values[telemetry.winner] == telemetry.acquisition_value
        assert telemetry.acquisition_gain > 0.0


def test_the_climb_gains_something() -> None:
    """So that the agreement above is not that of batches which never left their starts."""
    assert all(run(problem(), seed=seed).telemetry.winner >= 0 for seed in range(3))


def test_steps_that_only_harm_leave_the_best_start() -> None:
    """One step so long that every batch lands in the corners."""
    task = problem()
    batch, telemetry = run(task, maximizer="SGA-ERM", hyperparameters={"lr": 1e6}, budget=Budget(steps=1))
    again = Redone(task)
    start_values = columns(task, again.x0, again.z).mean(-1)
    assert (telemetry.winner, telemetry.acquisition_gain) == (-1, 0.0)
    assert torch.equal(batch, again.x0[start_values.argmax()])


def test_the_error_of_a_logarithm() -> None:
    """d log m = dm / m."""
    task = problem(LogEI(tau=1e-9))  # its softplus is ReLU but for what is left of the tail
    batch, telemetry = run(task)
    utilities = columns(task, batch.unsqueeze(0), Redone(task).z)[0]
    error = float(utilities.std() / utilities.mean()) / math.sqrt(COMMON_SAMPLE)
    assert telemetry.acquisition_value == pytest.approx(math.log(float(utilities.mean())), rel=1e-5)
    assert telemetry.acquisition_error == pytest.approx(error, rel=1e-5)


def test_pending_points_change_what_is_proposed() -> None:
    """A point that is being evaluated is worth nothing a second time."""
    alone = run(problem(), q=1, maximizer="L-BFGS-B", budget=Budget(steps=30)).batch
    beside = run(problem(pending=alone), q=1, maximizer="L-BFGS-B", budget=Budget(steps=30)).batch
    assert float((alone - beside).abs().max()) > 0.1


def test_a_box_of_its_own_holds() -> None:
    box = Box(torch.full((D,), 0.1, dtype=DTYPE), torch.full((D,), 0.2, dtype=DTYPE))
    task = problem(SR(), incumbents=torch.empty(0, D, dtype=DTYPE))
    batch = run(task, maximizer="L-BFGS-B", box=box).batch
    assert bool(((batch >= 0.1) & (batch <= 0.2)).all())
    assert float(batch.max()) == pytest.approx(0.2)  # the best mean is beyond


def test_the_same_seed_proposes_the_same() -> None:
    first, second, other = run(problem()), run(problem()), run(problem(), seed=4)
    assert torch.equal(first.batch, second.batch)
    assert first.telemetry.end_values == second.telemetry.end_values
    assert not torch.equal(first.batch, other.batch)


# -- verdicts ---------------------------------------------------------------------------------------------------------


def test_flat_where_nothing_can_improve() -> None:
    telemetry = run(problem(best=1e3)).telemetry
    assert telemetry.verdict is Verdict.FLAT, telemetry.reason
    assert (telemetry.acquisition_value, telemetry.acquisition_gain) == (0.0, 0.0)
    assert (telemetry.spread, telemetry.winner) == (0.0, -1)


@pytest.mark.parametrize("acquisition", [SR(), UCB(), EI()], ids=lambda a: a.name)
def test_converged_on_a_smooth_problem_given_the_steps(acquisition: Any) -> None:
    telemetry = run(problem(acquisition), q=1, maximizer="Adam-ERM", budget=Budget(steps=200)).telemetry
    assert telemetry.verdict is Verdict.CONVERGED, telemetry.reason


@pytest.mark.parametrize("acquisition", [SR(), UCB(), EI()], ids=lambda a: a.name)
def test_still_climbing_after_one_tiny_step(acquisition: Any) -> None:
    options = {"hyperparameters": {"lr": 1e-6}, "budget": Budget(steps=1), "starts": StartPolicy(4, 4, 0.0)}
    telemetry = run(problem(acquisition), q=4, maximizer="SGA-ERM", **options).telemetry
    assert telemetry.verdict is Verdict.CLIMBING, telemetry.reason
    assert telemetry.ascent_steps == 1


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
    assert "every restart failed" in telemetry.reason
    assert torch.equal(batch, again.x0[best])


@pytest.mark.parametrize("maximizer", ["Adam-ERM", "CAdam", "L-BFGS-B", "DE"])
def test_degraded_when_the_memory_does_not_do_for_one_step(maximizer: str) -> None:
    batch, telemetry = run(problem(), maximizer=maximizer, budget=Budget(steps=8, memory=1))
    again = Redone(problem())
    best = columns(problem(), again.x0, again.z).mean(-1).argmax()
    assert telemetry.verdict is Verdict.DEGRADED
    assert "memory budget" in telemetry.reason
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


# -- telemetry as data ------------------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Equality under which NaN equals itself."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


@pytest.mark.parametrize(
    "telemetry",
    [
        Telemetry(Verdict.DESIGN, "initial design"),  # all NaN
        replace(Telemetry(Verdict.DEGRADED, "x"), acquisition_value=-math.inf, end_values=(math.nan, -math.inf, 1.5)),
        run(problem()).telemetry,
        run(problem(), maximizer="DE").telemetry,  # no gradient norms
        run(problem(posterior=Broken(everywhere))).telemetry,
    ],
    ids=["design", "infinite", "real", "gradient-free", "degraded"],
)
def test_telemetry_survives_json(telemetry: Telemetry) -> None:
    back = Telemetry.from_dict(json.loads(json.dumps(telemetry.to_dict())))
    with pytest.raises(ValueError, match="another version of compbo cannot be read: it has gain"):
        Telemetry.from_dict({**telemetry.to_dict(), "gain": 1.0})
    assert back.verdict is telemetry.verdict
    assert [f.name for f in fields(Telemetry) if not same(getattr(back, f.name), getattr(telemetry, f.name))] == []
