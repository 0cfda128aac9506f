"""Tuning: 33 configurations by compbo's own optimiser, each a stored cell; interrupted, resumed, held out."""

from __future__ import annotations

import csv
import json
import math
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools import tuned

from compbo.maximizers import CATALOGUE
from compbo.space import Space
from compbo.study.cell import FIRST_TUNING_SEED, Cell
from compbo.study.engine.driver import run_study
from compbo.study.engine.pools import FinishedCell
from compbo.study.engine.rows import identity
from compbo.study.grid import Block, Grid
from compbo.study.results import Store, load, schema
from compbo.study.tuner.judges import held_out_tasks, tuning_seed
from compbo.study.tuner.problem import tuning_loss
from compbo.study.tuner.status import TuningStatus, study_and_tuning_status
from compbo.study.tuner.tune import CONFIGURATIONS, tune_study
from compbo.study.tuner.tuned_file import apply_tuned
from study_helpers import ROOT, cell, compbo_cell


class FakePool:
    """Answers at once, with a regret that a smooth function of the hyperparameters decides."""

    slots = window = 4

    def __init__(self, stop_after: int | None = None) -> None:
        self.run: list[Cell] = []
        self._waiting: deque[Cell] = deque()
        self._stop_after = stop_after

    def submit(self, one: Cell) -> None:
        self._waiting.append(one)

    def wait(self, seconds: float) -> FinishedCell | None:
        if self._stop_after is not None and len(self.run) >= self._stop_after:
            raise KeyboardInterrupt
        one = self._waiting.popleft()
        self.run.append(one)
        return FinishedCell(one, schema.to_bytes(fake_row(one)))

    def close(self) -> None:
        self._waiting.clear()


def fake_row(one: Cell) -> schema.Row:
    lr = float(dict(one.method.hyperparameters)["lr"])
    final = 1e-3 + (math.log10(lr) + 2.0) ** 2
    outcome = {"status": "done", "floor": 0.0, "floor_kind": "optimum", "best": [9.0, final], "regret": [9.0, final]}
    return {**identity(one), **outcome, "seconds": 1.0}


def tuning(store: Store, *arguments: Any, **options: Any) -> TuningStatus:
    """How far the tuning of a folder is."""
    return study_and_tuning_status(store, *arguments, **options)[1]


def maker(pool: FakePool) -> Callable[[], FakePool]:
    return lambda: pool


GRID = [
    compbo_cell("SCGA", "ei"),
    compbo_cell("RS", "ei"),
    compbo_cell("SCGA", "ucb"),
    cell(),
    compbo_cell("SCGA", "ei", seed=1),
]


def test_a_problem_gets_its_33_configurations(tmp_path: Path) -> None:
    store, pool = Store(tmp_path), FakePool()
    done = tune_study([*GRID[:2], *GRID[3:]], store, maker(pool), show=False)
    assert (done.problems, done.run, done.failed) == (1, CONFIGURATIONS, 0)
    assert len({one.hash for one in pool.run}) == 33
    assert {one.seed for one in pool.run} == {tuning_seed(0)}  # from the first seed of the grid
    domain = Space(CATALOGUE["SCGA"].domain)
    for one in pool.run:
        domain.validate({name: value for name, value in one.method.hyperparameters if name in domain.names})
    (entry,) = json.loads(done.path.read_text())["entries"]
    assert (entry["task"], entry["acquisition"], entry["maximizer"]) == ("ackley-4", "ei", "SCGA")
    assert entry["configurations"] == 33
    assert (entry["held_out"], entry["judged_on"], entry["seeds"]) == (False, ["ackley-4"], [tuning_seed(0)])
    assert abs(math.log10(entry["hyperparameters"]["lr"]) + 2.0) < 0.1  # it found the minimum


