"""The report without a browser: the data, the figures, the page as text and as a file."""

from __future__ import annotations

import ast
import base64
import errno
import hashlib
import html
import json
import math
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import compbo
from compbo.bo.optimizer import Optimizer
from compbo.bo.verdict import Verdict
from compbo.report import (
    document,
    figures,
    figures_asks,
    figures_model,
    figures_progress,
    labels,
    render_report,
    slices,
    write_report,
)
from compbo.report.axes import axis_of, fraction, position, values_along
from compbo.report.data import collect
from compbo.report.reproduce import call_in_python
from compbo.report.theme import DARK, LIGHT, PALETTES
from compbo.space import Categorical, Float, Int, Ordinal, Space
from report_examples import MESSAGE, SCRIPT, constant_run, failed_run, hostile_run, plain_run

RUNS = {
    "nothing evaluated": lambda: plain_run(0),
    "only failures": failed_run,
    "one evaluation": lambda: plain_run(1),
    "constant values": constant_run,
    "one parameter": lambda: plain_run(12),
    "two hundred parameters": lambda: plain_run(30, parameters=200),
    "everything at once": hostile_run,
}


@pytest.fixture(params=RUNS, scope="module")
def some_page(request: pytest.FixtureRequest) -> str:
    """The page of every kind of run in turn."""
    return render_report(RUNS[request.param]())


@pytest.fixture(scope="module")
def hostile() -> Optimizer:
    return hostile_run()


@pytest.fixture(scope="module")
def hostile_page(hostile: Optimizer) -> str:
    return render_report(hostile, title=SCRIPT)


# -- axes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter",
    [Float(-3, 8), Float(1e-5, 0.1, "log"), Float(0.01, 0.9, "logit"), Float(-5, 500, "bilog"), Int(3, 900, "log")],
    ids=lambda parameter: f"{parameter.kind}-{parameter.scale}",
)
def test_a_fraction_of_an_axis_is_the_coordinate_in_the_unit_cube(parameter: Float | Int) -> None:
    axis = axis_of("x", parameter)
    values = values_along(parameter, 9)
    unit = Space({"x": parameter}).to_unit([{"x": value} for value in values])[:, 0]
    assert [fraction(axis, position(parameter, value)) for value in values] == pytest.approx(unit.tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("parameter", "most", "expected"),
    [
        (Int(1, 4), 9, [1, 2, 3, 4]),
        (Int(0, 100), 5, [0, 25, 50, 75, 100]),
        (Int(1, 10**4, "log"), 5, [1, 10, 100, 1000, 10**4]),
        (Float(0, 1), 3, [0.0, 0.5, 1.0]),
        (Categorical(["a", None, True]), 9, ["a", None, True]),
        (Ordinal(list(range(100))), 3, [0, 49, 99]),
    ],
)
def test_values_along_a_parameter(parameter: Any, most: int, expected: list[Any]) -> None:
    assert values_along(parameter, most) == expected


def test_choices_stand_at_their_places_and_ticks_carry_their_names() -> None:
    axis = axis_of("x", Categorical(["a", None, True]))
    assert (axis["ticks"], axis["labels"], axis["points"]) == ([0.0, 1.0, 2.0], ["a", "None", "True"], True)


# -- data --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("direction", "curve"), [("minimize", [5, 5, 2, 2, 2]), ("maximize", [5, 5, 5, 8, 8])])
def test_best_so_far_follows_the_direction_and_skips_failures(direction: str, curve: list[float]) -> None:
    optimizer = plain_run(0, direction=direction)
    optimizer.tell(optimizer.space.sample(5, torch.Generator().manual_seed(0)), [5.0, None, 2.0, 8.0, 8.0])
    report = collect(optimizer)
    assert report["best_so_far"] == curve
    assert report["best"] is not None
    assert report["best"]["number"] == (2 if direction == "minimize" else 3)
    assert ast.literal_eval(report["best"]["python"]) == optimizer.best.params


def test_collecting_changes_nothing_of_the_optimizer(hostile: Optimizer) -> None:
    before = hostile.to_json()
    collect(hostile)
    assert hostile.to_json() == before


