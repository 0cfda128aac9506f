"""The measures of the study against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from compbo.study.results import scores


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


def test_best_share_splits_ties_and_sums_to_100() -> None:
    final = [[1.0, 2.0, 3.0, np.nan], [1.0, 1.0, 3.0, np.nan], [9.0, np.nan, 3.0, np.nan]]
    shares = scores.best_share(final)
    assert shares == pytest.approx([100 * (1 / 2 + 1 / 3) / 3, 100 * (1 / 2 + 1 + 1 / 3) / 3, 100 * (1 / 3) / 3])
    assert shares.sum() == pytest.approx(100.0)
    assert np.isnan(scores.best_share([[np.nan]])).all()


def test_bayesmark_score() -> None:
    score = scores.bayesmark_score([3.0, 2.0, 1.0, 4.0], [3.0, 3.0, 3.0, 3.0], 1.0)
    assert score.tolist() == [0.0, 50.0, 100.0, -50.0]
    assert np.isnan(scores.bayesmark_score([1.0], [1.0], 1.0)).all()


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
    assert winners.loc["B", "best_percent"] == pytest.approx(100 / 3)
    assert winners.loc["A", "nfr"] == pytest.approx((0.25 + 0.5 + 0.1) / 3)
    assert "random-search" not in winners.index


def test_the_best_of_several_settings_is_no_winner() -> None:
    tuned_too = pd.concat([table(), table().iloc[:1].assign(regret=[[4.0, 0.5]])])
    with pytest.raises(
        ValueError, match=r"A is there more than once for levy-2, ei, seed 0.*load\(results, cells=\.\.\.\)"
    ):
        scores.table_of_winners(tuned_too)
