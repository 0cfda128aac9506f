"""The pages on results are those of the committed files: `make results` writes them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from benchmarks import cost as measured_cost
from benchmarks import readme
from benchmarks.defaults import outputs_page, wide_page
from benchmarks.defaults import page as defaults
from benchmarks.league import measures
from benchmarks.league import page as league
from benchmarks.made_of import is_made_of
from scipy import stats
from tools import controls, cost, moved, needs, reproduction, shifted
from tools.claims import ratios, regret, scores, seconds, shares
from tools.claims.judged import HOLDS, NOT_MOVED, NOT_RUN, PARTLY, Judged, judged_difference
from tools.finding import MARK, brief, finding

from compbo.bo.verdict import Verdict
from compbo.maximizers import CATALOGUE
from compbo.study.grid import load_grid
from compbo.study.outputs import moved as moved_or_not
from compbo.study.outputs.axes import method_axes
from compbo.study.outputs.compact import from_bytes
from compbo.study.outputs.figures.canvas import save
from compbo.study.outputs.page.tuning_answer import noisy_tasks
from compbo.study.outputs.statistics.bootstrap import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    from compbo.study.outputs.page.answer import Answer

VERDICT = 5  # the column of the verdicts on the paper's sentences
CLAIMED = [claim.words for claim in (*regret.CLAIMS, *shares.CLAIMS, *seconds.CLAIMS, *scores.CLAIMS)] + [seconds.RISE]


def _cells(line: str) -> list[str]:
    """Of a line of a table in Markdown."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_on_the_paper_is_current() -> None:
    controlled = reproduction.committed_controls()
    made = reproduction.page(reproduction.committed(), controlled, reproduction.committed_shifted())
    assert made == reproduction.PAGE.read_text(encoding="utf-8")


def test_every_figure_of_the_paper_is_on_the_page_once() -> None:
    text = reproduction.PAGE.read_text(encoding="utf-8")
    drawn = {path.name for path in reproduction.FIGURES.glob("*")}
    assert sorted(re.findall(r"!\[[^]]*\]\(reproduction/([^)]*)\)", text)) == sorted(drawn)
    for name in (*reproduction.IN_WHOLE, *reproduction.DRAWN):
        assert any(file.startswith(name) for file in drawn), name


def test_the_figures_are_drawn_from_the_committed_results(tmp_path: Path) -> None:
    measured = json.loads(readme.SPEED.read_text())
    pictures = dict.fromkeys(reproduction.FIGURES.glob("*.png"), reproduction.SOURCES)
    pictures |= dict.fromkeys((readme.FIGURE, readme.FIGURE.with_suffix(".png")), readme.sources_of(measured))
    pictures |= {league.FIGURE: (league.RESULTS,), defaults.FIGURE: (defaults.RESULTS,)}
    old = [picture.name for picture, sources in pictures.items() if not is_made_of(picture, *sources)]
    assert not old, "run: make results"
    (other := tmp_path / "other").write_text("1", encoding="utf-8")
    assert not is_made_of(league.FIGURE, other)


def test_the_finding_in_the_readme_is_current() -> None:
    text, study = reproduction.README.read_text(encoding="utf-8"), reproduction.committed()
    assert reproduction.readme(text, study) == text, "run: make results"
    said = text.partition(f"<!-- {MARK} -->")[2].partition(f"<!-- /{MARK} -->")[0]
    page = reproduction.PAGE.read_text(encoding="utf-8")
    short = page.partition("## In short")[2].partition("![")[0]
    numbers = re.findall(r"-?\d\.\d+ \[[^]]+\]", said)
    assert len(numbers) == 5  # against Adam and AdamOS in two dimensions, and the score
    assert all(number in short for number in numbers)
    kinds = Counter(Judged("", "", verdict).kind for verdict in _verdicts(page))
    assert sum(kinds.values()) == len(CLAIMED)
    assert re.search(
        rf"^Of {len(CLAIMED)} statements of the paper {kinds['holds']} hold, {kinds['fails']} do not, ", said
    )
    assert f"{kinds['level']} show no difference of note, and for {kinds['open'] + kinds['lacking']} our " in said
    assert re.search(rf"^- Of {len(CLAIMED)} statements of the paper, {kinds['holds']} holds? in ", short, re.MULTILINE)
    assert re.search(rf", {kinds['fails']} do(es)? not, {kinds['level']} shows? no difference above ", short)
    assert (
        f", {kinds['open']} cannot be told, and {kinds['lacking']} were not run, not in full, too little, or " in short
    )
    (failing,) = [line for line in short.splitlines() if line.startswith("- What does not hold: ")]
    assert failing.count("\u201c") == kinds["fails"]


def test_the_maximizers_on_the_page_on_how_to_choose_are_current() -> None:
    text, study = reproduction.CHOOSING.read_text(encoding="utf-8"), reproduction.committed()
    assert reproduction.choosing(text, study) == text, "run: make results"
    told = text.partition("<!-- maximizers -->")[2].partition("<!-- /maximizers -->")[0]
    assert len(re.findall(r"^\| .* minus ", told, re.MULTILINE)) == len(reproduction.CHOICE)


