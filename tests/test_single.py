"""Single precision: close to double where the condition of C allows it, batches as good, and who uses it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor

import compbo
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import get_acquisition
from compbo.acquisition.samples import FreshSamples, sobol_normals
from compbo.bo.choice import COMMON_SAMPLE
from compbo.bo.propose import AcquisitionProblem, Proposal, propose
from compbo.bo.starts import StartPolicy
from compbo.compiled.choice import backend_of, climbing_oracle, make_oracle
from compbo.maximizers import make_maximizer
from compbo.study.cell import Cell, InnerSpec, SurrogateSpec, maximizer_method
from compbo.study.engine.experiment import run_cell
from compbo.surrogate.features import LINEAR
from compbo.surrogate.gp import GP, Hyperparameters, fit_gp, posterior_with
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.posterior import BACK_BY_BLOCKS_FROM, GPPosterior, Posterior, times_lower, with_pending
from compbo.surrogate.single import (
    SinglePosterior,
    in_single,
    is_safe_in_single,
    is_single,
    rounding_in_single,
)
from compbo.types import Budget, Draw

F64 = torch.float64
STARTS, BUDGET = StartPolicy(raw_batches=64, restarts=6), Budget(steps=16)
SMALL_SHARE = 0.02  # of what a climb gains: a batch that is worse by less is as good


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rand(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, dtype=F64, generator=seeded(seed))


def gp(n: int = 40, d: int = 3, noise: float = 1e-3, kernel: str = "matern52", lengthscale: float = 0.5) -> GPPosterior:
    x = rand(n, d, seed=1)
    y = torch.sin(5 * x).sum(-1)
    scale = torch.full((d,), lengthscale, dtype=F64)
    standard = (y - y.mean()) / y.std()
    return GPPosterior(x, standard, kernel=get_kernel(kernel), lengthscale=scale, outputscale=2.0, noise=2.0 * noise)


@cache
def model(n: int, d: int, noise: float | None = None) -> GP:
    """Fitted to the middle of a run: half of the points lie around a good one."""
    x = rand(n, d, seed=n)
    x[n // 2 :] = (0.4 + 0.1 * torch.randn(n - n // 2, d, dtype=F64, generator=seeded(d))).clamp(0, 1)
    return fit_gp(x, -((x - 0.4) ** 2).sum(-1) + 0.1 * torch.cos(12 * x).sum(-1), noise=noise)


def covariance(posterior: Posterior, x: Tensor) -> Tensor:
    factor = posterior(x).factor
    return factor @ factor.mT


def gradient(posterior: Posterior, x: Tensor) -> Tensor:
    """Of the mean, and of a sum of all entries of the factor."""
    batch = posterior(x)
    return batch.pullback(torch.ones_like(batch.mean), torch.ones_like(batch.factor).tril())


# -- the posterior ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [40, 250])  # without blocks, and with them
@pytest.mark.parametrize("kernel", ["matern52", "se"])
@pytest.mark.parametrize("pending", [0, 2])
def test_it_is_the_posterior_to_single_precision(n: int, kernel: str, pending: int) -> None:
    double = with_pending(gp(n, 6, 1e-2, kernel), rand(pending, 6, seed=4))
    single, x = in_single(double), rand(5, 3, 6, seed=2)
    assert is_single(single)
    mean = single(x).mean
    assert mean.dtype == F64
    assert 0 < float((mean - double(x).mean).abs().max()) < 1e-5
    assert covariance(single, x) == pytest.approx(covariance(double, x), abs=1e-5)
    right = gradient(double, x)
    assert gradient(single, x).dtype == F64
    assert float((gradient(single, x) - right).norm() / right.norm()) < 1e-4


@pytest.mark.parametrize("noise", [1e-1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("lengthscale", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("d", [2, 20])
def test_rounding_is_no_larger_than_it_is_said_to_be(noise: float, lengthscale: float, d: int) -> None:
    """At points near the observations, where it matters."""
    double = gp(120, d, noise, lengthscale=lengthscale)
    x = (rand(120, d, seed=1)[:96] + 0.01 * rand(96, d, seed=3)).reshape(24, 4, d)
    error = (covariance(SinglePosterior(double), x) - covariance(double, x)).abs().max() / double.scale**2
    assert float(error) < rounding_in_single(double)


def test_products_with_a_triangle() -> None:
    left, lower = rand(7, 250), rand(250, 250, seed=1).tril()
    assert times_lower(left, lower) == pytest.approx(left @ lower, rel=1e-12)


@pytest.mark.parametrize("n", [515, 516, 640])
def test_in_double_the_zeros_are_skipped_beyond_the_studys_observations(n: int) -> None:
    """With up to 515 observations a product with the factor is one product, whose bits recorded runs rest on."""
    double = gp(n, 3, 1e-7)
    assert not double.well_conditioned
    half = rand(5, n)
    plain = half @ double.inverse_factor
    assert double.through_factor(half) == pytest.approx(plain, rel=1e-9, abs=1e-9 * float(plain.abs().max()))
    assert BACK_BY_BLOCKS_FROM == 516
    assert n >= BACK_BY_BLOCKS_FROM or torch.equal(double.through_factor(half), plain)


def test_points_that_all_but_coincide_with_an_observation_have_a_factor() -> None:
    """Their covariance is as small as the noise, and nearly singular: rounding makes it indefinite."""
    single, x = in_single(gp(noise=1e-4)), rand(40, 1, 3, seed=1) + 1e-4 * rand(40, 4, 3, seed=5)
    assert is_single(single)
    batch = single(x)
    assert batch.jitter > 0
    assert not bool(batch.failed.any())
    assert bool(torch.isfinite(gradient(single, x)).all())


def test_it_needs_half_of_the_memory() -> None:
    assert 2 * in_single(gp()).bytes_per_row() == gp().bytes_per_row()


class TestWhereItIsSafe:
    @pytest.mark.parametrize("noise", [1e-6, 1e-7, 1e-9])
    @pytest.mark.parametrize("pending", [0, 2])
    def test_not_with_little_noise(self, noise: float, pending: int) -> None:
        double = with_pending(gp(noise=noise), rand(pending, 3))
        assert in_single(double) is double

    def test_not_with_very_short_lengthscales(self) -> None:
        assert not is_safe_in_single(gp(lengthscale=1e-3))

    def test_not_for_other_posteriors(self) -> None:
        theta = Hyperparameters(torch.ones(3, dtype=F64), 1.0, 1e-3)
        features = posterior_with(LINEAR, rand(8, 3), rand(8, seed=2), theta)
        assert in_single(features) is features


# -- which one is used ------------------------------------------------------------------------------------------------


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPBO_BACKEND", "single")


def oracle_over(posterior: Posterior) -> AcquisitionOracle:
    return make_oracle(get_acquisition("ucb"), posterior, FreshSamples(2), 0.0)


class TestChoice:
    def test_it_is_the_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COMPBO_BACKEND", raising=False)
        oracle = oracle_over(gp())
        assert climbing_oracle(oracle) is not oracle

    @pytest.mark.parametrize("backend", ["torch", "compiled"])
    def test_the_other_backends_climb_in_double(self, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
        monkeypatch.setenv("COMPBO_BACKEND", backend)
        oracle = oracle_over(gp())
        assert climbing_oracle(oracle) is oracle

    @pytest.mark.usefixtures("single")
    @pytest.mark.parametrize("pending", [0, 2])
    def test_it_climbs_and_does_not_choose(self, pending: int) -> None:
        oracle = oracle_over(with_pending(gp(), rand(pending, 3)))
        assert backend_of(oracle) == "torch"
        assert backend_of(climbing_oracle(oracle)) == "single"
        assert climbing_oracle(oracle).samples is oracle.samples

    @pytest.mark.usefixtures("single")
    def test_double_where_it_is_not_safe(self) -> None:
        oracle = oracle_over(gp(noise=1e-7))
        assert climbing_oracle(oracle) is oracle


def ask(
    fitted: GP, acquisition: str, maximizer: str, *, q: int = 4, seed: int = 0, pending: int = 0, **options: object
) -> Proposal:
    d = fitted.train_x.shape[1]
    best = fitted.train_x[fitted.train_y.argsort(descending=True)[:4]]
    beside = rand(pending, d, seed=9) if pending else None
    problem = AcquisitionProblem(fitted.posterior, get_acquisition(acquisition), fitted.best, best, beside)
    settings = {"budget": BUDGET, "starts": STARTS, **options}
    return propose(problem, q, maximizer=make_maximizer(maximizer), generator=seeded(seed), **settings)


def value_in_double(fitted: GP, acquisition: str, batches: list[Tensor], z: Tensor, pending: int = 0) -> Tensor:
    posterior = with_pending(fitted.posterior, rand(pending, fitted.train_x.shape[1], seed=9))
    oracle = AcquisitionOracle(get_acquisition(acquisition), posterior, FreshSamples(len(z)), fitted.best)
    return oracle.value(torch.stack(batches), Draw(z))


@pytest.mark.parametrize(
    ("n", "d", "pending", "noise"), [(60, 6, 0, None), (80, 16, 2, None), (200, 12, 0, None), (100, 6, 0, 1e-5)]
)
@pytest.mark.parametrize("acquisition", ["ucb", "ei", "sr", "logei"])
@pytest.mark.parametrize("maximizer", ["CAdam-ME", "Adam-ERM", "CAdam"])
def test_batches_are_as_good(
    monkeypatch: pytest.MonkeyPatch,
    n: int,
    d: int,
    pending: int,
    noise: float | None,
    acquisition: str,
    maximizer: str,
) -> None:
    """Pairs of asks with the same seed, by their values in double on a sample that nothing was climbed on.

    The last model is one that is just safe.
    """
    fitted, batches, gains = model(n, d, noise), {"torch": [], "single": []}, []
    for seed in range(3):
        for backend, found in batches.items():
            monkeypatch.setenv("COMPBO_BACKEND", backend)
            batch, telemetry = ask(fitted, acquisition, maximizer, seed=seed, pending=pending)
            assert telemetry.backend == backend
            found.append(batch)
            gains.append(telemetry.acquisition_gain)
    z = sobol_normals(4 + pending, 2048, seeded(77))
    double, in_32_bits = (value_in_double(fitted, acquisition, found, z, pending) for found in batches.values())
    assert float((double - in_32_bits).mean()) < SMALL_SHARE * max(gains)


@pytest.mark.usefixtures("single")
class TestAsk:
    def test_the_choice_is_made_in_double(self) -> None:
        fitted = model(60, 6)
        batch, telemetry = ask(fitted, "ucb", "CAdam-ME")
        common = sobol_normals(4, COMMON_SAMPLE, seeded(0))
        assert telemetry.backend == "single"
        assert float(value_in_double(fitted, "ucb", [batch], common)) == pytest.approx(
            telemetry.acquisition_value, rel=1e-12
        )

    @pytest.mark.parametrize("pending", [0, 2])
    def test_the_same_seed_gives_the_same_batch(self, pending: int) -> None:
        first, second = (ask(model(60, 6), "ei", "CAdam-ME", pending=pending) for _ in range(2))
        assert torch.equal(first.batch, second.batch)
        assert first.telemetry.end_values == second.telemetry.end_values

    def test_an_ill_conditioned_model_is_asked_in_double(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fitted = model(60, 6, noise=1e-8)
        asked = ask(fitted, "ucb", "CAdam-ME")
        assert asked.telemetry.backend == "torch"
        monkeypatch.setenv("COMPBO_BACKEND", "torch")
        assert torch.equal(asked.batch, ask(fitted, "ucb", "CAdam-ME").batch)

    def test_restarts_can_race(self) -> None:
        raced = ask(model(60, 6), "ucb", "CAdam-ME", starts=StartPolicy(raw_batches=128, restarts=8, race=True))
        assert raced.telemetry.backend == "single"
        assert "failed" not in raced.telemetry.statuses


def run(storage: Path, evaluations: int = 1, **options: object) -> compbo.Result:
    space = {"x": compbo.Float(0, 1), "y": compbo.Float(0, 1)}
    small = {"starts": compbo.StartPolicy(raw_batches=16, restarts=4), "budget": compbo.Budget(steps=4)}
    return compbo.minimize(
        lambda p: (p["x"] - 0.3) ** 2 + p["y"], space, storage=storage, evaluations=evaluations, **small, **options
    )


@pytest.mark.usefixtures("single")
class TestRun:
    def test_a_resumed_run_is_the_uninterrupted_one(self, tmp_path: Path) -> None:
        whole = run(tmp_path / "whole.db", 6, initial_points=2, noise=0.1)
        assert [ask.backend for ask in whole.optimizer.telemetry] == ["", "", *["single"] * 4]
        run(tmp_path / "parts.db", 4, initial_points=2, noise=0.1)
        resumed = run(tmp_path / "parts.db", 6, initial_points=2, noise=0.1)
        assert [r.params for r in resumed.records] == [r.params for r in whole.records]

    def test_a_resume_with_another_backend_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        run(tmp_path / "run.db")
        monkeypatch.setenv("COMPBO_BACKEND", "torch")
        run(tmp_path / "run.db")
        assert "begun with the backend single and goes on with torch" in caplog.text


def test_a_cell_of_a_study_is_in_double_whatever_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = InnerSpec(restarts=2, raw_batches=16, steps=4)
    cell = Cell("levy-2", 2, maximizer_method("Adam-ERM", "ucb"), 0, 2, 2, 8, SurrogateSpec(), inner)
    digests = set()
    for backend in ("torch", "single"):
        monkeypatch.setenv("COMPBO_BACKEND", backend)
        digests.add(run_cell(cell)["digest"])
    assert len(digests) == 1
