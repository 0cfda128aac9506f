"""Output transforms: against SciPy, as inverses and derivatives of each other, and what a model makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from compbo import Evaluation, Float, Optimizer, OptionError, Settings, Space, StartPolicy
from compbo.bo import model as bo_model
from compbo.bo.history import History
from compbo.bo.model import fit_model, log_evidence, model_of
from compbo.bo.suggest import suggest
from compbo.numerics import standardise
from compbo.surrogate.gp import GP, NOISELESS, fit_gp
from compbo.surrogate.outputs import CHOICES, Identity, LogWarp, OutputTransform, YeoJohnson, check_outputs, fit_outputs
from compbo.types import DTYPE, Budget

NAMES = ("yeo-johnson", "log", "log-fitted")
SKEWED = {
    "losses": -np.random.default_rng(0).lognormal(0.0, 1.5, 40),
    "gains": np.random.default_rng(1).lognormal(0.0, 1.0, 40),
    "normal": np.random.default_rng(2).normal(3.0, 2.0, 40),
    "walls": -np.append(
        100 + np.random.default_rng(4).gamma(2.0, 1.0, 15), 1e4 * np.random.default_rng(5).random(25) + 1e4
    ),
    "one outlier": -np.append(np.random.default_rng(3).uniform(0.08, 0.3, 15), 9.0),
}


def tensor(values: Any) -> torch.Tensor:
    return torch.as_tensor(np.asarray(values, dtype=float))


def fit_one(name: str, y: torch.Tensor) -> OutputTransform:
    (transform,) = fit_outputs(name, y)
    return transform


@pytest.mark.parametrize("shape", [-2.5, 0.0, 0.3, 1.0, 2.0, 3.7])
def test_yeo_johnson_is_scipys(shape: float) -> None:
    z = np.linspace(-4, 4, 33)
    expected = stats.yeojohnson(z, shape)
    assert YeoJohnson(shape, 0.0, 1.0).forward(tensor(z)).numpy() == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("values", SKEWED.values(), ids=SKEWED)
def test_the_shape_is_that_of_greatest_likelihood(values: np.ndarray) -> None:
    transform = fit_one("yeo-johnson", tensor(values))
    z = (values - np.median(values)) / stats.iqr(values)
    assert isinstance(transform, YeoJohnson)
    best = stats.yeojohnson_llf(transform.shape, z)
    for shape in np.linspace(-3, 5, 801):
        assert stats.yeojohnson_llf(shape, z) <= best + 1e-4


@pytest.mark.parametrize("values", SKEWED.values(), ids=SKEWED)
def test_the_floor_is_that_of_greatest_likelihood(values: np.ndarray) -> None:
    transform = fit_one("log-fitted", tensor(values))
    assert isinstance(transform, LogWarp)
    distances = (values.max() - np.sort(values)[::-1]) / (values.max() - np.quantile(values, 0.75))
    assert transform.spread == pytest.approx(values.max() - np.quantile(values, 0.75))

    def likelihood(floor: float) -> float:
        """Of a normal distribution after the transform; the best value has no part in the Jacobian."""
        t = -np.log(floor + distances)
        return float(stats.norm.logpdf(t, t.mean(), t.std()).sum() - np.log(floor + distances[1:]).sum())

    best = likelihood(transform.floor)
    for floor in np.geomspace(0.03, 10 * distances[-1], 801):
        assert likelihood(floor) <= best + 1e-4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", SKEWED.values(), ids=SKEWED)
def test_transforms_rise_and_their_inverses_and_slopes_are_theirs(name: str, values: np.ndarray) -> None:
    y = tensor(values)
    transform = fit_one(name, y)
    between = torch.linspace(float(y.min()), float(y.max()) - 1e-6, 200, dtype=DTYPE)
    t = transform.forward(between)
    assert bool((t.diff() > 0).all())
    torch.testing.assert_close(transform.inverse(t), between, rtol=1e-7, atol=1e-9)
    step = 1e-6 * float(y.max() - y.min())
    difference = (transform.forward(between + step) - transform.forward(between - step)) / (2 * step)
    inside = between < float(y.max()) - 2 * step  # above the best the logarithm is cut off
    torch.testing.assert_close(transform.slope(between)[inside], difference[inside], rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0.0), (37.0, -1e4), (1e200, 0.0)])
def test_units_do_not_matter(name: str, scale: float, offset: float) -> None:
    for values in SKEWED.values():
        y = tensor(values)
        plain = standardise(fit_one(name, y).forward(y)).values
        other = standardise(fit_one(name, scale * y + offset).forward(scale * y + offset)).values
        torch.testing.assert_close(other, plain, rtol=1e-4, atol=1e-4)


def test_monotone_maps_of_the_values_nearly_do_not_matter() -> None:
    """Standardised outputs of -exp(-1.5 u) and of u: far apart without a transform, close with one."""

    def distance(name: str, seed: int) -> float:
        u = tensor(np.random.default_rng(seed).normal(0.0, 1.0, 60))
        outputs = [standardise(fit_one(name, y).forward(y)).values for y in (u, -torch.exp(-1.5 * u))]
        return float((outputs[0] - outputs[1]).abs().mean())

    plain, *others = (np.mean([distance(name, seed) for seed in range(5)]) for name in ("none", *CHOICES["evidence"]))
    assert plain > 0.5
    assert max(others) < 0.35 * plain


@pytest.mark.parametrize("name", ["auto", *NAMES])
@pytest.mark.parametrize(
    "values",
    [[1.0], [2.0] * 9, [1.0, 1.0, 2.0], [1e300, -1e300, 1.0, 2.0, 3.0], [1e-300, 2e-300, 3e-300, 9e-300, 5e-324],
     [-1e308, 1e308, 0.0, 1e307, 1.0], [5.0, 5.0, 5.0, 5.0, 1.0, 2.0, 3.0], [1.0, 1.0 + 1e-15, 1.0 - 1e-15, 1.0, 2.0]],
)  # fmt: skip
def test_ties_constants_and_extremes_stay_finite(name: str, values: list[float]) -> None:
    y = tensor(values)
    x = torch.rand(len(values), 2, dtype=DTYPE, generator=torch.Generator().manual_seed(0))
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    model = fit_model(space, x, y, kernel="matern52", priors="paper", noise=None, outputs=name)
    assert torch.isfinite(model.train_y).all()
    assert model.train_y.argmax() == y.argmax() or len(set(values)) == 1
    assert all(torch.isfinite(part).all() for part in model.predict(x))
    assert math.isfinite(model.noise_deviation)


def test_too_few_values_are_left_as_they_are() -> None:
    assert isinstance(fit_one("auto", tensor([1.0, 2.0, 3.0, 3.0])), Identity)
    assert [type(one) for one in fit_outputs("auto", tensor([1.0, 2.0, 3.0, 4.0]))] == [YeoJohnson, LogWarp]
    assert isinstance(fit_one("log", tensor([1.0, 2.0, 3.0, 4.0])), LogWarp)
    assert check_outputs("auto") == "evidence"


@pytest.mark.parametrize("outputs", ["box-cox", None, 3, ["auto"]])
def test_an_unknown_transform_is_refused(outputs: Any) -> None:
    with pytest.raises(OptionError, match=r"outputs .* is unknown; choose one of auto, none, yeo-johnson, log, "):
        Settings(outputs=outputs)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_in_the_units_of_the_objective(name: str) -> None:
    """Against samples of the posterior, taken back one by one."""
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(25, 2, dtype=DTYPE, generator=generator)
    y = -torch.exp(4.0 * (x - 0.4).square().sum(-1))
    model = fit_gp(x, y, transform=fit_one(name, y))
    at = torch.rand(6, 2, dtype=DTYPE, generator=generator)
    mean, deviation = model.predict(at)
    batch = model.posterior(at.unsqueeze(1), gradient_rows=0)
    z = torch.randn(200_000, dtype=DTYPE, generator=generator)
    t = model.mean + model.scale * (batch.mean + batch.factor[:, :, 0] * z)
    low, high = 2 * y.min() - y.max(), 2 * y.max() - y.min()
    samples = model.outputs.inverse(t).clamp(low, high)
    torch.testing.assert_close(mean, samples.mean(-1), rtol=2e-3, atol=1e-3)
    torch.testing.assert_close(deviation, samples.std(-1), rtol=3e-2, atol=1e-3)
    observed, _ = model.predict(x)
    torch.testing.assert_close(observed, y, rtol=0.05, atol=0.05)


def test_a_failed_point_does_not_shape_the_transform() -> None:
    space = Space({"x": Float(0, 1)})
    values = SKEWED["gains"][:12]
    told = [Evaluation({"x": i / 12}, float(value)) for i, value in enumerate(values)]
    failed = [Evaluation({"x": (i + 0.5) / 12}, None) for i in range(12)]
    settings = Settings(direction="maximize")
    without = model_of(space, settings, History(tuple(told)).observations(space, "maximize"))
    model = model_of(space, settings, History((*told, *failed)).observations(space, "maximize"))
    assert model.outputs == without.outputs
    assert int((model.train_y == model.train_y.min()).sum()) == 13  # the failed ones stand at the worst


def test_declared_noise_is_carried_through_the_slope() -> None:
    space = Space({"x": Float(0, 1)})
    x = torch.linspace(0, 1, 15, dtype=DTYPE).unsqueeze(-1)
    y = -torch.exp(3.0 * x[:, 0])
    model = fit_model(space, x, y, kernel="matern52", priors="paper", noise=0.3, outputs="yeo-johnson")
    assert model.noise_deviation == pytest.approx(0.3, rel=1e-6)


@pytest.mark.parametrize("name", ["auto", *NAMES])
def test_no_noise_can_be_declared_for_the_smallest_values(name: str) -> None:
    """Their slopes are not finite."""
    y = tensor([5e-324, 1e-323, 1.5e-323, 2e-323, 4e-323])
    x = torch.linspace(0, 1, 5, dtype=DTYPE).unsqueeze(-1)
    model = fit_model(Space({"x": Float(0, 1)}), x, y, kernel="matern52", priors="paper", noise=0.0, outputs=name)
    assert model.hyperparameters.noise == NOISELESS
    assert torch.isfinite(model.train_y).all()


def walls(penalty: float) -> tuple[torch.Tensor, torch.Tensor]:
    """A bowl from 100 to 102, to be maximised upside down; beside it everything costs the penalty and more."""
    x = torch.rand(60, 2, dtype=DTYPE, generator=torch.Generator().manual_seed(2))
    away = (x - 0.3).square().sum(-1)
    return x, -(100 + 10 * away + penalty * (1 + away) * (away > 0.15))


def test_a_wall_of_penalties_leaves_the_good_values_apart() -> None:
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    x, y = walls(1e4)
    assert 0.5 < float((y < -1e3).double().mean()) < 0.9

    def spread(outputs: str) -> float:
        model = fit_model(space, x, y, kernel="matern52", priors="paper", noise=None, outputs=outputs)
        good = model.train_y[y > -1e3]
        return float(good.max() - good.min())

    assert spread("yeo-johnson") < 0.01
    assert spread("auto") > 0.5


@pytest.mark.parametrize("penalty", [0.0, 1e4])
def test_the_transform_with_the_greater_density_of_the_values_is_taken(penalty: float) -> None:
    """The density of y is that of the standardised t(y) times the slopes, here from differences."""
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    x, y = walls(penalty)

    def model(outputs: str) -> GP:
        return fit_model(space, x, y, kernel="matern52", priors="paper", noise=None, outputs=outputs)

    def density(fitted: GP) -> float:
        step = 1e-5 * (y.abs() + 1)
        low, high = y - step, torch.minimum(y + step, y.max())  # above the best the logarithm is cut off
        slopes = (fitted.outputs.forward(high) - fitted.outputs.forward(low)) / (high - low) / fitted.scale
        return float(slopes.log().sum()) - fitted.loss

    separate = [model(name) for name in ("yeo-johnson", "log-fitted")]
    chosen = model("auto")
    assert log_evidence(chosen, y) == max(log_evidence(one, y) for one in separate)
    assert [log_evidence(one, y) for one in separate] == pytest.approx([density(one) for one in separate], rel=1e-3)
    assert chosen.outputs.name == ("log" if penalty else "yeo-johnson")


def test_many_observations_are_compared_on_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space({"a": Float(0, 1), "b": Float(0, 1)})
    x, y = walls(1e4)
    monkeypatch.setattr(bo_model, "CHOICE_POINTS", 20)
    fitted = fit_model(space, x, y, kernel="matern52", priors="paper", noise=None, outputs="auto")
    alone = fit_model(space, x, y, kernel="matern52", priors="paper", noise=None, outputs="log-fitted")
    assert len(fitted.train_y) == 60
    assert torch.equal(fitted.train_y, alone.train_y)


def test_an_outlier_does_not_rule_the_model() -> None:
    """Fifteen losses near 0.1 and one of 9: without a transform the model sees the outlier alone."""
    space = Space({"x": Float(0, 1)})
    rng = np.random.default_rng(0)
    xs = np.append(rng.uniform(0.2, 1.0, 15), 0.0)
    losses = np.append(0.08 + 0.2 * (xs[:15] - 0.6) ** 2, 9.0)
    history = History(tuple(Evaluation({"x": float(a)}, float(b)) for a, b in zip(xs, losses, strict=True)))

    def spread(outputs: str) -> float:
        model = model_of(space, Settings(outputs=outputs), history.observations(space, "minimize"))
        ordered = model.train_y.sort().values
        return float(ordered[-1] - ordered[1])

    assert spread("none") < 0.05
    assert spread("auto") > 1.0


def test_the_telemetry_names_the_transform() -> None:
    space = Space({"x": Float(-1, 1), "y": Float(-1, 1)})
    points = space.sample(12, torch.Generator().manual_seed(0))
    history = History(tuple(Evaluation(p, float(np.exp(4 * p["x"]) + p["y"] ** 2)) for p in points))
    few = {"starts": StartPolicy(16, 2), "budget": Budget(2), "initial_points": 2}
    names = {
        name: suggest(space, Settings(outputs=name, **few), history).telemetry.outputs for name in ("auto", "none")
    }
    assert names["none"] == "none"
    assert names["auto"].startswith(("yeo-johnson (", "log ("))


def test_an_optimizer_keeps_its_transform_through_json() -> None:
    space = Space({"x": Float(-1, 1)})
    optimizer = Optimizer(space, outputs="log", acquisition=["sr", "ucb"])
    again = Optimizer.from_json(optimizer.to_json())
    assert again.settings == optimizer.settings


def test_a_stored_auto_is_what_it_was() -> None:
    """Earlier versions stored "auto", which was Yeo-Johnson; now the name that it stands for is stored."""
    stored = Settings().to_dict()
    assert stored["outputs"] == "evidence"
    assert Settings.from_dict(stored) == Settings(outputs="auto")
    assert Settings.from_dict({**stored, "outputs": "auto"}) == Settings(outputs="yeo-johnson")
