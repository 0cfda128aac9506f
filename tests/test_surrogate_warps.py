"""Input warps: against BoTorch's, by finite differences, at the borders, and through everything that uses a model."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import Warp
from gpytorch.constraints import GreaterThan
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ZeroMean
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.storages import InMemoryStorage
from typer.testing import CliRunner

import compbo
from compbo import Bool, Categorical, Evaluation, Float, Int, Optimizer, OptionError, Ordinal, Settings, Space
from compbo.acquisition.integrands import UCB
from compbo.acquisition.samples import FreshSamples
from compbo.baselines.paths import posterior_paths
from compbo.bo.history import History
from compbo.bo.model import model_of
from compbo.cli import app
from compbo.compiled.choice import make_oracle
from compbo.numerics import standardise
from compbo.report.slices import _nearest
from compbo.storage import load_optimizer, signature
from compbo.study.methods.defaults import settings_of
from compbo.surrogate.gp import fit_gp, posterior_with
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.leave_one_out import leave_one_out
from compbo.surrogate.log_posterior import Hyperparameters, NegativeLogPosterior
from compbo.surrogate.posterior import Posterior, mean_and_factor, with_pending
from compbo.surrogate.priors import get_priors
from compbo.surrogate.warps import EDGE, SHAPE_BOUNDS, SHAPE_PRIOR, UNWARPED, Kumaraswamy
from compbo.types import Draw

F64 = torch.float64
KERNELS = ("matern52", "se", "linear", "cosine")


def rand(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


D = 3
WARP = Kumaraswamy(torch.tensor([0.4, 1.0, 2.5], dtype=F64), torch.tensor([1.3, 1.0, 0.5], dtype=F64))
THETA = Hyperparameters(torch.tensor([0.4, 0.9, 0.6], dtype=F64), 1.7, 1e-2, WARP)
INSIDE = 0.02 + 0.96 * rand(20, D, seed=1)
Y = standardise((5.0 * INSIDE).sin().sum(-1)).values


def botorch_warp(warp: Kumaraswamy) -> Warp:
    """BoTorch's, which squeezes the cube by eps; here by nothing, for points inside."""
    found = Warp(d=D, indices=list(range(D)), eps=0.0, bounds=torch.tensor([[0.0] * D, [1.0] * D], dtype=F64)).double()
    found._set_concentration(0, warp.b)
    found._set_concentration(1, warp.a)
    return found


def botorch_model(warp: Kumaraswamy) -> SingleTaskGP:
    covariance = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=D)).double()
    covariance.base_kernel.lengthscale = THETA.lengthscale
    covariance.outputscale = torch.tensor(THETA.outputscale, dtype=F64)
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-9)).double()
    likelihood.noise = torch.tensor(THETA.noise, dtype=F64)
    return SingleTaskGP(
        INSIDE,
        Y.unsqueeze(-1),
        covar_module=covariance,
        likelihood=likelihood,
        mean_module=ZeroMean(),
        outcome_transform=None,
        input_transform=botorch_warp(warp),
    )


# -- the map ----------------------------------------------------------------------------------------------------------


def test_it_is_botorchs_inside_the_cube() -> None:
    torch.testing.assert_close(WARP.forward(INSIDE), botorch_warp(WARP)(INSIDE).detach(), rtol=1e-12, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.floats(*np.log(SHAPE_BOUNDS)), st.floats(*np.log(SHAPE_BOUNDS)))
def test_it_rises_with_a_continuous_slope_inside_the_cube_and_far_outside(log_a: float, log_b: float) -> None:
    warp = Kumaraswamy(torch.tensor([math.exp(log_a)], dtype=F64), torch.tensor([math.exp(log_b)], dtype=F64))
    x = torch.cat([torch.linspace(-3.0, 4.0, 701, dtype=F64), torch.tensor([0.0, EDGE, 1.0 - EDGE, 1.0], dtype=F64)])
    x = x.sort().values.unsqueeze(-1)
    w, slope = warp.forward(x), warp.pull(x, torch.ones_like(x))
    assert bool(torch.isfinite(w).all() and torch.isfinite(slope).all() and (slope > 0).all())
    assert bool((w.diff(dim=0) >= 0).all())
    for edge in (EDGE, 1.0 - EDGE):
        near = torch.tensor([[edge - 1e-12], [edge + 1e-12]], dtype=F64)
        before, after = warp.pull(near, torch.ones_like(near)).flatten().tolist()
        assert before == pytest.approx(after, rel=1e-6)
        below, above = warp.forward(near).flatten().tolist()
        assert below == pytest.approx(above, rel=1e-6, abs=1e-12)


