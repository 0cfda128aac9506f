"""The report in a real browser: Chromium, driven by Playwright, from a file and without a network."""

from __future__ import annotations

import ast
import csv
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from compbo.report import write_report
from compbo.storage import load_study
from report_examples import MESSAGE, SCRIPT, failed_run, hostile_run, optuna_study, plain_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from compbo.bo.optimizer import Optimizer

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright: install compbo[dev]")
OTHERS = {"kind", "rate", "penalty", "depth"}  # parameters of the Optuna study, the last two conditional
PATIENCE = 120_000  # milliseconds: of a guard, not of a measurement; a busy machine may need half of it to load a page
sync_api.expect.set_options(timeout=PATIENCE)


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
        "wide": plain_run(8, parameters=200),
    }
    optuna_study(f"sqlite:///{folder / 'others.db'}")
    others, _, facts = load_study(folder / "others.db")
    assert facts is not None
    written = {name: write_report(run, folder / f"{name}.html", title=SCRIPT) for name, run in runs.items()}
    return {**written, "others": write_report(others, folder / "others.html", facts=facts)}


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

    def load(self, file: Path) -> None:
        """Open the file and wait until every chart is drawn."""
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def heading(self, title: str) -> Locator:
        """The heading of a column of the evaluations."""
        buttons = self.page.locator('[data-table="evaluations"] thead button')
        return buttons.nth(buttons.all_inner_texts().index(title)).locator("..")

    def sort(self, title: str, direction: str) -> None:
        """Press the heading of a column until it is sorted that way."""
        heading = self.heading(title)
        heading.locator("button").click()
        if heading.get_attribute("aria-sort") != direction:
            heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction

    def column(self, title: str) -> list[str]:
        """The cells of a column of the evaluations as shown."""
        place = self.page.locator('[data-table="evaluations"] thead button').all_inner_texts().index(title) + 1
        return self.page.locator(f'[data-table="evaluations"] tbody td:nth-child({place})').all_inner_texts()


def _local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:"))


@contextmanager
def visits(browser: Browser) -> Iterator[Callable[[], Visit]]:
    """Make visits in fresh profiles without a network; all end with the block."""
    contexts: list[BrowserContext] = []

    def visit() -> Visit:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, color_scheme="light")
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        made = Visit(context.new_page())
        made.watch()
        return made

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[[], Visit]]:
    """Visits of one test: pages that stay open take memory and time from the next."""
    with visits(browser) as visit:
        yield visit


@pytest.fixture(scope="module")
def shared(browser: Browser, files: dict[str, Path]) -> Iterator[dict[str, Visit]]:
    """Two pages that many tests look at: opening one takes seconds."""
    with visits(browser) as visit:
        made = {"hostile": visit(), "plain": visit()}
        for name, one in made.items():
            one.load(files[name])
        yield made


@pytest.fixture
def hostile_page(shared: dict[str, Visit]) -> Iterator[Visit]:
    """The page of the hostile run; nothing may complain."""
    yield shared["hostile"]
    assert shared["hostile"].complaints == []


@pytest.fixture
def plain_page(shared: dict[str, Visit]) -> Iterator[Visit]:
    """The page of a plain run of two parameters; nothing may complain."""
    yield shared["plain"]
    assert shared["plain"].complaints == []


def check_it_fits(page: Page, width: int) -> None:
    """No sideways scrolling of the page, and every chart drawn as large as its place."""
    assert page.evaluate("document.documentElement.scrollWidth") == width
    charts = page.locator("[data-chart]")
    for i in range(charts.count()):
        room = charts.nth(i).evaluate("one => String(one.clientWidth)")
        sync_api.expect(charts.nth(i).locator("svg.main-svg").first).to_have_attribute("width", room)
        assert int(room) > 100


@pytest.mark.parametrize("name", ["hostile", "nothing", "failures", "one", "wide", "others"])
def test_the_page_opens_quietly_and_fits_a_phone(
    opened: Callable[[], Visit], shared: dict[str, Visit], files: dict[str, Path], name: str
) -> None:
    visit = shared.get(name) or opened()
    if name not in shared:
        visit.load(files[name])
    check_it_fits(visit.page, 1280)
    visit.page.set_viewport_size({"width": 390, "height": 844})
    check_it_fits(visit.page, 390)
    visit.page.set_viewport_size({"width": 1280, "height": 900})
    assert visit.complaints == []


def test_every_chart_of_a_full_run_exists_and_has_marks(hostile_page: Visit) -> None:
    page = hostile_page.page
    names = page.locator("[data-chart]").evaluate_all("all => all.map((one) => one.dataset.chart)")
    slices = [f"slice_{i}" for i in range(8)]
    several = ["progress", "parallel", "importance", *slices, "pair_mean", "pair_error", "check"]
    assert sorted(names) == sorted([*several, "verdicts", "restarts", "gains", "seconds"])
    marks = "one => one.querySelectorAll('.points path, .lines path, .bars path, .heatmaplayer image').length"
    for name in names:
        assert page.locator(f'[data-chart="{name}"]').evaluate(marks) > 0, name


