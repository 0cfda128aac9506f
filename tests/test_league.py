"""The league: peers in processes of their own, TuRBO's rules, the tasks, and the page made of a small table."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.league import figure, goals, measures, page, tasks
from benchmarks.league.__main__ import STAGES, in_order, of_batches
from benchmarks.league.parts import parts_table
from benchmarks.league.peers import process, turbo
from benchmarks.league.peers.process import PeerError, PeerMethod
from benchmarks.league.peers.turbo import TrustRegion, TurboMethod
from benchmarks.league.peers.variables import to_numbers, to_points, variables_of
from benchmarks.regrets import MARGIN, SMALLEST

from compbo.seeds import stream
from compbo.space import Float, Int, Ordinal, Space
from compbo.study.cell import Cell, MethodSpec
from compbo.study.engine.experiment import initial_design
from compbo.study.grid import Block
from compbo.study.methods.registry import KINDS, MethodKind, register_method
from compbo.study.tasks import Task, get_task

ROOT = Path(__file__).parents[1]

FAKE = f"""
import json, sys
sys.path.insert(0, {str(process.SERVERS)!r})
from lines import serve

class Peer:
    def __init__(self, request):
        self.request, self.told = request, []
    def observe(self, points, losses):
        print("a library that prints")
        if losses == [-1.0]:
            raise ValueError("no such loss")
        if losses == [-2.0]:
            sys.stderr.write("out of memory")
            sys.stderr.flush()
            import os
            os._exit(3)
        self.told += list(zip(points, losses))
    def suggest(self, count):  # what it was told, the best first, so that the other side can see it
        told = sorted((pair for pair in self.told if pair[1] is not None), key=lambda pair: pair[1])
        return [point for point, loss in told[:count]]

serve(lambda request: ("1.2", Peer(request)))
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    server = tmp_path / "fake_server.py"
    server.write_text(FAKE)
    return [sys.executable, "-P", str(server)]


def fake_cell(task: Task, version: str = "1.2") -> Cell:
    return Cell(task.name, task.space.dim, MethodSpec("fake", hyperparameters=(("version", version),)), 0, 2, 3, 4)


def test_a_peer_is_told_and_asked_through_its_process(command: list[str]) -> None:
    task = tasks.machine()
    method = PeerMethod(fake_cell(task), task, command)
    points = task.space.sample(4, stream(0, "points"))
    method.tell(points, [3.0, 1.0, None, 2.0])
    assert method.ask(3) == [points[1], points[3], points[0]]
    method.close()


def test_a_peer_of_another_version_is_refused(command: list[str]) -> None:
    task = tasks.machine()
    with pytest.raises(PeerError, match=r"fake is 1\.2 here, 1\.3 in the cell: run `make league-peers`"):
        PeerMethod(fake_cell(task, "1.3"), task, command)


def test_errors_of_a_peer_are_told(command: list[str]) -> None:
    task = tasks.machine()
    method = PeerMethod(fake_cell(task), task, command)
    [point] = task.space.sample(1, stream(0, "points"))
    with pytest.raises(PeerError, match="failed at 'observe': ValueError: no such loss"):
        method.tell([point], [-1.0])
    method.tell([point], [1.0])  # it goes on after an error
    with pytest.raises(PeerError, match="has ended at 'observe': out of memory"):
        method.tell([point], [-2.0])
    with pytest.raises(PeerError, match="has ended at 'suggest'"):
        method.ask(1)
    method.close()


def test_a_missing_environment_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COMPBO_LEAGUE_HEBO", str(tmp_path / "python"))
    with pytest.raises(PeerError, match=r"make league-peers.*COMPBO_LEAGUE_HEBO"):
        process.python_of("hebo")
    monkeypatch.delenv("COMPBO_LEAGUE_HEBO")
    monkeypatch.setattr(process, "ROOT", tmp_path)
    with pytest.raises(PeerError, match=r"\.venv-hebo"):
        process.python_of("hebo")


