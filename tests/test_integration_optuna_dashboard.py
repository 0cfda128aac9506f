"""The verdicts in a real optuna-dashboard, as a browser shows it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, make_server

import optuna
import pytest

from compbo.bo.verdict import Verdict
from compbo.integrations.optuna import CompBOSampler, save_verdict_plot, verdict_figure
from compbo.integrations.optuna.dashboard import TITLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from optuna.storages import RDBStorage
    from optuna.study import Study


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """Not in the middle of the tests' own output."""


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RDBStorage]:
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path_factory.mktemp('dashboard') / 'study.db'}")
    yield storage
    storage.remove_session()
    storage.engine.dispose()


@pytest.fixture(scope="module")
def study(storage: RDBStorage) -> Study:
    sampler = CompBOSampler(seed=0, n_startup_trials=4, raw_batches=32, restarts=4, steps=4, minibatch=16)
    study = optuna.create_study(study_name="dashboard", storage=storage, sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 1) ** 2, n_trials=8)
    return study


def test_a_mark_per_maximisation_with_its_reason(study: Study) -> None:
    figure = verdict_figure(study)
    marks = {trace.name: list(trace.x) for trace in figure.data}
    assert marks[str(Verdict.DESIGN)] == [1, 2, 3]
    assert sorted(number for numbers in marks.values() for number in numbers) == list(range(1, 8))
    assert all(len(trace.text) == len(trace.x) for trace in figure.data)


@pytest.mark.touches_global_rng  # optuna-dashboard
def test_a_newer_plot_takes_the_place_of_the_older(study: Study) -> None:
    assert save_verdict_plot(study) == save_verdict_plot(study)


@pytest.mark.touches_global_rng  # optuna-dashboard
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_dashboard_shows_it(study: Study, storage: RDBStorage, chromium: str, tmp_path: Path) -> None:
    dashboard = pytest.importorskip("optuna_dashboard", reason='pip install "compbo[dashboard]"')
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    save_verdict_plot(study)
    server = make_server("127.0.0.1", 0, dashboard.wsgi(storage), handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1300, "height": 2200})
            page.goto(f"http://127.0.0.1:{server.server_port}/dashboard/studies/{study._study_id}")
            plot = page.locator(".js-plotly-plot", has_text=TITLE)
            plot.wait_for(timeout=60_000)
            page.screenshot(path=tmp_path / "dashboard.png", full_page=True)
            words = plot.inner_text()
            marks = plot.locator("path.point").count()
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    assert marks == 7
    assert str(Verdict.DESIGN) in words
