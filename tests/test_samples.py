"""Base samples of the four forms."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compbo.acquisition.samples import (
    DEFAULT_K,
    FORMS,
    FreshSamples,
    PoolSamples,
    distinct_columns,
    make_samples,
    sobol_normals,
)

F64 = torch.float64


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def started(form: str, width: int = 3, seed: int = 0, **options: int) -> FreshSamples | PoolSamples:
    samples = make_samples(form, width, **options)
    samples.start(seeded(seed))
    return samples


class TestSobolNormals:
    def test_moments(self) -> None:
        z = sobol_normals(4, 4096, seeded(0))
        assert z.shape == (4, 4096)
        assert z.dtype == F64
        assert float(z.mean(-1).abs().max()) < 2e-3
        assert float((z.var(-1) - 1.0).abs().max()) < 2e-2
        assert float((torch.corrcoef(z) - torch.eye(4, dtype=F64)).abs().max()) < 2e-2

    def test_integrals_are_better_than_with_independent_draws(self) -> None:
        """Root mean square error of E max(z_1, z_2, 0) over scrambles, against i.i.d. draws of the same size."""

        def error(z: torch.Tensor) -> float:
            return float(z.amax(0).clamp_min(0.0).mean()) - truth

        fine = sobol_normals(2, 2**17, seeded(99))
        truth = float(fine.amax(0).clamp_min(0.0).mean())
        generator = seeded(1)
        sobol = [error(sobol_normals(2, 128, seeded(seed))) for seed in range(40)]
        independent = [error(torch.randn(2, 128, dtype=F64, generator=generator)) for _ in range(40)]
        rms = [math.sqrt(sum(e * e for e in errors) / 40) for errors in (sobol, independent)]
        assert rms[0] < rms[1] / 4

    @pytest.mark.parametrize("width", [1, 2, 64, 500])
    def test_finite_and_bounded_for_any_width(self, width: int) -> None:
        for seed in range(3):
            z = sobol_normals(width, 512, seeded(seed))
            assert torch.isfinite(z).all()
            assert float(z.abs().max()) < 6.5

    def test_the_border_of_the_cube_is_finite(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A scrambled sequence may contain 0, and its first point, kept in float32, may round to 1."""
        border = torch.tensor([[0.0, 1.0, 1.0 - 2.0**-30]], dtype=F64).mT
        monkeypatch.setattr(torch.quasirandom.SobolEngine, "draw", lambda *args, **kwargs: border.clone())
        z = sobol_normals(1, 3, seeded(0))
        assert torch.isfinite(z).all()
        assert float(z[0, 0]) < -6.0 < 6.0 < float(z[0, 2]) <= float(z[0, 1])


class TestDistinctColumns:
    @given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 10_000))
    def test_distinct_and_in_range(self, count: int, more: int, seed: int) -> None:
        columns = distinct_columns(count + more, count, seeded(seed))
        assert columns.shape == (count,)
        assert len(set(columns.tolist())) == count
        assert 0 <= int(columns.min()) <= int(columns.max()) < count + more

    @pytest.mark.parametrize(("pool", "count"), [(10, 3), (10, 5), (10, 8)])
    def test_every_column_and_every_pair_is_equally_likely(self, pool: int, count: int) -> None:
        rounds, generator = 4000, seeded(0)
        drawn = torch.zeros(rounds, pool, dtype=F64)
        for row in drawn:
            row[distinct_columns(pool, count, generator)] = 1.0
        single = count / pool
        tolerance = 4.5 * math.sqrt(single * (1 - single) / rounds)
        assert float((drawn.mean(0) - single).abs().max()) < tolerance
        pair = single * (count - 1) / (pool - 1)
        pairs = (drawn.mT @ drawn / rounds)[torch.ones(pool, pool).triu(1).bool()]
        assert float((pairs - pair).abs().max()) < 4.5 * math.sqrt(pair * (1 - pair) / rounds)

    def test_the_cost_does_not_grow_with_the_pool(self) -> None:
        """A permutation of this pool would take eight terabytes."""
        columns = distinct_columns(10**12, 128, seeded(0))
        assert len(set(columns.tolist())) == 128
        assert int(columns.max()) > 5 * 10**11


