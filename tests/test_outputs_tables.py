"""The tables of the study: Table 1 worked out by hand and against the paper's own subtotals, and the three formats."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from compbo.maximizers import CATALOGUE
from compbo.study.outputs import phrases
from compbo.study.outputs.aggregate import by_class, common_blocks, paired_difference
from compbo.study.outputs.runs import NothingToShowError, not_there, study_of
from compbo.study.outputs.statistics.bootstrap import estimate
from compbo.study.outputs.tables import overview, render, summaries
from compbo.study.outputs.tables.table1 import ALL, Line, paper_numbers, table1
from outputs_tables import cells, compact_of, ended, failed_row, full, mixed_cells, study_of_runs

# -- Table 1

NAN = float("nan")


def records(study: object) -> dict[tuple[str, str], dict[str, object]]:
    """By optimiser and dimension; subtotals as `category order subtotal`."""
    found = {}
    for record in table1(study)["table1"].records:  # type: ignore[arg-type]
        name = record["optimiser"]
        if name in ("subtotal", "total"):
            name = f"{record['category']} {record['order']} {name}".replace("  ", " ")
        found[name, record["dimension"]] = record
    return found


def test_the_papers_printed_subtotals_follow_from_its_rows() -> None:
    numbers = paper_numbers()
    printed = {  # from the paper's Table 1: #Best and NFR for 16, 40, 60, 80, 100, 120 dimensions and all
        Line("NonComp", "0", "subtotal"): ([0] * 7, [0.31, 0.48, 0.66, 0.70, 0.72, 0.77, 0.61]),
        Line("NonComp", "1", "subtotal"): ([20, 25, 45, 20, 35, 55, 33], [0.26, 0.40, 0.42, 0.48, 0.49, 0.55, 0.43]),
        Line("NonComp", "", "total"): ([20, 25, 45, 20, 35, 55, 33], [0.27, 0.41, 0.48, 0.53, 0.55, 0.60, 0.47]),
        Line("Comp", "1", "subtotal"): ([80, 75, 55, 80, 65, 45, 67], [0.12, 0.18, 0.28, 0.31, 0.34, 0.43, 0.28]),
        Line("Comp", "", "total"): ([80, 75, 55, 80, 65, 45, 67], [0.17, 0.27, 0.39, 0.39, 0.43, 0.50, 0.36]),
    }
    for line, (best, nfr) in printed.items():
        ours = [numbers[line, dimension] for dimension in ("16", "40", "60", "80", "100", "120", ALL)]
        assert [pair[0] for pair in ours] == pytest.approx(best, abs=0.5)
        assert [pair[1] for pair in ours] == pytest.approx(nfr, abs=0.0101)  # its rows are rounded


def test_every_optimiser_of_the_paper_is_a_row_of_the_catalogue() -> None:
    members = {name.removesuffix("-ERM").removesuffix("-FSM") for name in CATALOGUE}
    singles = {line.optimiser for line, _ in paper_numbers()} - {"subtotal", "total"}
    assert singles <= members
    assert len(singles) == 23


def test_table_1_by_hand_with_ties_missing_cells_and_both_forms() -> None:
    study = study_of_runs(
        ("levy-16", "Adam-ERM", "ei", 0, 0.2),
        ("levy-16", "Adam-FSM", "ei", 0, 0.4),
        ("levy-16", "CAdam", "ei", 0, 0.2),  # ties with Adam-ERM
        ("levy-16", "L-BFGS-B", "ei", 0, 0.9),
        ("ackley-16", "Adam-ERM", "ei", 0, 0.5),
        ("ackley-16", "CAdam", "ei", 0, 0.1),
        ("ackley-16", "CAdam-ME", "ei", 0, 0.3),  # ran on one task of three
        ("levy-40", "Adam-FSM", "ei", 0, 0.6),
        ("levy-40", "CAdam", "ei", 0, 0.8),
        ("levy-16", "random-search", "", 0, 0.0),  # in no contest
    )
    found = records(study)
    assert found["Adam", "16"]["best_percent"] == pytest.approx(100 * (1 / 2 + 0) / 2)
    assert found["Adam", "16"]["nfr"] == pytest.approx(((0.2 + 0.4) / 2 + 0.5) / 2)
    assert found["Adam", ALL]["nfr"] == pytest.approx((0.4 + 0.6) / 2)  # the mean of the two dimensions
    assert found["Adam", ALL]["best_percent"] == pytest.approx((25 + 100) / 2)
    assert found["CAdam", "16"]["best_percent"] == pytest.approx(75.0)
    assert found["CAdam-ME", "16"]["best_percent"] == 0.0
    assert found["CAdam-ME", "16"]["tasks"] == 1
    assert ("CAdam-ME", "40") not in found
    assert found["L-BFGS-B", "16"]["nfr"] == pytest.approx(0.9)
    subtotal = found["Comp 1 subtotal", "16"]
    assert subtotal["best_percent"] == pytest.approx(100 * (1 / 2 + 1) / 2)
    assert subtotal["nfr"] == pytest.approx((0.2 + (0.1 + 0.3) / 2) / 2)
    assert found["NonComp 1 subtotal", "16"]["best_percent"] == pytest.approx(25.0)
    total = found["NonComp total", "16"]
    assert total["nfr"] == pytest.approx(((0.3 + 0.9) / 2 + 0.5) / 2)
    assert "random-search" not in {name for name, _ in found}


def test_the_papers_numbers_stand_beside_ours_over_the_same_dimensions() -> None:
    both = [("levy-16", "CAdam", "ei", 0, 0.2), ("levy-40", "CAdam", "ei", 0, 0.4)]
    found = records(study_of_runs(*both, ("levy-16", "CAdam-ME", "ei", 0, 0.3)))
    assert (found["CAdam", "16"]["paper_best_percent"], found["CAdam", "16"]["paper_nfr"]) == (20.0, 0.09)
    assert found["CAdam", "16"]["difference_nfr"] == pytest.approx(0.2 - 0.09)
    assert found["CAdam", ALL]["paper_nfr"] == pytest.approx((0.09 + 0.12) / 2)
    assert np.isnan(found["CAdam-ME", "16"]["paper_nfr"])  # it begins at 80 dimensions there  # type: ignore[call-overload]
    assert np.isnan(found["CAdam-ME", ALL]["paper_nfr"])  # type: ignore[call-overload]


def test_a_subtotal_stands_beside_those_of_the_papers_optimisers_that_ran() -> None:
    ran = [("levy-16", name, "ei", 0, 0.5) for name in ("Adam-ERM", "Adam-FSM", "AdamOS-FSM", "L-BFGS-B")]
    found = records(study_of_runs(*ran))
    paper = {line.optimiser: numbers for (line, where), numbers in paper_numbers().items() if where == "16"}
    first, whole = found["NonComp 1 subtotal", "16"], found["NonComp total", "16"]
    assert first["paper_nfr"] == pytest.approx((paper["Adam"][1] + paper["AdamOS"][1]) / 2)
    assert first["paper_best_percent"] == pytest.approx(paper["Adam"][0] + paper["AdamOS"][0])
    assert whole["paper_nfr"] == pytest.approx(np.mean([paper[name][1] for name in ("Adam", "AdamOS", "L-BFGS-B")]))


def test_the_best_of_a_column_ran_on_all_of_its_tasks() -> None:
    runs = [
        ("levy-16", "CAdam", "ei", 0, 0.5),
        ("levy-40", "CAdam", "ei", 0, 0.5),
        ("levy-16", "Adam-FSM", "ei", 0, 0.1),
    ]
    (made,) = table1(study_of_runs(*runs)).values()
    last = {str(row[2]): str(row[-1]) for row in made.rows if row is not None}
    assert last["CAdam"].startswith("**0.50**")
    assert last["Adam"].startswith("0.10")
    assert "Acquisition functions: EI." in made.caption


def test_optimisers_from_after_the_paper_take_no_win_from_it() -> None:
    found = records(study_of_runs(("levy-16", "CAdam", "ei", 0, 0.2), ("levy-16", "SOX", "ei", 0, 0.1)))
    assert found["CAdam", "16"]["best_percent"] == 100.0
    assert found["SOX", "16"]["best_percent"] == 100.0


def test_shifted_functions_have_a_table_of_their_own_without_the_papers_numbers() -> None:
    runs = [("levy-16", "CAdam", "ei", 0, 0.2), ("levy-16-shifted", "CAdam", "ei", 0, 0.6)]
    tables = table1(study_of_runs(*runs))
    assert list(tables) == ["table1", "table1-shifted"]
    assert tables["table1-shifted"].records[0]["nfr"] == pytest.approx(0.6)
    assert np.isnan(tables["table1-shifted"].records[0]["paper_nfr"])


def test_intervals_of_table_1_are_over_seeds_where_there_are_several() -> None:
    runs = [("levy-16", "CAdam", "ei", seed, value) for seed, value in enumerate((0.1, 0.2, 0.6))]
    record = records(study_of_runs(*runs))["CAdam", "16"]
    expected = estimate([0.1, 0.2, 0.6], ["levy-16|ei"] * 3)
    assert record["interval_over"] == "seeds"
    assert (record["nfr_low"], record["nfr_high"]) == (expected.low, expected.high)


# -- classes and pairs


def test_the_fair_member_is_the_median_and_the_papers_the_best_at_every_step() -> None:
    study = study_of_runs(
        *[("levy-16", name, "ei", 0, end) for name, end in (("Adam-ERM", 0.5), ("SGA-ERM", 0.1), ("Rprop-ERM", 0.9))]
    )
    rows = study.synthetic("plain")
    assert by_class(rows, "median")["first"].value.tolist() == [1.0, 0.75, 0.5]
    assert by_class(rows, "best")["first"].value.tolist() == pytest.approx([1.0, 0.55, 0.1])


def test_a_difference_is_taken_from_the_same_starts_only() -> None:
    study = study_of_runs(
        ("levy-16", "Adam-ERM", "ei", 0, 0.5),
        ("levy-16", "Adam-FSM", "ei", 0, 0.4),
        ("levy-16", "Adam-FSM", "ei", 1, 0.0),  # no such run of the other
        ("levy-40", "Adam-ERM", "ei", 0, 0.3),
        ("levy-40", "Adam-FSM", "ei", 0, 0.4),
    )
    rows = study.synthetic("plain")
    assert len(common_blocks(rows, ["Adam-ERM", "Adam-FSM"])) == 4
    found = paired_difference(rows, "Adam-FSM", "Adam-ERM")
    assert found.value == pytest.approx((-0.1 + 0.1) / 2)
    assert (found.tasks, found.runs) == (1, 2), "a function in another dimension is no new one"
    pairs = summaries.pairs_of_forms(study)["pairs"].records
    assert [record["optimiser"] for record in pairs] == ["Adam", "all"]


# -- what there is and what is not


def test_missing_runs_are_named_and_failed_ones_say_why() -> None:
    some = cells(["levy-16", "ackley-16"], ["CAdam", "NASA"], ["ei"], [0])
    table = [ended("levy-16", "CAdam", "ei", 0, 0.5), ended("ackley-16", "NASA", "ei", 0, 0.5), failed_row(some[1])]
    from compbo.study.outputs.compact import compact

    study = study_of(compact(full(table)))
    found = not_there(study)
    assert found["why"].tolist() == ["failed: MemoryError: too large", "not run"]
    assert found.iloc[1][["task", "optimiser"]].tolist() == ["ackley-16", "CAdam"]
    assert "2 runs" in overview.missing(study)["missing"].caption


def test_experiments_are_counted_beside_the_papers() -> None:
    rows = overview.experiments(study_of(compact_of(mixed_cells())))["experiments"].records
    counts = {row["part"]: (row["experiments"], row["paper"], row["done"], row["failed"]) for row in rows}
    assert counts["synthetic 16D"] == (2 * (11 * 2 + 4), 490, 2 * 2 * (11 * 2 + 4), 0)
    assert counts["tuning, regression"] == (2 * (3 * 2 + 1), 672, 2 * 2 * (3 * 2 + 1), 0)
    paper = [(row["part"], row["paper"]) for row in rows if row["paper"] is not None]
    captions = {16: 490, 40: 490, 60: 485, 80: 545, 100: 545, 120: 545}
    synthetic = [(f"synthetic {dimension}D", number) for dimension, number in captions.items()]
    assert paper == [*synthetic, ("tuning, regression", 672), ("tuning, classification", 288)]
    assert counts["synthetic 120D"] == (0, 545, 0, 0)  # in the paper, not here


def test_tuning_domains_are_those_of_the_catalogue() -> None:
    tables = overview.tuning_domains(study_of(compact_of([])))
    rows = [r for table in tables.values() for r in table.records]
    by_name = {(r["optimiser"], r["hyperparameter"]): r["domain"] for r in rows}
    assert by_name["Adam-ERM and Adam-FSM", "beta2"] == "LU(0.9, 1 - 1e-6)"
    assert by_name["NASA and NASA-ME", "a"] == "U(0.1, 10)"
    assert by_name["SGA-ERM and SGA-FSM", "nesterov"] == "U{0, 1}"
    tuned = {key for entry in CATALOGUE.values() if entry.category != "extended" for key in entry.domain}
    assert {r["hyperparameter"] for r in rows} == tuned


def test_every_acquisition_function_and_form_has_a_row() -> None:
    tables = overview.acquisition_forms(study_of(compact_of(cells(["levy-16"], ["CAdam", "Adam-FSM"], ["ei"], [0]))))
    rows = {row["acquisition"]: row for row in tables["acquisition-forms"].records}
    assert list(rows) == ["EI", "PI", "SR", "UCB", "LOGEI"]
    assert (rows["EI"]["FSM"], rows["EI"]["Comp"], rows["EI"]["ERM"]) == (1, 1, 0)
    names = {name for row in tables["forms"].records for name in row["optimisers"].replace(" (fixed)", "").split(", ")}
    assert names == set(CATALOGUE)


def test_verdicts_are_shares_and_first_values_are_ranked_on_the_same_surrogate() -> None:
    rows = summaries.verdicts(study_of(compact_of(cells(["levy-16"], ["CAdam", "NASA", "RS"], ["ei"], [0, 1]))))
    records = rows["verdicts"].records
    words = [key for key in records[0] if key in ("converged", "flat", "still climbing")]
    assert all(sum(record[word] for word in words) == pytest.approx(100.0) for record in records)
    assert sum(record["first_step_rank"] for record in records) == pytest.approx(1 + 2 + 3)


@pytest.mark.parametrize(
    "name", ["final_regret", "regret_by_class", "improvement", "ranks", "costs", "verdicts", "scores"]
)
def test_a_table_of_nothing_says_what_is_missing(name: str) -> None:
    with pytest.raises(NothingToShowError, match=r"no|there is no|takes two"):
        getattr(summaries, name)(study_of(compact_of([])))


# -- formats


def test_the_three_formats_of_a_table() -> None:
    table = render.Table(
        "50 % & more",
        [{"a": 1 / 3, "b": NAN}, {"a": 2.0, "b": None}],
        ["a_b", "x|y"],
        [["**1**", "–"], None, ["2", "a_b"]],
    )
    assert list(csv.reader(io.StringIO(render.to_csv(table)))) == [["a", "b"], ["0.333333", ""], ["2", ""]]
    assert render.to_markdown(table).splitlines() == [
        "| a_b | x\\|y |", "|---|---|", "| **1** | – |", "| 2 | a_b |", "", "50 % & more",
    ]  # fmt: skip
    latex = render.to_latex(table)
    assert r"a\_b & x$|$y \\" in latex
    assert "\\textbf{1} & -- \\\\\n\\midrule\n2 & a\\_b \\\\" in latex
    assert r"\caption{50 \% \& more}" in latex


def test_numbers_in_words() -> None:
    assert phrases.signed(0.021) == "+0.02"
    assert phrases.signed(-0.001) == "0.00"
    assert phrases.fixed(NAN) == "–"
    assert phrases.number(1.5e-9, 2) == "1.5e-9"
    assert phrases.listed(["a", "b", "c"]) == "a, b and c"
    assert phrases.listed(list("abcd"), most=2) == "a, b and 2 more"
    assert phrases.with_interval(estimate([1.0], ["t"])) == "1.00 (no interval: too few runs)"
    assert phrases.with_interval(estimate([1.0, 1.0], ["t", "t"])) == "1.00 [1.00, 1.00]"
