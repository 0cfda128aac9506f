"""Every figure: made of whatever there is, the same bytes every time, in colours that can be told apart."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from compbo.study.methods.registry import optimiser_names
from compbo.study.outputs.aggregate import by_class
from compbo.study.outputs.axes import CLASSES, method_axes
from compbo.study.outputs.compact import compact
from compbo.study.outputs.figures import bayesmark, comparison, regret
from compbo.study.outputs.figures.canvas import spread_apart, styled
from compbo.study.outputs.figures.cost import read_memory
from compbo.study.outputs.look import CLASS_LOOKS, for_text, look, on_dark
from compbo.study.outputs.runs import Study, study_of
from compbo.study.outputs.write import FIGURES, TABLES, write_figures, write_tables
from outputs_tables import BASELINES, TUNING, cells, compact_of, ended, failed_row, full, mixed_cells, paper_table, row

MEMORY = Path(__file__).parent.parent / "benchmarks" / "memory.csv"


@pytest.fixture(scope="module")
def mixed() -> Study:
    return study_of(compact_of(mixed_cells()))


def test_every_figure_and_table_of_a_study_with_something_of_everything(mixed: Study, tmp_path: Path) -> None:
    written = write_figures(mixed, tmp_path / "figures", formats=["png"], measured=read_memory(MEMORY))
    assert written.missing == {}
    assert {path.stem for path in written.files} == {
        "regret-by-class", "bayesmark-regression", "bayesmark-classification", "fsm-against-erm",
        "dimension-by-acquisition", "dimension-by-acquisition-paper", "log-regret-16d", "log-regret-40d",
        "standard-against-me", "time-by-dimension", "time-by-dimension-all", "memory", "bayesmark-boxes-regression",
        "bayesmark-boxes-classification", "tuning-curves-boston", "tuning-curves-pima", "final-regret",
        "performance-profiles", "probability-of-improvement", "critical-difference",
    }  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written.files)
    index = (tmp_path / "figures" / "index.md").read_text()
    assert "![critical-difference](critical-difference.png)" in index
    tables = write_tables(mixed, tmp_path / "tables")
    assert list(tables.missing) == ["missing"]
    assert {path.suffix for path in tables.files} == {".csv", ".md", ".tex"}
    assert "- missing: nothing is missing" in (tmp_path / "tables" / "index.md").read_text()


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_table_gives_the_same_bytes(mixed: Study, tmp_path: Path, kind: str) -> None:
    names = ["regret-by-class", "critical-difference"]
    first, second = (write_figures(mixed, tmp_path / run, names, [kind]).files for run in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert b"CreationDate" not in one.read_bytes()
        assert b"<dc:date>" not in one.read_bytes()


@cache
def incomplete() -> dict[str, Study]:
    """Tables that are less than a study."""
    one = cells(["levy-16"], ["CAdam"], ["ucb"], [0])
    fail = [failed_row(cell) for cell in mixed_cells()[:5]]
    short = [row(cell) for cell in cells(["levy-16"], ["CAdam", "NASA"], ["ei"], [0], steps=3)]
    longer = [row(cell) for cell in cells(["ackley-16"], ["CAdam", "NASA"], ["ei"], [0], steps=9)]
    unknown = row(one[0], floor=np.nan, floor_kind="unknown", regret=[np.nan] * 7)
    return {
        "nothing": study_of(compact_of([])),
        "one cell": study_of(compact_of(one)),
        "one seed": study_of(compact_of(mixed_cells(seeds=[0]))),
        "one optimiser": study_of(compact_of(cells(["levy-16", "ackley-16", "levy-40"], ["NASA"], ["ei"], [0, 1]))),
        "baselines only": study_of(compact_of(cells(["levy-16"], BASELINES, [], [0]))),
        "tuning only": study_of(compact_of(cells(TUNING, ["CAdam", "Adam-FSM"], ["ucb"], [0], steps=16))),
        "failed only": study_of(compact(full(fail))),
        "short and long": study_of(compact(full(short + longer))),
        "no regret": study_of(compact(full([unknown]))),
        "more evaluations than random search has": study_of(
            compact_of(cells(TUNING, ["CAdam"], ["ei"], [0], steps=40))
        ),
    }


@pytest.mark.parametrize("name", list(incomplete()))
def test_whatever_is_there_is_drawn_and_what_is_not_is_said(name: str, tmp_path: Path) -> None:
    study = incomplete()[name]
    drawn = write_figures(study, tmp_path, formats=["png"])
    tables = write_tables(study, tmp_path)
    assert len(tables.captions) >= 4  # domains and forms need no results
    for written, known in ((drawn, FIGURES), (tables, TABLES)):
        assert set(written.missing) <= set(known)
        assert all(reason and not reason.endswith(".") for reason in written.missing.values())
    if name in ("nothing", "failed only", "no regret"):
        assert set(drawn.missing) >= set(FIGURES) - {"time-by-dimension", "memory"}
    if name == "one optimiser":
        assert "regret-by-class" in drawn.captions
        assert "critical-difference" in drawn.missing
    if name == "tuning only":
        assert {"bayesmark-regression", "tuning-curves-pima"} <= set(drawn.captions)
        assert "regret-by-class" in drawn.missing


def test_curves_are_cut_at_the_shortest_run() -> None:
    study = incomplete()["short and long"]
    assert len(by_class(study.synthetic("plain"), "median")["first-comp"].value) == 4


def test_the_acquisition_function_that_ends_lowest_is_framed() -> None:
    runs = [
        ("levy-16", "CAdam", "ei", 0.5),
        ("levy-16", "CAdam", "ucb", 0.2),
        ("levy-40", "CAdam", "ei", 0.1),
        ("levy-40", "CAdam", "ucb", 0.3),
    ]
    rows = [ended(task, name, acquisition, 0, final) for task, name, acquisition, final in runs]
    with styled():
        drawing = regret.dimension_by_acquisition(study_of(compact(full(rows))))["dimension-by-acquisition"]
    assert "16D UCB, 40D EI" in drawing.caption
    framed = [place.spines["top"].get_linewidth() > 2 for place in drawing.figure.axes]
    assert framed == [False, True, True, False]


@pytest.mark.parametrize("many", [True, False])
def test_intervals_of_many_classes_are_bars_beside_each_other(many: bool) -> None:
    """Bands on each other would hide what lies below; each bar has the ends of its interval near the end of the run."""
    names = ("CAdam", "Adam-ERM", "L-BFGS-B", "CMA-ES", "RS")[: 5 if many else 2]
    functions = ("levy", "ackley", "powell", "dixon-price")
    ends = [
        (f"{function}-16", name, 0.1 * (1 + k + i))
        for k, function in enumerate(functions)
        for i, name in enumerate(names)
    ]
    rows = [ended(task, name, "ucb", 0, final) for task, name, final in ends]
    study = study_of(compact(full(rows)))
    with styled():
        drawing = regret.regret_by_class(study)["regret-by-class"]
    axes = drawing.figure.axes[0]
    bars = [one for one in axes.collections if isinstance(one, LineCollection)]
    assert len(bars) == (5 if many else 0)
    assert len([one for one in axes.collections if isinstance(one, PolyCollection)]) == (0 if many else 2)
    assert ("Bars, moved apart: " in drawing.caption, "Bands: " in drawing.caption) == (many, not many)
    if many:
        found = by_class(study.synthetic("plain"), "median")
        lasts = [one.get_segments()[-1] for one in bars]
        assert len({last[0][0] for last in lasts}) == 5, "none on another"
        steps = range(len(next(iter(found.values())).value))
        for last, one in zip(lasts, found.values(), strict=True):
            assert any(last[:, 1] == pytest.approx([one.low[step], one.high[step]]) for step in steps)


def test_scores_are_put_together_as_the_caption_says() -> None:
    study = study_of(compact_of(cells(["dt-boston-mse"], ["Adam-FSM", "RMSprop-FSM"], ["ei", "ucb"], [0, 1], steps=16)))
    rows = bayesmark.scored(study, "regression")
    values, tasks = bayesmark.pooled(rows, "first", "best", 16)
    assert tasks.tolist() == ["dt-boston-mse"] * 2
    assert values.tolist() == [rows[rows["seed"] == seed]["score"].max() for seed in (0, 1)]
    average, _ = bayesmark.pooled(rows, "first", "average", 16)
    assert average.tolist() == pytest.approx([rows[rows["seed"] == seed]["score"].mean() for seed in (0, 1)])
    assert len(bayesmark.pooled(rows, "first", "best", 17)[0]) == 0


def test_a_profile_of_a_class_counts_its_members_as_one() -> None:
    runs = [("levy-16", "Adam-ERM", 0.1), ("levy-16", "SGA-ERM", 0.9), ("ackley-16", "SGA-ERM", 0.3)]
    rows = study_of(compact(full(ended(task, name, "ei", 0, end) for task, name, end in runs))).synthetic("plain")
    found = comparison.profile(rows)
    level = int(np.searchsorted(comparison.LEVELS, 0.5))
    assert found.value[level] == pytest.approx((1 / 2 + 1) / 2)


# -- labels and colours


def test_labels_move_apart_as_little_as_possible() -> None:
    assert spread_apart([0.0, 1.0], 0.5) == [0.0, 1.0]
    assert spread_apart([0.5, 0.5], 0.2) == pytest.approx([0.4, 0.6])
    moved = spread_apart([0.1, 0.12, 0.13, 0.9], 0.1)
    assert np.diff(moved).min() >= 0.1 - 1e-12
    assert moved[3] == 0.9
    assert np.mean(moved[:3]) == pytest.approx(np.mean([0.1, 0.12, 0.13]))


# Machado, Oliveira and Fernandes (2009): what a red-blind or green-blind reader sees, linear RGB
BLIND = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, eyes: str) -> np.ndarray:
    """CIELAB of a colour as seen by such eyes."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(BLIND[eyes] @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", list(BLIND))