@pytest.mark.parametrize("held_out", [False, True])
def test_what_judged_a_configuration_is_never_reported(tmp_path: Path, held_out: bool) -> None:
    """Every cell of the report runs anew, also one that has the configuration that tuning chose."""
    store, judges, reported = Store(tmp_path), FakePool(), FakePool()
    seeds = [GRID[0], *(compbo_cell("SCGA", "ei", seed=seed) for seed in (1, 2, FIRST_TUNING_SEED - 1))]
    tune_study(seeds, store, maker(judges), configurations=4, held_out=held_out, show=False)
    tuned = apply_tuned(seeds, store, held_out=held_out)
    assert run_study(tuned, store, maker(reported), show=False) == (4, 0, 0)
    best = dict(tuned[0].method.hyperparameters)
    assert best in [dict(one.method.hyperparameters) for one in judges.run]
    assert [one.seed for one in reported.run] == [0, 1, 2, FIRST_TUNING_SEED - 1]
    assert not {one.hash for one in judges.run} & {one.hash for one in reported.run}
    assert sorted(load(tmp_path)["cell"]) == sorted(one.hash for one in tuned)
    assert len(load(tmp_path, tuning=True)) == len(judges.run) + 4
    assert len(load(tmp_path, cells=judges.run)) == len(judges.run)


def test_no_reported_cell_has_a_seed_of_tuning(tmp_path: Path) -> None:
    assert all(tuning_seed(seed) >= FIRST_TUNING_SEED for seed in (0, 1, FIRST_TUNING_SEED - 1))
    with pytest.raises(ValueError, match=r"seed 1000000000 is kept for tuning; the seeds of a grid are below 10\^9"):
        Block(("ackley-4",), ("RS",), ("ei",), seeds=(0, FIRST_TUNING_SEED))
    with pytest.raises(ValueError, match="seed 1000000000 is one of tuning itself"):
        tune_study([compbo_cell("SCGA", seed=FIRST_TUNING_SEED)], Store(tmp_path), maker(FakePool()), show=False)


