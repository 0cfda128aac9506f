"""The page of a study in a real browser: quiet, without a network, filters that redraw, tables that sort."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from compbo.study.outputs.aggregate import by_class, by_optimiser
from compbo.study.outputs.page.page import write_page
from compbo.study.outputs.runs import study_of
from outputs_tables import cells, compact_of, mixed_cells, paper_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: install compbo[dev]")
LOCAL = ("file:", "data:", "blob:")
PATIENCE = 120_000  # milliseconds: of a guard, not of a measurement
sync_api.expect.set_options(timeout=PATIENCE)


@dataclass
class Visit:
    """An open page, and everything it did that it should not have."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def curves(self, chart: str = "synthetic") -> dict[str, list[float]]:
        """The lines of a chart by their names."""
        found = self.page.evaluate(
            f"document.querySelector('[data-chart={chart}]').data.filter((t) => t.showlegend !== false)"
            ".map((t) => [t.name, Array.from(t.y)])"
        )
        return dict(found)

    def status(self, explorer: str = "synthetic") -> str:
        """What the explorer says about its curves."""
        return self.page.locator(f"[data-explore={explorer}] .status").inner_text()

    def box(self, filter_name: str, label: str, explorer: str = "synthetic") -> Any:
        """A check box of a filter."""
        place = self.page.locator(f"[data-explore={explorer}] fieldset[data-filter='{filter_name}']")
        return place.get_by_label(label, exact=True)


