"""Write page.png, the first screens of the page of gallery/results.parquet. Needs Playwright and Chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Draw the page in a browser and save what it shows."""
    from playwright.sync_api import sync_playwright

    from compbo.study.outputs.page.page import write_page
    from compbo.study.outputs.runs import study_of
    from compbo.study.outputs.source import read_results

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no browser: install chromium to draw page.png")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = write_page(study_of(read_results(HERE / "results.parquet")), Path(folder) / "study.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 1180, "height": 900}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
        tab.locator("#curves").screenshot(path=HERE / "page.png")
        browser.close()


if __name__ == "__main__":
    main()