def test_the_finding_changes_with_the_runs() -> None:
    study = reproduction.committed()
    rows, tuning, idle = study.synthetic("plain"), study.tuning, measured_cost.read_csv()
    for change, words in ((-1.0, "the first is better"), (1.0, "the first is worse")):
        changed = rows.assign(nfr=rows["nfr"] + change * (rows["group"] == "first-comp"))
        *_, composition, _, _ = finding(changed, tuning, idle)
        assert composition.startswith("First-order compositional optimisers against other first-order ones: ")
        assert composition.partition(" (")[0].endswith(words)
    even = rows.assign(nfr=rows.groupby(["task", "acquisition", "seed"])["nfr"].transform("first"))
    assert " ".join(finding(even, tuning, idle)).count("no difference above 0.05 (") == 2
    for change, words in ((-50.0, "worse with composition"), (50.0, "better with composition")):
        scores_changed = tuning.assign(score=tuning["score"] + change * (tuning["group"] == "first-comp"))
        assert finding(rows[:0], scores_changed, [])[-1].endswith(f" points, {words}.")
    nothing = " ".join(finding(rows[:0], tuning[:0], []))
    assert (
        f"Of {len(CLAIMED)} statements of the paper, 0 hold in 0 runs on five functions and 0 on 0 tuning tasks"
        in nothing
    )
    assert f"and {len(CLAIMED)} were not run" in nothing
    assert [len(brief(*some)) for some in ((rows, tuning, idle), (rows[:0], tuning[:0], []))] == [3, 1]


def test_ratios_are_geometric_means_over_functions_and_apart_from_one_in_bold() -> None:
    rows = _runs({"CAdam": 0.2, "Adam-FSM": 0.4}, 60)
    rows = rows.assign(nfr=rows["optimiser"].map({"CAdam": 0.2, "Adam-FSM": 0.4}))
    assert ratios.ratio(rows, "CAdam", "Adam-FSM") == pytest.approx((0.5, 0.5, 0.5))
    assert ratios.ratio(rows, "CAdam", "AdamOS-FSM") is None
    first = rows["function"] == rows["function"].iloc[0]
    spread = rows.assign(nfr=rows["nfr"].where(~first | (rows["optimiser"] != "CAdam"), 0.05))
    twice = pd.concat([spread, spread[first].assign(seed=1)])  # more runs of a function do not count more
    logs = np.log([0.125, *[0.5] * (rows["function"].nunique() - 1)])
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
    expected = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    for some in (spread, twice):
        assert ratios.ratio(some, "CAdam", "Adam-FSM") == pytest.approx(tuple(expected))
    assert ratios.Ratio(0.5, 0.4, 0.6).words == "**0.50 [0.40, 0.60]**"
    assert ratios.Ratio(0.5, 0.4, 1.1).words == "0.50 [0.40, 1.10]"
    lines = ratios.table(rows).splitlines()
    assert lines[0] == "| final regrets | UCB, 60D |"
    assert lines[2] == "| CAdam / Adam-FSM | **0.50 [0.50, 0.50]** |"
    assert lines[3] == "| AdamOS-FSM / Adam-FSM |  |"


def test_what_presets_need_is_counted_from_the_committed_cells() -> None:
    table = reproduction.committed().table
    (need,) = needs.needs(table, ["dim16"])
    cells = load_grid("dim16").cells()
    there = table[table["cell"].isin({cell.hash for cell in cells})]
    assert (need.cells, need.committed) == (len(cells), len(there))
    alone = needs.needs(there, ["dim16"])[0]  # other seeds of the same cells change what one is expected to take
    assert alone.hours - alone.hours_left == pytest.approx(there["cpu_seconds"].sum() / 3600.0)
    twice = table.assign(cpu_seconds=2.0 * table["cpu_seconds"])
    assert needs.needs(twice, ["dim16"])[0].hours == pytest.approx(2.0 * need.hours)
    none = needs.needs(table[table["dimension"] == 60], ["dim16"])[0]
    assert (none.committed, none.alike) == (0, 0)


def test_what_ran_is_counted_with_its_seeds() -> None:
    rows = _runs({"CAdam": 0.3, "NASA": 0.5}, 16)
    more = pd.concat([rows, rows[rows["optimiser"] == "CAdam"].assign(seed=1), rows.assign(acquisition="")])
    scored = _scores({"dt-boston-mae": 1.0, "dt-pima-acc": 2.0})
    assert reproduction.what_ran(more, scored).splitlines() == [
        "| runs | under UCB | without one |",
        "|---|---|---|",
        "| five functions in 16D | 15 (1 to 2 seeds) | 10 (1 seed) |",
        "| 2 tuning tasks | 12 (1 seed) |  |",
    ]
    assert len(reproduction.what_ran(rows[:0], scored[:0]).splitlines()) == 2


def test_controls_take_what_the_study_has_run() -> None:
    """In 16 dimensions under UCB; under PI the optimisers whose trackers have two forms, and no others."""
    rows = controls.arms(reproduction.committed_controls())
    assert set(rows["dimension"]) == {16}
    assert set(rows.loc[rows["acquisition"] == "pi", "optimiser"]) == {"CAdam", "NASA", "SCGA"}
    assert set(rows["acquisition"]) == {"pi", "ucb"}
    arms = {name for control in controls.CONTROLS for name in (control.first, control.second)}
    assert arms <= set(rows["arm"])
    assert not rows.duplicated(["arm", "task", "seed"]).any()