@pytest.mark.parametrize("name", ["machine", "lasso-boston-mse", "rf-boston-mse", "ordered"])
def test_points_become_numbers_and_points_again(name: str) -> None:
    own = {
        "machine": tasks.machine().space,
        "ordered": Space(
            {"size": Ordinal(["s", "m", "l"]), "n": Int(1, 1000, scale="log"), "k": Int(-9, 9, scale="bilog"), "c": 3}
        ),
    }
    space = own[name] if name in own else get_task(name).space
    variables = variables_of(space)
    points = space.sample(50, stream(0, "points"))
    rows = json.loads(json.dumps(to_numbers(variables, points)))
    assert to_points(space, variables, rows) == points
    for variable, column in zip(variables, zip(*rows, strict=True), strict=True):
        assert all(variable.low <= number <= variable.high for number in column)
        assert variable.type == "real" or all(isinstance(number, int) for number in column)


def test_numbers_outside_are_brought_back() -> None:
    space = Space({"x": Float(1.0, 100.0, scale="log"), "n": Int(2, 5)})
    assert to_points(space, variables_of(space), [[1.0 + 1e-9, 5.4], [-1e-9, 1.6]]) == [
        {"x": 100.0, "n": 5},
        {"x": 1.0, "n": 2},
    ]


def real_peer(peer: str) -> PeerMethod:
    try:
        process.python_of(peer)
    except PeerError as error:
        pytest.skip(str(error))
    task = tasks.machine()
    source = (ROOT / "benchmarks" / "league" / f"{peer}.txt").read_text()
    [version] = [line.split("==")[1] for line in source.splitlines() if line.lower().startswith(f"{peer}==")]
    method = MethodSpec(peer, hyperparameters=(("version", version),))
    one = Cell("machine-10", task.space.dim, method, seed=0, batch=3, steps=2, initial=8)
    made = process.make_peer(one, task)
    design = initial_design(one, task)
    made.tell(design, [None, *(task.evaluate(point) for point in design[1:])])
    return made


@pytest.mark.long
@pytest.mark.parametrize("peer", ["hebo", "smac"])
def test_the_peers_suggest_valid_points_and_the_same_again(peer: str) -> None:
    task, asked = tasks.machine(), []
    for _ in range(2):
        method = real_peer(peer)
        points = method.ask(3)
        assert [task.space.validate(point) for point in points] == points
        method.tell(points, [task.evaluate(point) for point in points])
        asked.append([*points, *method.ask(3)])
        method.close()
    assert asked[0] == asked[1]


# -- TuRBO -----------------------------------------------------------------------------------------------------------


def test_a_trust_region_grows_after_three_successes_and_no_further_than_its_largest() -> None:
    region = TrustRegion(failures_to_shrink=2, best=10.0)
    lengths = []
    for loss in (9.0, 8.0, 7.0, 6.0, 5.0, 4.0):
        region = region.after([loss, 20.0])
        lengths.append(region.length)
    assert lengths == [0.8, 0.8, 1.6, 1.6, 1.6, 1.6]
    assert region.best == 4.0


def test_a_trust_region_halves_after_failures_in_a_row_and_is_over_below_its_smallest() -> None:
    region = TrustRegion(failures_to_shrink=2, best=10.0)
    assert region.after([11.0]).after([9.0]).after([11.0]).length == 0.8  # a success between them
    region = region.after([11.0]).after([10.0])
    assert (region.length, region.failures) == (0.4, 0)
    count = 2
    while not region.is_over:
        region, count = region.after([11.0]), count + 1
    assert count == 2 * 7  # 0.8 / 2^7 is the first below 1 / 2^7
    assert region.after([-math.inf]).failures == 0


def test_a_tiny_gain_is_no_success() -> None:
    region = TrustRegion(failures_to_shrink=5, best=10.0).after([9.995])
    assert (region.successes, region.failures, region.best) == (0, 1, 9.995)


def test_the_sides_follow_the_lengthscales_and_keep_the_volume() -> None:
    lengthscales = torch.tensor([0.1, 0.4, 1.6], dtype=torch.float64)
    side = turbo.sides(0.8, lengthscales)
    assert torch.allclose(side / lengthscales, (side / lengthscales)[0].expand(3))
    assert float(side.prod()) == pytest.approx(0.8**3)


