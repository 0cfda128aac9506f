"""The web site: it builds without a warning, has every public name, loads nothing from elsewhere, and is true."""

from __future__ import annotations

import ast
import doctest
import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from tools.figures import __main__ as figures
from tools.figures import plateau, tracker
from tools.site import docstrings, pages

import compbo

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ROOMS = ("integrations.botorch", "integrations.optuna", "integrations.ax", "study.tasks", "study.grid", "study.results")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return folder


class Loads(HTMLParser):
    """Collects what a page loads by itself, and the ids in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") != "canonical":
            self.loaded.append(given["href"])
        if "srcset" in given:
            self.loaded.append(given["srcset"])


def exported(room: str) -> list[str]:
    """The names in `__all__` of a room, read from its source: Ax need not be imported for it."""
    source = (ROOT / "src" / "compbo" / room.replace(".", "/") / "__init__.py").read_text()
    (names,) = re.findall(r"^__all__ = (\[.*?\])", source, re.MULTILINE | re.DOTALL)
    return [str(name) for name in ast.literal_eval(names)]


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    ids = set().union(*(Loads(page.read_text()).ids for page in (site / "reference").glob("*.html")))
    wanted = {f"compbo.{name}" for name in compbo.__all__}
    for room in ROOMS:
        wanted |= {f"compbo.{room}.{name}" for name in exported(room)}
    wanted |= {"compbo.integrations.bayesmark.CompBO", "compbo.study.cell.Cell"}
    assert wanted - ids == set()


def test_an_argument_its_type_its_words_and_the_example_are_shown(site: Path) -> None:
    page = (site / "reference" / "runs.html").read_text()
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "target (float | None, default: None ) – stop when a value is as good as this one." in words
    assert "&gt;&gt;&gt; result = compbo.minimize(" in words
    assert "<blockquote>" not in page  # an example that was taken for a quotation
    assert "Over the best start batch." in words  # a comment behind a field of Telemetry


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    found = {page: Loads(page.read_text()).loaded for page in site.rglob("*.html")}
    assert len(found) > 40
    assert [(page.name, url) for page, urls in found.items() for url in urls if re.match(r"(https?:)?//", url)] == []
    for style in site.rglob("*.css"):
        assert re.findall(r"url\(\s*['\"]?(?:https?:)?//|@import", style.read_text()) == [], style


def test_every_link_inside_of_the_site_leads_to_a_page(site: Path) -> None:
    """Those of docstrings too, which MkDocs does not check."""
    lost = []
    for page in site.rglob("*.html"):
        for link in Loads(page.read_text()).links if page.name != "404.html" else []:
            path = unquote(link.partition("#")[0])
            if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
                lost.append((str(page.relative_to(site)), link))
    assert lost == []
    assert "../own_parts.html" in Loads((site / "reference" / "runs.html").read_text()).links


@pytest.mark.touches_global_rng  # Playwright draws from it
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_in_a_browser_from_the_disk(site: Path, chromium: str, width: int, scheme: str) -> None:
    """Pages stay inside of their window, ask nothing of the network, and the search finds a name."""
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        tab.on("request", lambda request: asked.append(request.url))
        for page in ("index.html", "ideas.html", "catalogue.html", "reference/runs.html"):
            tab.goto((site / page).as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, page
            assert tab.evaluate("[...document.images].every(image => image.naturalWidth > 0)"), page
        shown = tab.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert shown == {"light": "default", "dark": "slate"}[scheme]
        tab.goto((site / "index.html").as_uri())
        if width < 1000:
            tab.locator("label[for=__search]").first.click()
        tab.locator("input[name=query]").click()
        tab.locator(".md-search-result__meta", has_text="Type to start searching").wait_for(timeout=60_000)
        tab.keyboard.type("cross_validation")
        tab.locator(".md-search-result__item a").first.wait_for(timeout=60_000)
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


def test_every_page_has_its_place_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    named = set(re.findall(r"[\w/]+\.(?:md|ipynb)", text[text.index("nav:") : text.index("not_in_nav:")]))
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if "gallery/tables" not in str(page)}
    assert there - named == set()


def test_warnings_are_errors_and_the_search_is_offline() -> None:
    plugins = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["plugins"]
    assert plugins[:2] == ["search", "offline"]
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text()


# The claims of some pages. -------------------------------------------------------------------------------------------


def test_the_tests_that_show_a_guarantee_exist() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (DOCS / "reliability.md").read_text())
    assert len(named) > 30
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(), f"docs/reliability.md: no {test} in {file}"


YEO_JOHNSON = 'maximizer="CAdam-ME", outputs="yeo-johnson"'
QUOTED = {  # numbers that docs/choosing.md has of docs/defaults.md, and the row of a table that begins with them
    "0.48": "the default",
    "0.51": '`outputs="yeo-johnson"`',
    "0.57": f"`{YEO_JOHNSON}`",
    "0.65": f'`acquisition="ucb", {YEO_JOHNSON}`',
    "0.89": '`maximizer="CAdam-ME", outputs="none"`',
    "0.91": '`maximizer="RS", outputs="yeo-johnson"`',
    "0.50": "Yeo-Johnson or the fitted logarithm, by evidence",
}


def _rows_of_defaults(name: str) -> list[list[str]]:
    """The cells of the rows that begin with a name, in the tables of docs/defaults.md."""
    lines = (DOCS / "defaults.md").read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith(f"| {name} |")]


def test_numbers_that_a_choice_rests_on_are_those_of_the_results() -> None:
    assert set(re.findall(r"`(\d\.\d+)`", (DOCS / "choosing.md").read_text())) == set(QUOTED)
    for number, row in QUOTED.items():
        assert number in [cells[1] for cells in _rows_of_defaults(row)], f"docs/choosing.md has {number} for {row}"


def test_the_tasks_that_are_better_without_a_transform_are_named() -> None:
    header = next(row for row in _rows_of_defaults("method") if "zakharov 20" in row)
    (without,) = [row for row in _rows_of_defaults('`maximizer="CAdam-ME", outputs="none"`') if len(row) == len(header)]
    (with_it,) = [row for row in _rows_of_defaults(f"`{YEO_JOHNSON}`") if len(row) == len(header)]
    numbers = list(zip(header, without, with_it, strict=True))[1:]
    better = [name for name, one, other in numbers if float(one) < float(other)]
    text = " ".join((DOCS / "choosing.md").read_text().split())
    assert f"Without it four of the {len(numbers)} tasks end lower: {', '.join(better[:-1])} and {better[-1]}." in text
    assert len(better) == 4


def test_the_pictures_of_the_ideas_show_what_the_page_says() -> None:
    assert plateau.moved(plateau.climbs("ei")) == 1
    assert plateau.moved(plateau.climbs("logei")) == 6
    sga, adam = plateau.values_by_step("SGA-ERM"), plateau.values_by_step("Adam-ERM")
    assert max(sga[:64]) < 1.01 * min(sga[:64])  # a flat line
    assert max(sga[:300]) < 1.05 * min(sga[:300])
    assert 6.5 < adam[63] / sga[63] < 8.0  # a seventh
    assert 4.0 < adam[-1] / sga[-1] < 6.0  # a fifth
    followed = tracker.followed()
    errors = [
        math.dist(map(math.log, followed.exact), map(math.log, e)) for e in (followed.tracked, followed.minibatch)
    ]
    assert 0.4 < errors[0] / errors[1] < 0.6  # about half


def test_plain_adam_ends_higher_in_the_benchmarks() -> None:
    """As docs/ideas.md and docs/choosing.md say of UCB after 64 steps."""
    text = (ROOT / "benchmarks" / "README.md").read_text()
    section = text[text.index("## A whole maximisation of UCB") :].partition("\n## ")[0]
    rows = re.findall(r"^\| (W\(\d+,\d+\)) \| ([\w-]+) \|.*\| ([\d.]+) \|$", section, re.MULTILINE)
    value = {(size, method): float(reached) for size, method, reached in rows}
    sizes = {size for size, _, _ in rows}
    assert len(sizes) == 4
    assert [s for s in sizes if value[s, "Adam-ERM"] <= max(value[s, "CAdam"], value[s, "CAdam-ME"])] == []


def test_a_picture_comes_out_the_same(tmp_path: Path) -> None:
    for name in ("forms", "why"):
        assert figures.save(name, tmp_path).read_bytes() == (DOCS / "figures" / f"{name}.svg").read_bytes()
    assert {f"{name}.svg" for name in figures.FIGURES} <= {path.name for path in (DOCS / "figures").iterdir()}


# What the pages are made with. ---------------------------------------------------------------------------------------


def test_the_examples_of_the_tools_run() -> None:
    for module in (docstrings, pages):
        failed, tried = doctest.testmod(module)
        assert tried > 0
        assert failed == 0


def test_links_hold_on_the_site_and_in_the_repository() -> None:
    known = {"a.md", "deep/b.md", "changelog.md"}
    text = "[1](../CHANGELOG.md#x) [2](deep/b.md) [3](../Makefile) ![4](https://x/y.png) [5](missing.md) [6](#here)"
    expected = "[1](changelog.md#x) [2](deep/b.md) 3 ![4](https://x/y.png) [5](missing.md) [6](#here)"
    assert pages.relinked(text, "docs/a.md", "a.md", known) == expected
    assert pages.relinked("[up](../docs/a.md)", "examples/README.md", "examples.md", known) == "[up](a.md)"


def test_an_example_ends_where_the_text_goes_on() -> None:
    text = "Words.\n\n>>> f(1)\n2\n\n>>> g(2)\n3\n\nMore words, with >>> inside."
    assert docstrings.fenced(text) == (
        "Words.\n\n```pycon\n>>> f(1)\n2\n\n>>> g(2)\n3\n```\n\nMore words, with >>> inside."
    )
    assert docstrings.comment_of(["a: int"]) == ""