def test_the_document_has_the_measured_numbers_of_the_flattery() -> None:
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    section = text[text.index("### What the paper's way of tuning does") : text.index("## The results folder")]
    columns = ("best_of_33", "same_configuration", "default", "default_best_of_33")
    groups: dict[tuple[str, str], list[list[float]]] = {}
    with (ROOT / "benchmarks" / "flattery.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = [float(row[column] or "nan") for column in columns]
            groups.setdefault((row["task"], row["optimiser"]), []).append(numbers)
    for key, rows in groups.items():
        means = ["-" if math.isnan(mean) else f"{mean:.3f}" for mean in np.mean(rows, axis=0)]
        assert f"| {' | '.join([*key, *means])} |" in section
    tuned = np.array([row for rows in groups.values() for row in rows if not math.isnan(row[0])])
    factors = tuned[:, 1] / tuned[:, 0]
    luck = [rows[0][2] / rows[0][3] for rows in groups.values()]
    assert (len(factors), min(factors) > 1) == (24, True)
    assert "All 24 times the best of 33 runs is better" in section
    assert f"of {np.exp(np.log(factors).mean()):.1f} (geometric mean), from {min(factors):.1f} to" in section
    assert f"a best run that is {np.exp(np.log(luck).mean()):.1f} times better" in section


def test_tuned_settings_are_compared_with_the_default_run_by_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake regret depends on lr alone: both tunings find a better one, and every seed has the same."""
    pool = FakePool()
    monkeypatch.setattr(tuned, "make_pool", maker(pool))
    small = Grid("small", "", (Block(("levy-4", "ackley-4", "powell-4"), ("SCGA", "CAdam"), ("ucb",), seeds=(0, 1)),))
    found = tuned.measure(tmp_path, tuned.Tuning(small, ("other_seed", "other_tasks")), configurations=9)
    assert [(one.task, one.optimiser, one.seed) for one in found] == [
        (task, name, seed)
        for seed in range(2)
        for task in ("levy-4", "ackley-4", "powell-4")
        for name in ("SCGA", "CAdam")
    ]
    assert all(max(one.other_seed, one.other_tasks) < one.default for one in found)
    judged = {cell.task for cell in pool.run if cell.seed >= FIRST_TUNING_SEED}
    assert {"levy-4", "ackley-4", "powell-4-shifted", "levy-4-shifted"} <= judged
    tuned.write_csv(found, tmp_path / "tuned.csv")
    assert tuned.read_csv(tmp_path / "tuned.csv") == [
        one._replace(**{name: pytest.approx(getattr(one, name), abs=6e-5) for name in one._fields[3:]}) for one in found
    ]
    how, table, _, against = tuned.section(found)
    assert "with fresh seeds" in how
    (line,) = [line for line in table.splitlines() if line.startswith("| 4 | CAdam | other functions |")]
    difference = np.mean([one.other_tasks - one.default for one in found if one.optimiser == "CAdam"])
    assert f"| {difference:.3f} [" in line
    assert "| 3 tasks, 6 runs |" in line
    assert against == tuned.HEAD_AGAINST, "without Adam-ERM nothing is compared with it"
    assert tuned.section(tuned.read_csv(tmp_path / "nothing.csv")) == []


def test_what_is_in_the_table_is_not_tuned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, path = FakePool(), tmp_path / "tuned.csv"
    monkeypatch.setattr(tuned, "make_pool", maker(pool))
    one, two = (Grid("", "", (Block((task,), ("SCGA",), ("ucb",), seeds=(0,)),)) for task in ("levy-4", "levy-6"))
    there = tuned.Outcome("levy-4", "SCGA", 0, 0.5, 0.25)
    tuned.write_csv([there], path)
    monkeypatch.setattr(tuned, "TUNINGS", [tuned.Tuning(grid, ("other_seed",)) for grid in (one, two)])
    tuned.main(tmp_path / "runs", path)
    assert {cell.task for cell in pool.run} == {"levy-6"}
    kept, new = tuned.read_csv(path)
    assert str(kept) == str(there), "nan is not equal to itself"
    assert new.task == "levy-6"
    both = tuned.Tuning(one, ("other_seed", "other_tasks"))
    assert tuned.known(both, [there]) == [], "the other way was not tuned"


def test_tuned_settings_are_compared_with_each_other() -> None:
    tasks = [f"{function}-60" for function in tuned.FUNCTIONS]
    found = [
        tuned.Outcome(task, name, 0, default + 0.01 * k, best + 0.01 * k)
        for k, task in enumerate(tasks)
        for name, default, best in (("Adam-ERM", 0.4, 0.3), ("NASA", 0.7, 0.2))
    ]
    _, table, _, against = tuned.section(found)
    assert "other functions" not in table, "not tuned so"
    assert "| 60 | NASA | another seed | -0.500 [-0.500, -0.500] | 5 tasks, 5 runs | better |" in table
    (line,) = against.splitlines()[2:]
    assert line == "| 60 | NASA minus Adam-ERM | 0.300 [0.300, 0.300] | worse | -0.100 [-0.100, -0.100] | better |"


def test_an_interrupted_tuning_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    whole, stopped = Store(tmp_path / "whole"), Store(tmp_path / "stopped")
    everything = FakePool()
    expected = tune_study(GRID, whole, maker(everything), configurations=9, show=False)
    first = FakePool(stop_after=7)
    with pytest.raises(KeyboardInterrupt):
        tune_study(GRID, stopped, maker(first), configurations=9, show=False)
    for history in (tmp_path / "stopped" / "tuning").iterdir():
        history.write_text("{")  # even without it: the cells are there
        break
    second = FakePool()
    found = tune_study(GRID, stopped, maker(second), configurations=9, show=False)
    assert found.path.read_text() == expected.path.read_text()
    assert len(first.run) + len(second.run) == len(everything.run) == 18
    assert not {one.hash for one in first.run} & {one.hash for one in second.run}
    third = FakePool()
    assert tune_study(GRID, stopped, maker(third), configurations=9, show=False).run == 0
    assert third.run == []


def test_more_configurations_later_extend_the_tuning(tmp_path: Path) -> None:
    store, once = Store(tmp_path / "r"), Store(tmp_path / "once")
    tune_study(GRID[:1], store, maker(FakePool()), configurations=5, show=False)
    more = FakePool()
    tune_study(GRID[:1], store, maker(more), configurations=8, show=False)
    assert len(more.run) == 3
    direct = FakePool()
    tune_study(GRID[:1], once, maker(direct), configurations=8, show=False)
    assert [one.hash for one in direct.run[5:]] == [one.hash for one in more.run]


def test_held_out_judges_on_other_tasks_by_the_mean(tmp_path: Path) -> None:
    pool = FakePool()
    done = tune_study(GRID[:1], Store(tmp_path), maker(pool), configurations=3, held_out=True, show=False)
    assert {one.task for one in pool.run} == set(held_out_tasks("ackley-4"))
    assert len(pool.run) == 3 * 4
    assert {one.seed for one in pool.run} == {tuning_seed(0)}
    (entry,) = json.loads(done.path.read_text())["entries"]
    assert entry["held_out"] is True
    assert entry["task"] == "ackley-4"
    assert "ackley-4" not in entry["judged_on"]


def test_held_out_tuning_lives_beside_the_other(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tune_study(GRID[:1], store, maker(FakePool()), configurations=2, held_out=True, show=False)
    with pytest.raises(ValueError, match=r"tuned\.json has nothing for .* run `compbo study tune` for this grid"):
        apply_tuned(GRID[:1], store)
    (held_out,) = apply_tuned(GRID[:1], store, held_out=True)
    tune_study(GRID[:1], store, maker(FakePool()), configurations=5, show=False)
    assert apply_tuned(GRID[:1], store, held_out=True) == [held_out]
    assert apply_tuned(GRID[:1], store) != [held_out]


def test_status_says_how_much_of_a_tuning_is_left(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert tuning(store) == (0, 0, 0, 0, 0.0)
    with pytest.raises(KeyboardInterrupt):
        tune_study(GRID, store, maker(FakePool(stop_after=7)), configurations=5, show=False)
    assert tuning(store) == (2, 0, 10, 7, 3.0)  # a cell of the fake pool takes a second
    assert tuning(store, GRID[:1]).problems == 1
    assert tuning(store, GRID[3:4]).problems == 0
    assert tuning(store, keep=lambda cells: [c for c in cells if c.method.acquisition == "ei"])[0] == 1
    tune_study(GRID[:1], store, maker(FakePool()), configurations=1, held_out=True, show=False)
    assert tuning(store)[:4] == (3, 1, 11, 8)
    tune_study(GRID, store, maker(FakePool()), configurations=5, show=False)
    assert tuning(store) == (3, 3, 11, 11, 0.0)


def test_held_out_tasks() -> None:
    assert held_out_tasks("levy-16") == (
        "dixon-price-16-shifted",
        "powell-16-shifted",
        "ackley-16-shifted",
        "styblinski-tang-16-shifted",
    )
    assert "powell-6" not in held_out_tasks("levy-6-shifted")  # Powell's needs a multiple of 4
    assert len(held_out_tasks("levy-6-shifted")) == 3
    assert held_out_tasks("rf-boston-mse") == ("rf-diabetes-mse",)
    assert set(held_out_tasks("svm-pima-acc")) == {f"svm-{data}-acc" for data in ("breast", "digits", "iris", "wine")}
    with pytest.raises(ValueError, match="no held-out tasks are known for a task of your own"):
        held_out_tasks("module:task")


def test_tuned_hyperparameters_enter_the_cells(tmp_path: Path) -> None:
    store = Store(tmp_path)
    tune_study(GRID[:1], store, maker(FakePool()), configurations=4, show=False)
    tuned = apply_tuned([GRID[0], GRID[1], GRID[3], GRID[4]], store)
    lr = json.loads((tmp_path / "tuned.json").read_text())["entries"][0]["hyperparameters"]["lr"]
    assert dict(tuned[0].method.hyperparameters)["lr"] == lr
    assert dict(tuned[3].method.hyperparameters)["lr"] == lr
    assert tuned[0].hash != GRID[0].hash
    assert tuned[1:3] == [GRID[1], GRID[3]]  # nothing to tune
    with pytest.raises(ValueError, match=r"has nothing for ackley-4/ucb/SCGA/seed0; run `compbo study tune`"):
        apply_tuned(GRID, store)


def test_a_failed_configuration_is_avoided_not_fatal(tmp_path: Path) -> None:
    class Failing(FakePool):
        def wait(self, seconds: float) -> FinishedCell | None:
            finished = super().wait(seconds)
            if finished is not None and len(self.run) % 2:
                return FinishedCell(finished.cell, schema.to_bytes(failed_row(finished.cell)))
            return finished

    done = tune_study(GRID[:1], Store(tmp_path), maker(Failing()), configurations=6, show=False)
    (entry,) = json.loads(done.path.read_text())["entries"]
    assert done.failed == 3
    assert math.isfinite(entry["objective"])


def test_a_retried_configuration_is_judged_again(tmp_path: Path) -> None:
    class FirstFails(FakePool):
        def wait(self, seconds: float) -> FinishedCell | None:
            finished = super().wait(seconds)
            if finished is not None and len(self.run) == 1:
                return FinishedCell(finished.cell, schema.to_bytes(failed_row(finished.cell)))
            return finished

    store, whole = Store(tmp_path / "r"), Store(tmp_path / "whole")
    broken = FirstFails()
    tune_study(GRID[:1], store, maker(broken), configurations=4, show=False)
    retried = FakePool()
    run_study([broken.run[0]], store, maker(retried), retry=True, show=False)
    assert len(retried.run) == 1
    again = FakePool()
    found = tune_study(GRID[:1], store, maker(again), configurations=4, show=False)
    assert broken.run[0].hash not in {one.hash for one in again.run}
    expected = tune_study(GRID[:1], whole, maker(FakePool()), configurations=4, show=False)
    assert found.path.read_text() == expected.path.read_text()


@pytest.mark.parametrize("held_out", [False, True])
def test_a_damaged_cell_of_a_tuning_runs_again(tmp_path: Path, held_out: bool) -> None:
    store, pool = Store(tmp_path), FakePool()
    whole = tune_study(GRID[:1], store, maker(pool), configurations=3, held_out=held_out, show=False).path.read_text()
    lost = store.path(pool.run[1].hash)
    lost.write_bytes(lost.read_bytes()[:100])
    again = FakePool()
    found = tune_study(GRID[:1], store, maker(again), configurations=3, held_out=held_out, show=False)
    assert again.run == pool.run[1:2]
    assert found.path.read_text() == whole
    assert len(store.survey().stored) == len(pool.run)


def _flipped(path: Path, rng: np.random.Generator) -> None:
    """Another sign in the history: what is left is JSON more often than not."""
    text = path.read_text()
    place = rng.integers(text.index('"history"'), len(text) - 1)
    path.write_text(text[:place] + str(rng.choice(list('0123456789ax",:'))) + text[place + 1 :])


def test_a_damaged_or_misplaced_record_is_worked_out_again(tmp_path: Path, rng: np.random.Generator) -> None:
    store = Store(tmp_path)
    whole = tune_study(GRID, store, maker(FakePool()), configurations=2, show=False).path.read_text()
    first, second = sorted((tmp_path / "tuning").iterdir())
    records = first.read_text(), second.read_text()

    def again() -> None:
        assert tuning(store).problems <= 2
        (tmp_path / "tuned.json").unlink()
        pool = FakePool()
        assert tune_study(GRID, store, maker(pool), configurations=2, show=False).path.read_text() == whole
        assert pool.run == []
        assert (first.read_text(), second.read_text()) == records

    for _ in range(10):
        _flipped(first, rng)
        again()
    first.write_text(records[1])
    second.write_text(records[0])
    again()


def failed_row(one: Cell) -> schema.Row:
    return {**identity(one), "status": "failed", "error": "no", "traceback": "", "seconds": 1.0}


def test_what_is_not_tuned_stays_as_the_grid_says(tmp_path: Path) -> None:
    one = compbo_cell("Rprop-ERM", "ei").with_hyperparameters({"largest": 0.125})
    store, pool = Store(tmp_path), FakePool()
    tune_study([one], store, maker(pool), configurations=2, show=False)
    assert {dict(ran.method.hyperparameters)["largest"] for ran in pool.run} == {0.125}
    (tuned,) = apply_tuned([one], store)
    assert dict(tuned.method.hyperparameters)["largest"] == 0.125


def test_two_settings_that_tuning_makes_one_run_once(tmp_path: Path) -> None:
    store, pool = Store(tmp_path), FakePool()
    tune_study(GRID[:1], store, maker(FakePool()), configurations=2, show=False)
    cells = apply_tuned([GRID[4], GRID[4].with_hyperparameters({"lr": 0.123})], store)
    assert run_study(cells, store, maker(pool), show=False) == (1, 0, 0)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"entries": null}', '{"entries": [1]}', '{"entries": [{"task": "levy-4"}]}']
)
def test_a_damaged_tuned_json_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "tuned.json").write_text(text)
    with pytest.raises(ValueError, match=r"tuned\.json is damaged .* run `compbo study tune` again"):
        apply_tuned(GRID, Store(tmp_path))


def test_nothing_to_tune_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="None of these cells has a maximizer with hyperparameters to tune"):
        tune_study([GRID[1]], Store(tmp_path), maker(FakePool()))


def test_what_tuning_minimises() -> None:
    def value(kind: str, best: list[float], regret: list[float]) -> float:
        return tuning_loss({"status": "done", "floor_kind": kind, "best": best, "regret": regret})

    nan = math.nan
    assert tuning_loss({"status": "failed"}) == math.inf
    assert value("unknown", [3.0, 1.0], [nan, nan]) == -2.0
    assert value("optimum", [3.0, 1.0], [10.0, 1.0]) == pytest.approx(-1.0)
    assert value("optimum", [0.0, 0.0], [0.0, 0.0]) == -12.0  # an optimal start is no failure
    assert value("reference", [3.0, 1.0], [4.0, 1.0]) == 0.25
    assert value("reference", [3.0, 1.0], [4.0, -2.0]) == -0.5  # better than the reference is better
    assert value("reference", [3.0, 1.0], [0.0, -2.0]) < value("reference", [3.0, 3.0], [0.0, 0.0]) == 0.0
    assert value("reference", [3.0, 1.0], [-1.0, -2.0]) < value("reference", [3.0, 2.0], [-1.0, -1.5])
    assert value("unknown", [nan, 5.0, 1.0], [nan] * 3) == -4.0  # the initial design failed
    assert value("unknown", [nan, nan], [nan, nan]) == math.inf


def test_problems_that_nothing_solves_are_named(tmp_path: Path) -> None:
    class Failing(FakePool):
        def wait(self, seconds: float) -> FinishedCell | None:
            finished = super().wait(seconds)
            return finished and FinishedCell(finished.cell, schema.to_bytes(failed_row(finished.cell)))

    done = tune_study(GRID[:1], Store(tmp_path), maker(Failing()), configurations=2, show=False)
    assert (done.problems, done.unsolved) == (0, [("ackley-4", "ei", "SCGA")])