def test_importance_is_the_share_of_inverse_lengthscales_with_choices_summed(hostile: Optimizer) -> None:
    inverse = (1 / hostile.model().hyperparameters.lengthscale).tolist()
    width = {name: len(p.choices) if isinstance(p, Categorical) else 1 for name, p in hostile.space.parameters.items()}
    expected = {}
    for name, count in width.items():
        if name != "fixed":
            expected[name], inverse = sum(inverse[:count]), inverse[count:]
    surrogate = collect(hostile)["surrogate"]
    assert surrogate is not None
    found = {share["name"]: share["share"] for share in surrogate["importance"]}
    assert found == pytest.approx({name: part / sum(expected.values()) for name, part in expected.items()})
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_slices_are_the_model_along_one_parameter_in_the_users_direction(direction: str) -> None:
    optimizer = plain_run(15, parameters=3, direction=direction)
    best, model, sign = optimizer.best, optimizer.model(), 1.0 if direction == "maximize" else -1.0
    surrogate = collect(optimizer)["surrogate"]
    assert surrogate is not None
    assert best is not None
    for piece in surrogate["slices"]:
        points = [{**best.params, piece["axis"]["name"]: where} for where in piece["at"]]
        mean, deviation = model.predict(optimizer.space.to_unit(points))
        assert piece["mean"] == pytest.approx((sign * mean).tolist(), rel=1e-5, abs=1e-8)
        assert piece["deviation"] == pytest.approx(deviation.tolist(), rel=1e-5)


def test_pairs_are_the_model_over_two_parameters_rows_along_y(hostile: Optimizer) -> None:
    surrogate = collect(hostile)["surrogate"]
    assert surrogate is not None
    assert len(surrogate["pairs"]) == math.comb(slices.PAIRED, 2)
    parameters, best, model = hostile.space.parameters, hostile.best, hostile.model()
    for pair in surrogate["pairs"]:
        names = pair["x"]["name"], pair["y"]["name"]
        across, up = (values_along(parameters[name], slices.PAIR_VALUES) for name in names)
        row, column = len(up) // 2, len(across) - 1
        point = {**best.params, names[0]: across[column], names[1]: up[row]}
        mean, deviation = model.predict(hostile.space.to_unit([point]))
        assert pair["mean"][row][column] == pytest.approx(float(mean), rel=1e-5, abs=1e-6)
        assert pair["deviation"][row][column] == pytest.approx(float(deviation), rel=1e-5, abs=1e-6)


def test_of_many_evaluations_the_best_and_a_share_of_the_rest_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "LARGEST_FIT", 20)
    optimizer = plain_run(100, parameters=2)
    optimizer.tell(optimizer.space.sample(5, torch.Generator().manual_seed(1)), [None] * 5)
    smaller = slices._thinned(optimizer.history, optimizer.settings.direction)
    values = sorted(e.value for e in optimizer.evaluations if e.value is not None)
    kept = [e.value for e in smaller.evaluations]
    assert len(kept) == 20
    assert set(values[:10]) <= set(kept)
    assert values[-1] in kept or None in kept
    assert "fitted to 20 evaluations, chosen from 105" in render_report(optimizer)


def test_two_thousand_evaluations() -> None:
    report = collect(plain_run(2000, parameters=2))
    assert len(report["evaluations"]) == 2000
    assert report["surrogate"] is not None
    assert report["surrogate"]["observations"] == slices.LARGEST_FIT
    assert sum(len(trace["x"]) for trace in figures.parallel(report)["data"][:-1]) == figures.LINES * 4


def test_a_model_that_cannot_be_fitted_is_a_sentence_and_not_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("linalg <failed>")

    monkeypatch.setattr(slices, "model_of", broken)
    assert "The model could not be fitted: linalg &lt;failed&gt;" in render_report(plain_run(3))


def test_a_best_point_at_the_edge_of_a_range_is_pointed_out() -> None:
    optimizer = Optimizer(Space({"edge": Float(1e-5, 1, "log"), "middle": Float(0, 1), "few": Int(1, 3)}))
    optimizer.tell([{"edge": 1e-5, "middle": 0.5, "few": 1}], [0.0])
    best = collect(optimizer)["best"]
    assert best is not None
    assert best["at_edge"] == [("edge", "low")]
    assert "at the edge of the range of edge (low end)" in render_report(optimizer)


# -- figures -----------------------------------------------------------------------------------------------------------


def painted(node: Any, palette: dict[str, Any]) -> Any:
    """The tokens of a figure replaced, by another rule than the page's: any string that is one."""
    if isinstance(node, dict):
        return {key: painted(value, palette) for key, value in node.items()}
    if isinstance(node, list):
        return [painted(value, palette) for value in node]
    return palette[node[1:]] if isinstance(node, str) and node.startswith("$") and node[1:] in palette else node