def test_its_derivatives_are_those_of_finite_differences() -> None:
    x = torch.cat([INSIDE, torch.tensor([[0.0] * D, [1.0] * D, [-0.3] * D, [1.4] * D, [EDGE / 3] * D], dtype=F64)])
    at, h = WARP.at(x), 1e-5
    torch.testing.assert_close(at.value, WARP.forward(x), rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(at.slope, (WARP.forward(x + h) - WARP.forward(x - h)) / (2 * h), rtol=1e-4, atol=1e-8)
    up, down = math.exp(h), math.exp(-h)
    by_a = (Kumaraswamy(WARP.a * up, WARP.b).forward(x) - Kumaraswamy(WARP.a * down, WARP.b).forward(x)) / (2 * h)
    by_b = (Kumaraswamy(WARP.a, WARP.b * up).forward(x) - Kumaraswamy(WARP.a, WARP.b * down).forward(x)) / (2 * h)
    torch.testing.assert_close(at.slope_a, by_a, rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(at.slope_b, by_b, rtol=1e-7, atol=1e-8)


def test_shapes_of_one_are_no_warp() -> None:
    ones = torch.ones(D, dtype=F64)
    x = 3.0 * rand(50, D) - 1.0
    torch.testing.assert_close(Kumaraswamy(ones, ones).forward(x), x, rtol=1e-12, atol=1e-15)
    assert SHAPE_PRIOR.slope(np.array([1.0])) == 0.0
    assert SHAPE_PRIOR.log_density(np.array([1.0])) > SHAPE_PRIOR.log_density(np.array([0.8]))


# -- the loss ---------------------------------------------------------------------------------------------------------


def loss(kernel: str, noise: float | None, x: torch.Tensor = INSIDE, warped: tuple[int, ...] = (0, 1, 2)):
    return NegativeLogPosterior(x, Y[: len(x)], get_kernel(kernel), get_priors("paper", D), noise, None, warped)


def test_value_and_gradient_equal_those_of_botorchs_model() -> None:
    """The marginal likelihood by GPyTorch behind BoTorch's Warp, with autograd; the priors have tests of their own."""
    objective = loss("matern52", THETA.noise)
    theta = objective.pack(THETA)
    value, gradient = objective(theta)
    warp = botorch_warp(WARP)
    log = torch.tensor(theta, requires_grad=True)
    module = MaternKernel(nu=2.5, ard_num_dims=D).double()
    module.lengthscale = torch.ones(D, dtype=F64)
    shapes_of_warp = {"concentration1": log[4:7].exp(), "concentration0": log[7:10].exp()}
    points = torch.func.functional_call(warp, shapes_of_warp, INSIDE) / log[:3].exp()
    covariance = log[3].exp() * module(points).to_dense() + THETA.noise * torch.eye(20, dtype=F64)
    likelihood = MultivariateNormal(torch.zeros(20, dtype=F64), covariance).log_prob(Y)
    shapes = torch.distributions.Normal(torch.tensor(0.0, dtype=F64), 0.25).log_prob(log[4:])
    lengthscales = torch.distributions.Gamma(torch.tensor(3.0, dtype=F64), 6.0).log_prob(log[:3].exp())
    outputscale = torch.distributions.Gamma(torch.tensor(2.0, dtype=F64), 0.15).log_prob(log[3].exp())
    expected = -(likelihood + shapes.sum() + lengthscales.sum() + outputscale)
    expected.backward()
    assert value == pytest.approx(float(expected.detach()), rel=1e-10)
    np.testing.assert_allclose(gradient, log.grad.numpy(), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [None, 1e-2])
@pytest.mark.parametrize("warped", [(0, 1, 2), (1,)])
def test_gradient_by_finite_differences(kernel: str, noise: float | None, warped: tuple[int, ...]) -> None:
    x = INSIDE.clone()
    x[0], x[1], x[2, 0] = 0.0, 1.0, EDGE / 2
    objective = loss(kernel, noise, x, warped)
    theta = objective.pack(THETA)
    _, gradient = objective(theta)
    assert gradient.shape == theta.shape == (D + (1 if noise else 2) + 2 * len(warped),)
    for i, step in enumerate(np.eye(len(theta)) * 1e-5):
        slope = (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_pack_and_unpack_are_inverse_and_other_columns_are_not_warped() -> None:
    found = loss("se", None).unpack(loss("se", None).pack(THETA)).warp
    assert isinstance(found, Kumaraswamy)
    torch.testing.assert_close(torch.stack([found.a, found.b]), torch.stack([WARP.a, WARP.b]))
    some = loss("se", None, warped=(2,))
    found = some.unpack(some.pack(THETA)).warp
    assert isinstance(found, Kumaraswamy)
    assert found.a.tolist() == pytest.approx([1.0, 1.0, 2.5])
    assert loss("se", None, warped=()).unpack(loss("se", None, warped=()).pack(THETA)).warp is UNWARPED


# -- the fit ----------------------------------------------------------------------------------------------------------


def steep(x: torch.Tensor) -> torch.Tensor:
    """Fast near 0, slow near 1, along the first parameter; not curved along the second."""
    return (6.0 * x[:, 0] ** 0.25).sin() + 0.5 * x[:, 1]


def test_a_fit_finds_where_the_function_is_steep_and_predicts_better() -> None:
    x, fresh = rand(40, 2, seed=3), rand(200, 2, seed=4)
    fresh[:, 0] **= 3
    plain, warped = fit_gp(x, steep(x)), fit_gp(x, steep(x), warped=(0, 1))
    found = warped.hyperparameters.warp
    assert isinstance(found, Kumaraswamy)
    assert float(found.a[0]) < 0.7
    errors = [float((gp.predict(fresh)[0] - steep(fresh)).square().mean()) for gp in (plain, warped)]
    assert errors[1] < errors[0]
    no_warp = -4.0 * float(SHAPE_PRIOR.log_density(np.array(1.0)))  # what the prior adds to J at shapes of 1
    assert warped.loss < plain.loss + no_warp


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_model_of_many_observations_is_refined_and_rests_on_a_part(kernel: str, monkeypatch) -> None:
    monkeypatch.setattr("compbo.surrogate.gp.FIRST_FIT", 30)
    x = rand(80, 2, seed=5)
    gp = fit_gp(x, steep(x), kernel=kernel, model_points=50, warped=(0, 1))
    assert gp.refined
    assert len(gp.train_x) == 50
    assert gp.hyperparameters.warp is gp.posterior.inputs.warp
    assert bool(torch.isfinite(torch.stack(gp.predict(rand(9, 2)))).all())


# -- the posterior ----------------------------------------------------------------------------------------------------


def test_posterior_and_its_gradient_are_those_of_botorchs_model() -> None:
    x = (0.02 + 0.96 * rand(4, 3, D, seed=6)).requires_grad_()
    mean, factor = mean_and_factor(posterior_with(get_kernel("matern52"), INSIDE, Y, THETA), x)
    model = botorch_model(WARP).posterior(x)
    torch.testing.assert_close(mean, model.mean.squeeze(-1), rtol=1e-8, atol=1e-9)
    covariance = model.distribution.covariance_matrix
    torch.testing.assert_close(factor @ factor.mT, covariance, rtol=1e-7, atol=1e-8)
    weight, other = rand(4, 3, seed=7), rand(4, 3, 3, seed=8)
    ours = torch.autograd.grad((mean * weight).sum() + ((factor @ factor.mT) * other).sum(), x)[0]
    theirs = torch.autograd.grad((model.mean.squeeze(-1) * weight).sum() + (covariance * other).sum(), x)[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7)


def posteriors(rounder=None) -> dict[str, Posterior]:
    found: dict[str, Posterior] = {k: posterior_with(get_kernel(k), INSIDE, Y, THETA, rounder) for k in KERNELS}
    found["ill conditioned"] = posterior_with(get_kernel("se"), INSIDE, Y, THETA._replace(noise=1e-7), rounder)
    return found | {f"{name}, pending": with_pending(one, rand(2, D, seed=9)) for name, one in list(found.items())}


@pytest.mark.parametrize("name", posteriors())
def test_gradient_of_a_posterior_by_finite_differences(name: str) -> None:
    """Also at the border and outside of the cube, where queries of a tracker may lie."""
    posterior = posteriors()[name]
    x = rand(3, 2, D, seed=10)
    x[1, 0], x[2, 0] = torch.tensor([0.0, 1.0, 0.5]), torch.tensor([-0.05, 1.05, -0.02])
    weight = rand(2 + posterior.extra_points, seed=11)

    def value(at: torch.Tensor) -> torch.Tensor:
        batch = posterior(at)
        return batch.mean @ weight + (batch.factor.mT @ weight).square().sum(-1)

    batch = posterior(x)
    along = batch.factor.mT @ weight
    dfactor = 2.0 * weight.unsqueeze(-1) * along.unsqueeze(-2)
    gradient = batch.pullback(weight.expand(3, -1), dfactor)
    assert bool(torch.isfinite(gradient).all())
    for j in range(2):
        for k in range(D):
            step = torch.zeros_like(x)
            step[:, j, k] = 1e-6
            expected = (value(x + step) - value(x - step)) / 2e-6
            torch.testing.assert_close(gradient[:, j, k], expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", posteriors())
def test_points_are_rounded_then_warped(name: str) -> None:
    x = 1.6 * rand(4, 2, D, seed=12) - 0.3
    coarse = posteriors(lambda x: (4 * x).round() / 4)[name](x)
    rounded = posteriors(lambda x: (4 * x).round() / 4)[name]((4 * x).round() / 4)
    assert torch.equal(coarse.mean, rounded.mean)
    weight = torch.ones_like(coarse.mean)
    assert torch.equal(coarse.pullback(weight, coarse.factor), rounded.pullback(weight, rounded.factor))


@pytest.mark.parametrize("rounder", [None, lambda x: (4 * x).round() / 4])
def test_the_compiled_oracle_is_the_other_one(rounder, monkeypatch) -> None:
    posterior = posterior_with(get_kernel("matern52"), INSIDE, Y, THETA, rounder)
    x, draw = 1.4 * rand(5, 2, D, seed=13) - 0.2, Draw(torch.randn(2, 16, dtype=F64, generator=torch.Generator()))
    found = []
    for backend in ("torch", "compiled"):
        monkeypatch.setenv("COMPBO_BACKEND", backend)
        oracle = make_oracle(UCB(), posterior, FreshSamples(2, 16), 0.3)
        inner = oracle.inner(x, draw, 4)
        found.append((type(oracle), inner.v, inner.pullback(oracle.outer_gradient(inner.v[:4]))))
    (kind, v, gradient), (other, same_v, same_gradient) = found
    assert kind is not other
    torch.testing.assert_close(v, same_v, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(gradient, same_gradient, rtol=1e-7, atol=1e-9)


def test_leaving_out_is_the_fit_without_the_observation() -> None:
    gp = fit_gp(INSIDE, Y, warped=(0, 1, 2), max_iterations=10)
    left = leave_one_out(gp)
    rest = torch.arange(20) != 7
    without = posterior_with(gp.kernel, INSIDE[rest], gp.train_y[rest], gp.hyperparameters)(INSIDE[7:8].unsqueeze(0))
    assert float(left.mean[7]) == pytest.approx(float(without.mean[0, 0]), abs=1e-8)


def test_sample_paths_of_a_warped_model_are_refused() -> None:
    gp = fit_gp(INSIDE, Y, warped=(0,), max_iterations=3)
    with pytest.raises(ValueError, match="warped inputs has no random waves"):
        posterior_paths(gp, 2, 8, "decoupled", torch.Generator())


# -- the option -------------------------------------------------------------------------------------------------------

SPACE = Space(
    {
        "kind": Categorical(["a", "b", "c"]),
        "rate": Float(0, 10),
        "flag": Bool(),
        "size": Ordinal([1, 2, 8]),
        "n": Int(1, 50),
        "two": Int(1, 2),
        "fixed": 3,
    }
)


def value_of(point: dict) -> float:
    return math.sin(8 * (point["rate"] / 10) ** 0.3) + 0.01 * point["n"] + (point["kind"] == "a") + 0.1 * point["size"]


def told(**options) -> Optimizer:
    optimizer = Optimizer(SPACE, seed=1, budget=compbo.Budget(steps=8), **options)
    points = SPACE.sample(24, torch.Generator().manual_seed(3))
    optimizer.tell(points, [value_of(point) for point in points])
    return optimizer


def test_parameters_with_a_more_and_a_less_are_warped_and_no_others() -> None:
    assert SPACE.graded_columns == (3, 5, 6)
    warp = told(inputs="warped").model().hyperparameters.warp
    assert isinstance(warp, Kumaraswamy)
    moved = ((warp.a != 1.0) | (warp.b != 1.0)).nonzero().flatten().tolist()
    assert moved == [3, 5, 6]


def test_without_the_option_there_is_no_warp_and_telemetry_names_what_there_is() -> None:
    plain, warped = told(), told(inputs="warped")
    plain.ask(2)
    points = warped.ask(2)
    assert plain.telemetry[-1].inputs == "none"
    assert plain.model().hyperparameters.warp is UNWARPED
    assert warped.telemetry[-1].inputs == warped.model().hyperparameters.warp.describe()
    assert warped.telemetry[-1].inputs.startswith("warped (a ")
    assert [SPACE.validate(point) for point in points] == [dict(point) for point in points]
    assert "kind" in warped.explain()
    assert len(warped.cross_validation().values) == 24
    assert math.isfinite(warped.predict(points[0]).mean)


def test_a_saved_optimizer_goes_on_and_settings_of_before_the_option_have_no_warp() -> None:
    warped = told(inputs="warped")
    again = Optimizer.from_json(warped.to_json())
    assert again.settings.inputs == "warped"
    assert [dict(p) for p in again.ask(2)] == [dict(p) for p in warped.ask(2)]
    plain = Settings().to_dict()
    del plain["inputs"]
    assert Settings.from_dict(json.loads(json.dumps(plain))) == Settings(inputs="none")


def test_distances_of_an_explanation_and_of_the_nearest_points_are_those_of_the_kernel() -> None:
    """Of two points equally far from the best in the unit cube, the one across the stretched part is farther."""
    space = Space({"x": Float(0, 1)})
    theta = Hyperparameters(torch.ones(1, dtype=F64), 1.0, 1e-3, Kumaraswamy(*torch.tensor([[0.3], [1.0]], dtype=F64)))
    evaluations = [Evaluation({"x": x}, 0.0) for x in (0.1, 0.31)]
    base = space.to_unit([{"x": 0.2}])
    assert _nearest(space, evaluations, base, theta) == [1, 0]
    assert _nearest(space, evaluations, base, theta._replace(warp=UNWARPED)) == [0, 1]


def test_an_unknown_map_is_refused_by_name() -> None:
    for call in (lambda: Settings(inputs="log"), lambda: Optimizer(SPACE, inputs="log")):
        with pytest.raises(OptionError, match=r"inputs 'log' is unknown; choose one of none, warped\."):
            call()


def test_the_model_of_a_history_with_few_or_equal_points_is_finite() -> None:
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    for points in ([{"x": 0.0, "y": 1.0}], [{"x": 0.0, "y": 1.0}] * 3, [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]):
        history = History(tuple(Evaluation(p, float(i % 2)) for i, p in enumerate(points)))
        model = model_of(space, Settings(inputs="warped"), history.observations(space, "minimize"))
        assert bool(torch.isfinite(torch.stack(model.predict(rand(5, 2)))).all())


def test_a_stored_run_and_its_report(tmp_path) -> None:
    def run(inputs: str) -> compbo.Result:
        return compbo.minimize(
            lambda p: (p["x"] ** 0.3 - 0.4) ** 2,
            {"x": Float(0, 1)},
            evaluations=8,
            inputs=inputs,
            storage=str(tmp_path / "run.db"),
            budget=compbo.Budget(steps=4),
        )

    result = run("warped")
    assert run("warped").best_value == result.best_value
    with pytest.raises(OptionError, match=r"inputs \(stored 'warped', given 'none'\)"):
        run("none")
    page = tmp_path / "report.html"
    result.report(page)
    assert "its inputs warped (a " in page.read_text()


def test_a_run_of_before_the_option_goes_on_and_has_no_warp() -> None:
    storage, space = InMemoryStorage(), Space({"x": Float(0, 1)})
    study = signature.find_or_create(storage, "old", "minimize")
    signature.sign(storage, study, "old", space, Settings())
    old = Settings().to_dict()
    del old["inputs"]
    for key, text in signature.pack(signature.SETTINGS, old).items():
        storage.set_study_system_attr(study, key, text)
    signature.sign(storage, study, "old", space, Settings())
    with pytest.raises(OptionError, match=r"inputs \(stored 'none', given 'warped'\)"):
        signature.sign(storage, study, "old", space, Settings(inputs="warped"))


def test_a_cell_names_the_warp_and_cells_of_before_stay_the_same() -> None:
    assert dict(settings_of("compbo-warped"))["inputs"] == '"warped"'
    assert "inputs" not in dict(settings_of("compbo"))


def test_the_command_line_takes_the_option(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text('[x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    (tmp_path / "own.py").write_text("def loss(p):\n    return (p['x'] ** 0.3 - 0.4) ** 2\n")
    asked = CliRunner().invoke(app, ["ask", "asked.db", "--space", "space.toml", "--inputs", "warped"])
    run = ["optimize", "own.py:loss", "--space", "space.toml", "-n", "4", "--storage", "run.db", "--inputs", "warped"]
    optimised = CliRunner().invoke(app, run)
    assert (asked.exit_code, optimised.exit_code) == (0, 0), asked.output + optimised.output
    for name in ("asked.db", "run.db"):
        assert load_optimizer(name).settings.inputs == "warped"
    wrong = CliRunner().invoke(app, [*run[:-1], "log"])
    assert wrong.exit_code != 0
    assert "--inputs 'log' is unknown" in wrong.output
