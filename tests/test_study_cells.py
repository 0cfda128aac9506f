"""Cells, grids and filters."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compbo.maximizers import CATALOGUE
from compbo.study.cell import InnerSpec, SurrogateSpec, cell_from_json, maximizer_method
from compbo.study.engine.experiment import initial_design
from compbo.study.grid import Block, Filter, counts, load_grid, parse_grid, preset_names
from compbo.study.grid.names import expand_optimisers
from compbo.study.methods.registry import KINDS, optimiser_group, optimiser_names
from compbo.study.tasks import get_task
from compbo.surrogate.kernels import KERNELS
from compbo.surrogate.priors import get_priors
from study_helpers import ROOT, TINY, cell, compbo_cell


def test_the_hash_is_that_of_the_canonical_definition() -> None:
    one = compbo_cell("Adam-ERM", "ei")
    written = (
        '{"batch":2,"dimension":4,"format":1,"initial":3,'
        '"inner":{"around_incumbents":0.0,"minibatch":8,"raw_batches":16,"restarts":2,"steps":3},'
        '"method":{"acquisition":"ei","acquisition_options":{},"hyperparameters":'
        + json.dumps(dict(sorted(CATALOGUE["Adam-ERM"].defaults.items())), separators=(",", ":"))
        + ',"kind":"maximizer","maximizer":"Adam-ERM"},"seed":0,"steps":2,'
        '"surrogate":{"kernel":"matern52","noise":"fixed","outputs":"none","priors":"paper"},"task":"ackley-4"}'
    )
    assert one.definition == written
    assert one.hash == hashlib.sha256(written.encode()).hexdigest()[:32]


def test_hash_of_a_plain_cell_never_changes() -> None:
    assert cell().hash == "e6b02096f6fafcb905df3522fd758bdb"


@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(CATALOGUE)),
    st.sampled_from(["ei", "pi", "sr", "ucb", "logei"]),
    st.floats(0.0, 1.0),
)
def test_a_cell_comes_back_from_its_definition(seed: int, maximizer: str, acquisition: str, share: float) -> None:
    one = cell(
        maximizer_method(maximizer, acquisition),
        seed=seed,
        surrogate=SurrogateSpec(noise="learned"),
        inner=InnerSpec(around_incumbents=share),
    )
    back = cell_from_json(one.definition)
    assert back == one
    assert back.hash == one.hash


def test_everything_that_determines_a_cell_is_in_the_hash() -> None:
    one = compbo_cell()
    others = [
        replace(one, task="levy-4"),
        replace(one, seed=1),
        replace(one, batch=3),
        replace(one, steps=3),
        replace(one, initial=4),
        replace(one, surrogate=SurrogateSpec(priors="dimension-scaled")),
        replace(one, surrogate=SurrogateSpec(noise="learned")),
        replace(one, inner=replace(TINY, restarts=3)),
        replace(one, method=maximizer_method("CAdam", "ei")),
        replace(one, method=maximizer_method("CAdam-ME", "ucb")),
        one.with_hyperparameters({"lr": 0.123}),
    ]
    assert len({one.hash, *(other.hash for other in others)}) == 1 + len(others)
    assert one.with_hyperparameters({}).hash == one.hash  # the defaults, written out


@pytest.mark.parametrize(
    ("name", "value"), [("seed", -1), ("batch", 0), ("steps", 1.5), ("initial", True), ("seed", 2**63)]
)
def test_a_cell_of_nothing_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"Cell: {name} must be a whole number"):
        cell(**{name: value})


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 0 is not 1"):
        cell_from_json(cell().definition.replace('"format":1', '"format":0'))


def test_methods_are_paired_by_their_initial_design() -> None:
    task = get_task("levy-4")
    design = initial_design(cell(task="levy-4"), task)
    assert initial_design(compbo_cell(task="levy-4", steps=9), task) == design
    assert initial_design(cell(task="levy-4", initial=5), task)[:3] == design
    assert initial_design(cell(task="levy-4", seed=1), task) != design
    assert initial_design(cell(task="ackley-4"), task) != design


# -- grids


def test_presets_are_those_of_the_documents() -> None:
    papers = ["paper", "paper-exact", "paper-time"]
    sixteen, others = ["controls", "dim16", "dim16-shifted"], ["smoke", "tuning-core", "tuning-tasks"]
    assert preset_names() == [*sixteen, "high-dimensions", "kernels", *papers, *others]
    assert all(load_grid(name).about for name in preset_names())


def test_dim16_is_every_optimiser_under_four_acquisitions_on_five_functions() -> None:
    cells = load_grid("dim16").cells()
    maximizers = [one for one in cells if one.method.maximizer]
    others = sum(kind.group in ("baseline", "peer") for kind in KINDS.values())
    assert len(maximizers) == 5 * 4 * len(CATALOGUE)
    assert len(cells) == len(maximizers) + 5 * others
    assert {one.dimension for one in cells} == {16}
    assert {(one.batch, one.steps, one.initial) for one in cells} == {(16, 32, 3)}
    assert len({one.hash for one in cells}) == len(cells)


def test_paper_has_the_papers_axes() -> None:
    cells = load_grid("paper").cells()
    lines = {line.what: line for line in counts.count_cells(cells)}
    for dimension in (16, 40, 60, 80, 100, 120):
        assert lines[f"synthetic {dimension}D"].cells == 5 * 4 * 31 + 5 * 5
    by_maximizer = [one for one in cells if one.method.maximizer and one.task.count("-") == 2 and one.batch == 8]
    assert len(by_maximizer) == (672 + 288) * 5
    assert {one.method.optimiser for one in by_maximizer} == {
        *("Adam-FSM", "RMSprop-FSM", "Rprop-FSM", "CAdam", "NASA", "Nested-MC")
    }
    assert all(one.initial == 2 * one.dimension for one in cells if one.batch == 8)


def test_tuning_tasks_are_all_of_them() -> None:
    cells = load_grid("tuning-tasks").cells()
    assert len({one.task for one in cells}) == 126
    assert {one.seed for one in cells} == {0, 1, 2, 3, 4}


def test_groups_of_optimisers_cover_the_axis() -> None:
    assert len(expand_optimisers(["paper"])) == 31
    everything = expand_optimisers(["paper", "extended", "default", "baseline", "peer"])
    assert list(everything) == [name for name in optimiser_names() if name != "maximizer"]
    assert {name for name in everything if optimiser_group(name) == "peer"} == {
        *("botorch-qlogei", "optuna-tpe", "optuna-gp", "pycma")
    }
    assert expand_optimisers(["*-me"]) == ("CAdam-ME", "NASA-ME", "Nested-MC-ME")


TOML = """
[defaults]
batch = 2
steps = 4
initial = "2d"