def embedded_data(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize("theme", PALETTES)
def test_every_figure_is_valid_for_plotly(some_page: str, theme: str) -> None:
    data = embedded_data(some_page)
    pairs = [pair[which] for pair in data["pairs"] for which in ("mean", "error")]
    for figure in [*data["charts"].values(), *pairs]:
        go.Figure(painted({**figure, "layout": {**figure["layout"], "template": data["template"]}}, PALETTES[theme]))


def test_both_palettes_have_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()


def test_failed_evaluations_are_crosses_on_the_axis(hostile: Optimizer) -> None:
    report = collect(hostile)
    (failed,) = [trace for trace in figures_progress.progress(report)["data"] if trace["name"] == "Failed"]
    assert failed["x"] == [i for i, e in enumerate(hostile.evaluations) if e.failed]
    assert set(failed["y"]) == {0.0}
    assert failed["yaxis"] == "y2"


def test_parallel_coordinates_rank_the_evaluations_in_tenths() -> None:
    report = collect(plain_run(20))
    traces = figures.parallel(report)["data"]
    assert [trace.get("meta") for trace in traces] == [*range(10, 0, -1), None]
    heights = {trace["meta"]: [y for y in trace["y"] if y is not None][1::2] for trace in traces[:-1]}
    for better in range(1, 10):
        assert max(heights[better]) <= min(heights[better + 1])


def test_values_of_the_restarts_leave_out_what_is_not_finite(hostile: Optimizer) -> None:
    asks = collect(hostile)["asks"]
    assert figures_asks.value_range(asks[0].start_values) == (0.5, 1.0, 1.5, 3)
    assert figures_asks.value_range(asks[-1].end_values) is None
    start = figures_asks.restarts(asks)["data"][0]
    assert len(start["x"]) == sum(figures_asks.value_range(ask.start_values) is not None for ask in asks)


def test_every_verdict_has_a_row_a_meaning_and_advice(hostile: Optimizer, hostile_page: str) -> None:
    figure = figures_asks.verdicts(collect(hostile)["asks"])
    assert len({*figure["data"][0]["y"]}) == len(Verdict)
    for verdict, reading in figures_asks.READINGS.items():
        assert f"<dt>{verdict}</dt>" in hostile_page
        assert html.escape(reading.meaning) in hostile_page
        assert html.escape(reading.advice) in hostile_page
    assert set(figures_asks.READINGS) == set(Verdict)


def test_all_slices_share_one_range_that_holds_every_band(hostile: Optimizer) -> None:
    report = collect(hostile)
    surrogate = report["surrogate"]
    assert surrogate is not None
    low, high = figures_model.slice_range(surrogate)
    for piece in surrogate["slices"]:
        assert figures_model.slice_figure(report, surrogate, piece)["layout"]["yaxis"]["range"] == [low, high]
        for mean, deviation in zip(piece["mean"], piece["deviation"], strict=True):
            assert low < mean - 2 * deviation <= mean + 2 * deviation < high


# -- escaping ----------------------------------------------------------------------------------------------------------


@given(st.text(), st.integers(2, 200))
def test_a_label_holds_no_markup_and_says_what_was_written(words: str, most: int) -> None:
    label = labels.text(words, most)
    assert not set("<>") & set(label)
    line = re.sub(r"\s+", " ", words).strip()
    assert html.unescape(label) == html.unescape(html.escape(line if len(line) <= most else line[: most - 1] + "…"))


@given(st.text())
def test_a_wrapped_label_holds_no_markup_but_line_breaks(words: str) -> None:
    assert not set("<>") & set(labels.wrapped(words).replace("<br>", ""))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(json_values)
def test_embedded_json_cannot_end_its_script_and_reads_back(value: Any) -> None:
    text = document.embedded(value)
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == json.loads(json.dumps(document.finite(value)))


class Elements(HTMLParser):
    """Counts elements and collects what would load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loading: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.loading += [value or "" for name, value in attrs if name in ("src", "href", "action", "data", "srcset")]


def parsed(text: str) -> Elements:
    parser = Elements()
    parser.feed(text)
    return parser


def test_hostile_names_make_no_element_and_no_handler(hostile_page: str) -> None:
    tame, wild = parsed(render_report(plain_run(12))), parsed(hostile_page)
    assert wild.tags.count("script") == tame.tags.count("script") == 3
    assert wild.tags.count("img") == 0
    assert wild.handlers == []
    assert html.escape(SCRIPT) in hostile_page
    assert MESSAGE not in hostile_page


def test_the_page_loads_nothing(hostile_page: str) -> None:
    assert all(link.startswith(("#", "data:,")) for link in parsed(hostile_page).loading)


def test_only_the_scripts_of_the_page_may_run(hostile_page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', hostile_page)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", hostile_page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"'sha256-([^']*)'", policy[1]) == digests
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")


def test_every_slot_of_the_template_is_filled(some_page: str) -> None:
    assert "{{" not in re.sub(r"<script.*?</script>", "", some_page, flags=re.DOTALL)
    charts = set(re.findall(r'data-chart="(\w+)"', some_page))
    assert charts - {"pair_mean", "pair_error"} == set(embedded_data(some_page)["charts"])


def test_numbers_that_are_not_finite_never_reach_the_page(hostile_page: str) -> None:
    text = json.dumps(embedded_data(hostile_page), allow_nan=False)
    assert "Infinity" not in text


# -- tables and reproducing --------------------------------------------------------------------------------------------


def test_the_table_of_evaluations_keeps_every_digit_and_renames_like_the_export(
    hostile: Optimizer, hostile_page: str
) -> None:
    from compbo.records import Record, to_frame

    table = embedded_data(hostile_page)["tables"]["evaluations"]
    records = [
        Record(i, "FAIL" if e.failed else "COMPLETE", e.value, e.params, e.message)
        for i, e in enumerate(hostile.evaluations)
    ]
    frame = to_frame(records, hostile.space.names)
    assert [column["label"] for column in table["columns"]] == list(frame.columns)
    for row, evaluation in zip(table["rows"], hostile.evaluations, strict=True):
        assert (float(row[2]) if row[2] else None) == evaluation.value
        assert row[3:-1] == ["" if value is None else str(value) for value in evaluation.params.values()]
        assert row[-1] == evaluation.message


def test_the_call_runs_and_repeats_the_run() -> None:
    space = Space({"x": Float(0, 1), "a 'b'": Categorical(["u", None]), "fixed": 3})

    def objective(point: dict[str, Any]) -> float:
        return (point["x"] - 0.3) ** 2 + (point["a 'b'"] is None)

    options: dict[str, Any] = {
        "acquisition": compbo.EI(),
        "maximizer": "CAdam-ME",
        "noise": 0.1,
        "starts": compbo.StartPolicy(raw_batches=16, restarts=2),
        "budget": compbo.Budget(steps=3),
        "initial_points": 3,
    }
    first = compbo.maximize(objective, space, evaluations=6, batch_size=2, seed=5, progress=False, **options)
    scope: dict[str, Any] = {"objective": objective}
    optimizer = first.optimizer
    exec(call_in_python(optimizer.space, optimizer.settings, len(optimizer.evaluations)), scope)
    again = scope["result"].optimizer
    assert again.settings == first.optimizer.settings
    assert again.evaluations == first.optimizer.evaluations


def test_versions_and_settings_are_all_there(hostile_page: str) -> None:
    for name in ("python", "compbo", "torch", "botorch", "numpy", "scipy"):
        assert f'<th scope="row">{name}</th>' in hostile_page
    for name in hostile_run().settings.to_dict():
        assert f'<th scope="row">{name}</th>' in hostile_page
    assert torch.__version__ in hostile_page


# -- the file ----------------------------------------------------------------------------------------------------------


def test_writing_replaces_the_file_at_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "run.html"
    target.write_text("old")
    assert write_report(plain_run(2), str(target), title="New <title>") == target
    text = target.read_bytes().decode("utf-8")
    assert '<h1 id="title">New &lt;title&gt;</h1>' in text
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]


def test_a_report_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "run.html"
    target.write_text("old")

    def full_disk(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write_report(plain_run(2), target)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]


def test_what_the_disk_refuses_is_told_with_the_name_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/somewhere/.compbo-x.tmp")

    monkeypatch.setattr("tempfile.mkstemp", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_report(plain_run(1), tmp_path / "run.html")
    assert caught.value.filename == str(tmp_path / "run.html")


def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    mode = stat.S_IMODE(write_report(plain_run(1), tmp_path / "run.html").stat().st_mode)
    assert mode == stat.S_IMODE(other.stat().st_mode)


def test_half_a_surrogate_pair_in_a_message_is_no_reason_to_fail(tmp_path: Path) -> None:
    optimizer = plain_run(0)
    optimizer.tell(optimizer.space.sample(1, torch.Generator().manual_seed(0)), [None], ["\ud800 broken"])
    assert b" broken" in write_report(optimizer, tmp_path / "run.html").read_bytes()
