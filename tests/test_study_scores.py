"""The measures of the study against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from compbo.study.results import scores
from compbo.study.tasks import require_reference


def test_normalised_regret_starts_at_one() -> None:
    curve = scores.normalised_regret([[8.0, 4.0, 2.0], [5.0, 5.0, 0.0]])
    assert curve.tolist() == [[1.0, 0.5, 0.25], [1.0, 1.0, 0.0]]
    assert scores.normalised_final_regret([8.0, 4.0, 2.0]) == 0.25
    assert np.isnan(scores.normalised_regret([0.0, 0.0])).all()


def test_log10_regret_has_a_floor() -> None:
    assert scores.log10_regret([100.0, 1.0, 0.0]).tolist() == [2.0, 0.0, -12.0]


def test_beating_the_reference_is_better_than_reaching_it() -> None:
    assert scores.normalised_regret([4.0, 0.0, -2.0]).tolist() == [1.0, 0.0, -0.5]
    assert scores.normalised_regret([-1.0, -3.0]).tolist() == [-1.0, -3.0]  # the initial design has beaten it already
    assert scores.log10_regret([-2.0]).tolist() == [-12.0]


def test_best_share_splits_ties_and_sums_to_100_where_all_ran() -> None:
    final = [[1.0, 2.0, 3.0, np.nan], [1.0, 1.0, 3.0, np.nan], [9.0, 7.0, 3.0, np.nan]]
    shares = scores.best_share(final)
    assert shares == pytest.approx([100 * (1 / 2 + 1 / 3) / 3, 100 * (1 / 2 + 1 + 1 / 3) / 3, 100 * (1 / 3) / 3])
    assert shares.sum() == pytest.approx(100.0)
    assert np.isnan(scores.best_share([[np.nan]])).all()


def test_best_share_is_over_the_tasks_that_a_method_ran() -> None:
    # B won the only task that it ran, and half of nothing else: 100 %, not 33 %
    final = [[1.0, 5.0, 2.0], [np.nan, 3.0, np.nan], [4.0, 6.0, 2.0]]
    assert scores.best_share(final) == pytest.approx([100 * (1 + 0 + 1 / 2) / 3, 100.0, 100 * (1 / 2) / 3])
    won = scores.win_shares(final)
    assert won[:, 2].tolist()[0] == 0.5
    assert np.isnan(won[1, [0, 2]]).all()


def test_bayesmark_score_by_its_worked_example() -> None:
    score = scores.bayesmark_score([2.0, 3.0, 6.0, 60.0], [6.0, 6.0, 6.0, 6.0], 2.0)
    assert score.tolist() == [100.0, 75.0, 0.0, 0.0]
    assert np.isnan(scores.bayesmark_score([1.0], [1.0], 1.0)).all()


def test_one_row_classified_otherwise_does_not_weigh_millions() -> None:
    # 455 rows; random search finds the best known accuracy but for one time in 15 million
    best, row = -451 / 455, 1 / 455
    random_loss = best + row / 34_000
    unclipped = 100 * (1 - row / (random_loss - best))
    assert unclipped < -3.3e6
    assert scores.bayesmark_score([best, best + row], [random_loss, random_loss], best).tolist() == [100.0, 0.0]


def test_the_best_loss_is_that_of_all_methods_and_the_reference() -> None:
    reference = require_reference("dt-boston-mse").best
    curves = [[9e9, reference + 1.0], [9e9, reference - 2.0], [9e9, np.nan]]
    rows = pd.DataFrame({"task": "dt-boston-mse", "status": ["done", "done", "done"], "best": curves})
    assert scores.best_losses(rows) == {"dt-boston-mse": reference - 2.0}
    assert scores.best_losses(rows.iloc[:1]) == {"dt-boston-mse": reference}
    assert scores.best_losses(rows.assign(status="failed")) == {}
    own = rows.assign(task="mine:furnace")
    assert scores.best_losses(own) == {"mine:furnace": reference - 2.0}


def test_the_score_of_a_curve_is_against_as_many_random_evaluations() -> None:
    reference = require_reference("dt-boston-mse")
    best = reference.best - 1.0
    halfway = [(reference.random_loss(n) + best) / 2 for n in (8, 16, 128)]
    assert scores.task_score("dt-boston-mse", halfway, [8, 16, 128], best) == pytest.approx([50.0] * 3)


def table() -> pd.DataFrame:
    rows = [
        ("levy-2", "ei", "A", "done", [4.0, 1.0]),
        ("levy-2", "ei", "B", "done", [4.0, 2.0]),
        ("ackley-2", "ei", "A", "done", [10.0, 5.0]),
        ("ackley-2", "ei", "B", "done", [10.0, 1.0]),
        ("ackley-2", "ucb", "A", "done", [10.0, 1.0]),
        ("ackley-2", "ucb", "B", "failed", None),
        ("levy-2", "", "random-search", "done", [4.0, 0.1]),
    ]
    frame = pd.DataFrame(rows, columns=["task", "acquisition", "optimiser", "status", "regret"])
    return frame.assign(seed=0)


def test_final_scores_of_a_table() -> None:
    found = scores.with_final_scores(table())
    assert len(found) == 6  # the failed one is left out
    assert found["nfr"].tolist() == [0.25, 0.5, 0.5, 0.1, 0.1, 0.025]
    assert found["final_regret"].tolist()[:2] == [1.0, 2.0]


def test_winners_as_in_the_papers_table_1() -> None:
    winners = scores.table_of_winners(table())
    assert winners.loc["A", "best_percent"] == pytest.approx(200 / 3)
    assert winners.loc["B", "best_percent"] == pytest.approx(50)  # of the two contests that it ran
    assert winners.loc["A", "nfr"] == pytest.approx((0.25 + 0.5 + 0.1) / 3)
    assert "random-search" not in winners.index


def test_a_group_wins_what_its_members_win() -> None:
    teams = table().assign(team=["x", "y", "x", "y", "x", "y", ""])
    third = table().iloc[[0]].assign(optimiser="C", team="x", regret=[[4.0, 1.0]])  # ties with A
    winners = scores.table_of_winners(pd.concat([teams, third], ignore_index=True), by="team")
    assert winners["best_percent"].to_dict() == pytest.approx({"x": 200 / 3, "y": 50.0})
    assert winners.loc["x", "nfr"] == pytest.approx((0.25 + 0.5 + 0.1 + 0.25) / 4)


def test_the_best_of_several_settings_is_no_winner() -> None:
    tuned_too = pd.concat([table(), table().iloc[:1].assign(regret=[[4.0, 0.5]])])
    with pytest.raises(
        ValueError, match=r"A is there more than once for levy-2, ei, seed 0.*load\(results, cells=\.\.\.\)"
    ):
        scores.table_of_winners(tuned_too)
