"""The report of studies that other programs wrote with Optuna, as data; test_report_browser.py looks at the page."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import optuna
import pytest
from typer.testing import CliRunner

import compbo
from compbo.cli import app
from compbo.records import COMPLETE, FAIL, PRUNED
from compbo.report import figures, figures_progress, render_report, tables
from compbo.report.data import Report, collect, of_state
from compbo.report.far_values import value_range
from compbo.storage import load_optimizer, load_records, load_study
from report_examples import failed_run, optuna_study, plain_run

CONDITIONAL = {"penalty", "depth"}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> optuna.Study:
    return optuna_study(f"sqlite:///{tmp_path_factory.mktemp('others') / 'others.db'}")


@pytest.fixture(scope="module")
def report(study: optuna.Study) -> Report:
    return report_of(study)


def report_of(study: optuna.Study) -> Report:
    optimizer, _, facts = load_study(study._storage, study.study_name)
    assert facts is not None
    return collect(optimizer, "others", facts)


def test_the_best_point_has_its_conditional_parameters(study: optuna.Study, report: Report) -> None:
    best = report["best"]
    assert best is not None
    assert best["params"] == ast.literal_eval(best["python"]) == study.best_params
    assert (best["number"], best["value"]) == (study.best_trial.number, study.best_value)
    assert CONDITIONAL & best["params"].keys()


def test_every_parameter_of_every_trial_is_in_the_table(study: optuna.Study, report: Report) -> None:
    table = tables.evaluations_table(report)
    titles = [column["label"] for column in table["columns"]]
    assert {"kind", "rate", *CONDITIONAL} <= set(titles)
    for row in table["rows"]:
        cells = dict(zip(titles, row, strict=True))
        trial = study.trials[int(cells["number"])]
        assert cells["state"] == trial.state.name
        for name in ("kind", "rate", *CONDITIONAL):
            assert cells[name] == (str(trial.params[name]) if name in trial.params else "")
    described = {name: words for name, _, words in report["space"]}
    assert described["depth"].startswith("1 to 12, in ")
    assert report["conditional"] == 2


def test_importance_is_optunas(study: optuna.Study, report: Report) -> None:
    wanted = optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
    assert {share["name"]: share["share"] for share in report["importance"]} == wanted
    assert set(wanted) == {"kind", "rate", *CONDITIONAL}
    assert report["evaluator"] == "PED-ANOVA"
    shares = [share["share"] for share in report["importance"]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.3


def test_pruned_is_not_failed(study: optuna.Study, report: Report) -> None:
    states = [trial.state.name for trial in study.trials]
    for state in (COMPLETE, FAIL, PRUNED):
        assert len(of_state(report, state)) == states.count(state)
    for row in of_state(report, PRUNED):
        trial = study.trials[row["number"]]
        assert row["value"] == (trial.intermediate_values[1] if trial.intermediate_values else None)
    assert report["pending"] == 2
    charts = {trace["name"]: trace for trace in figures_progress.progress(report)["data"]}
    assert charts["Failed"]["x"] == [5, 7]
    assert charts["Pruned"]["x"] == [4, 14, 24, 34]
    assert charts["Pruned, no value"]["x"] == [3, 13, 23, 33]
    optimizer = load_optimizer(study._storage, study.study_name)
    assert [e.message for e in optimizer.evaluations if e.failed] == [""]  # 7; 5 failed before it had a parameter
    assert len(optimizer.evaluations) == states.count(COMPLETE) + 1
    assert report["surrogate"] is not None


def test_the_page_says_what_it_leaves_out(study: optuna.Study) -> None:
    optimizer, _, facts = load_study(study._storage, study.study_name)
    assert facts is not None
    page = render_report(optimizer, facts=facts)
    assert "in an Optuna study." in page
    assert "chosen from" not in page  # all that can be used were used
    assert "Pruned trials are not in it." in page
    assert "Parameters that not every trial shares are not in it: " in page
    assert "its sampler and settings are not known here" in page
    assert re.search(r"\d values lie off the chart: triangles at its edge\.", page)


def test_the_command_reports_and_exports_it(study: optuna.Study, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'copy.db'}"
    optuna.copy_study(from_study_name=study.study_name, from_storage=study._storage, to_storage=storage)
    for command, file in (("report", "page.html"), ("export", "table.csv")):
        done = CliRunner().invoke(app, [command, storage, "-o", str(tmp_path / file)])
        assert done.exit_code == 0, done.output
    assert "PED-ANOVA" in (tmp_path / "page.html").read_text()
    assert "PRUNED" in (tmp_path / "table.csv").read_text()
    assert len(load_records(storage)) == 42


def test_loaded_in_python_it_is_the_same(study: optuna.Study, tmp_path: Path) -> None:
    result = compbo.load(study._storage, study.study_name)
    assert (result.best_params, result.best_value) == (study.best_params, study.best_value)
    assert set(result.history.columns) >= CONDITIONAL
    result.report(tmp_path / "page.html")
    assert "PED-ANOVA" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("ended", [0, 1])
def test_a_study_that_has_just_begun(tmp_path: Path, ended: int) -> None:
    study = optuna.create_study(study_name="new", storage=f"sqlite:///{tmp_path / 'new.db'}")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=ended)
    study.ask().suggest_float("x", 0, 1)
    found = report_of(study)
    assert len(found["evaluations"]) == ended
    assert found["pending"] == 1
    assert bool(found["importance"]) == (ended > 0)
    assert len(found["axes"]) == 1


def test_a_run_of_compbos_own_has_no_such_facts(tmp_path: Path) -> None:
    storage = str(tmp_path / "run.db")
    compbo.minimize(lambda p: p["x"], {"x": compbo.Float(0, 1)}, evaluations=3, storage=storage)
    optimizer, _, facts = load_study(storage)
    assert facts is None
    assert collect(optimizer)["evaluator"] == ""


class TestOutliers:
    def run(self, values: list[float | None], direction: str = "minimize") -> Report:
        optimizer = plain_run(0, direction=direction)
        optimizer.tell([{"x0": i / len(values)} for i in range(len(values))], values)
        return collect(optimizer)

    @pytest.mark.parametrize("direction", ["minimize", "maximize"])
    def test_one_does_not_flatten_the_chart(self, direction: str) -> None:
        sign = 1.0 if direction == "minimize" else -1.0
        values = [sign * (1.0 + 0.1 * (i % 7)) for i in range(30)]
        values[4] = sign * 1e9
        report = self.run(values, direction)
        chart = figures_progress.progress(report)
        low, high = chart["layout"]["yaxis"]["range"]
        assert low < min(v for v in values if abs(v) < 10)
        assert max(v for v in values if abs(v) < 10) < high
        assert high - low < 1.0
        edge = next(trace for trace in chart["data"] if trace["name"] == "Off the chart")
        assert (edge["x"], edge["y"]) == ([4], [1.0 if sign > 0 else 0.0])
        assert "value" in edge["hovertext"][0]
        heights = [y for trace in figures.parallel(report)["data"] for y in trace["y"] if y is not None]
        assert min(heights) >= 0.0
        assert max(heights) <= 1.0
        notes = [note["text"] for note in figures.parallel(report)["layout"]["annotations"]]
        assert any(note.startswith("≥" if sign > 0 else "≤") for note in notes)

    @pytest.mark.parametrize(
        "values",
        [
            [100.0, 60.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.2],  # progress is no outlier
            [1.0, 1.0, 1.0, 1.0, 7.0],  # the only value that differs
            [1.0, 2.0],
            [5.0, 5.5, 5.2, -1e6, 5.3, 5.1],  # the best is always shown
            [None, None, 3.0],
        ],
    )
    def test_what_is_shown_as_it_is(self, values: list[float | None]) -> None:
        report = self.run(values)
        assert value_range(report) is None
        assert "range" not in figures_progress.progress(report)["layout"]["yaxis"]

    def test_nothing_but_failures(self) -> None:
        assert value_range(collect(failed_run())) is None

    def test_at_most_one_in_twenty_is_left_out(self) -> None:
        values: list[Any] = [1.0 + 0.1 * (i % 7) for i in range(40)]
        for few in (1, 2):
            values[few] = 1e6 + few
            assert value_range(self.run(values)) is not None
        values[3] = 1e6
        assert value_range(self.run(values)) is None