@pytest.fixture(scope="module")
def costs() -> list[measured_cost.Cost]:
    """Every optimiser of the catalogue in two small dimensions, measured."""
    return [
        cost
        for dimension in (2, 3)
        for cost in measured_cost.measure(dimension, list(CATALOGUE), observations=8, steps=2, repeats=1)
    ]


class TestCost:
    def test_every_optimiser_is_measured_and_kept(self, costs: list[measured_cost.Cost], tmp_path: Path) -> None:
        assert [(c.dimension, c.maximizer) for c in costs] == [(d, name) for d in (2, 3) for name in CATALOGUE]
        assert all(c.seconds > 0 and c.megabytes >= 0 for c in costs)
        measured_cost.write_csv(costs, tmp_path / "cost.csv")
        kept = measured_cost.read_csv(tmp_path / "cost.csv")
        assert [c[:4] for c in kept] == [c[:4] for c in costs]
        assert [c.megabytes for c in kept] == pytest.approx([c.megabytes for c in costs], abs=0.006)
        assert measured_cost.read_csv(tmp_path / "nothing.csv") == []
        (row, *others) = measured_cost.rows_of(costs)
        assert list(row) == ["maximizer", "2D s", "3D s", "2D MB", "3D MB"]
        assert len(others) == len(CATALOGUE) - 1

    def test_the_page_has_classes_every_optimiser_and_a_figure(
        self, costs: list[measured_cost.Cost], tmp_path: Path
    ) -> None:
        words, classes, said, picture, _, every = cost.section(costs)
        assert "one thread" in words
        assert classes.splitlines()[0] == "| class | 2D | 3D | time at 3D / 2D |"
        assert every.count("\n") == len(CATALOGUE) + 1
        assert "reproduction/cost.png" in picture
        assert said.startswith("The median first-order compositional optimiser takes ")
        (path,) = save(cost.draw(costs), tmp_path, "cost", ("png",))
        assert path.stat().st_size > 10_000
        assert cost.section([]) == [cost.NOT_MEASURED]

    def test_a_class_is_its_median_member(self) -> None:
        costs = [
            measured_cost.Cost(name, d, 256, 64, seconds * d, 10.0 * seconds)
            for d in (16, 120)
            for name, seconds in (("Adam-ERM", 1.0), ("SGA-ERM", 3.0), ("RMSprop-ERM", 8.0), ("CAdam", 6.0))
        ]
        assert cost.by_class(costs, lambda c: c.seconds) == {"first": [48.0, 360.0], "first-comp": [96.0, 720.0]}
        said = cost.section(costs)[2]
        assert "2.00 times as long as the median one without composition in 16 dimensions and 2.00 times in 120" in said


def test_the_page_on_the_defaults_is_current() -> None:
    regret = defaults.normalised_regrets(defaults.committed(defaults.RESULTS))
    table = defaults.table_of(defaults.effects(regret), regret)
    text = defaults.PAGE.read_text(encoding="utf-8")
    assert table in text
    assert defaults.large_table(from_bytes(defaults.LARGE.read_bytes())) in text
    special = defaults.committed(defaults.SPECIAL)
    assert defaults.special_table(special) in text
    assert defaults.high_table(special) in text
    assert outputs_page.outputs_tables(from_bytes(outputs_page.RESULTS.read_bytes())) in text
    assert wide_page.wide_table(defaults.committed(wide_page.RESULTS)) in text