@contextmanager
def visiting(browser: Browser, file: Path) -> Iterator[Visit]:
    """Open a file without a network; nothing may complain."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    visit = Visit(context.new_page())
    note = visit.complaints.append
    visit.page.on("console", lambda message: note(message.text) if message.type in ("error", "warning") else None)
    visit.page.on("pageerror", lambda error: note(str(error)))
    visit.page.on("request", lambda request: None if request.url.startswith(LOCAL) else note(request.url))
    visit.page.goto(file.as_uri())
    visit.page.wait_for_selector("html[data-ready]", state="attached")
    yield visit
    context.close()
    assert visit.complaints == []


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        launched = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    tables = {
        "mixed": compact_of(mixed_cells()),
        "paper": paper_table(),
        "nothing": compact_of([]),
        "one": compact_of(cells(["levy-16"], ["CAdam"], ["ei"], [0])),
    }
    return {name: write_page(study_of(table), folder / f"{name}.html") for name, table in tables.items()}


@pytest.fixture(scope="module")
def shared(browser: Browser, files: dict[str, Path]) -> Iterator[Visit]:
    """The page of something of everything, which many tests look at."""
    with visiting(browser, files["mixed"]) as visit:
        yield visit


@pytest.fixture
def mixed(shared: Visit) -> Iterator[Visit]:
    """With all filters open, the fair view and the normalised scale."""
    for button in shared.page.locator(".filters button", has_text="all").all():
        button.click()
    shared.page.select_option("[data-explore=synthetic] [data-view]", "median")
    shared.page.select_option("[data-explore=synthetic] [data-scale]", "normalised")
    yield shared
    assert shared.complaints == []


@pytest.mark.parametrize("name", ["nothing", "one", "paper"])
def test_the_page_opens_quietly_without_a_network_and_fits_a_phone(
    browser: Browser, files: dict[str, Path], name: str
) -> None:
    with visiting(browser, files[name]) as visit:
        assert visit.page.locator(".answers li").count() == 5
        for width in (1280, 390):
            visit.page.set_viewport_size({"width": width, "height": 844})
            assert visit.page.evaluate("document.documentElement.scrollWidth") == width


def test_every_chart_has_marks(mixed: Visit) -> None:
    charts = mixed.page.locator("[data-chart]").evaluate_all("all => all.map((one) => one.dataset.chart)")
    assert sorted(charts) == ["final", "improvement", "synthetic", "time", "tuning"]
    marks = "one => one.querySelectorAll('.points path, .lines path, .heatmaplayer image').length"
    for chart in charts:
        assert mixed.page.locator(f'[data-chart="{chart}"]').evaluate(marks) > 0, chart


def test_the_curves_in_the_browser_are_those_of_the_figures(mixed: Visit) -> None:
    from compbo.study.outputs.axes import CLASSES

    rows = study_of(compact_of(mixed_cells())).synthetic("plain")
    for view in ("median", "best"):
        mixed.page.select_option("[data-explore=synthetic] [data-view]", view)
        expected = by_class(rows, view)  # type: ignore[arg-type]
        shown = mixed.curves()
        assert set(shown) == {CLASSES[group] for group in expected}
        for group, one in expected.items():
            assert np.allclose(shown[CLASSES[group]], one.value, rtol=2e-3), group
    mixed.page.select_option("[data-explore=synthetic] [data-view]", "optimisers")
    shown = mixed.curves()
    for name, one in by_optimiser(rows).items():
        assert np.allclose(shown[name], one.value, rtol=2e-3), name


def test_intervals_in_the_browser_are_close_to_those_of_the_figures(mixed: Visit) -> None:
    rows = study_of(compact_of(mixed_cells())).synthetic("plain")
    one = by_class(rows, "median")["first-comp"]
    words = mixed.page.evaluate(
        "document.querySelector('[data-chart=synthetic]').data"
        ".find((t) => t.name === 'first order, compositional').customdata.at(-1)"
    )
    low, high = (float(number) for number in words.split(" to "))
    width = float(one.high[-1] - one.low[-1])
    assert low == pytest.approx(float(one.low[-1]), abs=0.2 * width)  # 200 draws against 2000
    assert high == pytest.approx(float(one.high[-1]), abs=0.2 * width)


@pytest.mark.parametrize(
    ("name", "label"), [("dimension", "40"), ("function", "levy"), ("acquisition", "UCB"), ("class", "first order")]
)
def test_every_filter_redraws_the_curves(mixed: Visit, name: str, label: str) -> None:
    before, runs = mixed.curves(), mixed.status()
    mixed.box(name, label).uncheck()
    after = mixed.curves()
    assert after != before
    assert mixed.status() != runs
    if name == "class":
        assert set(before) - set(after) == {"first order"}
    if name == "acquisition":
        assert after["BOHB"] == before["BOHB"]  # a baseline has no acquisition function
    mixed.box(name, label).check()
    assert mixed.curves() == before


def test_filters_select_what_they_say(mixed: Visit) -> None:
    mixed.box("dimension", "40").uncheck()
    rows = study_of(compact_of(mixed_cells())).synthetic("plain")
    expected = by_class(rows[rows["dimension"] == 16], "median")["first"]
    assert np.allclose(mixed.curves()["first order"], expected.value, rtol=2e-3)
    mixed.page.locator("fieldset[data-filter=dimension] button", has_text="none").first.click()
    assert mixed.curves() == {}
    assert mixed.status() == "Nothing passes these filters."


def test_the_raw_regret_is_on_another_scale(mixed: Visit) -> None:
    mixed.page.select_option("[data-explore=synthetic] [data-scale]", "log")
    first = mixed.curves()["first order"]
    assert first[0] > 1.0  # a regret of tens to hundreds
    title = mixed.page.locator("[data-chart=synthetic] .ytitle").text_content()
    assert title == "log10 of the raw regret"


def test_scores_of_tuning_tasks_are_filtered_by_model(mixed: Visit) -> None:
    before = mixed.curves("tuning")
    mixed.box("model", "dt", "tuning").uncheck()
    assert mixed.curves("tuning") != before
    assert max(mixed.curves("tuning")["first order"]) <= 100.0


def test_the_label_under_the_mouse_has_value_and_interval(mixed: Visit) -> None:
    number = mixed.page.evaluate(
        "document.querySelector('[data-chart=synthetic]').data.findIndex((t) => t.name === 'first order')"
    )
    point = f"[{{curveNumber: {number}, pointNumber: 3}}]"
    mixed.page.evaluate(f"Plotly.Fx.hover(document.querySelector('[data-chart=synthetic]'), {point})")
    label = mixed.page.locator("[data-chart=synthetic] .hoverlayer").text_content() or ""
    assert label.startswith("first orderstep 3: 0.")
    assert "95 %: 0." in label
    assert "tasks" in label


def column(page: Page, title: str) -> list[str]:
    """The cells of a column of Table 1 as shown."""
    titles = page.locator('[data-table="table1"] thead button').all_inner_texts()
    place = titles.index(title) + 1
    return page.locator(f'[data-table="table1"] tbody td:nth-child({place})').all_inner_texts()


def test_table_1_sorts_by_any_column_both_ways(mixed: Visit) -> None:
    titles = mixed.page.locator('[data-table="table1"] thead button').all_inner_texts()
    button = mixed.page.locator('[data-table="table1"] thead button').nth(titles.index("all NFR"))
    button.click()
    values = [float(cell) for cell in column(mixed.page, "all NFR")]
    assert values == sorted(values)
    assert len(values) > 10
    button.click()
    assert [float(cell) for cell in column(mixed.page, "all NFR")] == sorted(values, reverse=True)
    names = column(mixed.page, "optimiser")
    mixed.page.locator('[data-table="table1"] thead button').first.click()
    assert column(mixed.page, "optimiser") == sorted(names, key=str.casefold)


def test_dark_colours_reach_the_curves(mixed: Visit) -> None:
    line = "document.querySelector('[data-chart=synthetic]').data.find((t) => t.name === 'first order').line.color"
    light = mixed.page.evaluate(line)
    mixed.page.click("#theme")
    mixed.page.wait_for_selector('html[data-ready="dark"]', state="attached")
    assert mixed.page.evaluate(line) != light
    mixed.page.click("#theme")
    mixed.page.wait_for_selector('html[data-ready="light"]', state="attached")


def busy(browser: Browser, file: Path) -> float:
    """Processor seconds of the page's main thread until every chart is drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    context.close()
    return float(metrics["TaskDuration"])


@pytest.mark.long
def test_the_page_of_all_cells_costs_the_browser_little_more_than_a_small_one(
    browser: Browser, files: dict[str, Path]
) -> None:
    small, large = [], []
    for _ in range(3):  # in turn, so that whatever else the machine does falls on both
        small.append(busy(browser, files["one"]))
        large.append(busy(browser, files["paper"]))
    assert min(large) < 6.0 * min(small)  # most of a small page is loading Plotly, under a second
