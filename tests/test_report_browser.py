"""The report in a real browser: Chromium, driven by Playwright, from a file and without a network."""

from __future__ import annotations

import ast
import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from compbo.report import write_report
from report_examples import MESSAGE, SCRIPT, constant_run, failed_run, hostile_run, plain_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

    from compbo.optimizer import Optimizer

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: install compbo[dev]")

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for the module: no event loop is left running for other tests."""
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def hostile() -> Optimizer:
    return hostile_run()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, hostile: Optimizer) -> dict[str, Path]:
    """The page of several runs."""
    folder = tmp_path_factory.mktemp("reports")
    runs = {
        "hostile": hostile,
        "plain": plain_run(60, parameters=2),
        "nothing": plain_run(0),
        "failures": failed_run(),
        "one": plain_run(1),
        "constant": constant_run(),
        "wide": plain_run(8, parameters=200),
    }
    return {name: write_report(run, folder / f"{name}.html", title=SCRIPT) for name, run in runs.items()}


@dataclass
class Visit:
    """An open page, and everything it did that it should not have."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Write down errors, dialogs and requests that leave the file."""
        page, note = self.page, self.complaints.append
        page.on("console", lambda message: note(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: note(str(error)))
        page.on("dialog", lambda dialog: (note(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: note(request.url) if not _local(request.url) else None)

    def titles(self, table: str) -> list[str]:
        """The headings of a table."""
        return self.page.locator(f'[data-table="{table}"] thead button').all_inner_texts()

    def column(self, table: str, title: str) -> list[str]:
        """The cells of a column as shown."""
        place = self.titles(table).index(title) + 1
        return self.page.locator(f'[data-table="{table}"] tbody td:nth-child({place})').all_inner_texts()


def _local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Callable[..., Visit]]:
    """Open a report in a fresh profile; at the end nothing may have complained."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def opened(name: str = "hostile", **options: Any) -> Visit:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "offline": True, **options})
        context.set_default_timeout(60_000)
        contexts.append(context)
        made = Visit(context.new_page())
        visits.append(made)
        made.watch()
        made.page.goto(files[name].as_uri())
        made.page.wait_for_selector("html[data-ready]", state="attached")
        return made

    yield opened
    complaints = [complaint for made in visits for complaint in made.complaints]
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("name", ["hostile", "plain", "nothing", "failures", "one", "constant", "wide"])
@pytest.mark.parametrize("options", [{}, {**PHONE, "color_scheme": "dark"}], ids=["desktop", "phone"])
def test_the_page_opens_quietly_draws_its_charts_and_fits(visit: Callable[..., Visit], name: str, options: Any) -> None:
    page = visit(name, **options).page
    width = options.get("viewport", {"width": 1280})["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    charts = page.locator("[data-chart]")
    for i in range(charts.count()):
        drawing = charts.nth(i).locator("svg.main-svg").first.bounding_box()
        assert drawing is not None
        assert drawing["width"] > 100
        assert drawing["height"] > 100


def test_every_chart_of_a_full_run_exists_and_has_marks(visit: Callable[..., Visit]) -> None:
    page = visit().page
    names = page.locator("[data-chart]").evaluate_all("all => all.map((one) => one.dataset.chart)")
    slices = [f"slice_{i}" for i in range(8)]
    several = ["progress", "parallel", "importance", *slices, "pair_mean", "pair_error"]
    assert sorted(names) == sorted([*several, "verdicts", "restarts", "gains", "seconds"])
    marks = "one => one.querySelectorAll('.points path, .lines path, .bars path, .heatmaplayer image').length"
    for name in names:
        assert page.locator(f'[data-chart="{name}"]').evaluate(marks) > 0, name


def test_a_script_as_a_name_stays_text_everywhere(visit: Callable[..., Visit]) -> None:
    page = visit().page
    assert page.locator("script").count() == 3
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == SCRIPT
    assert SCRIPT in page.locator("#best").inner_text()
    assert SCRIPT in page.locator('[data-chart="importance"] .ytick text').all_text_contents()
    assert SCRIPT in page.locator("[data-chart^=slice] .xtitle").all_text_contents()
    assert MESSAGE in page.locator('[data-table="evaluations"] td.long').all_text_contents()


def test_a_name_in_a_hover_label_stays_text(visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.evaluate(
        "Plotly.Fx.hover(document.querySelector('[data-chart=verdicts]'), [{curveNumber: 0, pointNumber: 1}])"
    )
    label = page.locator('[data-chart="verdicts"] .hoverlayer').text_content() or ""
    assert label.startswith(f"Ask 1: still climbing{SCRIPT} because")


def test_the_best_parameters_are_python(visit: Callable[..., Visit], hostile: Optimizer) -> None:
    text = visit().page.locator("#best").text_content() or ""
    assert hostile.best is not None
    assert ast.literal_eval(text) == hostile.best.params


def test_sorting_is_by_number_and_failures_come_last_either_way(
    visit: Callable[..., Visit], hostile: Optimizer
) -> None:
    opened = visit()
    values = [e.value for e in hostile.evaluations if e.value is not None]
    heading = opened.page.locator('[data-table="evaluations"] th', has=opened.page.get_by_text("value", exact=True))
    shown = 25
    for direction, ordered in (("ascending", sorted(values)), ("descending", sorted(values, reverse=True))):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        assert [float(v) for v in opened.column("evaluations", "value")] == pytest.approx(ordered[:shown], rel=1e-4)
    opened.page.locator('[data-table="evaluations"] .pager button', has_text="Next").click()
    rest = opened.column("evaluations", "value")
    failures = len(hostile.evaluations) - len(values)
    assert len(rest) == len(hostile.evaluations) - shown
    assert rest[-failures:] == [""] * failures
    assert "" not in rest[:-failures]


def test_numbers_of_many_sizes_sort_as_numbers_and_words_as_words(
    visit: Callable[..., Visit], hostile: Optimizer
) -> None:
    opened = visit()
    buttons = opened.page.locator('[data-table="evaluations"] thead button')
    buttons.nth(opened.titles("evaluations").index("$blue")).click()
    assert (
        opened.column("evaluations", "$blue")
        == [str(n) for n in sorted(e.params["$blue"] for e in hostile.evaluations)][:25]
    )
    buttons.nth(opened.titles("evaluations").index("state")).click()
    assert opened.column("evaluations", "state")[0] == "COMPLETE"


def test_the_keyboard_sorts_too(visit: Callable[..., Visit]) -> None:
    opened = visit()
    opened.page.locator('[data-table="evaluations"] thead button').first.focus()
    assert opened.column("evaluations", "number")[0] == "0"
    opened.page.keyboard.press("Enter")
    assert opened.column("evaluations", "number")[0] == "39"
    opened.page.keyboard.press("Space")
    assert opened.column("evaluations", "number")[0] == "0"


def test_the_csv_file_holds_every_evaluation_with_all_digits(
    visit: Callable[..., Visit], hostile: Optimizer, tmp_path: Path
) -> None:
    page = visit().page
    page.locator('[data-table="evaluations"] thead button').nth(2).click()  # the order of the page is not the file's
    with page.expect_download() as download:
        page.click("#csv")
    assert download.value.suggested_filename == "evaluations.csv"
    download.value.save_as(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    names = ["param:value" if name == "value" else name for name in hostile.space.names]
    assert header == ["number", "state", "value", *names, "message"]
    expected = [
        [
            str(number),
            "FAIL" if e.failed else "COMPLETE",
            "" if e.value is None else repr(e.value),
            *("" if value is None else str(value) for value in e.params.values()),
            e.message,
        ]
        for number, e in enumerate(hostile.evaluations)
    ]
    assert rows == expected


def colours(page: Page) -> tuple[str, str]:
    """Of the paper and of the text in a chart."""
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.locator('[data-chart="importance"] .ytick text').first.evaluate("text => getComputedStyle(text).fill")
    return paper, ink


@pytest.mark.parametrize("system", ["light", "dark"])
def test_dark_mode_follows_the_system_and_the_button_and_is_remembered(
    visit: Callable[..., Visit], system: str
) -> None:
    looks = {"light": ("rgb(245, 247, 249)", "rgb(31, 41, 51)"), "dark": ("rgb(18, 22, 27)", "rgb(227, 232, 237)")}
    other = "dark" if system == "light" else "light"
    page = visit(color_scheme=system).page
    assert colours(page) == looks[system]
    page.click("#theme")
    page.wait_for_function("mode => document.documentElement.dataset.theme === mode", arg=other)
    assert colours(page) == looks[other]
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert colours(page) == looks[other]


def test_a_change_of_the_system_is_followed_at_once(visit: Callable[..., Visit]) -> None:
    page = visit(color_scheme="light").page
    before = colours(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "ink => getComputedStyle(document.querySelector('[data-chart=importance] .ytick text')).fill !== ink",
        arg=before[1],
    )
    assert colours(page)[0] != before[0]


def test_another_pair_of_parameters_can_be_chosen(visit: Callable[..., Visit]) -> None:
    page = visit().page
    options = page.locator("#pair option").all_text_contents()
    assert len(options) == 10
    page.select_option("#pair", label=options[-1])
    wanted = options[-1].split(" × ")
    for chart in ("pair_mean", "pair_error"):
        titles = page.locator(f'[data-chart="{chart}"]').locator(".xtitle, .ytitle").all_text_contents()
        assert [title.rstrip("…") in name for title, name in zip(titles, wanted, strict=True)] == [True, True]


def test_the_slider_hides_the_worse_lines(visit: Callable[..., Visit]) -> None:
    page = visit("plain").page
    lines = page.locator('[data-chart="parallel"] .scatterlayer .trace')
    assert lines.count() == 11
    page.locator("#share").fill("30")
    assert page.locator("#share-shown").inner_text() == "30 %"
    assert lines.count() == 4  # three tenths and the best


def test_the_values_can_be_shown_on_a_log_axis(visit: Callable[..., Visit]) -> None:
    page = visit("plain").page
    page.check("#log-values")
    kind = "document.querySelector('[data-chart=progress]').layout.yaxis.type"
    assert page.evaluate(kind) == "log"
    page.click("#theme")
    assert page.evaluate(kind) == "log"


def test_paper_is_light_and_the_charts_fit_on_it(visit: Callable[..., Visit]) -> None:
    page = visit(color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    widths = page.locator("[data-chart] svg.main-svg").evaluate_all("all => all.map((one) => one.clientWidth)")
    assert max(widths) <= 700
    assert colours(page)[1] == "rgb(31, 41, 51)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert colours(page)[1] == "rgb(227, 232, 237)"


def test_a_page_of_a_table_can_be_turned(visit: Callable[..., Visit]) -> None:
    opened = visit("plain")
    pager = opened.page.locator('[data-table="evaluations"] .pager')
    assert pager.locator("button").first.is_disabled()
    pager.get_by_text("Next").click()
    pager.get_by_text("Next").click()
    assert opened.column("evaluations", "number") == [str(n) for n in range(50, 60)]
    assert pager.locator("[role=status]").inner_text() == "51 to 60 of 60"
    assert pager.locator("button").nth(1).is_disabled()
