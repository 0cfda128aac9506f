"""`python -m tools.figures.report`: screenshots of the report of a small run. Needs Playwright and Chromium.

The seconds on the page are those of the machine; everything else is the same every time.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import compbo

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
SHOTS = {"report-top": ".summary, #progress", "report-model": "#model", "report-asks": "#acquisition"}
WIDTH, HEIGHT = 1180, {"report-top": 960, "report-model": 640, "report-asks": 392}


def yield_of(params: dict[str, Any]) -> float:
    """A reaction that boils over above 75 degrees with much catalyst, and has its best yield near 61 degrees."""
    if params["celsius"] > 75 and params["catalyst_mg"] > 10:
        raise RuntimeError("it boiled over")
    heat = math.exp(-(((params["celsius"] - 61) / 18) ** 2))
    return 80 * heat * math.exp(-((math.log10(params["catalyst_mg"]) - 0.8) ** 2)) + 8 * params["stirred"]


def run() -> compbo.Result:
    """The run that is shown: three parameters, 40 evaluations, four at a time."""
    space = {
        "celsius": compbo.Float(20, 90, step=0.5),
        "catalyst_mg": compbo.Float(0.1, 100, scale="log", digits=2),
        "stirred": compbo.Bool(),
    }
    return compbo.maximize(yield_of, space, evaluations=40, batch_size=4, seed=3, progress=False)


def main() -> None:
    """Write the report, open it and keep three pictures of it."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no browser: install chromium to draw the pictures of the report")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "run.html"
        run().report(page, title="Yield of a reaction")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
        for name, selector in SHOTS.items():
            box = tab.locator(selector).first.bounding_box()
            if box is None:
                sys.exit(f"the report has no {selector}")
            clip = {"x": 0, "y": box["y"], "width": WIDTH, "height": HEIGHT[name]}
            tab.screenshot(path=FOLDER / f"{name}.png", full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