def test_a_script_as_a_name_stays_text_everywhere(hostile_page: Visit) -> None:
    page = hostile_page.page
    hostile_page.sort("number", "ascending")
    assert page.locator("script").count() == 3
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == SCRIPT
    assert SCRIPT in page.locator("#best").inner_text()
    assert SCRIPT in page.locator('[data-chart="importance"] .ytick text').all_text_contents()
    assert SCRIPT in page.locator("[data-chart^=slice] .xtitle").all_text_contents()
    assert MESSAGE in page.locator('[data-table="evaluations"] td.long').all_text_contents()


def test_a_name_in_a_hover_label_stays_text(hostile_page: Visit) -> None:
    page = hostile_page.page
    page.evaluate(
        "Plotly.Fx.hover(document.querySelector('[data-chart=verdicts]'), [{curveNumber: 0, pointNumber: 1}])"
    )
    label = page.locator('[data-chart="verdicts"] .hoverlayer').text_content() or ""
    assert label.startswith(f"Ask 1: still climbing{SCRIPT} because")


def test_the_best_parameters_are_python(hostile_page: Visit, hostile: Optimizer) -> None:
    text = hostile_page.page.locator("#best").text_content() or ""
    assert hostile.best is not None
    assert ast.literal_eval(text) == hostile.best.params


def test_sorting_is_by_number_and_failures_come_last_either_way(hostile_page: Visit, hostile: Optimizer) -> None:
    values = [e.value for e in hostile.evaluations if e.value is not None]
    failures = len(hostile.evaluations) - len(values)
    for direction, ordered in (("ascending", sorted(values)), ("descending", sorted(values, reverse=True))):
        hostile_page.sort("value", direction)
        shown = hostile_page.column("value")
        assert len(shown) == 25
        hostile_page.page.locator('[data-table="evaluations"] .pager button', has_text="Next").click()
        shown += hostile_page.column("value")
        assert [float(value) for value in shown[:-failures]] == pytest.approx(ordered, rel=1e-4)
        assert shown[-failures:] == [""] * failures


def test_numbers_of_many_sizes_sort_as_numbers_and_words_as_words(hostile_page: Visit, hostile: Optimizer) -> None:
    hostile_page.sort("$blue", "ascending")
    numbers = sorted(e.params["$blue"] for e in hostile.evaluations)
    assert hostile_page.column("$blue") == [str(n) for n in numbers[:25]]
    assert [str(n) for n in numbers] != sorted(str(n) for n in numbers)
    hostile_page.sort("state", "descending")
    assert hostile_page.column("state")[0] == "FAIL"
    assert hostile_page.column("state")[-1] == "COMPLETE"


def test_the_keyboard_sorts_too(hostile_page: Visit) -> None:
    hostile_page.sort("number", "ascending")
    hostile_page.heading("number").locator("button").focus()
    assert hostile_page.column("number")[0] == "0"
    hostile_page.page.keyboard.press("Enter")
    assert hostile_page.column("number")[0] == "39"
    hostile_page.page.keyboard.press("Space")
    assert hostile_page.column("number")[0] == "0"


def test_the_csv_file_holds_every_evaluation_with_all_digits(
    hostile_page: Visit, hostile: Optimizer, tmp_path: Path
) -> None:
    hostile_page.sort("value", "ascending")  # the order of the page is not the file's
    with hostile_page.page.expect_download() as download:
        hostile_page.page.click("#csv")
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


LIGHT = ("rgb(245, 247, 249)", "rgb(31, 41, 51)")
DARK = ("rgb(18, 22, 27)", "rgb(227, 232, 237)")


def check_colours(page: Page, expected: tuple[str, str]) -> None:
    """Of the paper, and of the text in a chart, once the page says that all charts are drawn in them."""
    name = "dark" if expected == DARK else "light"
    page.wait_for_selector(f'html[data-ready="{name}"]', state="attached")
    sync_api.expect(page.locator("body")).to_have_css("background-color", expected[0])
    sync_api.expect(page.locator('[data-chart="importance"] .ytick text').first).to_have_css("fill", expected[1])


def test_dark_mode_follows_the_system_and_the_button(opened: Callable[[], Visit], files: dict[str, Path]) -> None:
    visit = opened()
    visit.load(files["one"])
    visit.page.bring_to_front()  # a page that shows no frames is not told of another colour scheme
    check_colours(visit.page, LIGHT)
    visit.page.emulate_media(color_scheme="dark")
    check_colours(visit.page, DARK)
    visit.page.click("#theme")
    check_colours(visit.page, LIGHT)
    assert visit.page.evaluate("localStorage.getItem('compbo-theme')") == "light"
    visit.page.click("#theme")
    check_colours(visit.page, DARK)
    assert visit.complaints == []