def test_the_pages_on_the_league_are_current() -> None:
    """In a process of its own: what the league's plugin registers stays, and cells of a study would ask for it."""
    script = (
        "from benchmarks.league import page\n"
        "from compbo.study.outputs.compact import from_bytes\n"
        "table = from_bytes(page.RESULTS.read_bytes())\n"
        "text, tables = (path.read_text(encoding='utf-8') for path in (page.PAGE, page.TABLES))\n"
        "assert page.current(text, table) == text, 'run: make results'\n"
        "assert page.filled(tables, page.every_group(table)) == tables, 'run: make results'"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=reproduction.ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_optimum_elsewhere_compares_the_same_runs() -> None:
    def runs(side: str, regrets: dict[tuple[str, int], float]) -> pd.DataFrame:
        rows = [(f"levy-16{side}", "levy", 16, "ucb", name, seed, nfr) for (name, seed), nfr in regrets.items()]
        columns = ["task", "function", "dimension", "acquisition", "optimiser", "seed", "nfr"]
        return pd.DataFrame(rows, columns=columns)

    plain = runs("", {("A", 0): 0.1, ("A", 1): 0.3, ("B", 0): 0.4, ("C", 0): 0.6, ("D", 0): 0.0})
    moved = runs("-shifted", {("A", 0): 0.7, ("A", 1): 0.1, ("B", 0): 0.2, ("C", 0): 0.3})
    in_more = plain.assign(task="levy-60", dimension=60, nfr=1.0)  # nor was this
    how, table, said = shifted.section(pd.concat([plain, in_more]), moved)
    rows = [_cells(line) for line in table.splitlines()[2:]]
    assert [[row[0], row[1][:5], row[2], row[3][:5], row[4]] for row in rows] == [
        ["B", "0.400", "2", "0.200", "1"],
        ["C", "0.600", "3", "0.300", "2"],
        ["A", "0.100", "1", "0.700", "3"],  # its second seed has no other method
    ]
    assert "Means over 3 runs under UCB, 3 methods" in said
    assert "-0.50" in said
    assert "whether the orders are related cannot be told" in said
    assert "dim16-shifted" in how
    assert shifted.section(plain, moved[:0]) == [shifted.NOT_RUN]


def _verdicts(page: str) -> list[str]:
    """The verdicts on the paper's sentences, each in its one line of the page."""
    verdicts = []
    for words in CLAIMED:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {words} |")]
        verdicts.append(_cells(line)[VERDICT])
    return verdicts


def test_every_verdict_is_of_one_kind() -> None:
    """Each verdict of the page begins as those of its kind do; a new wording would raise here."""
    kinds = {Judged("", "", verdict).kind for verdict in _verdicts(reproduction.PAGE.read_text(encoding="utf-8"))}
    assert {"holds", "fails", "open"} <= kinds
    assert Judged("", "", PARTLY).kind == Judged("", "", NOT_MOVED).kind == "lacking"
    assert Judged("", "", "cannot be told: better, perhaps by less than 0.05").kind == "open"


@pytest.mark.parametrize(
    ("low", "high", "alike", "words"),
    [
        (-0.3, -0.1, False, "holds"),
        (-0.04, -0.01, False, "holds, by less than 0.05"),
        (0.01, 0.04, False, "does not hold: the reverse, by less than 0.05"),
        (0.1, 0.3, False, "does not hold: the reverse"),
        (-0.1, 0.1, False, "cannot be told"),
        (-0.04, 0.04, False, "no difference above 0.05"),
        (-0.04, 0.04, True, "holds"),
        (0.01, 0.02, True, "holds"),
        (-0.1, 0.1, True, "cannot be told"),
        (0.06, 0.2, True, "does not hold: worse"),
        (-0.2, -0.1, True, "does not hold: better"),
        (-0.2, -0.01, True, "cannot be told: better, perhaps by less than 0.05"),
    ],
)
def test_a_claim_is_judged_by_its_interval(low: float, high: float, alike: bool, words: str) -> None:
    ends = (np.asarray((low + high) / 2), np.asarray(low), np.asarray(high))
    assert judged_difference(Estimate(*ends, unit="black boxes", tasks=5, runs=10), alike=alike) == words


def _share(value: float, low: float, high: float) -> Estimate:
    return Estimate(*(np.asarray(number) for number in (value, low, high)), "black boxes", 5, 40)


def test_the_share_of_wins_is_judged_by_the_papers() -> None:
    def said(low: float, high: float, percent: float = 67) -> str:
        return shares.judged_share(_share((low + high) / 2, low, high), percent)

    assert (said(20, 50), said(50, 80), said(70, 90)) == ("does not hold: fewer", "cannot be told", "holds")
    assert said(100, 100, 100) == "holds"
    assert shares.judged_share(_share(80, 24, 136), 100) == "does not hold: fewer", "always, but not once"
    # Five functions with nothing may have up to 52 percent: the exact interval of 0 of 5.
    assert shares.ends(_share(0, 0, 0)) == pytest.approx((0, 52.18), abs=0.01)
    assert shares.ends(_share(100, 100, 100)) == pytest.approx((47.82, 100), abs=0.01)
    assert (said(0, 0, 25), said(0, 0, 67)) == ("cannot be told", "does not hold: fewer")
    assert shares.ends(_share(30, -5, 65)) == (0, 65)


def _contests(regrets: dict[str, float], dimension: int = 16) -> pd.DataFrame:
    """Runs of `_runs` with what the share of wins needs."""
    rows = _runs(regrets, dimension).assign(status="done")
    for name in ("category", "order", "member"):
        rows[name] = [getattr(method_axes(optimiser), name) for optimiser in rows["optimiser"]]
    return rows.assign(regret=[np.array([1.0, end]) for end in rows["nfr"]])


def _with_end(rows: pd.DataFrame, chosen: pd.Series, nfr: float) -> pd.DataFrame:
    ends = rows["nfr"].where(~chosen, nfr)
    return rows.assign(nfr=ends, regret=[np.array([1.0, end]) for end in ends])


def test_a_task_is_won_among_those_of_the_papers_table() -> None:
    """Without ME forms in 16 dimensions, where the paper ran none; who has the lowest regret of the others wins."""
    rows = _contests({"CAdam-ME": 0.1, "CAdam": 0.2, "Adam-ERM": 0.3})
    rows = _with_end(rows, (rows["function"] == "levy") & (rows["optimiser"] == "Adam-ERM"), 0.01)
    there = shares.as_in_the_paper(rows)
    assert set(there["optimiser"]) == {"CAdam", "Adam-ERM"}
    assert set(shares.as_in_the_paper(rows.assign(dimension=100))["optimiser"]) == set(rows["optimiser"])
    assert shares.as_in_the_paper(rows[:0]).empty
    tied = _contests(dict.fromkeys(("CAdam", "NASA", "SCGA", "ASCGA", "Nested-MC", "DE-Comp", "CMA-ES-Comp"), 0.2))
    assert set(shares.won(tied, shares.CLAIMS[0])["won"]) == {100.0}, "seven of seven sevenths"
    won = shares.won(there, shares.CLAIMS[0])
    assert dict(zip(won["function"], won["won"], strict=True)) == {
        **dict.fromkeys(("ackley", "dixon-price", "powell", "styblinski-tang"), 100.0),
        "levy": 0.0,
    }


def test_the_share_of_wins_is_judged_by_whole_contests_and_each_task_counts_once() -> None:
    """Two seeds under UCB and one under EI; a contest in which a rival is missing does not count."""
    everyone = dict.fromkeys(shares.rivals()[16], 0.5)
    assert len(everyone) == 31 - 3, "all but the memory-efficient forms"
    lost, won = _contests(everyone | {"Adam-ERM": 0.1}), _contests(everyone | {"CAdam": 0.1})
    rows = pd.concat([lost, lost.assign(seed=1), won.assign(acquisition="ei")])
    for dropped in ("SGA-FSM", "CMA-ES"):
        part = rows[~((rows["optimiser"] == dropped) & (rows["acquisition"] == "ei") & (rows["function"] == "levy"))]
        total, in_16, *others = shares.judge(part)
        assert in_16.on == "16D: 14 contests"
        assert in_16.number[:4] == "40 %"
        assert in_16.each == "0, 50, 50, 50, 50", "of tasks: two seeds of one are no two"
        assert total.said == PARTLY, "of six dimensions one is there"
        assert {line.said for line in others} == {NOT_RUN}
    none = shares.judge(rows[rows["optimiser"] != "SGA-FSM"])[1]
    assert (none.said, none.on) == (PARTLY, "16D: 15 contests")


def _scores(differences: dict[str, float]) -> pd.DataFrame:
    """A run of the paper's six on each tuning task (model-data-metric), with the scores of both sides so far apart."""
    rows = [
        {
            "task": task,
            "function": task,
            "model": task.split("-")[0],
            "data": task.split("-")[1],
            "problem": "classification" if "pima" in task else "regression",
            "acquisition": "ucb",
            "dimension": 3,
            "seed": 0,
            "optimiser": name,
            "member": method_axes(name).member,
            "group": method_axes(name).group,
            "score": 80.0 + (difference if method_axes(name).group == "first-comp" else 0.0),
        }
        for task, difference in differences.items()
        for name in ("CAdam", "NASA", "Nested-MC", "Adam-ERM", "RMSprop-ERM", "Rprop-ERM")
    ]
    return pd.DataFrame(rows)


def test_scores_are_judged_black_box_by_black_box() -> None:
    """A model on data counts once, whatever the metric, and fewer than five of them are too few."""
    datas = ("boston", "diabetes")
    tasks = [f"{model}-{data}-{metric}" for model in ("dt", "rf", "svm") for data in datas for metric in ("mae", "mse")]
    differences = {task: 10.0 + k for k, task in enumerate(tasks)} | {"dt-pima-acc": 10.0}
    regression, dt, rf, svm, in_classification, others = scores.judge(_scores(differences))
    assert (regression.on, regression.each, regression.said) == (
        "12 tasks: 12 starts",
        "6 of 6",
        "does not hold: better",
    )
    assert (dt.number[:4], dt.each, dt.said) == ("11.0", "3 of 3", "too few data")  # 10.5, 12.5 and 10.0
    assert rf.each == svm.each == "2 of 2"
    assert in_classification.said == others.said == NOT_RUN
    near = {task: 0.1 * k for k, task in enumerate(tasks)}
    assert scores.judge(_scores(near))[0].said == HOLDS
    far = {task: 4.0 + 0.5 * k for k, task in enumerate(tasks)}
    assert scores.judge(_scores(far))[0].said == "cannot be told: better, perhaps by less than 5 points"


def test_scores_are_those_of_the_optimisers_that_the_paper_compares() -> None:
    rows = _scores({f"{model}-{data}-mae": 10.0 for model in ("dt", "rf", "svm") for data in ("boston", "diabetes")})
    other = rows[rows["optimiser"] == "CAdam"].assign(
        optimiser="AdamOS-FSM", member="AdamOS", group="first", score=99.0
    )
    regression = scores.judge(pd.concat([rows, other]))[0]
    assert regression.number[:4] == "10.0"
    assert regression.best[:4] == "10.0"
    assert scores.judge(rows[rows["member"] != "Rprop"])[0].said == PARTLY
    assert scores.at_the_ceiling(rows) == ""
    high = rows.assign(score=rows["score"].where(rows["model"] != "svm", 99.0))
    assert scores.at_the_ceiling(high).startswith("On svm-boston and svm-diabetes all of them end above 95:")


def test_question_5_is_judged_with_the_margin_of_the_scores() -> None:
    def answer(difference: float) -> Answer:
        tasks = [
            f"{model}-{data}-{metric}"
            for model in ("dt", "rf")
            for data in ("boston", "diabetes", "pima")
            for metric in (("acc",) if data == "pima" else ("mae",))
        ]
        rows = _scores({task: difference + 0.1 * k for k, task in enumerate(tasks)})
        return noisy_tasks(SimpleNamespace(tuning=rows.assign(curve=[np.array([end]) for end in rows["score"]])))

    assert answer(-0.2).verdict == "no difference above 5 points"
    assert "within 5 points of it: a difference that matters is ruled out." in answer(-0.2).sentences[1]
    assert answer(10.0).verdict == "better"
    assert answer(-10.0).sentences[1] == "Compositional optimisers end lower."


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1, 9, HOLDS),
        (1, 4, "holds, by less than 5 points"),
        (-9, -1, "does not hold: the reverse"),
        (-4, 4, "no difference above 5 points"),
    ],
)
def test_a_higher_score_is_better(low: float, high: float, words: str) -> None:
    ends = (np.asarray((low + high) / 2), np.asarray(low), np.asarray(high))
    assert scores.judged_score(scores.CLAIMS[1], Estimate(*ends, unit="black boxes", tasks=6, runs=10)) == words