@pytest.mark.parametrize(("d", "count", "moved"), [(4, 400, 4.0), (60, 5000, 20.0)])
def test_candidates_lie_in_the_region_and_move_about_twenty_coordinates(d: int, count: int, moved: float) -> None:
    centre, side = torch.full((d,), 0.9, dtype=torch.float64), torch.full((d,), 0.4, dtype=torch.float64)
    found = turbo.candidates(centre, side, stream(0, "candidates"))
    assert found.shape == (count, d)
    assert float(found.min()) >= 0.7
    assert float(found.max()) <= 1.0
    changed = (found != centre).sum(dim=1).double()
    assert int(changed.min()) >= 1
    assert abs(float(changed.mean()) - moved) < 0.2


def test_turbo_fits_within_the_papers_bounds_and_takes_no_candidate_twice() -> None:
    x = torch.rand(20, 3, generator=stream(0, "x"), dtype=torch.float64)
    y = (x[:, 0] - 0.3) ** 2
    model = turbo.fitted(x, (y - y.mean()) / y.std())
    lengthscales = model.covar_module.base_kernel.lengthscale.detach()
    assert ((lengthscales > 0.005) & (lengthscales < 2.0)).all()
    assert lengthscales.flatten()[0] < lengthscales.flatten()[1:].min()  # only the first coordinate matters
    assert 0.0005 <= float(model.likelihood.noise.detach()) <= 0.2
    pool = torch.rand(30, 3, generator=stream(1, "x"), dtype=torch.float64)
    chosen = turbo.thompson(model, pool, 30, seed=0)
    assert len({tuple(row) for row in chosen.tolist()}) == 30
    first = turbo.thompson(model, pool, 1, seed=1)[0]
    assert abs(float(first[0]) - 0.3) < 0.25


def turbo_method(name: str) -> tuple[TurboMethod, Task, Cell]:
    task = get_task(name)
    one = Cell(name, task.space.dim, MethodSpec("turbo"), seed=0, batch=4, steps=3, initial=6)
    return TurboMethod(one, task), task, one


def test_turbo_is_reproducible_and_improves() -> None:
    runs = []
    for _ in range(2):
        method, task, one = turbo_method("dixon-price-3-shifted")
        points = initial_design(one, task)
        losses = [[task.evaluate(point) for point in points]]
        method.tell(points, losses[0])
        for _ in range(6):
            points = method.ask(4)
            losses.append([task.evaluate(point) for point in points])
            method.tell(points, losses[-1])
        runs.append(losses)
    assert runs[0] == runs[1]
    assert min(map(min, runs[0])) < 0.2 * min(runs[0][0])


def test_turbo_begins_again_with_a_new_design_when_its_region_is_over() -> None:
    method, task, one = turbo_method("levy-2-shifted")
    method.tell(design := initial_design(one, task), [1.0] * len(design))
    for _ in range(7):  # ceil(2 / 4) = 1 failure halves the region
        method.tell(task.space.sample(4, stream(0, "worse")), [2.0] * 4)
    assert method._region.length == 0.8
    assert not method._losses
    first = method.ask(4)
    method.tell(first, [3.0, 3.0, 3.0, None])
    assert method._region == TrustRegion(1, best=3.0)  # the design is neither success nor failure
    second = method.ask(4)  # two of the design and two by the model of these four
    method.tell(second, [3.0] * 4)
    assert method._region.failures == 0
    assert len(method._losses) == 8


# -- methods and tasks of the plugin -----------------------------------------------------------------------------------


