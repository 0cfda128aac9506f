"""The stop-watch: a new maximizer in the package is its rule file and its row; one command does the rest.

The example of docs/add_a_maximizer.md is written into a copy of the project, where `make catalogue` and the tests of
the maximizers then run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PARTS = ("src", "tests", "docs", "pyproject.toml")
BY_HAND = {"src/compbo/maximizers/rules/lion.py", "src/compbo/maximizers/catalogue/later.py"}
BY_COMMAND = {"docs/catalogue.md", "tests/data/traces.csv"}


def files(root: Path) -> dict[str, str]:
    """Every text of the copied parts."""
    found = [
        path for part in PARTS for path in ([root / part] if (root / part).is_file() else (root / part).rglob("*"))
    ]
    kept = [path for path in found if path.suffix in (".py", ".md", ".csv", ".toml")]
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in kept}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with Lion in it, after the recipe of `make catalogue`."""
    copy = tmp_path_factory.mktemp("project")
    for part in PARTS:
        take = shutil.copy if (ROOT / part).is_file() else shutil.copytree
        take(ROOT / part, copy / part)
    rule, row = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "add_a_maximizer.md").read_text(), re.DOTALL)[:2]
    maximizers = copy / "src" / "compbo" / "maximizers"
    (maximizers / "rules" / "lion.py").write_text(rule)
    with (maximizers / "catalogue" / "later.py").open("a") as later:
        later.write(f"\nfrom compbo.maximizers.rules.lion import lion\n{row}\nENTRIES.append(LION_ERM)\n")
    recipe = re.search(r"^catalogue:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    for line in recipe[1].splitlines():
        run(copy, *line.strip().removeprefix("@$(BIN)/python ").split())
    return copy


def run(copy: Path, *arguments: str) -> str:
    """Python in the copy, on the copy's package."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_two_files_by_hand_and_two_by_command(project: Path) -> None:
    before, after = files(ROOT), files(project)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == BY_HAND | BY_COMMAND


def test_the_command_adds_one_row_its_domain_and_one_trace(project: Path) -> None:
    row = "| Lion-ERM | 1 | extended | Lion | none | ERM | fresh | lr 0.03, beta1 0.9, beta2 0.99 |"
    domain = "| SCSC-Adam, Lion-ERM | lr | 0.03 | 1e-05 to 0.3, log |  |"  # which two rows share
    page, renewed = ((root / "docs" / "catalogue.md").read_text().splitlines() for root in (ROOT, project))
    assert [line for line in renewed if line not in page] == [row, domain]
    assert len(renewed) == len(page) + 1
    old, new = ((root / "tests" / "data" / "traces.csv").read_text() for root in (ROOT, project))
    assert new.startswith(old)
    assert re.findall(r"^([^,]+),(\d+),", new[len(old) :], re.MULTILINE) == [("Lion-ERM", str(t)) for t in range(1, 21)]


def test_the_tests_go_over_the_new_row(project: Path) -> None:
    """Every test that has the row as a parameter, and nothing was written for it."""
    out = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "Lion-ERM", *_tests(project))
    passed = re.search(r"^(\d+) passed", out, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= 35


@pytest.mark.long
def test_all_tests_of_the_maximizers_pass_with_it(project: Path) -> None:
    """But the one that registers the same name."""
    guide = "tests/test_maximizers_catalogue.py::test_the_guide_works_as_written"
    run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--deselect", guide, *_tests(project))


def _tests(project: Path) -> list[str]:
    paths = sorted((project / "tests").glob("test_maximizers_*.py"))
    return [f"tests/{path.name}" for path in paths if path.name != Path(__file__).name]
