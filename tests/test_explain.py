"""Why this point: predictions, cross-validation, errors of single observations, replicates, words."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import compbo
from compbo import Budget, Categorical, Evaluation, Float, Optimizer, StartPolicy
from compbo.bo.cross_validation import SURE
from compbo.bo.history import History
from compbo.records import write
from compbo.storage import StoredRun, load_optimizer, load_records
from compbo.surrogate.gp import fit_gp, posterior_with
from compbo.surrogate.kernels import get_kernel
from compbo.surrogate.leave_one_out import leave_one_out
from compbo.surrogate.log_posterior import Hyperparameters, NegativeLogPosterior
from compbo.surrogate.outputs import fit_outputs
from compbo.surrogate.priors import get_priors

CHEAP: dict[str, Any] = {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8)}
LINE = {"x": Float(0, 10), "y": Float(-1, 1)}


def wave(p: dict[str, Any]) -> float:
    return math.exp(2.0 * math.sin(p["x"])) + p["y"] ** 2


def told(count: int = 14, **options: Any) -> Optimizer:
    optimizer = Optimizer(LINE, **options)
    points = optimizer.space.sample(count, torch.Generator().manual_seed(3))
    optimizer.tell(points, [wave(p) for p in points])
    return optimizer


def data(n: int = 12, d: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    x = torch.rand(n, d, dtype=torch.float64, generator=generator)
    y = torch.sin(6 * x).sum(-1) + 0.1 * torch.randn(n, dtype=torch.float64, generator=generator)
    errors = torch.rand(n, dtype=torch.float64, generator=generator) ** 2
    return x, y, errors


# -- leave-one-out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["matern52", "se", "linear", "cosine"])
@pytest.mark.parametrize("with_errors", [False, True])
def test_leave_one_out_is_what_refits_without_each_observation_say(kernel: str, with_errors: bool) -> None:
    x, y, errors = data()
    gp = fit_gp(x, y, kernel=kernel, errors=errors if with_errors else None)
    mean, deviation = leave_one_out(gp)
    for i in range(len(y)):
        rest = torch.arange(len(y)) != i
        known = None if gp.errors is None else gp.errors[rest]
        without = posterior_with(gp.kernel, x[rest], gp.train_y[rest], gp.hyperparameters, errors=known)
        batch = without(x[i].reshape(1, 1, -1), gradient_rows=0)
        noise = gp.hyperparameters.noise + (float(errors[i]) if with_errors else 0.0)
        assert float(mean[i]) == pytest.approx(float(batch.mean), rel=1e-6, abs=1e-8)
        assert float(deviation[i]) == pytest.approx(math.sqrt(float(batch.factor) ** 2 + noise), rel=1e-6)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("outputs", ["none", "yeo-johnson", "log"])
def test_cross_validation_is_in_the_units_and_the_direction_of_the_user(direction: Any, outputs: str) -> None:
    optimizer = told(direction=direction, outputs=outputs)
    check = optimizer.cross_validation()
    by_number = {e.number: e.value for e in optimizer.evaluations}
    assert sorted(check.numbers) == sorted(by_number)
    assert check.values == pytest.approx([by_number[number] for number in check.numbers])
    assert all(low <= mean <= high for low, mean, high in zip(check.low, check.means, check.high, strict=True))
    for value, mean, residual in zip(check.values, check.means, check.residuals, strict=True):
        if abs(residual) > 1.0:
            assert (value > mean) == (residual > 0)
    inside = [low <= value <= high for low, value, high in zip(check.low, check.values, check.high, strict=True)]
    assert check.coverage == pytest.approx(np.mean(inside))
    assert inside == [abs(residual) <= SURE for residual in check.residuals]
    assert f"{check.coverage:.0%} inside" in str(check)


def test_log_densities_are_those_of_the_values_and_not_of_their_transform() -> None:
    """The density of a value integrates to 1 over the values that the transform reaches."""
    optimizer = told(outputs="log", direction="maximize")
    model, check = optimizer.model(), optimizer.cross_validation()
    mu, s = (part[0] for part in leave_one_out(model))
    t = torch.linspace(float(mu - 8 * s), float(mu + 8 * s), 20_001, dtype=torch.float64)
    y = model.outputs.inverse(model.mean + model.scale * t)
    density = torch.exp(-0.5 * ((t - mu) / s) ** 2) / (s * math.sqrt(2 * math.pi))
    density = density * model.outputs.slope(y) / model.scale
    inner = y[1:] < model.outputs.best  # type: ignore[attr-defined] # beyond the best the slope is cut off
    mass = float(((density[1:] + density[:-1]) / 2 * (y[1:] - y[:-1]))[inner].sum())
    below = float(torch.special.ndtr((t[:-1][inner].max() - mu) / s))
    assert mass == pytest.approx(below, abs=1e-3)
    assert check.log_densities[0] == pytest.approx(
        float(
            -0.5 * ((model.train_y[0] - mu) / s) ** 2
            - torch.log(s * math.sqrt(2 * math.pi))
            + torch.log(model.outputs.slope(model.outputs.inverse(model.mean + model.scale * model.train_y[0])))
            - math.log(model.scale)
        )
    )


def test_a_right_model_covers_and_failures_do_not_count() -> None:
    optimizer = Optimizer({"x": Float(0, 10)}, outputs="none")
    generator = torch.Generator().manual_seed(0)
    points = optimizer.space.sample(80, generator)
    noise = torch.randn(80, generator=generator).tolist()
    optimizer.tell(points, [math.sin(p["x"]) + 0.2 * e for p, e in zip(points, noise, strict=True)])
    optimizer.tell({"x": 3.21}, None)
    check = optimizer.cross_validation()
    assert len(check.values) == 80
    assert 0.88 <= check.coverage <= 1.0
    assert check.error < 0.3
    assert np.std(check.residuals) == pytest.approx(1.0, abs=0.25)


# -- errors of single observations ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["matern52", "linear"])
def test_errors_are_a_diagonal_as_in_a_model_by_hand(kernel: str) -> None:
    x, y, errors = data()
    gp = fit_gp(x, y, kernel=kernel, errors=errors)
    plain = NegativeLogPosterior(x, gp.train_y, get_kernel(kernel), get_priors("paper", 3), None)
    new = torch.rand(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    everything = torch.cat([x, new])
    scaled = (everything - 0.5) * gp.kernel.stretch / gp.hyperparameters.lengthscale
    k = gp.hyperparameters.outputscale * plain._kernel(scaled).value
    c = k[:12, :12] + torch.diag(gp.hyperparameters.noise + errors)
    cross = k[12:, :12]
    mean = cross @ torch.linalg.solve(c, gp.train_y)
    variance = (k[12:, 12:] - cross @ torch.linalg.solve(c, cross.mT)).diagonal()
    mu, sigma = gp.marginals(new)
    assert mu.tolist() == pytest.approx(mean.tolist(), rel=1e-7)
    assert sigma.square().tolist() == pytest.approx(variance.tolist(), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("kernel", ["matern52", "cosine"])
def test_the_gradient_of_the_fit_knows_the_errors(kernel: str) -> None:
    x, y, errors = data()
    loss = NegativeLogPosterior(x, y, get_kernel(kernel), get_priors("paper", 3), None, errors)
    theta = loss.pack(Hyperparameters(torch.tensor([0.4, 0.7, 1.1]), 1.3, 0.05))
    _, gradient = loss(theta)
    for i in range(len(theta)):
        step = np.zeros_like(theta)
        step[i] = 1e-5
        slope = (loss(theta + step)[0] - loss(theta - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("outputs", ["none", "yeo-johnson"])
def test_told_errors_reach_the_model_through_the_slope_of_the_transform(outputs: str) -> None:
    optimizer = Optimizer(LINE, outputs=outputs, direction="maximize")
    points = optimizer.space.sample(9, torch.Generator().manual_seed(3))
    values = [wave(p) for p in points]
    errors = [0.1 * (i + 1) for i in range(9)]
    optimizer.tell(points, values, errors=errors)
    model = optimizer.model()
    observations = optimizer.history.observations(optimizer.space, "maximize")
    assert model.errors is not None
    for row, number in enumerate(observations.numbers.tolist()):
        (transform,) = fit_outputs(outputs, torch.tensor(sorted(values), dtype=torch.float64))
        low, high = (torch.tensor(values[number] + sign * 1e-4, dtype=torch.float64) for sign in (-1, 1))
        slope = float(transform.forward(high) - transform.forward(low)) / 2e-4
        assert float(model.errors[row]) == pytest.approx((errors[number] * slope / model.scale) ** 2, rel=1e-3)


def test_a_value_with_a_large_error_is_not_believed() -> None:
    points = [{"x": float(x), "y": 0.0} for x in range(11)]
    values = [0.1 * x for x in range(11)]
    values[5] = 4.0
    believed, doubted = Optimizer(LINE, outputs="none", noise=0.0), Optimizer(LINE, outputs="none", noise=0.0)
    believed.tell(points, values)
    doubted.tell(points, values, errors=[None] * 5 + [50.0] + [None] * 5)
    assert believed.predict(points[5]).mean == pytest.approx(4.0, abs=0.2)
    assert doubted.predict(points[5]).mean == pytest.approx(0.5, abs=0.2)


def test_errors_change_suggestions_only_where_there_are_some() -> None:
    points = [{"x": float(x), "y": 0.0} for x in range(8)]
    values = [wave(p) for p in points]
    asked = []
    for errors in (None, [None] * 8, [0.0] * 8, [0.5] * 8):
        optimizer = Optimizer(LINE, **CHEAP)
        optimizer.tell(points, values, errors=errors)
        asked.append(optimizer.ask())
    assert asked[0] == asked[1] == asked[2] != asked[3]


def test_the_order_of_telling_errors_changes_nothing() -> None:
    same = [({"x": 1.0, "y": 0.0}, 1.0, 0.1), ({"x": 1.0, "y": 0.0}, 1.0, 0.3)]
    rest = [({"x": float(x), "y": 0.5}, float(x), None) for x in range(6)]
    digests = set()
    for order in ([*same, *rest], [*rest, *reversed(same)]):
        optimizer = Optimizer(LINE)
        for point, value, error in order:
            optimizer.tell(point, value, errors=error)
        digests.add(optimizer.history.observations(optimizer.space, "minimize").digest())
    assert len(digests) == 1


@pytest.mark.parametrize("errors", [-1.0, math.nan, math.inf, "much", True])
def test_what_is_no_error_is_refused(errors: Any) -> None:
    optimizer = Optimizer(LINE)
    with pytest.raises(ValueError, match="standard deviation"):
        optimizer.tell({"x": 1.0, "y": 0.0}, 1.0, errors=errors)
    with pytest.raises(ValueError, match="2 points but 1 error"):
        optimizer.tell([{"x": 1.0, "y": 0.0}] * 2, [1.0, 2.0], errors=[0.1])
    assert optimizer.evaluations == []


def test_errors_are_kept_stored_and_exported(tmp_path: Path) -> None:
    optimizer = Optimizer(LINE)
    (point,) = optimizer.ask(1)
    optimizer.tell(point, 1.5, errors=np.float64(0.25))
    optimizer.tell({"x": 1.0, "y": 0.0}, None, errors=0.5)
    assert [e.error for e in optimizer.evaluations] == [0.25, None]
    assert [e.error for e in Optimizer.from_json(optimizer.to_json()).evaluations] == [0.25, None]
    db = tmp_path / "run.db"
    with StoredRun.open(db, "run", optimizer.space, optimizer.settings) as run:
        run.add_evaluations([e._replace(number=None) for e in optimizer.evaluations])
    assert [e.error for e in load_optimizer(db).evaluations] == [0.25, None]
    write(load_records(db), tmp_path / "run.json")
    assert [row["error"] for row in json.loads((tmp_path / "run.json").read_text())] == [0.25, None]
    write(load_records(db), tmp_path / "run.csv")
    header, first, second = (tmp_path / "run.csv").read_text().splitlines()
    column = header.split(",").index("error")
    assert (first.split(",")[column], second.split(",")[column]) == ("0.25", "")


# -- replicates -------------------------------------------------------------------------------------------------------


def test_replicates_stay_several_observations_and_teach_the_noise() -> None:
    optimizer = Optimizer({"x": Float(0, 10)}, outputs="none", **CHEAP)
    points = [{"x": float(x)} for x in range(1, 10, 2) for _ in range(8)]
    noise = torch.randn(len(points), generator=torch.Generator().manual_seed(2)).tolist()
    values = [p["x"] / 5 + 0.3 * e for p, e in zip(points, noise, strict=True)]
    optimizer.tell(points, values)
    assert len(optimizer.evaluations) == 40
    assert len(optimizer.history.observations(optimizer.space, "minimize").y) == 40
    assert optimizer.model().noise_deviation == pytest.approx(0.3, abs=0.1)
    average = float(np.mean(values[16:24]))
    assert optimizer.predict({"x": 5.0}).mean == pytest.approx(average, abs=0.15)
    assert optimizer.predict({"x": 5.0}).deviation < 0.3 / math.sqrt(8) + 0.05
    assert len(optimizer.ask(2)) == 2


def test_replicates_with_errors_average_as_their_precision_says() -> None:
    optimizer = Optimizer({"x": Float(0, 10)}, outputs="none", noise=0.0, direction="maximize")
    optimizer.tell([{"x": 0.0}, {"x": 10.0}], [-10.0, 10.0])
    optimizer.tell([{"x": 5.0}] * 2, [0.0, 3.0], errors=[0.1, 1.0])
    assert optimizer.predict({"x": 5.0}).mean == pytest.approx(3.0 / 101.0, abs=0.1)


# -- predict ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("outputs", ["none", "yeo-johnson"])
def test_a_prediction_is_that_of_samples_of_the_model(direction: Any, outputs: str) -> None:
    optimizer = told(direction=direction, outputs=outputs)
    point = {"x": 4.0, "y": 0.2}
    prediction = optimizer.predict(point)
    model = optimizer.model()
    mu, sigma = model.marginals(optimizer.space.to_unit([point]))
    z = torch.randn(400_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sign = 1.0 if direction == "maximize" else -1.0
    samples = sign * model.values_at(mu + sigma * z)
    assert optimizer.best is not None
    improves = samples > optimizer.best.value if sign > 0 else samples < optimizer.best.value
    assert prediction.mean == pytest.approx(float(samples.mean()), abs=0.02 * float(samples.std()))
    assert prediction.deviation == pytest.approx(float(samples.std()), rel=0.03)
    assert prediction.improvement == pytest.approx(float(improves.double().mean()), abs=0.004)


def test_predict_takes_one_point_or_a_list_and_refuses_before_there_is_a_model() -> None:
    with pytest.raises(ValueError, match="nothing has been evaluated successfully"):
        Optimizer(LINE).predict({"x": 1.0, "y": 0.0})
    optimizer = told()
    points = [{"x": 1.0, "y": 0.0}, {"x": 2.0, "y": 0.0}]
    first, second = optimizer.predict(points)
    assert isinstance(first, compbo.Prediction)
    assert first == pytest.approx(optimizer.predict(points[0]))
    assert first != second
    assert optimizer.predict([]) == []
    with pytest.raises(ValueError, match="x"):
        optimizer.predict({"x": 100.0, "y": 0.0})


# -- explain ----------------------------------------------------------------------------------------------------------


def test_the_design_needs_no_reason() -> None:
    optimizer = Optimizer(LINE)
    with pytest.raises(ValueError, match="nothing has been asked"):
        optimizer.explain()
    optimizer.ask(2)
    words = optimizer.explain()
    assert words.startswith("2 points of the sobol design: there was no model yet.\nTrial 0: x ")
    assert len(words.splitlines()) == 3


def test_a_batch_in_words_names_predictions_differences_turn_and_verdict() -> None:
    space = {"x": Float(0, 10), "kind": Categorical(["a", "b"])}
    optimizer = Optimizer(space, initial_points=2, **CHEAP)
    known = [{"x": float(x), "kind": "a"} for x in range(8)]
    optimizer.tell(known, [(p["x"] - 3.2) ** 2 for p in known])
    asked = optimizer.ask(2)
    expected = optimizer.predict(asked)
    words = optimizer.explain()
    telemetry = optimizer.telemetry[-1]
    assert f"by the acquisition function {telemetry.acquisition}, whose turn it was among ucb, sr" in words
    assert f"Verdict: {telemetry.verdict} ({telemetry.reason})." in words
    assert "The best of 8 evaluations is 0.04 (trial 3)." in words
    for point, prediction in zip(asked, expected, strict=True):
        assert f"Trial {point.number}: x {point['x']:.6g}, kind {point['kind']}" in words
        assert f"expected {prediction.mean:.6g} +- {prediction.deviation:.3g}" in words
        assert f"a probability of {prediction.improvement:.2g}" in words
        assert f"x {point['x']:.6g}, not 3" in words
        assert ("kind b, not a" in words) == any(p["kind"] == "b" for p in asked)
    assert Optimizer.from_json(optimizer.to_json()).explain() == words


def test_what_was_told_since_is_said_and_not_known_to_the_model() -> None:
    optimizer = told(12, initial_points=2, **CHEAP)
    first, second = optimizer.ask(2)
    words = optimizer.explain()
    optimizer.tell(first, 0.125)
    assert optimizer.explain() == words.replace("\n  differs", "; it is 0.125\n  differs", 1)
    optimizer.forget(second)
    assert f"Trial {second.number}" not in optimizer.explain()
    optimizer.tell({"x": 9.0, "y": 0.9}, 3.0)
    assert "1 result told since then" in optimizer.explain()


def test_explaining_changes_nothing() -> None:
    optimizer = told(12, initial_points=2, **CHEAP)
    other = Optimizer.resume(optimizer.space, optimizer.settings, History(optimizer.history.evaluations))
    optimizer.ask()
    optimizer.explain()
    optimizer.cross_validation()
    other.ask()
    assert optimizer.ask() == other.ask()


def test_an_evaluation_has_no_error_unless_it_was_told() -> None:
    assert Evaluation({"x": 0.5}, 1.0).error is None