def test_the_plugin_gives_the_grids_their_methods_and_tasks() -> None:
    """In a process of its own: what a plugin registers stays."""
    script = (
        "import json; from compbo.plugins import load_plugin; load_plugin('benchmarks.league.plugin')\n"
        "from benchmarks.league.__main__ import league_cells\n"
        "print(json.dumps([[c.task, c.method.optimiser, c.seed, c.batch, c.initial] for c in league_cells('all')]))"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    cells = json.loads(run.stdout)
    core = cells[:1170]
    methods = {name for names in STAGES for name in names}
    assert {name for _, name, *_ in cells} == methods
    assert {batch: len({task for task, *_, size, _ in core if size == batch}) for batch in (1, 8, 16)} == {
        1: 6,
        8: 12,
        16: 6,
    }
    assert len({tuple(cell) for cell in cells}) == len(cells)  # none of the core again in the rest
    assert {batch for *_, batch, _ in cells} == {1, 8, 16}
    assert {initial for *_, initial in cells} == {16}
    dimensions = {"machine-10": 17, "pressure-vessel": 4, "hartmann-6": 6, "branin-2": 2}
    groups = {measures.group_of(task, dimensions.get(task) or get_task(task).space.dim) for task, *_ in core}
    assert groups == set(measures.GROUPS)
    fast = (6 + 12 + 6) * len(STAGES[0])  # of one seed
    assert {name for _, name, *_ in core[:fast]} == set(STAGES[0])
    assert {seed for _, _, seed, *_ in core[: 1170 // 5]} == {0}
    assert not [cell for cell in cells if cell[1] == "botorch-qlogei-sequential" and cell[3] == 1]  # as joint


def test_the_fast_methods_come_first_and_the_seeds_in_turn() -> None:
    cells = list(Block(("levy-2", "ackley-2"), ("optuna-gp", "pycma", "random-search"), seeds=(0, 1)).cells())
    order = [(cell.seed, cell.method.optimiser) for cell in in_order(cells)]
    assert order == [
        *[(0, "pycma"), (0, "random-search"), (0, "pycma"), (0, "random-search"), (0, "optuna-gp"), (0, "optuna-gp")],
        *[(1, "pycma"), (1, "random-search"), (1, "pycma"), (1, "random-search"), (1, "optuna-gp"), (1, "optuna-gp")],
    ]


def test_the_league_runs_in_parts() -> None:
    cells = [cell for batch in (1, 8) for cell in Block(("levy-2",), ("pycma",), batch=batch).cells()]
    assert [cell.batch for cell in of_batches("all", cells, ())] == [1, 8]
    assert [cell.batch for cell in of_batches("all", cells, (8,))] == [8]
    with pytest.raises(ValueError, match="--batch 3: no such cell in all, where batches have 1, 8 points; the parts"):
        of_batches("all", cells, (8, 3))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "pycmaa"), "has the optimiser 'pycmaa'"),
        (("all", "--task", "levy-7"), "levy-7"),
        (("all", "--seed", "9"), "seed 9"),
        (("core", "--batch", "2"), "--batch 2: no such cell in core, where batches have 1, 8, 16 points"),
        (("--export", "--batch", "8"), "--export writes the whole league"),
    ],
)
def test_a_slip_at_the_league_is_one_clear_line(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.league", *arguments, "--results", str(tmp_path / "runs")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "runs").exists()


def test_a_method_of_ones_own_has_a_name_that_is_free() -> None:
    kind = MethodKind(KINDS["random-search"].make)
    for taken in ("bohb", "CAdam"):
        with pytest.raises(ValueError, match=f"an optimiser called '{taken}' already"):
            register_method(taken, kind)


def test_no_task_of_the_league_is_better_than_its_optimum() -> None:
    best = {"machine-10": 0.0, "pressure-vessel": 6059.71, "hartmann-6": -3.32237, "branin-2": 0.397887}
    best |= {"func2c": -0.206326, "func3c": -0.72214, "ackley-switches-23": 0.0}
    for name, make in tasks.TASKS.items():
        task = make(0)
        assert task.optimum == pytest.approx(best[name], rel=1e-4)
        losses = [task.evaluate(point) for point in task.space.sample(300, stream(0, "points"))]
        assert min(losses) > task.optimum
        assert min(losses) < np.median(losses) < max(losses)


def test_the_optima_of_the_mixed_tasks_are_reached() -> None:
    vessel = {"shell": 13, "head": 7, "radius": 42.0984456, "length": 176.6365958}
    assert tasks.pressure_vessel().evaluate(vessel) == pytest.approx(6059.7143, rel=1e-6)
    numbers = np.random.default_rng(2107).uniform(0.2, 0.8, (4, 7))[3]
    point = {f"x{i + 1}": float(numbers[i]) for i in range(4)}
    point |= {f"n{i + 1}": round(20 * numbers[4 + i]) for i in range(3)}
    assert tasks.machine().evaluate({**point, "coating": "tin", "shape": "star", "switch": True}) < 1e-12
    assert tasks.machine().evaluate({**point, "coating": "tin", "shape": "star", "switch": False}) > 0.01
    camel = {"first": "camel", "second": "camel", "third": "camel", "x": -0.08984201, "y": 0.7126564}
    for choices in (2, 3):
        task = tasks.sums(choices)
        assert task.evaluate(camel) == pytest.approx(task.optimum, abs=1e-12)
        assert task.evaluate({**camel, "second": "beale 3"}) > task.optimum + 0.05
    drawn = np.random.default_rng(2111)
    switched = {f"s{i + 1}": bool(on) for i, on in enumerate(drawn.integers(0, 2, 20))}
    placed = {f"x{i + 1}": float(x) for i, x in enumerate(drawn.uniform(-0.8, 0.8, 3))}
    assert tasks.ackley_switches().evaluate({**switched, **placed}) == pytest.approx(0.0, abs=1e-12)
    assert tasks.ackley_switches().evaluate({**switched, **placed, "s1": not switched["s1"]}) > 0.5


# -- the page ----------------------------------------------------------------------------------------------------------


def row(task: str, method: str, seed: int, last: float, seconds: float = 1.0, **changes: Any) -> dict[str, Any]:
    dimension = 4 if task == "rf-boston-mse" else 6
    optimum = task != "rf-boston-mse"
    return {
        "cell": f"{task}{method}{seed}",
        "task": task,
        "dimension": dimension,
        "optimiser": method,
        "hyperparameters": json.dumps({"version": "0.3.6"}) if method == "hebo" else "",
        "seed": seed,
        "batch": 8,
        "steps": 16,
        "initial": 16,
        "status": "done",
        "floor_kind": "optimum" if optimum else "reference",
        "best": np.array([10.0, last]),
        "regret": np.array([10.0, last]) - (0.0 if optimum else 3.0),
        "ask_seconds": np.array([9.0, seconds, seconds]),
        "versions": json.dumps({"botorch": "0.18", "optuna": "4.0"}),
        **changes,
    }


def small_table() -> pd.DataFrame:
    """compbo and random search on two tasks and two seeds; HEBO misses a run and has failed in another."""
    return pd.DataFrame(
        [
            *(row("levy-6-shifted", "compbo", seed, 1.0 + seed) for seed in (0, 1)),
            *(row("levy-6-shifted", "random-search", seed, 4.0, 0.01) for seed in (0, 1)),
            row("levy-6-shifted", "hebo", 0, 0.5, 20.0),
            row("levy-6-shifted", "hebo", 1, 9.0, status="failed"),
            *(row("rf-boston-mse", "compbo", seed, 4.0 + seed) for seed in (0, 1)),
            *(row("rf-boston-mse", "random-search", seed, 4.5, 0.01) for seed in (0, 1)),
        ]
    )


def small_plan() -> pd.DataFrame:
    """Both tasks and seeds for three methods and, on one of them, a fourth; of the core is the one with levy."""
    cells = [
        (f"{task}{method}{seed}", task == "levy-6-shifted")
        for task in ("levy-6-shifted", "rf-boston-mse")
        for method in ("compbo", "random-search", "hebo", "pycma")[: 4 if task == "levy-6-shifted" else 3]
        for seed in (0, 1)
    ]
    names = [next(name for name in (*measures.WITHOUT_MODEL, "compbo", "hebo") if name in cell) for cell, _ in cells]
    core = [core for _, core in cells]
    tasks_of = ["levy-6-shifted" if one else "rf-boston-mse" for one in core]
    return pd.DataFrame(
        {"cell": [cell for cell, _ in cells], "task": tasks_of, "batch": 8, "method": names, "core": core}
    )


def test_regrets_are_in_units_of_the_initial_design() -> None:
    runs = measures.runs_of(small_table()).set_index(["task", "method", "seed"])["regret"]
    assert runs["levy-6-shifted", "compbo", 1] == pytest.approx(0.2)
    assert runs["rf-boston-mse", "compbo", 0] == pytest.approx(SMALLEST + MARGIN)
    assert runs["rf-boston-mse", "random-search", 0] == pytest.approx(0.5 / 6.0 + MARGIN)
    assert len(runs) == 9  # the failed one is none


def test_methods_are_compared_on_the_runs_that_both_have() -> None:
    found = {each.method: each for each in measures.versus(measures.runs_of(small_table()))}
    hebo = found["hebo"]
    assert (hebo.tasks, hebo.seeds, hebo.runs) == (1, (0,), 1)
    assert float(hebo.ratio.value) == pytest.approx(0.5)  # of compbo's seed 0, not of its mean
    assert hebo.ours == pytest.approx(0.1)
    assert np.isnan(hebo.ratio.low)
    random = found["random-search"]
    assert (random.tasks, random.runs) == (2, 4)
    levy = math.sqrt(0.4 / 0.1 * 0.4 / 0.2)
    boston = math.sqrt((0.5 / 6 + 0.05) / 0.051 * (0.5 / 6 + 0.05) / (1 / 6 + 0.05))
    assert float(random.ratio.value) == pytest.approx(math.sqrt(levy * boston))
    assert found["compbo"].runs == 4
    assert random.lower == 0.25


def test_wins_are_counted_where_all_methods_ran() -> None:
    runs = measures.runs_of(small_table())
    assert len(measures.complete(runs)) == 1
    assert measures.shares_of_wins(runs) == {"compbo": 0.0, "hebo": 1.0, "random-search": 0.0}


def test_the_page_says_what_is_missing_and_where_compbo_is_not_first() -> None:
    text = page.measured(small_table(), small_plan())
    assert "| 8 | 144 | 2 | 3 | 2 | 5 of 8 | 9 of 14 | pycma |" in text
    assert "1 run failed (hebo on levy-6-shifted, seed 1)." in text
    assert "With botorch 0.18, optuna 4.0, hebo 0.3.6." in text
    assert "compbo is not first. Ahead: hebo (0.50)." in text
    tuning = page.every_group(small_table()).partition("### tuning tasks")[2]
    assert "compbo is first of 2 methods." in tuning
    assert "Won: of the 2 runs that all methods have." in tuning
    assert "| 2 to 6 dimensions | hebo | 0.50 | – | 1 | 1 |" in text
    assert "| 25 % | 0 % | 2 | 2 | 4 |" in text, "in one of four runs random search ends lower than compbo"
    assert page.filled(f"a\n{page.BEGIN}\nold\n{page.END}\nz", "new") == (f"a\n{page.BEGIN}\n\nnew\n\n{page.END}\nz")


def test_being_first_is_said_with_its_doubts() -> None:
    """One method is surely behind, one perhaps, one has a lower mean though a higher ratio."""
    ends = {
        "compbo": (0.01, 0.01, 6.0, 6.0),
        "pycma": (8.0, 8.1, 8.2, 8.3),
        "turbo": (0.011, 0.0105, 6.2, 5.4),
        "optuna-gp": (1.0, 1.1, 2.0, 2.1),
    }
    tasks = [("levy-6-shifted", 0), ("levy-6-shifted", 1), ("hartmann-6", 0), ("hartmann-6", 1)]
    rows = [
        row(task, name, seed, last)
        for name, lasts in ends.items()
        for (task, seed), last in zip(tasks, lasts, strict=True)
    ]
    text = page.every_group(pd.DataFrame(rows)).partition("### 2 to 6 dimensions")[2]
    assert "compbo is first of 4 methods." in text
    assert re.search(r"Not told apart from it: turbo \(1\.\d\d, not sure\)\.", text)
    assert "Lower in the mean of the normalised regret: turbo, optuna-gp." in text


def test_goals_are_judged_by_the_closest_method_with_half_of_the_tasks() -> None:
    ends = {
        ("levy-6-shifted", 8): {"compbo": 0.1, "turbo": 0.5, "random-search": 4.0},
        ("levy-20-shifted", 8): {"compbo": 0.4, "turbo": 0.5, "random-search": 4.0},
        ("levy-6-shifted-noise42", 8): {"compbo": 0.4, "turbo": 0.2, "random-search": 0.3},
        ("levy-6-shifted", 16): {"compbo": 0.1, "turbo": 0.5, "random-search": 4.0},
    }
    rows = [
        row(task, name, seed, last * (1.0 + 0.01 * seed), batch=q, dimension=20 if "-20-" in task else 6)
        for (task, q), lasts in ends.items()
        for name, last in lasts.items()
        for seed in range(3)
    ]
    lines = goals.goals_table(measures.runs_of(pd.DataFrame(rows))).splitlines()
    assert lines[0] == "| goal | 8 points | 16 points |"
    first, far, random = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:])
    assert first[1:] == ["missed: noisy (turbo has 0.50 of our regret in 3 runs)", "met, of the 3 methods that ran"]
    assert far[1].startswith("2 to 6 dimensions: 0.20 [0.20, 0.20] of turbo's, met; 16 to 20 dimensions: 0.80 ")
    assert far[1].endswith("of turbo's, missed")
    assert far[2] == "2 to 6 dimensions: 0.20 [0.20, 0.20] of turbo's, met"
    assert random[1:] == ["missed: levy-6-shifted-noise42", "met"]