class TestTimes:
    DIMENSIONS = (16, 40, 60, 80, 100, 120)

    def idle(self, spent: dict[str, float], slopes: dict[str, float] | None = None) -> list[measured_cost.Cost]:
        """Maximisations that take so many seconds, and ten times as many megabytes; more in some dimensions."""
        slopes = slopes or {}
        return [
            measured_cost.Cost(
                name, d, 256, 64, more := (value + slopes.get(name, 0.0) * d) * (1.0 + 0.01 * k), 10 * more
            )
            for k, d in enumerate(self.DIMENSIONS)
            for name, value in spent.items()
        ]

    def judged(self, spent: dict[str, float]) -> dict[str, Judged]:
        everyone = {name: 1.0 for claim in seconds.CLAIMS for pair in claim.pairs for name in pair}
        return {line.words: line for line in seconds.judge(self.idle(everyone | spent))}

    def test_composition_and_how_many_times(self) -> None:
        slower, times = (claim.words for claim in seconds.CLAIMS[:2])
        found = self.judged(dict.fromkeys(("CAdam", "Nested-MC", "SCGA", "NASA"), 1.7))
        assert (found[slower].said, found[times].said) == (HOLDS, HOLDS)
        assert found[slower].number == "1.70 [1.70, 1.70] times"
        one = self.judged({"CAdam": 1.7})
        assert one[slower].said == "holds, not for Nested-MC, SCGA and NASA"
        assert one[times].said == "does not hold: less, but for CAdam"
        assert (one[slower].kind, one[times].kind) == ("holds", "fails")
        assert one[slower].each == "CAdam 1.70, Nested-MC 1.00, SCGA 1.00, NASA 1.00"
        assert one[slower].on == "16D to 120D: 4 pairs"
        assert self.judged({"CAdam": 0.5})[slower].said == "does not hold: the reverse"
        assert (
            self.judged(dict.fromkeys(("CAdam", "Nested-MC", "SCGA", "NASA"), 3.0))[times].said == "does not hold: more"
        )

    def test_memory_efficient_forms_other_orders_and_memory(self) -> None:
        faster, magnitude, memory, as_erm = (claim.words for claim in seconds.CLAIMS[2:])
        found = self.judged({"CAdam-ME": 0.9, "NASA": 3.0, "L-BFGS-B": 12.0, "CL-BFGS-B": 13.0, "CMA-ES": 14.0})
        assert {found[words].kind for words in (faster, magnitude, memory, as_erm)} == {"holds"}
        assert (found[magnitude].said, found[faster].said) == (HOLDS, "holds, not for Nested-MC-ME")
        assert self.judged({"CMA-ES": 14.0})[magnitude].said == "does not hold: less, but for CMA-ES"
        worse = self.judged({"CAdam-ME": 9.0})[as_erm].said
        assert worse == "does not hold: worse, but for Nested-MC-ME and NASA-ME"
        assert self.judged({"CAdam-ME": 1.9})[as_erm].said == "holds, not for CAdam-ME", "1.24 times in the mean"

    def test_the_rise_with_the_dimension(self) -> None:
        spent = {name: 1.0 for pair in seconds.MATCHED for name in pair}
        steeper = seconds.judge(self.idle(spent, {"CAdam": 0.004}))[-1]
        assert (steeper.said, steeper.each[:11]) == (HOLDS, "CAdam 4.23,")
        assert seconds.judge(self.idle(spent))[-1].said == "cannot be told", "an interval of zeros"
        assert seconds.judge(self.idle(spent, {"AdamOS-FSM": 0.004}))[-1].said == "does not hold: the reverse"

    def test_what_was_not_measured_is_not_judged(self) -> None:
        assert {line.said for line in seconds.judge([])} == {NOT_RUN}
        part = [cost for cost in self.idle({"CAdam": 1.0, "AdamOS-FSM": 1.0}) if cost.dimension == 16]
        assert {line.said for line in seconds.judge(part)} == {NOT_RUN}, "of four pairs one"
        few = [
            cost for cost in self.idle({name: 1.0 for pair in seconds.MATCHED for name in pair}) if cost.dimension < 50
        ]
        assert seconds.judge(few)[0].said == "too few data"