def test_the_classes_of_the_paper_can_be_told_apart_by_colour_blind_readers(eyes: str) -> None:
    groups = ["zeroth", "zeroth-comp", "first", "first-comp", "second", "second-comp"]
    colours = {group: lab(CLASS_LOOKS[group].colour, eyes) for group in groups}
    for i, first in enumerate(groups):
        for second in groups[i + 1 :]:
            distance = np.linalg.norm(colours[first] - colours[second])
            same_line = CLASS_LOOKS[first][1:] == CLASS_LOOKS[second][1:]
            assert distance > (25 if same_line else 12), (first, second)


def test_without_colour_line_and_marker_tell_category_and_order() -> None:
    for name in optimiser_names():
        axes, style = method_axes(name), look(name)
        if axes.category == "Comp" and axes.form != "ME":
            assert style.line == "solid"
        if axes.category == "NonComp":
            assert style.line in ("dashed", "dashdot")
        if axes.order in (0, 1, 2) and name != "RS" and axes.category != "extended":
            assert style.marker == {0: "s", 1: "o", 2: "^"}[axes.order]
    shapes = [(one.line, one.marker) for one in CLASS_LOOKS.values()]
    assert len(set(shapes)) == len(shapes)
    assert set(CLASS_LOOKS) == set(CLASSES)