def test_the_choice_of_colours_is_remembered(opened: Callable[[], Visit], files: dict[str, Path]) -> None:
    visit = opened()
    # Put in place by hand: what a page has stored may reach the process of the next one a moment too late.
    visit.page.add_init_script("localStorage.setItem('compbo-theme', 'dark')")
    visit.load(files["one"])
    check_colours(visit.page, DARK)
    assert visit.complaints == []


def test_another_pair_of_parameters_can_be_chosen(hostile_page: Visit) -> None:
    page = hostile_page.page
    options = page.locator("#pair option").all_text_contents()
    assert len(options) == 10
    page.select_option("#pair", index=9)
    wanted = options[-1].split(" × ")
    for chart in ("pair_mean", "pair_error"):
        titles = page.locator(f'[data-chart="{chart}"]').locator(".xtitle, .ytitle").all_text_contents()
        assert [name.startswith(title.rstrip("…")) for title, name in zip(titles, wanted, strict=True)] == [True, True]


def test_the_slider_hides_the_worse_lines(plain_page: Visit) -> None:
    lines = plain_page.page.locator('[data-chart="parallel"] .scatterlayer .trace')
    plain_page.page.locator("#share").fill("100")
    assert lines.count() == 11
    plain_page.page.locator("#share").fill("30")
    assert plain_page.page.locator("#share-shown").inner_text() == "30 %"
    assert lines.count() == 4  # three tenths and the best


def test_the_values_can_be_shown_on_a_log_axis(plain_page: Visit) -> None:
    kind = "document.querySelector('[data-chart=progress]').layout.yaxis.type"
    plain_page.page.check("#log-values")
    assert plain_page.page.evaluate(kind) == "log"
    plain_page.page.uncheck("#log-values")
    assert plain_page.page.evaluate(kind) == "linear"


def test_an_optuna_study_is_shown_as_it_is(opened: Callable[[], Visit], files: dict[str, Path]) -> None:
    visit = opened()
    visit.load(files["others"])
    page = visit.page
    assert "penalty" in ast.literal_eval(page.locator("#best").inner_text())
    assert set(page.locator('[data-chart="importance"] .ytick text').all_text_contents()) == OTHERS
    assert "2 failed, 8 pruned, 2 pending" in page.locator(".tile").nth(1).inner_text()
    assert set(visit.column("state")) == {"COMPLETE", "FAIL", "PRUNED"}
    assert "" in visit.column("depth")  # not a parameter of every trial

    top = "document.querySelector('[data-chart=progress]')._fullLayout.yaxis.range[1]"
    triangles = page.locator('[data-chart="progress"] .legendtext', has_text="Off the chart")
    for control in ("#all-values", "#log-values"):
        assert page.evaluate(top) < 10  # the outlier of a million does not flatten the rest
        assert triangles.count() == 1
        page.check(control)
        assert page.evaluate(top) > (5 if control == "#log-values" else 1e6)
        assert triangles.count() == 0
        page.uncheck(control)
    assert visit.complaints == []


def test_a_page_of_a_table_can_be_turned(plain_page: Visit) -> None:
    pager = plain_page.page.locator('[data-table="evaluations"] .pager')
    assert pager.locator("button").first.is_disabled()
    pager.get_by_text("Next").click()
    pager.get_by_text("Next").click()
    assert plain_page.column("number") == [str(n) for n in range(50, 60)]
    assert pager.locator("[role=status]").inner_text() == "51 to 60 of 60"
    assert pager.locator("button").nth(1).is_disabled()


def test_paper_is_light_and_the_charts_fit_on_it(plain_page: Visit) -> None:
    page = plain_page.page
    page.bring_to_front()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    widths = page.locator("[data-chart] svg.main-svg").evaluate_all("all => all.map((one) => one.clientWidth)")
    assert max(widths) <= 700
    check_colours(page, ("rgb(255, 255, 255)", LIGHT[1]))
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", color_scheme="dark")
    check_colours(page, DARK)
    page.emulate_media(color_scheme="light")
    check_colours(page, LIGHT)


def test_the_buttons_of_the_charts_share_nothing_and_cover_nothing(hostile_page: Visit) -> None:
    buttons = hostile_page.page.locator(".modebar-btn")
    titles = {buttons.nth(i).get_attribute("data-title") for i in range(buttons.count())}
    assert "Download plot as a PNG" in titles
    assert not any("share" in str(title).lower() or "cloud" in str(title).lower() for title in titles)
    behind = hostile_page.page.locator(".modebar-group").evaluate_all(
        "groups => groups.map((one) => getComputedStyle(one).backgroundColor)"
    )
    assert set(behind) == {"rgba(0, 0, 0, 0)"}
