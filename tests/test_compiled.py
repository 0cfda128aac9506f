"""The compiled backend: the same numbers as PyTorch's to rounding, and who chooses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import compbo
from compbo import OptionError
from compbo.acquisition.integrands import EI, PI, SR, UCB, LogEI, winners
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import FreshSamples, sobol_normals
from compbo.backend import chosen_backend
from compbo.compiled.build import digest_of_sources
from compbo.compiled.choice import backend_of, make_oracle, oracle_threads
from compbo.compiled.oracle import CompiledMaxima, CompiledOracle, is_covered
from compbo.surrogate.features import LINEAR
from compbo.surrogate.gp import posterior_with
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.log_posterior import Hyperparameters
from compbo.surrogate.posterior import GPPosterior, Posterior, with_pending
from compbo.types import Draw
from maximizer_toys import seeded

F64 = torch.float64
ACQUISITIONS = [EI(), PI(tau=0.3), SR(), UCB(beta=2.0), LogEI(tau=0.1), LogEI()]
NAMES = ["ei", "pi", "sr", "ucb", "logei", "logei, small tau"]
COLUMNS = 32


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, dtype=F64, generator=seeded(seed))


def gp(
    kernel: str = "matern52", n: int = 30, d: int = 3, *, noise: float = 1e-3, rounder: object = None
) -> GPPosterior:
    x = rand(n, d, seed=1)
    y = (5.0 * x).sin().sum(-1)
    return GPPosterior(
        x,
        (y - y.mean()) / y.std(correction=0).clamp_min(0.1),
        kernel=get_kernel(kernel),
        lengthscale=torch.linspace(0.4, 0.9, d, dtype=F64),
        outputscale=1.3,
        noise=noise,
        output_shift=0.2,
        output_scale=0.7,
        rounder=rounder,
    )


def pair(acquisition: object, posterior: Posterior, q: int = 3) -> tuple[AcquisitionOracle, CompiledOracle]:
    parts = (acquisition, posterior, FreshSamples(q + posterior.extra_points, COLUMNS), 0.4)
    return AcquisitionOracle(*parts), CompiledOracle(*parts)


def assert_same(
    acquisition: object,
    posterior: Posterior,
    x: torch.Tensor,
    *,
    relative: float = 1e-8,
    rows: int | None = None,
) -> None:
    """Columns, values and gradients agree, the gradients relative to the largest of their batch."""
    reference, compiled = pair(acquisition, posterior, x.shape[1])
    draw = Draw(sobol_normals(x.shape[1] + posterior.extra_points, COLUMNS, seeded(3)))
    wanted, found = reference.inner(x, draw, rows), compiled.inner(x, draw, rows)
    assert float((found.v - wanted.v).abs().max()) <= relative * float(wanted.v.abs().max())
    torch.testing.assert_close(compiled.outer(found.v), reference.outer(wanted.v), rtol=relative, atol=1e-12)
    torch.testing.assert_close(compiled.value(x, draw), reference.value(x, draw), rtol=relative, atol=1e-12)
    c = reference.outer_gradient(wanted.v[:rows])
    torch.testing.assert_close(compiled.outer_gradient(wanted.v[:rows]), c, rtol=1e-13, atol=0.0)
    gradient, expected = found.pullback(c), wanted.pullback(c)
    assert gradient.shape == expected.shape
    if len(expected) > 0:
        size = expected.abs().amax((1, 2), keepdim=True)
        assert bool(((gradient - expected).abs() <= relative * size).all())
    assert torch.equal(found.failed, wanted.failed)
    assert found.jitter == wanted.jitter


# -- the same numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=NAMES)
@pytest.mark.parametrize("kernel", ["matern52", "se"])
class TestSameNumbers:
    def test_values_and_gradients(self, acquisition: object, kernel: str) -> None:
        assert_same(acquisition, gp(kernel), rand(5, 3, 3))

    def test_with_rounding(self, acquisition: object, kernel: str) -> None:
        assert_same(acquisition, gp(kernel, rounder=lambda x: (4.0 * x).round() / 4.0), rand(5, 2, 3))

    def test_where_the_data_are_ill_conditioned(self, acquisition: object, kernel: str) -> None:
        posterior = gp(kernel, n=40, noise=1e-6)
        assert not posterior.well_conditioned
        assert_same(acquisition, posterior, rand(5, 3, 3))


@pytest.mark.parametrize("n", [1, 30, 250])
@pytest.mark.parametrize("q", [1, 3, 300])
def test_any_number_of_points_and_observations(n: int, q: int) -> None:
    """One batch at a time, several, and blocks of the triangular product."""
    assert_same(UCB(), gp(n=n, d=8), rand(3, q, 8))


@pytest.mark.parametrize("rows", [0, 2, 5])
@pytest.mark.parametrize("n", [30, 250])
def test_gradients_of_the_first_rows(rows: int, n: int) -> None:
    assert_same(UCB(), gp(n=n), rand(5, 3, 3), rows=rows)


def test_many_batches_are_the_same_as_one() -> None:
    """Chunks leave no trace: a batch among many has the bits that it has alone."""
    _, compiled = pair(UCB(), gp(), q=16)
    x, draw = rand(40, 16, 3), Draw(sobol_normals(16, COLUMNS, seeded(3)))
    together = compiled.inner(x, draw)
    apart = [compiled.inner(x[i : i + 16], draw) for i in range(0, 40, 16)]
    assert torch.equal(together.v, torch.cat([inner.v for inner in apart]))
    c = compiled.outer_gradient(together.v)
    parts = [inner.pullback(c[16 * i : 16 * (i + 1)]) for i, inner in enumerate(apart)]
    assert torch.equal(together.pullback(c), torch.cat(parts))


def test_a_batch_without_a_factor_climbs_the_ladder() -> None:
    """Equal points: jitter is needed, and both oracles say how much."""
    x = rand(4, 6, 3)
    x[2, :4] = x[2, 0]
    reference, compiled = pair(SR(), gp(), 6)
    draw = Draw(sobol_normals(6, COLUMNS, seeded(3)))
    wanted, found = reference.inner(x, draw), compiled.inner(x, draw)
    assert wanted.jitter > 0.0
    assert found.jitter == wanted.jitter
    assert torch.equal(found.v, wanted.v)


def test_points_that_are_not_numbers_have_no_factor() -> None:
    x = rand(4, 2, 3)
    x[1, 0, 0] = torch.nan
    _, compiled = pair(SR(), gp(), 2)
    assert compiled.inner(x, Draw(sobol_normals(2, COLUMNS, seeded(3)))).failed.tolist() == [False, True, False, False]


def test_memory_of_any_layout() -> None:
    assert_same(UCB(), gp(), rand(3, 3, 5).permute(2, 1, 0))


class TestWinners:
    def test_ties_are_shared(self) -> None:
        v = torch.tensor([[[1.0, 2.0], [1.0, 0.0]]], dtype=F64)
        assert CompiledMaxima.winners(v, 0.5).tolist() == [[[0.25, 0.5], [0.25, 0.0]]]

    def test_a_column_without_a_number_has_none(self) -> None:
        v = torch.tensor([[[torch.nan, 2.0], [1.0, 0.0]]], dtype=F64)
        assert CompiledMaxima.winners(v).tolist() == winners(v).tolist()
        assert bool(CompiledMaxima.maxima(v)[0, 0].isnan())

    @pytest.mark.parametrize("shape", [(1,), (4, 1, 1), (4, 1, 7)])
    def test_weights_of_any_shape(self, shape: tuple[int, ...]) -> None:
        v, weight = rand(4, 3, 7), rand(*shape, seed=2)
        assert torch.equal(CompiledMaxima.winners(v, weight), winners(v, weight))


# -- which one is used ------------------------------------------------------------------------------------------------


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPBO_BACKEND", "compiled")


def oracle_of(acquisition: object, posterior: Posterior) -> AcquisitionOracle:
    return make_oracle(acquisition, posterior, FreshSamples(2), 0.0)


class TestChoice:
    def test_it_has_to_be_asked_for_although_numba_is_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COMPBO_BACKEND", raising=False)
        assert chosen_backend() == "single"
        assert backend_of(oracle_of(UCB(), gp())) == "torch"

    def test_another_name_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COMPBO_BACKEND", "cuda")
        with pytest.raises(OptionError, match="COMPBO_BACKEND must be 'torch', 'single' or 'compiled', got 'cuda'"):
            chosen_backend()

    @pytest.mark.usefixtures("compiled")
    def test_without_numba_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "numba", None)
        with pytest.raises(ModuleNotFoundError, match=r'pip install "compbo\[fast\]"'):
            chosen_backend()

    @pytest.mark.usefixtures("compiled")
    @pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=NAMES)
    def test_what_is_compiled(self, acquisition: object) -> None:
        assert backend_of(oracle_of(acquisition, gp())) == "compiled"
        assert backend_of(oracle_of(acquisition, with_pending(gp(), rand(2, 3)))) == "torch"

    @pytest.mark.usefixtures("compiled")
    def test_what_is_not_takes_torch(self) -> None:
        class Own(UCB):
            pass

        theta = Hyperparameters(torch.ones(3, dtype=F64), 1.0, 1e-3)
        features = posterior_with(LINEAR, rand(8, 3), rand(8, seed=2), theta)
        assert backend_of(oracle_of(UCB(), features)) == "torch"
        assert backend_of(oracle_of(Own(), gp())) == "torch"
        assert not is_covered(Own(), gp())


def run(storage: Path, evaluations: int = 1, **options: object) -> compbo.Result:
    space = {"x": compbo.Float(0, 1), "y": compbo.Float(0, 1)}
    small = {"starts": compbo.StartPolicy(raw_batches=16, restarts=4), "budget": compbo.Budget(steps=4)}
    return compbo.minimize(
        lambda p: (p["x"] - 0.3) ** 2 + p["y"], space, storage=storage, evaluations=evaluations, **small, **options
    )


@pytest.mark.usefixtures("compiled")
class TestRun:
    def test_an_ask_names_its_backend(self, tmp_path: Path) -> None:
        result = run(tmp_path / "run.db", 4, initial_points=2)
        assert [ask.backend for ask in result.optimizer.telemetry] == ["", "", "compiled", "compiled"]

    def test_a_resumed_run_is_the_uninterrupted_one(self, tmp_path: Path) -> None:
        whole = run(tmp_path / "whole.db", 6, initial_points=2)
        run(tmp_path / "parts.db", 4, initial_points=2)
        resumed = run(tmp_path / "parts.db", 6, initial_points=2)
        assert len(whole.records) == 6
        assert [r.params for r in resumed.records] == [r.params for r in whole.records]

    def test_a_resume_with_another_backend_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        run(tmp_path / "run.db")
        run(tmp_path / "run.db")
        assert "backend" not in caplog.text
        monkeypatch.setenv("COMPBO_BACKEND", "torch")
        run(tmp_path / "run.db")
        assert "begun with the backend compiled and goes on with torch" in caplog.text
        assert "COMPBO_BACKEND=compiled" in caplog.text

    def test_threads_change_no_bit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two threads are there and allowed; the compiled oracle has one of each kind."""
        from threadpoolctl import ThreadpoolController

        before = torch.get_num_threads()
        monkeypatch.setenv("COMPBO_THREADS", "2")
        try:
            torch.set_num_threads(2)
            with ThreadpoolController().limit(limits=2, user_api="blas"), oracle_threads(oracle_of(UCB(), gp()), 1e12):
                used = {lib["num_threads"] for lib in ThreadpoolController().select(user_api="blas").info()}
                assert used == {1}
                assert torch.get_num_threads() == 1
        finally:
            torch.set_num_threads(before)


# -- what is kept on disk ---------------------------------------------------------------------------------------------


def test_a_change_of_any_file_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "compiled"
    shutil.copytree(Path(compbo.__file__).parent / "compiled", folder)
    before = digest_of_sources(folder)
    (folder / "kernels.py").write_text("# other\n")
    assert digest_of_sources(folder) != before


def test_compiled_code_is_kept_and_found(tmp_path: Path) -> None:
    """A second process compiles nothing."""
    code = (
        "import torch; from compbo.compiled.columns import maxima; v = torch.ones(1, 2, 3).double().numpy();"
        "maxima(v, v[0, :1].copy()); print(sum(maxima.stats.cache_hits.values()))"
    )
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    hits = [
        subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert [int(found) for found in hits] == [0, 1]