def _runs(regrets: dict[str, float], dimension: int, verdicts: dict[str, str] | None = None) -> pd.DataFrame:
    """A run per optimiser on each of five functions in 16 dimensions or more; the regrets rise with the function."""
    functions = ("ackley", "dixon-price", "levy", "powell", "styblinski-tang")
    verdicts = verdicts or {}
    rows = [
        {
            "task": f"{function}-{dimension}",
            "function": function,
            "dimension": dimension,
            "acquisition": "ucb",
            "optimiser": name,
            "group": "first" if name.endswith("ERM") else "second",
            "seed": 0,
            "nfr": nfr + 0.01 * k,
            "verdicts": json.dumps({verdicts.get(name, "climbed"): 8}),
        }
        for k, function in enumerate(functions)
        for name, nfr in regrets.items()
    ]
    return pd.DataFrame(rows)


def _verdict(rows: pd.DataFrame, claim: regret.Claim) -> str:
    return regret.verdict(rows, claim, regret.compare(rows, claim))


class TestWhatIsJudged:
    CLASSES_CLAIM = regret.Claim("", "first", "second")
    PAIR_CLAIM = regret.Claim("", "Adam-ERM", "L-BFGS-B", by="optimiser")

    def test_a_class_is_judged_where_all_its_members_ran(self) -> None:
        whole = _runs({"Adam-ERM": 0.2, "SGA-ERM": 0.4, "L-BFGS-B": 0.6}, 16)
        part = _runs({"Adam-ERM": 0.9, "L-BFGS-B": 0.1}, 60)
        rows = pd.concat([whole, part])
        made = regret.compare(rows, self.CLASSES_CLAIM)
        assert made is not None
        assert (float(made.found.value), made.found.runs, made.agreeing) == (pytest.approx(-0.3), 5, "5 of 5")
        assert _verdict(rows, self.CLASSES_CLAIM) == "holds"
        best = regret.difference(made.rows, self.CLASSES_CLAIM, "best")
        assert float(best.value) == pytest.approx(-0.4)
        assert _verdict(part, self.CLASSES_CLAIM) == "does not hold: the reverse", "nothing else is known"
        each = regret.each_dimension(rows, self.CLASSES_CLAIM)
        assert each[60].startswith("0.800")
        assert each[60].endswith(regret.PART)
        assert not each[16].endswith(regret.PART)
        assert regret.each_dimension(rows, self.PAIR_CLAIM)[60][-1] != regret.PART

    def test_what_stood_still_is_not_judged(self) -> None:
        still = {"L-BFGS-B": "did not move"}
        rows = pd.concat(
            [
                _runs({"Adam-ERM": 0.2, "L-BFGS-B": 0.3}, 16),
                _runs({"Adam-ERM": 0.2, "L-BFGS-B": 0.9}, 100, still),
            ]
        )
        made = regret.compare(rows, self.PAIR_CLAIM)
        assert made is not None
        assert float(made.found.value) == pytest.approx(-0.1)
        assert regret.each_dimension(rows, self.PAIR_CLAIM)[100].endswith(regret.STILL)
        assert _verdict(rows[rows["dimension"] == 100], self.PAIR_CLAIM) == NOT_MOVED
        assert _verdict(rows[:0], self.PAIR_CLAIM) == NOT_RUN
        assert "| L-BFGS-B | 0 % | 100 % |" in moved.table(rows)
        assert moved.caution(rows).endswith("more than half of the asks of L-BFGS-B in 100D did not move at all.")
        assert moved.caution(rows[rows["dimension"] < 100]).endswith("that of the catalogue.")
        assert "Adam-ERM" not in moved.table(rows)

    def test_a_claim_about_some_dimensions_is_judged_there(self) -> None:
        rows = pd.concat([_runs({"CAdam-ME": 0.2, "CAdam": 0.5}, 16), _runs({"CAdam-ME": 0.3, "CAdam": 0.31}, 100)])
        claim = next(claim for claim in regret.CLAIMS if (claim.first, claim.second) == ("CAdam-ME", "CAdam"))
        made = regret.compare(rows, claim)
        assert made is not None
        assert (float(made.found.value), set(made.rows["dimension"])) == (pytest.approx(-0.01), {100})
        assert _verdict(rows, claim) == "holds"
        assert _verdict(rows[rows["dimension"] == 16], claim) == NOT_RUN
        every = next(claim for claim in regret.OURS if claim.first == "CAdam-ME")
        assert regret.compare(rows, every).found.runs == 10
        table = regret.by_dimension(rows, regret.CLAIMS)
        assert table.count("CAdam-ME minus CAdam") == 1
        assert "CAdam minus CAdam-ME" not in table

    def test_forms_are_compared_where_all_rules_ran(self) -> None:
        regrets = {"Adam-ERM": 0.5, "Adam-FSM": 0.3, "SGA-ERM": 0.4, "SGA-FSM": 0.4}
        rows = pd.concat([_runs(regrets, 16), _runs({"Adam-ERM": 0.1, "Adam-FSM": 0.9}, 60)])
        claim = regret.Claim("", "FSM", "ERM", by="form")
        made = regret.compare(rows, claim)
        assert made is not None
        assert (float(made.found.value), made.found.runs, made.agreeing) == (pytest.approx(-0.1), 5, "5 of 5")
        assert regret.each_dimension(rows, claim)[60].startswith("0.800")
        assert regret.each_dimension(rows, claim)[60].endswith(regret.PART), "of one rule"

    def test_the_verdict_is_that_of_an_ask(self) -> None:
        assert moved_or_not.DID_NOT_MOVE == Verdict.DID_NOT_MOVE

    def test_random_batches_need_not_move(self) -> None:
        rows = _runs({"RS": 0.8, "L-BFGS-B": 0.3}, 16, {"RS": "did not move"}).assign(group="second")
        rows.loc[rows["optimiser"] == "RS", "group"] = "random"
        assert _verdict(rows, regret.Claim("", "second", "random")) == "holds"

    def test_acquisition_functions_are_compared_from_the_same_starts(self) -> None:
        rows = _runs({"CAdam": 0.3, "NASA": 0.5}, 16).assign(group="first-comp")
        under = pd.concat([rows, rows.assign(acquisition="pi", nfr=rows["nfr"] + 0.2)])
        made = regret.compare(under, regret.Claim("", "ucb", "pi", by="under"))
        assert made is not None
        assert (float(made.found.value), made.found.tasks, made.agreeing) == (pytest.approx(-0.2), 5, "5 of 5")


