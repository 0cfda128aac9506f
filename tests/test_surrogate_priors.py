"""Choices and switches share what is learnt: their lengthscales have a prior of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from benchmarks.defaults import mixed_tasks
from benchmarks.defaults.priors_page import named

import compbo
from compbo.bo.model import fit_model
from compbo.bo.settings import Settings
from compbo.space import Bool, Categorical, Float, Int, Space
from compbo.surrogate.priors import get_priors
from compbo.types import DTYPE

CHOICES = ["a", "b", "c"]
MIXED = Space({"x": Float(0, 1), "kind": Categorical(CHOICES), "flag": Bool(), "n": Int(1, 9)})


def at(x: float, kind: str = "a", flag: bool = False) -> dict[str, object]:
    return {"x": x, "kind": kind, "flag": flag, "n": 5}


def fitted(name: str) -> tuple[float, float]:
    """What a model expects at another choice and switch, where the values are high and low at those it has seen."""
    points = [at(float(x)) for x in torch.linspace(0, 1, 12)]
    y = torch.tensor([-((p["x"] - 0.25) ** 2) for p in points], dtype=DTYPE)
    model = fit_model(MIXED, MIXED.to_unit(points), y, kernel="matern52", priors=name, noise=None)
    mean, _ = model.marginals(MIXED.to_unit([at(0.25, "b", True), at(1.0, "b", True)]))
    return float(mean[0]), float(mean[1])


def test_choices_and_switches_have_lengthscales_eight_times_as_long() -> None:
    (ours, columns), (theirs, of_choices) = get_priors("shared-choices", 6).of_lengthscales(6, MIXED.choice_columns)
    assert columns.tolist() == [0, 5]
    assert of_choices.tolist() == [1, 2, 3, 4]
    assert theirs.middle == 8 * ours.middle


def test_what_is_learnt_at_one_choice_counts_for_the_others() -> None:
    """The two values differ by 3 where they were seen."""
    good, poor = fitted("shared-choices")
    assert good - poor > 1.5
    good, poor = fitted("paper")
    assert abs(good - poor) < 0.01


def test_the_values_can_say_otherwise() -> None:
    """With as many values at another choice that are the other way round, that choice is told apart."""
    points = [at(float(x), kind) for kind in "ab" for x in torch.linspace(0, 1, 12)]
    y = torch.tensor([(p["x"] if p["kind"] == "a" else 1 - p["x"]) for p in points], dtype=DTYPE)
    model = fit_model(MIXED, MIXED.to_unit(points), y, kernel="matern52", priors="shared-choices", noise=None)
    mean, _ = model.marginals(MIXED.to_unit([at(0.95, "a"), at(0.95, "b")]))
    assert float(mean[0]) > 1.0
    assert float(mean[1]) < -1.0


def test_without_choices_nothing_differs_from_the_paper_to_the_last_bit() -> None:
    space = Space({"x": Float(0, 1), "n": Int(1, 9)})

    def suggested(name: str) -> list[dict[str, object]]:
        opt = compbo.Optimizer(space, priors=name, batch_size=2, initial_points=4, seed=1)
        points = opt.ask(4)
        opt.tell(points, [(p["x"] - 0.3) ** 2 + p["n"] for p in points])
        return [dict(point) for point in opt.ask()]

    assert suggested("shared-choices") == suggested("paper")


def test_it_is_the_default() -> None:
    assert Settings().priors == "shared-choices"


@pytest.mark.parametrize("number", range(6))
def test_mixed_tasks_are_the_same_every_time_and_have_no_loss_below_the_optimum(number: int) -> None:
    task = getattr(mixed_tasks, f"mixed_{number}")
    points = task.space.sample(200, torch.Generator().manual_seed(number))
    losses = [task.evaluate(point) for point in points]
    assert losses == [getattr(mixed_tasks, f"mixed_{number}").evaluate(point) for point in points]
    assert len(task.space.choice_columns) >= 6
    if task.optimum is not None:
        assert min(losses) > task.optimum
        assert _smallest(number) == pytest.approx(task.optimum, abs=1e-12)


@pytest.mark.parametrize("number", range(3))
def test_a_choice_among_functions_has_the_best_of_the_free_one_as_its_optimum(number: int) -> None:
    task = getattr(mixed_tasks, f"choice_{number}")
    points = task.space.sample(100, torch.Generator().manual_seed(number))
    losses = [task.evaluate(point) for point in points]
    assert min(losses) > task.optimum == 0.0
    assert pickle.loads(pickle.dumps(task)).evaluate(points[0]) == losses[0]
    made = mixed_tasks._choice(number)
    free = int(made.costs.argmin())
    assert made.costs[free] == 0.0 < sorted(made.costs)[1]
    assert 0.3 < np.median(losses) < 3.0  # in units of the medians


def _smallest(number: int) -> float:
    """The loss of the best choices and numbers, which the tables of the task name."""
    loss = mixed_tasks._loss(number)
    parts = dict(zip(loss.__code__.co_freevars, (cell.cell_contents for cell in loss.__closure__ or ()), strict=True))
    picked = np.array([int(costs.argmin()) for costs in parts["alone"]])
    place = parts["place"][picked[0] if parts["own"] else 0]
    return float(loss(place, picked))


def test_an_unknown_mixed_task_is_refused() -> None:
    with pytest.raises(AttributeError, match="no mixed development task 'mixed_x'"):
        mixed_tasks.mixed_x  # noqa: B018


def test_runs_of_the_trials_are_named_by_their_priors() -> None:
    import pandas as pd

    rows = pd.DataFrame(
        {"optimiser": ["compbo", "random-search"], "hyperparameters": ['{"priors": "\\"paper\\""}', "{}"]}
    )
    assert named(rows, {"paper": "as before"})["optimiser"].tolist() == ["as before", "random-search"]
