"""How trials of the defaults are named, how numbers of maximizers are chosen, and which goals of speed are met."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks import regrets
from benchmarks.defaults import effort_page, maximizers, single_page, trials, variants, wall_tasks
from benchmarks.defaults.kinds_table import kinds_table
from benchmarks.defaults.page import RESULTS, ROOT, pages, stored
from benchmarks.goals import goals_table
from scipy import stats

import compbo
from compbo.maximizers import CATALOGUE, make_maximizer
from compbo.study.grid import load_grid
from compbo.study.methods.defaults import settings_of
from compbo.study.outputs.compact import from_bytes
from compbo.surrogate.gp import fit_gp
from compbo.surrogate.priors import dimension_scaled, paper


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "the default"),
        ({"maximizer": "RS"}, 'maximizer="RS"'),
        ({"acquisition": "logei", "outputs": "none"}, 'acquisition="logei", outputs="none"'),
        ({"acquisition": (compbo.UCB(4.0), "sr")}, 'acquisition=[UCB(beta=4.0), "sr"]'),
        ({"starts": compbo.StartPolicy(around_incumbents=0.9, race=True)}, "around_incumbents=0.9, race=True"),
        ({"model_points": 128}, "model_points=128"),
        ({"priors": "paper"}, "the default"),
        ({"priors": "dimension-scaled"}, 'priors="dimension-scaled"'),
    ],
)
def test_settings_are_named_by_what_differs_from_the_default(changed: dict[str, object], said: str) -> None:
    assert variants.words(compbo.Settings(seed=3, batch_size=8, **changed)) == said


def test_what_is_for_single_points_is_not_named_in_batches() -> None:
    earlier = compbo.Settings(acquisition=compbo.Portfolio())
    assert variants.words(earlier, batch=2) == variants.words(compbo.Settings(), batch=1) == "the default"
    assert variants.words(earlier, batch=1) == 'acquisition=["ucb", "sr"]'


def test_few_points_are_compared_with_what_is_the_default_there() -> None:
    """Single points among choices have functions of their own; elsewhere turns of UCB and SR are the default."""
    turns, widened = compbo.Settings(acquisition=["ucb", "sr"]), compbo.Settings(acquisition=[compbo.UCB(4.0), "sr"])
    stored = {
        name: json.dumps({key: json.dumps(value) for key, value in settings.to_dict().items()})
        for name, settings in (("turns", turns), ("widened", widened))
    }
    module = "benchmarks.defaults.{}_tasks:{}"
    cases = [
        (module.format("mixed", "mixed_0"), 1, "turns", single_page.IN_BATCHES),
        (module.format("mixed", "mixed_0"), 1, "widened", variants.DEFAULT),
        (module.format("mixed", "choice_3"), 1, "widened", variants.DEFAULT),
        (module.format("special", "blend"), 2, "turns", variants.DEFAULT),
        (module.format("wide", "sphere_4"), 1, "turns", variants.DEFAULT),
        ("benchmarks.defaults.tasks:vectors_4", 1, "widened", single_page.OF_SINGLES),
    ]
    rows = pd.DataFrame(
        [
            {"task": task, "batch": q, "hyperparameters": stored[key], "optimiser": key, "seed": 0, "status": "done"}
            for task, q, key, _ in cases
        ]
    )
    assert single_page.named(rows)["optimiser"].tolist() == [said for *_, said in cases]


def test_a_limit_that_a_run_does_not_reach_is_not_named() -> None:
    settings = compbo.Settings(model_points=1024)
    assert variants.words(settings, evaluations=144) == "the default"
    assert variants.words(settings, evaluations=2000) == "model_points=1024"


def test_a_stored_run_is_named_by_its_settings_and_another_method_keeps_its_name() -> None:
    rows = pd.DataFrame(
        {
            "kind": ["compbo-random", "random-search"],
            "optimiser": ["compbo-random", "random-search"],
            "hyperparameters": [json.dumps(dict(settings_of("compbo-random"))), "{}"],
            **dict.fromkeys(("initial", "batch", "steps"), 8),
        }
    )
    assert variants.labelled(rows)["optimiser"].tolist() == ['maximizer="RS"', "random-search"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, effort_page.BASE),
        ({"budget": compbo.Budget(steps=32)}, "32 steps from 32 starts"),
        ({"starts": compbo.StartPolicy(restarts=8)}, "64 steps from 8 starts"),
    ],
)
def test_the_effort_of_a_maximisation_in_words(changed: dict[str, Any], said: str) -> None:
    """The base of the table is what the library does by default."""
    kept = compbo.Settings(**changed).to_dict()
    assert effort_page.effort_of(json.dumps({name: json.dumps(value) for name, value in kept.items()})) == said


def test_every_run_of_the_effort_has_its_kind() -> None:
    found = effort_page.named(stored(effort_page.RESULTS))
    kinds = found.groupby("kind")["task"].unique()
    assert set(kinds.index) == set(effort_page.KINDS.values())
    assert all(task.endswith("_40") for task in kinds["40D"])
    assert not any("wide_tasks" in task for task in kinds["60D and 100D"])


def test_ratios_by_kind_are_paired_and_geometric() -> None:
    """Seeds that one of both lacks do not count, every task counts the same."""
    last = {
        "one": {("a", 0): 1.0, ("a", 1): 4.0, ("b", 0): 2.0},
        "two": {("a", 0): 2.0, ("a", 2): 99.0, ("b", 0): 1.0},
        "other=3": {("b", 0): 4.0},
    }
    rows = [
        {
            "task": task,
            "seed": seed,
            "optimiser": name,
            "status": "done",
            "best": np.array([10.0, value]),
            "regret": np.array([10.0, value]),
            "floor_kind": "optimum",
        }
        for name, losses in last.items()
        for (task, seed), value in losses.items()
    ]
    table = pd.DataFrame(rows)
    lines = kinds_table({"both": table, "of a": table[table["task"] == "a"]}, "one").splitlines()
    assert lines[0] == "| method | both | of a |"
    assert lines[2].startswith("| one | 1.00 [1.00, 1.00] (2) | 1.00 [1.00, 1.00] (1) |")
    assert lines[3].startswith("| two | 1.00 [0.50, 2.00] (2) | 2.00 [2.00, 2.00] (1) |")
    assert lines[4] == "| `other=3` | 2.00 [2.00, 2.00] (1) |  |"


def test_the_default_is_the_best_of_what_was_tried() -> None:
    """The claim of docs/defaults.md; a change of a default needs runs of it."""
    from benchmarks.defaults.page import effects, normalised_regrets

    found = effects(normalised_regrets(variants.labelled(from_bytes(RESULTS.read_bytes()))))
    assert found[0].name == variants.DEFAULT


def test_the_pages_are_those_of_the_committed_results() -> None:
    """`make results` writes them."""
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, path.name
    found = maximizers.table_of(maximizers.trials(from_bytes(maximizers.RESULTS.read_bytes())))
    assert found in maximizers.PAGE.read_text(encoding="utf-8")


def test_designs_have_the_costs_of_the_literature() -> None:
    """The best known speed reducer and welded beam, all numbers real: both lie on their constraints."""
    weight, limits = wall_tasks.gearbox_cost(3.5, 0.7, 17, 7.3, 7.71531991, 3.35021467, 5.28665446)
    assert weight == pytest.approx(2994.471066, abs=1e-5)
    assert limits.max() == pytest.approx(0.0, abs=1e-7)
    cost, limits = wall_tasks.beam_cost(16 * 0.205730, 3.470489, 9.036624, 16 * 0.205730)
    assert cost == pytest.approx(1.724852, abs=1e-5)
    assert limits.max() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("beam", (4, 2.9878957895788587, 8.19756061276768, 4)),
        (
            "gearbox",
            (6, 0.626108484465373, 13, 6.934776055481666, 7.7169507872325145, 3.356517370321111, 5.288137079302284),
        ),
        ("cliffs", ()),
    ],
)
def test_most_points_lie_behind_a_wall_and_none_is_better_than_the_optimum(name: str, best: tuple[float, ...]) -> None:
    task = getattr(wall_tasks, name)(0)
    losses = np.array([task.evaluate(p) for p in task.space.sample(1000, torch.Generator().manual_seed(0))])
    assert losses.min() > task.optimum
    if best:
        assert task.evaluate(dict(zip(task.space.names, best, strict=True))) == pytest.approx(task.optimum, rel=1e-9)
        behind = [
            getattr(wall_tasks, f"{name}_cost")(*p.values())[1].max() > 0
            for p in task.space.sample(1000, torch.Generator().manual_seed(0))
        ]
    else:
        behind = losses > wall_tasks.CLIFF
    assert 0.5 < np.mean(behind) < 0.9
    assert losses.max() > 100 * np.quantile(losses, 0.05)


def tried(regrets: dict[float, float], spread: float = 0.05) -> pd.DataFrame:
    """Cells of Adam in both forms with these regrets by learning rate, 0.03 being the one it had."""
    noise = np.random.default_rng(0)
    rows = [
        {
            "task": task,
            "seed": seed,
            "optimiser": form,
            "hyperparameters": json.dumps({"lr": lr, "eps": 1e-8}),
            "status": "done",
            "floor": 0.0,
            "floor_kind": "optimum",
            "best": (curve := [1.0, regret * float(np.exp(spread * noise.standard_normal()))]),
            "regret": curve,
        }
        for lr, regret in regrets.items()
        for task in ("a", "b", "c")
        for seed in (0, 1)
        for form in ("Adam-ERM", "Adam-FSM")
    ]
    return pd.DataFrame(rows)


def test_a_clearly_better_setting_is_chosen_for_all_forms() -> None:
    (trial,) = maximizers.trials(tried({0.03: 0.2, 0.1: 0.1, 0.01: 0.4}))
    assert trial.method == "Adam"
    assert trial.before == {"lr": 0.03}
    assert [setting.values["lr"] for setting in trial.others] == [0.1, 0.01]
    assert trial.others[0].ratio == pytest.approx(0.5, rel=0.1)
    assert trial.others[0].runs == 12
    assert trial.chosen == {"lr": 0.1}
    assert "**lr 0.1**" in maximizers.table_of([trial])


def test_what_chance_explains_changes_nothing() -> None:
    (trial,) = maximizers.trials(tried({0.03: 0.2, 0.1: 0.19, 0.01: 0.21}, spread=1.0))
    assert trial.chosen == trial.before
    assert "as before" in maximizers.table_of([trial])


def test_the_grid_of_maximizers_is_what_was_run_and_the_catalogue_has_what_it_chose() -> None:
    table = from_bytes(maximizers.RESULTS.read_bytes())
    assert {cell.hash for cell in load_grid(str(maximizers.GRID)).cells()} == set(table["cell"])
    for trial in maximizers.trials(table):
        for name in CATALOGUE:
            if maximizers.method_of(name) == trial.method:
                now = make_maximizer(name).hyperparameters
                assert {key: now[key] for key in trial.chosen} == trial.chosen, name


def test_goals_are_read_off_the_tables() -> None:
    rows = [{"package": "compbo", "beside 2 / quiet": 1.5}, {"package": "other", "beside 2 / quiet": 9.0}]
    slow = [{"evaluations": n, "q": 8, "CPU s": seconds} for n, seconds in ((500, 9.0), (2000, 4.0), (10000, 31.0))]
    table = goals_table({"load": {"rows": rows}, "many-evaluations": {"rows": slow}})
    assert "| at most 2.5 | 1.5 | met |" in table
    assert "| at most 5, 30 | 4, 31 | met in 1 of 2 |" in table
    assert len(table.splitlines()) == 4


ORDER = """
import json, torch
from benchmarks.defaults import outputs
from compbo import Float, Space
from compbo.bo.model import fit_model