def test_batches_that_compbo_has_not_run_have_no_table() -> None:
    table = pd.concat([small_table(), pd.DataFrame([row("levy-6-shifted", "pycma", 0, 0.1, batch=16)])])
    text = page.measured(table, small_plan())
    assert "| 16 | 272 | 1 | 1 | 1 | 0 of 0 | 0 of 0 | – |" in text
    assert "## 8 points per ask" in text
    assert "## 16 points per ask" not in text


def test_the_part_that_is_to_blame_is_seen() -> None:
    exchanged = pd.DataFrame(
        [
            *(row("levy-6-shifted", "compbo-outputs-none", seed, 0.5) for seed in (0, 1)),
            *(row("levy-6-shifted", "compbo-logei", seed, 2.0) for seed in (0, 1)),
        ]
    )
    league = pd.concat([small_table(), pd.DataFrame([row("levy-6-shifted", "pycma", 0, 0.1, batch=16)])])
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in parts_table(exchanged, league).splitlines()
    ]
    assert lines[0] == ["part", "exchanged for", "levy-6-shifted, 8 points"]
    none, logei = math.sqrt(0.5 / 1.0 * 0.5 / 2.0), math.sqrt(2.0 / 1.0 * 2.0 / 2.0)
    assert lines[2] == ["surrogate", '`outputs="none"`', f"{none:.2f}"]
    thrice = pd.concat([exchanged, pd.DataFrame([row("levy-6-shifted", "compbo-logei", 2, 6.0)])])
    of_three = pd.concat([league, pd.DataFrame([row("levy-6-shifted", "compbo", 2, 3.0)])])
    assert "| 1.59 [0.59, 4.29] |" in parts_table(thrice, of_three), (
        "ratios 2, 1 and 2: Student's interval of their logs"
    )
    assert lines[3] == ["acquisition function", '`acquisition="logei"`', f"{logei:.2f}"]
    assert lines[4] == ["everything", "the best other method", "0.50 (hebo, 1 seed)"]  # in batches of the same size
    both = pd.concat([exchanged, pd.DataFrame([row("levy-6-shifted", "compbo-logei", 0, 0.3, batch=16)])])
    beside = pd.concat([league, pd.DataFrame([row("levy-6-shifted", "compbo", 0, 0.2, batch=16)])])
    head, _, none_only, last, best = parts_table(both, beside).splitlines()
    assert head.endswith("| levy-6-shifted, 8 points | levy-6-shifted, 16 points |")
    assert none_only.endswith(f"| {none:.2f} |  |")  # not run in batches of 16
    assert last.endswith(f"| {logei:.2f} | 1.50 |")
    assert best.endswith("| 0.50 (hebo, 1 seed) | 0.50 (pycma, 1 seed) |")


