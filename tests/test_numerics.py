"""The policy for what goes wrong in floating point."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compbo import numerics
from compbo.numerics import JITTER_LADDER, cholesky, inverse_of_factor, lower_inverse, standardise

F64 = torch.float64


def spd(m: int, seed: int, smallest: float = 0.1) -> torch.Tensor:
    """A symmetric matrix with eigenvalues from `smallest` to 1."""
    generator = torch.Generator().manual_seed(seed)
    basis, _ = torch.linalg.qr(torch.randn(m, m, dtype=F64, generator=generator))
    return (basis * torch.linspace(smallest, 1.0, m, dtype=F64)) @ basis.mT


def relative_error(factor: torch.Tensor, matrix: torch.Tensor) -> float:
    return float((factor @ factor.mT - matrix).abs().max() / matrix.abs().max())


class TestCholesky:
    def test_well_conditioned_matrices_get_no_jitter(self) -> None:
        batch = torch.stack([spd(5, seed) for seed in range(4)])
        factor, jitter, failed = cholesky(batch)
        assert torch.equal(factor, torch.linalg.cholesky(batch))
        assert torch.equal(jitter, torch.zeros(4, dtype=F64))
        assert not failed.any()

    def test_only_the_lower_triangle_is_read(self) -> None:
        matrix = spd(4, 0)
        scribbled = torch.where(torch.ones(4, 4).triu(1).bool(), torch.nan, matrix)
        assert torch.equal(cholesky(scribbled).factor, cholesky(matrix).factor)
        assert not cholesky(scribbled).failed

    def test_a_bad_matrix_does_not_disturb_the_others(self) -> None:
        good = torch.stack([spd(4, seed) for seed in range(3)])
        singular = torch.ones(4, 4, dtype=F64)
        hopeless = -torch.eye(4, dtype=F64)
        batch = torch.stack([good[0], singular, good[1], hopeless, good[2]])
        factor, jitter, failed = cholesky(batch)
        assert torch.equal(factor[[0, 2, 4]], torch.linalg.cholesky(good))
        assert torch.equal(jitter[[0, 2, 4]], torch.zeros(3, dtype=F64))
        assert failed.tolist() == [False, False, False, True, False]
        assert torch.equal(factor[3], torch.eye(4, dtype=F64))
        assert 0 < jitter[1] <= 1e-7
        assert relative_error(factor[1], singular) < 2e-7

    @pytest.mark.parametrize("level", range(len(JITTER_LADDER)))
    @pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
    def test_the_ladder_is_relative_to_the_diagonal_and_stops_at_the_first_rung(self, level: int, scale: float) -> None:
        # eigenvalues 2 and -deficit, mean of the diagonal about 1: the first rung above the deficit mends it
        deficit = 0.5 * JITTER_LADDER[level]
        matrix = torch.tensor([[1.0, 1.0 + deficit], [1.0 + deficit, 1.0]], dtype=F64) * scale
        factor, jitter, failed = cholesky(matrix)
        assert not failed
        assert float(jitter) == JITTER_LADDER[level]
        expected = matrix + JITTER_LADDER[level] * scale * torch.eye(2, dtype=F64)
        assert relative_error(factor, expected) < 1e-14

    def test_above_the_ladder_it_is_marked(self) -> None:
        deficit = 2.0 * JITTER_LADDER[-1]
        chol = cholesky(torch.tensor([[1.0, 1.0 + deficit], [1.0 + deficit, 1.0]], dtype=F64))
        assert bool(chol.failed)
        assert float(chol.jitter) == JITTER_LADDER[-1]

    @pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("entry", [(0, 0), (2, 1), (2, 2)])
    def test_non_finite_entries_are_failures(self, poison: float, entry: tuple[int, int]) -> None:
        batch = torch.stack([spd(3, 0), spd(3, 1)])
        batch[0][entry] = poison
        factor, _, failed = cholesky(batch)
        assert failed.tolist() == [True, False]
        assert torch.isfinite(factor).all()
        assert torch.equal(factor[1], torch.linalg.cholesky(batch[1]))

    def test_zero_covariance_has_a_finite_factor(self) -> None:
        factor, _, failed = cholesky(torch.zeros(2, 3, 3, dtype=F64))
        assert not failed.any()
        assert torch.isfinite(factor).all()
        assert float(factor.abs().max()) < 1e-100

    def test_jitter_is_never_relative_to_less_than_the_rounding(self) -> None:
        # a variance of 1 - 1 that rounding left at -1e-16: hopeless by itself, fine when its rounding is known
        variance = torch.tensor([[-1e-16]], dtype=F64)
        assert bool(cholesky(variance).failed)
        factor, jitter, failed = cholesky(variance, rounding=1e-13)
        assert not failed
        assert 0 < float(factor) < 1e-7
        assert float(jitter) <= 1e-3

    @given(st.integers(0, 1000), st.integers(1, 8), st.integers(-14, -2))
    def test_factors_reproduce_their_matrix(self, seed: int, m: int, exponent: int) -> None:
        matrix = spd(m, seed, 10.0**exponent)
        factor, jitter, failed = cholesky(matrix)
        assert not failed
        assert relative_error(factor, matrix) < 1e-13 + 2.0 * float(jitter)


@pytest.mark.parametrize("m", [1, 2, 7, 90])
def test_one_matrix_is_factored_and_inverted(m: int) -> None:
    """The way of a single matrix (LAPACK through SciPy) against that of a batch and against PyTorch's inverse."""
    matrix = spd(m, m)
    factor = cholesky(matrix).factor
    torch.testing.assert_close(factor, cholesky(matrix[None]).factor[0], rtol=0, atol=1e-14)
    inverse_factor = inverse_of_factor(factor)
    torch.testing.assert_close(inverse_factor @ factor, torch.eye(m, dtype=F64), rtol=0, atol=1e-12)
    assert torch.equal(inverse_factor.triu(1), torch.zeros(m, m, dtype=F64))
    torch.testing.assert_close(lower_inverse(inverse_factor), torch.linalg.inv(matrix).tril(), rtol=0, atol=1e-11)
    assert torch.equal(matrix, spd(m, m))


