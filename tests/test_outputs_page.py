"""The page of a study without a browser: its answers, its size, how to run it again, and hostile words."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from compbo.study.grid import load_grid, parse_grid
from compbo.study.outputs.compact import compact
from compbo.study.outputs.figures.cost import MemoryMeasurement
from compbo.study.outputs.page.answers import answers
from compbo.study.outputs.page.page import render_page
from compbo.study.outputs.page.rerun import grid_text, machines, versions
from compbo.study.outputs.runs import Study, study_of
from compbo.study.tasks import require_reference
from outputs_tables import cells, compact_of, failed_row, full, mixed_cells, paper_table, row, study_of_runs

FUNCTIONS = ("levy", "ackley", "dixon-price", "powell", "styblinski-tang")
Run = tuple[str, str, str, int, float]


def answer(study: Study, number: int, **options: Any) -> tuple[str, str]:
    """The verdict and the sentences of a question."""
    found = answers(study, **options)[number - 1]
    return found.verdict, " ".join(found.sentences)


def pairs(first: str, second: str, difference: float, tasks: int = 5) -> list[Run]:
    """Runs of two optimisers on some tasks; the first ends higher by the difference."""
    runs: list[Run] = []
    for i, function in enumerate(FUNCTIONS[:tasks]):
        base = 0.3 + 0.01 * i
        runs += [(f"{function}-16", first, "ei", 0, base + difference), (f"{function}-16", second, "ei", 0, base)]
    return runs


def test_an_answer_quotes_the_difference_and_its_interval() -> None:
    verdict, words = answer(study_of_runs(*pairs("Adam-ERM", "Adam-FSM", 0.1)), 1)
    assert verdict == "yes"
    assert "FSM minus ERM in normalised final regret is -0.100 [-0.100, -0.100]" in words
    assert "over the 5 functions" in words
    assert "FSM ends lower." in words
    verdict, words = answer(study_of_runs(*pairs("Adam-FSM", "Adam-ERM", 0.1)), 1)
    assert verdict == "no, the reverse"
    assert "is 0.100 [0.100, 0.100]" in words


def test_no_difference_and_too_few_data_are_said() -> None:
    even = [*pairs("Adam-ERM", "Adam-FSM", 0.1)[:4], *pairs("Adam-FSM", "Adam-ERM", 0.1)[4:]]
    verdict, words = answer(study_of_runs(*even), 1)
    assert verdict == "cannot be told"
    assert "The interval holds 0" in words
    verdict, words = answer(study_of_runs(*pairs("Adam-ERM", "Adam-FSM", 0.1, tasks=2)), 1)
    assert verdict == "too few data"
    assert "too few data for an answer: 2 black boxes, 2 runs" in words
    assert "-0.100 (no interval: too few runs)" in words


def test_compositional_and_other_optimisers_are_compared_by_their_median_member() -> None:
    runs = pairs("Adam-ERM", "CAdam", 0.2) + [(f"{f}-16", "NASA", "ei", 0, 0.9) for f in FUNCTIONS]
    runs += [(f"{f}-16", "Nested-MC", "ei", 0, 0.95) for f in FUNCTIONS]  # one good member of three
    verdict, words = answer(study_of_runs(*runs), 2)
    assert verdict == "no, the reverse"
    assert "a compositional optimiser is the best of all on 100 % [100, 100] of the tasks (67 % in the paper)" in words
    assert "Compositional optimisers that compete here, against others: 3 against 1 in 16D." in words


def test_classes_are_compared_where_all_of_their_members_ran() -> None:
    whole = [(f"{f}-16", name, "ei", 0, 0.5) for f in FUNCTIONS for name in ("Adam-ERM", "CAdam", "NASA")]
    part = [(f"{f}-60", name, "ei", 0, end) for f in FUNCTIONS for name, end in (("Adam-ERM", 0.1), ("NASA", 0.9))]
    verdict, words = answer(study_of_runs(*whole, *part), 2)
    assert verdict == "no difference above 0.05"
    assert "is 0.000 [0.000, 0.000] over 5 functions in 16D, where all members ran." in words


def test_a_start_from_which_a_member_did_not_run_is_left_out() -> None:
    """The median of the members that ran there would be that of another class."""
    whole = [(f"{f}-16", name, "ei", 0, 0.5) for f in FUNCTIONS for name in ("Adam-ERM", "CAdam", "NASA")]
    half = [(f"{f}-16", name, "ei", 1, end) for f in FUNCTIONS for name, end in (("Adam-ERM", 0.1), ("NASA", 0.9))]
    _, words = answer(study_of_runs(*whole, *half), 2)
    assert "is 0.000 [0.000, 0.000] over 5 functions." in words


def test_forms_are_compared_where_both_moved() -> None:
    """Two that did nothing are alike for another reason."""
    rows = []
    for cell in cells([f"{f}-{d}" for f in FUNCTIONS for d in (16, 60)], ["NASA", "NASA-ME"], ["ucb"], [0]):
        still = cell.task.endswith("-60")
        end = 0.5 if still or cell.method.maximizer == "NASA" else 0.7
        verdict = ["did not move" if still else "climbed"] * 6
        rows.append(row(cell, regret=[1.0] * 6 + [end], verdict=verdict))
    verdict, words = answer(study_of(compact(full(rows))), 3)
    assert verdict == "they cost some regret"
    assert "is 0.200 [0.200, 0.200] on average over 1 optimiser and 5 functions, where all of them moved" in words


def test_rules_are_averaged_on_the_tasks_that_all_of_them_ran() -> None:
    both = pairs("Adam-ERM", "Adam-FSM", 0.1) + pairs("SGA-ERM", "SGA-FSM", -0.1)
    alone = [(f"{f}-60", name, "ei", 0, end) for f in FUNCTIONS for name, end in (("Adam-ERM", 0.9), ("Adam-FSM", 0.1))]
    _, words = answer(study_of_runs(*both, *alone), 1)
    assert "With 2 rules in both forms, FSM minus ERM in normalised final regret is 0.000 [0.000, 0.000]" in words
    assert "over the 5 functions that all of them ran" in words


def test_the_same_rule_without_a_tracker_is_the_control() -> None:
    _, words = answer(study_of_runs(*pairs("AdamOS-FSM", "CAdam", 0.2)), 2)
    assert "Against the same rule without tracking: CAdam minus AdamOS-FSM -0.200" in words


def test_shifted_functions_get_sentences_of_their_own() -> None:
    shifted = [(f"{task}-shifted", name, a, seed, end) for task, name, a, seed, end in pairs("CAdam", "Adam-ERM", 0.1)]
    verdict, words = answer(study_of_runs(*pairs("Adam-ERM", "CAdam", 0.2), *shifted), 2)
    assert verdict == "yes"  # of the plain functions
    assert "On the shifted functions: Fairly compared" in words
    assert "is 0.100 [0.100, 0.100]" in words


def test_memory_and_time_are_ratios_from_the_same_starts() -> None:
    rows = []
    for cell in cells([f"{f}-16" for f in FUNCTIONS], ["CAdam", "CAdam-ME", "AdamOS-FSM"], ["ucb"], [0]):
        factor = {"CAdam": 2.0, "CAdam-ME": 1.5, "AdamOS-FSM": 1.0}[cell.method.maximizer]
        memory = 4_000 if cell.method.maximizer == "CAdam" else 1_000
        rows.append(row(cell, maximise_seconds=[0.5 * factor] * 6, peak_memory=[memory] * 6))
    study = study_of(compact(full(rows)))
    _, saved = answer(study, 3)
    assert "libraries and surrogate included, ME takes 0.25 [0.25, 0.25] times" in saved
    assert "In seconds of a maximisation, ME takes 0.75 [0.75, 0.75] times" in saved
    verdict, words = answer(study, 4)
    assert verdict == "yes"
    assert "one maximisation takes 2.00 [2.00, 2.00] times as long with composition" in words
    assert "CAdam / AdamOS-FSM 2.00 [2.00, 2.00] in 16D" in words
    assert "All runs are in 16 dimensions" in words
    measured = [MemoryMeasurement("CAdam", 16, 8192, 8192, 100.0), MemoryMeasurement("CAdam-ME", 16, 8192, 128, 5.0)]
    assert "CAdam 100.0 MB, CAdam-ME 5.0 MB" in answer(study, 3, measured=measured)[1]


def test_times_are_compared_on_the_same_type_of_processor() -> None:
    rows = []
    for cell in cells([f"{f}-16" for f in FUNCTIONS], ["CAdam", "AdamOS-FSM"], ["ucb"], [0]):
        slow = cell.method.maximizer == "CAdam" and cell.task != "levy-16"
        seconds, processor = (9.0, "slow") if slow else (1.0, "fast")
        rows.append(row(cell, maximise_seconds=[seconds] * 6, machine=json.dumps({"processor": processor})))
    _, words = answer(study_of(compact(full(rows))), 4)
    assert "CAdam / AdamOS-FSM 1.00 (no interval: too few runs) in 16D" in words


def test_tuning_tasks_are_compared_by_their_scores() -> None:
    rows = []
    for task in ("dt-boston-mse", "dt-diabetes-mse", "knn-boston-mae", "knn-diabetes-mae", "dt-pima-nll"):
        reference = require_reference(task)
        for cell in cells([task], ["Adam-FSM", "CAdam"], ["ei"], [0], steps=16):
            share = 0.5 if cell.method.maximizer == "CAdam" else 0.75  # of the way from the best loss to random search
            loss = [reference.best + share * (reference.random_loss(4 + 8 * k) - reference.best) for k in range(17)]
            rows.append(row(cell, best=loss))
    verdict, words = answer(study_of(compact(full(rows))), 5)
    assert verdict == "better"
    assert "On 5 tuning tasks under EI" in words
    assert "compositional (CAdam) minus non-compositional optimisers (Adam-FSM) is 25.0 [25.0, 25.0]" in words
    assert "Regression: the median score is 50 [50, 50] with and 25 [25, 25] without composition" in words
    assert "dt 25.0 (no interval: too few runs)" in words


def test_questions_without_data_say_what_they_need() -> None:
    found = answers(study_of(compact_of([])))
    assert len(found) == 5
    assert {one.verdict for one in found} == {"too few data"}
    assert all("Nothing here can answer this: it needs finished runs" in one.sentences[0] for one in found)


def embedded(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_the_page_of_all_cells_of_the_paper_is_under_15_MB_and_holds_every_run() -> None:
    table = paper_table()
    assert len(table) > 4000
    page = render_page(study_of(table))
    assert len(page.encode()) < 15e6
    data = embedded(page)
    runs = [len(explorer["runs"]["curve"]) for explorer in data["explorers"].values()]
    assert sum(runs) == len(table)
    assert len(data["tables"]["table1"]["rows"]) > 30


def test_words_of_a_table_are_escaped_everywhere() -> None:
    evil = "<script>alert(1)</script>"
    cell = cells(["levy-16"], ["CAdam"], ["ei"], [0])[0]
    rows = [
        failed_row(cell, error=evil),
        {**row(cells(["levy-16"], ["NASA"], ["ei"], [0])[0]), "machine": json.dumps({"processor": evil})},
    ]
    page = render_page(study_of(compact(full(rows))), title=evil)
    assert evil not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_page_of_anything_less_than_a_study_is_written() -> None:
    one = cells(["levy-16"], ["CAdam"], ["ei"], [0])
    tables = [
        compact_of([]),
        compact_of(one),
        compact(full([failed_row(one[0])])),
        compact_of(cells(["levy-16"], ["bohb"], [], [0])),
    ]
    for table in tables:
        page = render_page(study_of(table))
        assert "Five questions" in page
        assert "too few data" in page


def test_the_grid_of_the_page_runs_the_same_cells_again() -> None:
    smoke = load_grid("smoke").cells()
    again = parse_grid("again", grid_text(compact_of(smoke))).cells()
    assert {cell.hash for cell in smoke} <= {cell.hash for cell in again}
    whole = load_grid("dim16").cells()[::3]
    again = parse_grid("again", grid_text(compact_of(whole))).cells()
    assert {cell.hash for cell in whole} <= {cell.hash for cell in again}


def test_settings_that_are_not_the_catalogues_are_in_the_grid() -> None:
    cell = load_grid("smoke").cells()[0]
    maximizers = [cell for cell in load_grid("smoke").cells() if cell.method.maximizer == "CAdam"]
    changed = [cell.with_hyperparameters({"lr": 0.5}) for cell in maximizers]
    again = parse_grid("again", grid_text(compact_of([cell, *changed]))).cells()
    assert {cell.hash for cell in changed} <= {cell.hash for cell in again}
    several = grid_text(compact_of([maximizers[0], changed[0]]))
    assert "# CAdam ran with several settings" in several
    parse_grid("again", several)


def test_versions_and_machines_are_listed_once() -> None:
    table = compact_of(mixed_cells()[:3])
    table.loc[0, "versions"] = json.dumps({"compbo": "0.0.9"})
    assert dict(versions(table))["compbo"] == "0.1.0, 0.0.9"
    assert machines(table)[0] == ("a processor", "2 cores, 8.0 GB, Linux and 3 cells")


def test_the_curves_of_the_page_are_those_of_the_table() -> None:
    study = study_of(compact_of(mixed_cells()))
    explorer = embedded(render_page(study))["explorers"]["synthetic"]
    rows = study.synthetic("plain")
    assert np.allclose(explorer["runs"]["curve"], np.stack(list(rows["curve"])), rtol=1e-3)
    names = [explorer["optimisers"][i][0] for i in explorer["runs"]["optimiser"]]
    assert names == rows["optimiser"].tolist()
    assert explorer["filters"]["dimension"] == ["16", "40"]


@pytest.mark.parametrize("which", ["mixed", "nothing"])
def test_the_same_table_gives_the_same_page(which: str) -> None:
    study = study_of(compact_of(mixed_cells() if which == "mixed" else []))
    assert render_page(study) == render_page(study)