def test_tasks_on_which_random_search_is_better_are_named() -> None:
    table = small_table()
    table.loc[table["optimiser"] == "random-search", "best"] = table["best"].map(lambda _: np.array([10.0, 3.9]))
    table.loc[table["optimiser"] == "random-search", "regret"] = table["regret"].map(lambda _: np.array([10.0, 0.9]))
    assert measures.worse_than_random(measures.runs_of(table)) == ["levy-6-shifted", "rf-boston-mse"]
    assert "Worse than random search on levy-6-shifted, rf-boston-mse." in page.measured(table, small_plan())


def test_the_speed_is_that_of_the_benchmark() -> None:
    peers = {f"{peer} / compbo": 20.0 for peer in page.PEERS}
    rows = [
        {"task": "levy-6-shifted", "q": 8, "compbo s": 0.1, **peers, "optuna-gp / compbo": 2.0},
        {"task": "levy-60-shifted", "q": 8, "compbo s": 0.2, **peers, "hebo / compbo": "not installed"},
        {"task": "levy-6-shifted", "q": 1, "compbo s": 0.05, **peers, "smac / compbo": 7.0},
    ]
    text = page.speed(rows)
    assert text.splitlines()[0] == "| seconds of an ask / compbo's | 8 points | 1 point |"
    assert "| optuna-gp | 2 to 20 | 20 |" in text
    assert "| hebo | – | 20 |" in text
    assert text.endswith(
        "compbo takes 0.1 to 0.2 s for 8 points and 0.05 s for 1 point. For 8 points the goal of 8 times is missed "
        "against optuna-gp. For 1 point the goal of 8 times is missed against smac."
    )
    faster = page.speed([row | {"turbo / compbo": 0.5} for row in rows])
    assert "is missed against optuna-gp and turbo, and turbo can be the faster one." in faster