class TestReadme:
    def test_its_numbers_are_those_of_the_files(self) -> None:
        table = from_bytes(readme.SOURCE.read_bytes())
        text = readme.PAGE.read_text(encoding="utf-8")
        assert readme.page_with(text, table, json.loads(readme.SPEED.read_text())) == text, "run: make results"
        assert {readme.OURS, "random-search"} <= {line.method for line in readme.lines_of(table)}

    def test_regret_is_in_units_of_the_initial_design_and_methods_are_paired(self) -> None:
        def cell(optimiser: str, task: str, seed: int, end: float) -> dict[str, object]:
            curves = {"regret": [10.0, end], "best": [10.0, end], "ask_seconds": [4.0]}
            clock = {"seconds": 8.0, "cpu_seconds": 2.0, "initial": 16, "steps": 1, "batch": 8}
            known = {"floor_kind": "optimum", "status": "done"}
            return {"optimiser": optimiser, "task": task, "seed": seed, **curves, **clock, **known}

        both = [
            cell(method, "levy", seed, 10.0 * r) for method, r in (("compbo", 0.1), ("pycma", 0.4)) for seed in (0, 1)
        ]
        both += [cell("compbo", "levy", 2, 0.01), cell("pycma", "levy", 2, 4.0)]
        ours, theirs = readme.lines_of(pd.DataFrame(both))
        assert (ours.method, theirs.method, ours.runs, ours.tasks) == ("compbo", "pycma", 3, 1)
        assert ours.regret.tolist() == pytest.approx([1.0, (0.1 * 0.1 * 0.001) ** (1 / 3)])
        assert (ours.low[-1], ours.high[-1]) == pytest.approx((0.001, 0.1))
        assert ours.evaluations.tolist() == [16, 24]
        # A method with one seed: all are compared on that seed
        three = readme.lines_of(pd.DataFrame([*both, cell("turbo", "levy", 0, 0.5)]))
        assert [(line.method, line.runs) for line in three] == [("turbo", 1), ("compbo", 1), ("pycma", 1)]
        # Tasks that some have not run are left out, and so is a method with few of the tasks
        more = [cell("compbo", task, 0, 0.1) for task in ("ackley", "powell", "trid")] + [cell("hebo", "trid", 0, 0.1)]
        kept = readme.lines_of(pd.DataFrame([*both, cell("pycma", "ackley", 0, 0.3), *more]))
        assert [(line.method, line.runs, line.tasks) for line in kept] == [("compbo", 4, 2), ("pycma", 4, 2)]

    def test_every_method_stands_beside_compbo(self) -> None:
        def beside(method: str, value: float, low: float, high: float) -> measures.Versus:
            ratio = Estimate(*(np.asarray(number) for number in (value, low, high)), "seeds", 2, 6)
            return measures.Versus(method, ratio, 0.1, ratio, 0.2, tasks=2, seeds=(0, 1, 2), runs=6)

        found = [beside("compbo", 1.0, 1.0, 1.0), beside("pycma", 4.0, 2.5, 6.25), beside("smac", 5.0, np.nan, np.nan)]
        assert readme.table_of(found, {"compbo": (0.1, 0.25)}).splitlines()[2:] == [
            "| **compbo** | 1 |  | 2 | 6 | 0.1 to 0.25 |",
            "| CMA-ES (pycma) | 4 | 2.5 to 6.2 | 2 | 6 |  |",
            "| SMAC3 | 5 | – | 2 | 6 |  |",
        ]

    def test_seconds_are_those_of_the_benchmark(self) -> None:
        rows = [
            {"q": 8, "compbo s": 0.1, "optuna-gp / compbo": 3.0, "hebo / compbo": "not installed"},
            {"q": 8, "compbo s": 0.2, "optuna-gp / compbo": 2.0, "hebo / compbo": 9.0},
            {"q": 1, "compbo s": 0.07, "optuna-gp / compbo": 0.5, "hebo / compbo": 9.0},
        ]
        found = readme.suggestions({"suggestions": {"rows": rows}}, 8)
        assert found == {"compbo": (0.1, 0.2), "optuna-gp": pytest.approx((0.3, 0.4))}

    def test_the_figure_is_drawn(self, tmp_path: Path) -> None:
        lines = readme.lines_of(from_bytes(readme.SOURCE.read_bytes()))
        readme.draw(lines, json.loads(readme.SPEED.read_text()), tmp_path / "regret.svg")
        assert (tmp_path / "regret.png").stat().st_size > 10_000
        assert (tmp_path / "regret.svg").stat().st_size > 10_000
