"""The development tasks of many kinds: their optima, and their names."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.defaults import dimensions_page, wide_page, wide_tasks
from benchmarks.defaults.variants import DEFAULT
from benchmarks.defaults.wide_tasks import BOX, FAMILIES

MULTIPLES = {
    "rosenbrock": 0.75,
    "turned_rosenbrock": 0.5,
    "griewank_rosenbrock": 0.5,
    "many_peaks": 0.8,
    "few_peaks": 0.8,
}
CORNERS = {"slope": BOX, "schwefel": 0.5 * 4.2096874633, "lunacek": 1.25}


def minimiser(family: str, d: int) -> np.ndarray:
    drawn = wide_tasks._Drawn(family, d).optimum
    return CORNERS[family] * np.sign(drawn) if family in CORNERS else MULTIPLES.get(family, 1.0) * drawn


def evaluate(family: str, d: int, x: np.ndarray) -> float:
    task = getattr(wide_tasks, f"{family}_{d}")
    return task.evaluate({f"x{i}": float(u) for i, u in enumerate(x / (2 * BOX) + 0.5)})


@pytest.mark.parametrize("d", [2, 4, 40])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_smallest_loss_is_zero_and_none_is_below(family: str, d: int) -> None:
    best = minimiser(family, d)
    assert np.abs(best).max() <= BOX
    assert evaluate(family, d, best) == pytest.approx(0.0, abs=1e-6)
    rng = np.random.default_rng(7)
    anywhere = [evaluate(family, d, x) for x in rng.uniform(-BOX, BOX, (50, d))]
    near = [evaluate(family, d, np.clip(best + 0.01 * rng.standard_normal(d), -BOX, BOX)) for _ in range(50)]
    assert all(np.isfinite(anywhere))
    assert min(anywhere + near) >= 0.0
    assert np.ptp(anywhere) > 0
    assert np.median(near) < np.median(anywhere)


def test_a_task_is_the_same_every_time_and_pickles() -> None:
    task = wide_tasks.waves_10
    point = {f"x{i}": 0.1 * i for i in range(10)}
    assert pickle.loads(pickle.dumps(task)).evaluate(point) == wide_tasks.waves_10.evaluate(point)
    assert list(task.space.sample(1, torch.Generator().manual_seed(0))[0]) == list(point)


def test_a_name_that_no_task_has() -> None:
    for name in ("bowl_4", "sphere_1"):
        with pytest.raises(AttributeError, match=f"no development task '{name}'"):
            getattr(wide_tasks, name)


# -- the table that is made of them -----------------------------------------------------------------------------------


def made_up(regrets: dict[str, dict[str, float]]) -> pd.DataFrame:
    """Cells by task and method, with a final regret each."""
    rows = [(task, method, regret) for task, by_method in regrets.items() for method, regret in by_method.items()]
    table = pd.DataFrame(rows, columns=["task", "optimiser", "regret"])
    curves = [np.array([1.0, regret]) for regret in table["regret"]]
    return table.assign(seed=0, status="done", floor=0.0, floor_kind="optimum", best=curves, regret=curves)


def test_the_table_has_ratios_to_the_default_by_dimension() -> None:
    regrets = {
        "wide:few_4": {DEFAULT: 0.1, 'outputs="none"': 0.2, "optuna-gp": 0.05},
        "wide:few_20": {DEFAULT: 0.1, 'outputs="none"': 0.8, "optuna-gp": 0.1},
        "wide:waves_20": {DEFAULT: 0.2, 'outputs="none"': 0.4},
    }
    other_seed = made_up({"wide:few_4": {DEFAULT: 0.9}}).assign(seed=1)  # no other method has it
    header, _, *rows = wide_page.wide_table(pd.concat([made_up(regrets), other_seed])).splitlines()
    assert header == "| method | regret / the default's | 95 % interval | better on | 4D | 20D |"
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == ["Optuna's GP", "the default", '`outputs="none"`']
    assert cells[0][1:] == ["0.71", "0.50 to 1.00", "1 of 2 tasks", "0.50", "1.00"]
    assert cells[2][1:] == ["3.17", "2.00 to 8.00", "0 of 3 tasks", "2.00", "4.00"]


def test_trials_for_many_dimensions_are_told_apart_without_and_with_noise() -> None:
    regrets = {
        "wide:few_20": {DEFAULT: 0.1, "dimensions-region": 0.2},
        "special:valley_normal1_20": {DEFAULT: 0.2, "dimensions-region": 0.1},
    }
    still, words, noisy = dimensions_page.dimensions_tables(made_up(regrets)).split("\n\n")
    assert "noise" in words
    assert "| all batches in a trust region | 2.00 |" in still
    assert "| all batches in a trust region | 0.50 |" in noisy
