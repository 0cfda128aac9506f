"""One maximisation: where it starts, what it chooses, what it says about itself."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from compbo.acquisition.integrands import SR
from compbo.bo.starts import StartPolicy, around, boltzmann, raw_batches
from compbo.bo.telemetry import Telemetry
from compbo.bo.verdict import Verdict
from compbo.types import DTYPE, Box, Budget
from propose_examples import Broken, D, Q, Redone, columns, everywhere, problem, run, seeded

SLANTED = Box(torch.tensor([-2.0, 10.0, 0.0], dtype=DTYPE), torch.tensor([-1.0, 30.0, 1e-3], dtype=DTYPE))
EVERY_NUMBER = st.floats(allow_nan=True, allow_infinity=True, width=32)


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
