"""Every method behind the study's interface: valid points, the same again, and no trace in the global generators."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import compbo
from compbo.space import Space
from compbo.study.cell import Cell, MethodSpec, SurrogateSpec
from compbo.study.engine.experiment import initial_design
from compbo.study.engine.ledger import Ledger
from compbo.study.methods import peers
from compbo.study.methods.defaults import VARIANTS, DefaultMethod
from compbo.study.methods.registry import KINDS, MAXIMIZER, make_method
from compbo.study.results import schema
from compbo.study.tasks import get_task
from study_helpers import TINY, cell, compbo_cell

OTHERS = [kind for kind in KINDS if kind != MAXIMIZER and not kind.startswith("compbo-")]  # variants: below


def other(kind: str, task: str = "levy-2-shifted", dimension: int = 2, **changes: Any) -> Cell:
    surrogate = SurrogateSpec() if KINDS[kind].surrogate else None
    inner = TINY if KINDS[kind].inner else None
    method = MethodSpec(kind, hyperparameters=KINDS[kind].options)
    return cell(method, task=task, dimension=dimension, initial=6, surrogate=surrogate, inner=inner, **changes)


def history(one: Cell, steps: int) -> Ledger:
    """A few steps by hand."""
    task = get_task(one.task, one.seed)
    method, ledger = make_method(one, task), Ledger(task)
    design = initial_design(one, task)
    method.tell(design, ledger.evaluate(design))
    for _ in range(steps):
        points = method.ask(one.batch)
        assert len(points) == one.batch
        assert all(task.space.validate(point) == point for point in points)
        method.tell(points, ledger.evaluate(points))
    return ledger


@pytest.mark.parametrize("kind", OTHERS)
def test_methods_are_reproducible_and_follow_their_seed(kind: str) -> None:
    one = other(kind)
    steps = 1 if kind == "botorch-qlogei" else 4  # Optuna's samplers begin after ten points
    first = history(one, steps)
    assert history(one, steps).points == first.points
    assert history(other(kind, seed=1), 1).points[6:] != first.points[6:8]


@pytest.mark.parametrize("kind", VARIANTS)
def test_a_variant_is_the_default_but_for_its_options(kind: str) -> None:
    one = other(kind, seed=7)
    again = Cell.from_dict(json.loads(one.definition))
    made = make_method(again, get_task(one.task, one.seed))
    assert isinstance(made, DefaultMethod)
    expected = compbo.Settings(batch_size=one.batch, seed=7, initial_points=1, **VARIANTS[kind])
    assert made.settings == expected


@pytest.mark.parametrize("kind", ["optuna-tpe", "pycma", "thompson-decoupled"])
def test_methods_learn_something(kind: str) -> None:
    """After 60 evaluations they are better than random search after as many, in at least two of three runs."""
    wins = 0
    for seed in range(3):
        runs = [history(other(name, seed=seed, batch=18), 3) for name in (kind, "random-search")]
        losses = [min(loss for loss in run.losses if loss is not None) for run in runs]
        wins += losses[0] < losses[1]
    assert wins >= 2


@pytest.mark.parametrize("kind", [kind for kind in OTHERS if kind != "botorch-qlogei"])
def test_mixed_spaces_and_failed_evaluations(kind: str) -> None:
    task = get_task("linear-boston-mse")
    one = other(kind, task="linear-boston-mse", dimension=task.space.dim)
    method = make_method(one, task)
    design = initial_design(one, task)
    losses: list[float | None] = [None if i == 2 else float(i) for i in range(len(design))]
    method.tell(design, losses)
    points = method.ask(2)
    assert all(task.space.validate(point) == point for point in points)
    method.tell(points, [None, 0.5])
    assert len(method.ask(2)) == 2


def test_sequential_greedy_asks_for_every_point_beside_the_earlier_ones_of_its_batch() -> None:
    one, joint = other("compbo-sequential", batch=3), other("compbo", batch=3)
    task = get_task(one.task, one.seed)
    methods = [make_method(cell, task) for cell in (one, joint)]
    design = initial_design(one, task)
    for method in methods:
        method.tell(design, [task.evaluate(point) for point in design])
    batches = [method.ask(3) for method in methods]
    assert [len(batch) for batch in batches] == [3, 3]
    assert batches[0] != batches[1]
    asks = [(method.last_ask["points"], method.last_ask["pending"]) for method in methods]
    assert asks == [(1, 2), (3, 0)]


def test_botorch_tells_what_it_reached() -> None:
    task = get_task("levy-2")
    one = other("botorch-qlogei", task="levy-2")
    method = make_method(one, task)
    method.tell(design := initial_design(one, task), [task.evaluate(point) for point in design])
    method.ask(2)
    ask = method.last_ask
    assert set(ask) <= set(schema.TELEMETRY)
    assert np.isfinite(ask["acquisition_value"])
    assert ask["fit_seconds"] > 0
    assert ask["maximise_seconds"] > 0


def test_compbo_starts_from_the_told_design_and_has_telemetry() -> None:
    one = compbo_cell("Adam-ERM", "ei", task="levy-2", dimension=2)
    task = get_task(one.task)
    method = make_method(one, task)
    method.tell(design := initial_design(one, task), [task.evaluate(point) for point in design])
    method.ask(2)
    ask = method.last_ask
    assert ask["verdict"] in ("converged", "still climbing", "flat", "degraded")
    assert ask["ascent_steps"] == TINY.steps
    names = ("acquisition_value", "acquisition_gain", "acquisition_error", "spread")
    assert np.isfinite([ask[name] for name in names]).all()
    assert set(schema.TELEMETRY) <= set(ask)  # a field that is renamed must not become a column of nothing


def test_methods_of_one_task_and_seed_see_the_same_first_batch_of_raw_points() -> None:
    """The first suggestion of two maximizers differs only by the ascent: random search's start is shared."""
    values = []
    for maximizer in ("RS", "Adam-ERM", "CAdam"):
        one = compbo_cell(maximizer, "ucb", task="levy-2", dimension=2)
        task = get_task(one.task)
        method = make_method(one, task)
        method.tell(design := initial_design(one, task), [task.evaluate(point) for point in design])
        method.ask(2)
        values.append(method.last_ask["acquisition_value"] - method.last_ask["acquisition_gain"])
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("dimension", [2, 6])  # its usual generations: 6 and 9 points
@pytest.mark.parametrize("batch", [1, 3, 8, 20])
def test_pycma_gets_its_generations_whatever_the_batch(
    batch: int, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = get_task(name := f"levy-{dimension}")
    method = peers.PycmaMethod(other("pycma", task=name, dimension=dimension, batch=batch), task)
    method.tell(design := task.space.from_unit(np_points(task.space, 4)), [task.evaluate(point) for point in design])
    asked: list[tuple[float, ...]] = []
    told: list[tuple[float, ...]] = []
    for _ in range(120 // batch):
        points = method.ask(batch)
        asked += [tuple(point.values()) for point in points]
        if len(asked) == batch:
            record(method, told, monkeypatch)
        method.tell(points, [task.evaluate(point) for point in points])
    assert method._strategy.popsize % batch == 0
    assert len(told) >= 120 - 120 % batch - 2 * max(batch, method._strategy.popsize)
    points = [dict(zip(task.space.names, values, strict=True)) for values in asked[: len(told)]]
    assert np.allclose(told, task.space.to_unit(points), rtol=0, atol=1e-14)


def np_points(space: Space, count: int) -> Any:
    import torch

    return torch.from_numpy(np.random.default_rng(0).random((count, space.dim)))


def record(method: peers.PycmaMethod, told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tell = method._strategy.tell

    def watched(points: list[Any], losses: list[float]) -> None:
        told.extend(np.asarray(point).tolist() for point in points)
        tell(points, losses)

    monkeypatch.setattr(method._strategy, "tell", watched)