generator = torch.Generator().manual_seed(2)
x = torch.rand(24, 2, dtype=torch.float64, generator=generator)
away = (x - 0.3).square().sum(-1)
y = -(100 + 10 * away + 1e4 * (1 + away) * (away > 0.15))
space = Space({"a": Float(0, 1), "b": Float(0, 1)})


def model(name):
    return fit_model(space, x, y, kernel="matern52", priors="paper", noise=None, outputs=name)


models = {name: model(name) for name in ("yeo-johnson", "log-fitted", "ranks")}
many = torch.randn(400, dtype=torch.float64, generator=generator).exp()
few = torch.tensor([3.0, -1.0, 7.0, 7.0, 1e6, -1e9, 3.5], dtype=torch.float64)
ranks = outputs.fit_ranks(many)
print(json.dumps({
    "x": x.tolist(), "y": y.tolist(), "chosen": model("order").train_y.tolist(),
    "few": few.tolist(), "ranks of few": outputs.fit_ranks(few).forward(few).tolist(),
    "many": many.tolist(), "ranks of many": ranks.forward(many).tolist(),
    "back": ranks.inverse(ranks.forward(many)).tolist(),
    "models": {name: {
        "order": outputs.log_order(one, y), "t": one.train_y.tolist(), "noise": one.hyperparameters.noise,
        "lengthscale": one.hyperparameters.lengthscale.tolist(), "outputscale": one.hyperparameters.outputscale,
        "left out": outputs.log_left_out(one, y),
        "slope": ((one.outputs.forward(y + 1e-4) - one.outputs.forward(y - 1e-4)) / 2e-4 / one.scale).tolist(),
    } for name, one in models.items()},
}))
"""


@pytest.fixture(scope="module")
def order() -> dict[str, Any]:
    """What the trial of transforms by order gives, from a process of its own: it adds to the library's tables."""
    done = subprocess.run([sys.executable, "-c", ORDER], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_ranks_are_the_normal_quantiles_of_the_ranks(order: dict[str, Any]) -> None:
    """Ties share a rank; values that are closer than a tenth of a deviation lie on a line between others."""
    for name, exact in (("few", 1e-12), ("many", 0.1)):
        values = np.array(order[name])
        expected = stats.norm.ppf((stats.rankdata(values) - 0.5) / len(values))
        assert order[f"ranks of {name}"] == pytest.approx(expected, abs=exact)
        assert np.array(order[f"ranks of {name}"])[values.argmax()] == pytest.approx(expected.max(), abs=1e-12)
    assert order["back"] == pytest.approx(order["many"])


def left_out(x: np.ndarray, theta: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance that all others predict of each, by the formulas for a Gaussian process, one by one."""
    scaled, t, noise = x / np.array(theta["lengthscale"]), np.array(theta["t"]), theta["noise"]
    a = np.sqrt(5.0) * np.linalg.norm(scaled[:, None] - scaled, axis=-1)
    k = theta["outputscale"] * (1 + a + a**2 / 3) * np.exp(-a)
    found = []
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        weights = np.linalg.solve(k[others][:, others] + noise * np.eye(len(x) - 1), k[others, i])
        found.append((weights @ t[others], k[i, i] + noise - weights @ k[others, i]))
    mean, variance = np.array(found).T
    return mean, variance


def test_the_density_of_the_better_half_left_out(order: dict[str, Any]) -> None:
    x, y = (np.array(order[name]) for name in ("x", "y"))
    better = (y >= np.median(y)) & (y < y.max())
    for name in ("yeo-johnson", "log-fitted"):
        theta = order["models"][name]
        mean, variance = left_out(x, theta)
        density = stats.norm.logpdf(np.array(theta["t"]), mean, np.sqrt(variance)) + np.log(theta["slope"])
        expected = density[better].mean() + 0.5 * np.log(2 * np.pi)
        assert theta["left out"] == pytest.approx(expected, rel=1e-4)


def test_the_transform_that_orders_the_best_best_is_taken(order: dict[str, Any]) -> None:
    """The probability of the order from predictions of models that never saw the value, one by one."""
    x, y = (np.array(order[name]) for name in ("x", "y"))
    expected = {}
    for name, theta in order["models"].items():
        mean, variance = left_out(x, theta)
        better = (y[:, None] > y) & (y >= np.quantile(y, 0.75))[:, None]
        z = (mean[:, None] - mean) / np.sqrt(variance[:, None] + variance)
        expected[name] = stats.norm.logcdf(z[better]).mean()
    assert {name: one["order"] for name, one in order["models"].items()} == pytest.approx(expected, rel=1e-6)
    assert order["chosen"] == order["models"][max(expected, key=lambda name: expected[name])]["t"]


class TestTrialsForManyDimensions:
    def test_a_mixture_of_priors_has_the_slope_of_its_density(self) -> None:
        prior = trials.either_lengthscale(20).lengthscale
        x, h = np.array([0.05, 0.5, 2.0, 15.0]), 1e-6
        both = (paper(20).lengthscale, dimension_scaled(20).lengthscale)
        density = np.mean([np.exp(one.log_density(x)) for one in both], axis=0)
        np.testing.assert_allclose(np.exp(prior.log_density(x)), density)
        differences = (prior.log_density(x + h) - prior.log_density(x - h)) / (2 * h)
        np.testing.assert_allclose(prior.slope(x), differences, rtol=1e-5)

    def test_matern_of_three_halves_and_its_slope(self) -> None:
        r = torch.linspace(0.01, 4.0, 50, dtype=torch.float64)
        found = trials.MATERN32.evaluate((trials.MATERN32.stretch * r) ** 2)
        assert torch.allclose(found.value, (1 + 3**0.5 * r) * torch.exp(-(3**0.5) * r), atol=1e-12)
        r2, step = (trials.MATERN32.stretch * r) ** 2, 1e-6
        above, below = (trials.MATERN32.evaluate(r2 + sign * step).value for sign in (1, -1))
        assert torch.allclose(trials.MATERN32.slope_factor * found.slope, (above - below) / (2 * step), atol=1e-7)

    def test_the_region_is_a_function_of_the_losses(self) -> None:
        def length(losses: list[float], q: int = 1, dimensions: int = 2) -> float:
            return trials.trust_region(losses, 1, q, dimensions).length

        assert length([10.0]) == 0.8
        assert length([10.0 - k for k in range(9)]) == 1.6
        assert length([9.0] * 5) == 0.4
        assert length([9.0] * 3, q=2) == 0.8, "one batch of two"
        assert length([9.0] * 29) == 0.8, "over: from the start"
        assert length([9.0] * 9, dimensions=8) == 0.4, "patience grows with the dimension"

    def test_the_region_is_stretched_as_the_lengthscales_and_stays_in_the_cube(self) -> None:
        x = torch.rand(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        gp = fit_gp(x, torch.sin(6.0 * x[:, 0]))
        box = trials.box_around(torch.tensor([0.5, 0.95], dtype=torch.float64), 0.2, gp)
        length = gp.hyperparameters.lengthscale
        assert float(length[1] / length[0]) > 1.5
        assert float(box.upper[0] - box.lower[0]) < 0.2 < float(2 * (0.95 - box.lower[1]))
        assert float(box.upper[1]) == 1.0


def test_with_noise_the_regret_without_it_counts() -> None:
    """The smallest value seen may lie below the optimum: it is the loss without noise of its point that is compared."""
    rows = pd.DataFrame(
        {
            "task": ["noisy", "noisy", "unknown"],
            "best": [[5.0, -9.0], [5.0, -2.0], [4.0, 1.0]],
            "regret": [[4.0, 2.0], [4.0, 6.0], [np.nan, np.nan]],
            "floor_kind": ["optimum", "optimum", "best known"],
        }
    )
    assert regrets.normalised_regrets(rows).tolist() == [0.5, 1.5, regrets.SMALLEST + regrets.MARGIN]