[[block]]
functions = ["levy"]
dimensions = [3, 5]
shifted = true
optimisers = ["CAdam", "random-search"]
acquisitions = ["EI"]
seeds = [0, 7]
inner = { restarts = 3, raw_batches = 9 }
hyperparameters.CAdam.lr = 0.5
"""


def test_a_grid_from_toml() -> None:
    cells = parse_grid("mine", TOML).cells()
    assert len(cells) == 2 * 2 * 2
    first = cells[0]
    assert first.task == "levy-3-shifted"
    assert (first.batch, first.steps, first.initial) == (2, 4, 6)
    assert first.inner == InnerSpec(restarts=3, raw_batches=9)
    assert dict(first.method.hyperparameters)["lr"] == 0.5
    assert [one.seed for one in cells] == [0] * 4 + [7] * 4  # seeds slowest
    assert cells[1].inner is None
    assert cells[1].surrogate is None
    assert len(parse_grid("mine", TOML).with_seeds(range(3)).cells()) == 2 * 3 * 2


def test_the_grid_of_the_documents_is_one() -> None:
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    cells = parse_grid("documents", example.replace(', "mypackage.tasks:furnace"', "")).cells()
    assert {one.task for one in cells} >= {"levy-20-shifted", "rf-boston-mse", "levy-40-shifted"}
    assert {one.surrogate.priors for one in cells if one.surrogate} == {"paper", "dimension-scaled"}
    assert all(get_priors(one.surrogate.priors, one.dimension) for one in cells if one.surrogate)


def test_noise_of_the_surrogate_follows_the_task() -> None:
    text = '[[block]]\ntasks = ["levy-2", "levy-2-noise0.1", "rf-iris-acc"]\noptimisers = ["RS"]\nacquisitions = ["ei"]'
    noises = [one.surrogate.noise for one in parse_grid("g", text).cells() if one.surrogate]
    assert noises == ["fixed", "learned", "learned"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("CAdam", "CAdamm"), "no optimiser 'CAdamm'; did you mean CAdam"),
        (('"EI"', '"EJ"'), "no acquisition function 'EJ'"),
        (("levy", "levi"), "No task 'levi-3-shifted'"),
        (("batch = 2", "bach = 2"), "unknown key bach"),
        (('"2d"', '"d2"'), "initial must be a whole number or points per dimension"),
        (("restarts", "restart"), "unknown key restart in inner; did you mean restarts"),
        (("restarts = 3", "restarts = 10"), "10 restarts cannot be chosen among 9 raw_batches"),
        (("restarts = 3", "restarts = 0"), "inner: restarts must be a whole number >= 1"),
        (("{ restarts = 3, raw_batches = 9 }", "3"), "`inner` must be a table"),
        (("[0, 7]", "[]"), "`seeds` is empty"),
        (("[0, 7]", "3"), "`seeds` must be a list of whole numbers in brackets, got 3"),
        (('["levy"]', '"levy"'), "`functions` must be a list of names in quotes in brackets"),
        (("dimensions = [3, 5]", 'tasks = ["levy-3"]'), "`functions` and `dimensions` go together"),
        (("shifted = true", 'shifted = "no"'), "`shifted` must be true or false"),
        (('functions = ["levy"]\ndimensions = [3, 5]', 'tasks = ["levy-3"]'), "among `tasks` write levy-16-shifted"),
        (("parameters.CAdam", "parameters.CAdamm"), "hyperparameters: no optimiser 'CAdamm'; did you mean CAdam"),
        (("CAdam.lr = 0.5", "CAdam.lrr = 0.5"), "CAdam has no hyperparameter 'lrr'"),
        (('"2d"', '"²d"'), "initial must be a whole number or points per dimension"),
        (
            ("restarts = 3", "restarts = 3, around_incumbents = true"),
            "around_incumbents must be a share such as 0.5, got True",
        ),
        (('"2d"', "2.5"), "initial must be a whole number or points per dimension"),
        (("[[block]]", "[block]"), "no [[block]]; write at least one, in double brackets"),
        (("seeds = [0, 7]", 'priors = "papper"'), "prior set 'papper' is unknown"),
        (("[[block]]", "[[blok]]"), "unknown key blok"),
        (("[defaults]", "[defaults"), "not valid TOML"),
        (('acquisitions = ["EI"]', ""), "CAdam maximises an acquisition function"),
    ],
)
def test_a_bad_grid_is_refused_in_words(change: tuple[str, str], message: str) -> None:
    with pytest.raises(ValueError, match="Grid") as caught:
        parse_grid("mine", TOML.replace(*change)).cells()
    assert message in str(caught.value)


def test_a_grid_file_with_a_mark_or_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TOML.replace("\n", "\r\n").encode())
    assert load_grid(str(path)) == parse_grid("mine", TOML)
    path.write_bytes(TOML.encode("utf-16"))
    with pytest.raises(ValueError, match=r"mine\.toml: not a text file in UTF-8"):
        load_grid(str(path))


def test_a_grid_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="neither a preset"):
        load_grid("dim17")


def test_filters() -> None:
    cells = load_grid("dim16").cells()
    kept = Filter(task=("levy-*",), acquisition=("ucb",), optimiser=("CAdam*",)).apply(cells)
    assert [one.name for one in kept] == ["levy-16/ucb/CAdam/seed0", "levy-16/ucb/CAdam-ME/seed0"]
    assert Filter().apply(cells) == cells
    assert len(Filter(dimension=(16,), seed=(0,)).apply(cells)) == len(cells)


def test_methods_without_an_acquisition_function_can_be_kept_and_are_named_if_not() -> None:
    block = Block(("levy-2",), ("CAdam", "bohb", "random-search"), ("ei", "ucb"))
    cells = list(block.cells())
    for wanted, kept, left_out in (
        (("ucb",), ["levy-2/ucb/CAdam/seed0"], ["bohb", "random-search"]),
        (("u*", "none"), ["levy-2/ucb/CAdam/seed0", "levy-2/bohb/seed0", "levy-2/random-search/seed0"], []),
        (("none",), ["levy-2/bohb/seed0", "levy-2/random-search/seed0"], []),
        ((), [one.name for one in cells], []),
    ):
        keep = Filter(acquisition=wanted)
        assert [one.name for one in keep.apply(cells)] == kept
        assert keep.left_out_without_acquisition(cells) == left_out
    assert Filter(acquisition=("ucb",), optimiser=("CAdam", "bohb")).left_out_without_acquisition(cells) == ["bohb"]
    with pytest.raises(ValueError, match="none of these cells has the acquisition 'none'"):
        Filter(acquisition=("none",)).apply([one for one in cells if one.method.acquisition])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"task": ("levi-4",)}, "none of these cells has the task 'levi-4'; did you mean .*levy-4-shifted"),
        ({"dimension": (17,)}, "none of these cells has the dimension 17; there are 4, 2"),
        ({"optimiser": ("Adamm",)}, "none of these cells has the optimiser 'Adamm'; did you mean .*Adam-ERM"),
        ({"seed": (3,)}, "none of these cells has the seed 3; there are 0"),
        ({"optimiser": ("bohb",), "acquisition": ("ei",)}, "no cell passes all of these filters together"),
    ],
)
def test_a_filter_that_fits_nothing_is_refused(wanted: dict[str, tuple[object, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=f"Filter: {message}"):
        Filter(**wanted).apply(load_grid("smoke").cells())  # type: ignore[arg-type]


def test_a_whole_number_is_the_same_share_in_a_grid() -> None:
    texts = [TOML.replace("restarts = 3", f"around_incumbents = {share}, restarts = 3") for share in ("1", "1.0")]
    one, other = (parse_grid("mine", text).cells()[0].hash for text in texts)
    assert one == other


def test_the_pilot_differs_in_the_kernel_alone() -> None:
    cells = load_grid("kernels").cells()
    by_kernel: dict[str, set[str]] = {}
    for one in cells:
        by_kernel.setdefault(one.surrogate.kernel, set()).add(str(replace(one, surrogate=SurrogateSpec())))
    assert set(by_kernel) == set(KERNELS)
    assert len({frozenset(same) for same in by_kernel.values()}) == 1
    assert len(set(cells)) == len(cells) == 4 * 3 * 2 * 5