class TestFresh:
    @pytest.mark.parametrize("form", ["ERM", "ME"])
    def test_every_step_has_its_own_draw(self, form: str) -> None:
        samples = started(form)
        draws = [samples.draw() for _ in range(5)]
        assert all(draw.columns is None and draw.z.shape == (3, DEFAULT_K) for draw in draws)
        assert all(draw.size == DEFAULT_K for draw in draws)
        together = torch.cat([draw.z for draw in draws], -1)
        assert len({tuple(column) for column in together.mT.tolist()}) == 5 * DEFAULT_K

    def test_every_block_is_a_net_of_its_own(self) -> None:
        """In every coordinate, a block of 2^k points has one point in each of 2^k equally likely intervals."""
        samples = started("ERM", width=5, minibatch=64)
        for _ in range(6):
            cells = (torch.special.ndtr(samples.draw().z) * 64).long()
            assert torch.equal(cells.sort(-1).values, torch.arange(64).expand(5, 64))

    def test_draws_are_standard_normal(self) -> None:
        samples = started("ME", width=2)
        z = torch.cat([samples.draw().z for _ in range(40)], -1)
        assert float(z.mean(-1).abs().max()) < 5e-3
        assert float((z.var(-1) - 1.0).abs().max()) < 2e-2
        assert float((z**4).mean(-1).sub(3.0).abs().max()) < 0.3

    def test_a_column_is_independent_of_the_same_column_one_draw_later(self) -> None:
        """Points K apart in a Sobol sequence are not: ME pairs column k of zeta with sample k of the next draw."""
        steps, seeds, k = 4, 25, 128
        correlation = torch.zeros(4, steps - 1, dtype=F64)
        for seed in range(seeds):
            samples = started("ME", width=4, seed=seed, minibatch=k)
            z = torch.stack([samples.draw().z for _ in range(steps)], 1)
            correlation += (z[:, 1:] * z[:, :-1]).mean(-1) / seeds
        assert float(correlation.abs().max()) < 4.0 / math.sqrt(k * seeds)

    def test_zeta_has_k_columns(self) -> None:
        samples = started("ME", minibatch=32)
        assert samples.pool_size == samples.minibatch == 32
        assert samples.expectation_draw().z.shape == (3, 32)
        assert samples.expectation_draw().columns is None


class TestPool:
    @pytest.mark.parametrize("form", ["FSM", "Comp"])
    def test_a_pool_of_k_t_columns_drawn_once(self, form: str) -> None:
        samples = started(form, minibatch=16, steps=8)
        assert samples.pool_size == 128
        whole = samples.expectation_draw()
        assert whole.z.shape == (3, 128)
        assert torch.equal(whole.columns, torch.arange(128))
        for _ in range(20):
            draw = samples.draw()
            assert draw.z.shape == (3, 16)
            assert len(set(draw.columns.tolist())) == 16
            assert torch.equal(draw.z, whole.z[:, draw.columns])
        assert torch.equal(samples.expectation_draw().z, whole.z)

    def test_draws_differ_from_step_to_step(self) -> None:
        samples = started("Comp", minibatch=16, steps=8)
        drawn = {tuple(samples.draw().columns.tolist()) for _ in range(20)}
        assert len(drawn) == 20

    def test_comp_pools_are_independent_and_fsm_pools_are_nets(self) -> None:
        cells = {}
        for form in ("FSM", "Comp"):
            z = started(form, width=2, minibatch=64, steps=16).expectation_draw().z
            assert float(z.mean(-1).abs().max()) < 4.0 / math.sqrt(1024)
            assert float((z.var(-1) - 1.0).abs().max()) < 4.0 * math.sqrt(2.0 / 1024)
            cells[form] = torch.special.ndtr(z[0]).mul(1024).long().unique().numel()
        assert cells["FSM"] == 1024
        assert 580 < cells["Comp"] < 715  # (1 - 1/e) 1024 = 647 expected

    def test_a_pool_of_one_minibatch_is_always_whole(self) -> None:
        samples = started("Comp", minibatch=8, steps=1)
        assert sorted(samples.draw().columns.tolist()) == list(range(8))


class TestDeterminism:
    @pytest.mark.parametrize("form", FORMS)
    def test_same_generator_same_draws_and_a_restart_begins_anew(self, form: str) -> None:
        def run(samples: FreshSamples | PoolSamples, seed: int) -> list[torch.Tensor]:
            samples.start(seeded(seed))
            return [samples.expectation_draw().z, *(samples.draw().z for _ in range(3))]

        one, two = make_samples(form, 3, minibatch=16, steps=4), make_samples(form, 3, minibatch=16, steps=4)
        first = run(one, 7)
        assert all(torch.equal(a, b) for a, b in zip(first, run(two, 7), strict=True))
        assert all(torch.equal(a, b) for a, b in zip(first, run(one, 7), strict=True))
        assert not any(torch.equal(a, b) for a, b in zip(first, run(one, 8), strict=True))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("MC", 3), {}, "form 'MC' is unknown; choose one of ERM, FSM, Comp, ME"),
        (("ERM", 0), {}, "ERM: width and minibatch must be at least 1, got 0 and 128"),
        (("Comp", 2), {"minibatch": 0}, "Comp: width and minibatch must be at least 1, got 2 and 0"),
        (("FSM", 2), {"steps": 0}, "FSM: the pool of 0 samples is smaller than the minibatch of 128"),
    ],
)
def test_bad_input_is_named(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_samples(*arguments, **options)


@pytest.mark.parametrize("form", ["FSM", "Comp"])
def test_a_pool_does_not_grow_with_steps_that_only_a_time_limit_ends(form: str) -> None:
    assert make_samples(form, 2, minibatch=128, steps=1024).pool_size == 128 * 1024
    assert make_samples(form, 2, minibatch=128, steps=10**9).pool_size == 128 * 1024
    assert make_samples(form, 2, minibatch=200_000, steps=2).pool_size == 200_000  # a whole draw