def test_a_factor_from_the_ladder_is_inverted_as_well() -> None:
    """A matrix that needed jitter comes from PyTorch, with another order in memory."""
    factor, jitter, _ = cholesky(torch.ones(5, 5, dtype=F64))
    assert float(jitter) > 0
    torch.testing.assert_close(inverse_of_factor(factor) @ factor, torch.eye(5, dtype=F64), rtol=0, atol=1e-9)


class TestStandardise:
    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
    def test_any_finite_values(self, values: list[float]) -> None:
        y = torch.tensor(values, dtype=F64)
        out = standardise(y)
        assert torch.isfinite(out.values).all()
        assert math.isfinite(out.mean)
        assert math.isfinite(out.scale)
        assert out.scale > 0
        # y = mean + scale * values, up to the rounding of the largest of them
        largest = float(y.abs().max())
        restored = out.mean / 2 + out.values * (out.scale / 2)  # halved, so that the check itself cannot overflow
        assert float((restored - y / 2).abs().max()) <= 1e-12 * largest + 1e-320

    @pytest.mark.parametrize("magnitude", [1e-300, 1e-8, 1.0, 1e8, 1e300])
    def test_mean_and_variance(self, magnitude: float) -> None:
        y = torch.tensor([1.0, 2.0, 4.0, -3.0], dtype=F64) * magnitude
        out = standardise(y)
        assert float(out.values.mean()) == pytest.approx(0.0, abs=1e-15)
        assert float(out.values.std()) == pytest.approx(1.0, rel=1e-14)
        assert out.mean == pytest.approx(magnitude, rel=1e-14)
        assert out.scale == pytest.approx(magnitude * math.sqrt(26 / 3), rel=1e-14)

    @pytest.mark.parametrize("value", [0.0, 3.0, -1e300, 1e-300])
    @pytest.mark.parametrize("count", [1, 5])
    def test_constants_are_zero(self, value: float, count: int) -> None:
        out = standardise(torch.full((count,), value, dtype=F64))
        assert torch.equal(out.values, torch.zeros(count, dtype=F64))
        assert out.mean == pytest.approx(value, rel=1e-14)
        assert out.scale > 0

    def test_constants_up_to_rounding_are_constants(self) -> None:
        y = torch.full((7,), 0.1, dtype=F64) * 3.0
        y[3] = 0.3
        assert torch.equal(standardise(y).values, torch.zeros(7, dtype=F64))

    def test_the_largest_numbers_do_not_overflow(self) -> None:
        biggest = torch.finfo(F64).max
        out = standardise(torch.tensor([biggest, -biggest], dtype=F64))
        assert math.isfinite(out.scale)
        assert out.values.tolist() == pytest.approx([1.0, -1.0])


@pytest.mark.skipif(not numerics.keep_freed_memory(), reason="only glibc keeps freed memory on request")
def test_the_environment_decides_whether_freed_memory_is_kept() -> None:
    script = "from compbo.numerics import keep_freed_memory\nprint(keep_freed_memory())"
    for value, kept in (("0", "False"), ("1", "True")):
        environment = {**os.environ, "COMPBO_KEEP_MEMORY": value}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == kept