def test_noisy_tasks_are_judged_without_their_noise() -> None:
    noisy = row("levy-6-shifted-noise4.2", "compbo", 0, 1.0, regret=np.array([10.0, 12.0]))
    [run] = measures.runs_of(pd.DataFrame([noisy])).itertuples()
    assert (run.group, run.regret) == ("noisy", 1.2)


def test_the_figure_has_the_tasks_of_the_core() -> None:
    table = pd.concat([small_table(), pd.DataFrame([row("levy-6-shifted", "compbo", 0, 0.1, batch=16)])])
    there = page.core_runs(table, small_plan())
    assert (set(there["task"]), set(there["batch"])) == ({"levy-6-shifted"}, {8})
    said = page.panels(table, small_plan())
    assert said.startswith(
        "Runs: 2 of compbo and random-search; 1 of hebo. Not in the panels: 2 to 6 dimensions: pycma, "
    )


def test_the_profile_counts_runs_at_or_below_a_regret(tmp_path: Path) -> None:
    x, y = figure.profile(np.array([0.3, 0.1, 0.3]))
    assert x.tolist() == [0.1, 0.3, 0.3]
    assert y.tolist() == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert set(figure.LOOKS) == {name for names in STAGES for name in names}
    there = {"compbo": ("ab", 4), "hebo": ("ab", 2), "smac": ("a", 9)}
    rows = [("g", task, seed, name, 0.1) for name, (tasks, n) in there.items() for task in tasks for seed in range(n)]
    kept = figure.compared(pd.DataFrame(rows, columns=["group", "task", "seed", "method", "regret"]))
    assert {name: len(regrets) for name, regrets in kept.items()} == {"compbo": 8, "hebo": 4}, "smac lacks a task"
    figure.draw(measures.runs_of(small_table()), tmp_path / "a.svg")
    figure.draw(measures.runs_of(small_table()), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "hebo" in (tmp_path / "a.svg").read_text()