def test_every_optimiser_has_a_look_of_its_own_and_shares_its_colour_with_its_forms_only() -> None:
    looks = {name: look(name) for name in optimiser_names()}
    assert len(set(looks.values())) == len(looks)
    by_colour: dict[str, set[str]] = {}
    for name, one in looks.items():
        by_colour.setdefault(one.colour, set()).add(method_axes(name).member.removesuffix("-ME"))
    assert {len(members) for members in by_colour.values()} == {1}


def test_words_are_dark_on_white_and_curves_light_on_dark() -> None:
    def contrast(first: str, second: str) -> float:
        light, dark = sorted((0.2126 * r + 0.7152 * g + 0.0722 * b) for r, g, b in (_linear(first), _linear(second)))[
            ::-1
        ]
        return (light + 0.05) / (dark + 0.05)

    for name in optimiser_names():
        assert contrast(for_text(look(name).colour), "#ffffff") >= 4.5, name
        assert contrast(on_dark(look(name).colour), "#1a2027") > 3.0, name


def _linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.long
def test_all_figures_and_tables_of_all_cells_of_the_paper(tmp_path: Path) -> None:
    study = study_of(paper_table())
    figures = write_figures(study, tmp_path, measured=read_memory(MEMORY))
    assert figures.missing == {}
    assert {f"log-regret-{d}d" for d in (16, 40, 60, 80, 100, 120)} <= set(figures.captions)
    assert list(write_tables(study, tmp_path).missing) == ["missing"]


def test_the_documentation_names_every_output_and_its_pictures_exist() -> None:
    docs = Path(__file__).parent.parent / "docs"
    text = (docs / "outputs.md").read_text()
    for name in (*FIGURES, *TABLES):
        assert f"`{name}`" in text, name
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(pictures) > 15
    assert [picture for picture in pictures if not (docs / picture).is_file()] == []


def test_optimisers_without_a_common_task_are_drawn_without_a_number() -> None:
    runs = [("levy-16", "CAdam", 0.1), ("ackley-16", "NASA", 0.2), ("levy-16", "RS", 0.3)]
    study = study_of(compact(full(ended(task, name, "ei", 0, end) for task, name, end in runs)))
    with styled():
        comparison.improvement(study)
        caption = comparison.critical_difference(study)["critical-difference"].caption
    assert "Left out, because they did not run on all of these tasks: NASA." in caption
