"""The rooms of the study: who imports whom, and what is decided in one place only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import compbo.study
from study_helpers import ROOT

PACKAGE = Path(compbo.study.__file__).parent
# Every room may import the rooms before it; nothing in the list imports what comes later.
ROOMS = ("cell", "tasks", "methods", "grid", "results", "engine", "tuner", "outputs", "cli")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """Every module of the package that is imported anywhere in a file, also inside of functions and for types."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.startswith("compbo.")}


def sources(folder: Path) -> dict[Path, ast.AST]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}


def test_every_room_is_in_the_list() -> None:
    assert {room(path) for path in PACKAGE.rglob("*.py")} - {"__init__"} == set(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_imports_only_rooms_before_it(name: str) -> None:
    later = ROOMS[ROOMS.index(name) + 1 :]
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path, tree in sources(PACKAGE).items()
        if room(path) == name
        for module in imported(tree)
        if module.startswith(tuple(f"compbo.study.{other}" for other in later))
    ]
    assert wrong == []


def test_the_documents_name_the_files_of_every_room() -> None:
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)/` \| (.+) \|$", text[text.index("## The rooms of the code") :], re.MULTILINE))
    assert list(rows) == list(ROOMS[1:])
    for name, files in rows.items():
        present = {path.name for path in (PACKAGE / name).glob("*.py")} - {"__init__.py"}
        assert set(re.findall(r"`(\w+\.py)`", files)) == present, f"docs/study.md: {name}"


def test_only_the_command_line_imports_the_study() -> None:
    outside = [path for path in PACKAGE.parent.rglob("*.py") if PACKAGE not in path.parents]
    naming = [path for path in outside if "compbo.study" in path.read_text(encoding="utf-8")]
    assert naming == [PACKAGE.parent / "cli" / "app.py"]


def test_the_study_suggests_points_through_public_names() -> None:
    private = ("compbo.optimizer", "compbo.propose", "compbo.bo.settings", "compbo.bo")
    assert [(path, name) for path, tree in sources(PACKAGE).items() for name in imported(tree) & set(private)] == []


def test_failed_rows_are_made_in_one_place() -> None:
    """`schema.FAILED` is given as a status in one file; elsewhere it is only compared with."""
    given = {
        path.relative_to(PACKAGE).as_posix()
        for path, tree in sources(PACKAGE).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        and any(isinstance(value, ast.Attribute) and value.attr == "FAILED" for value in node.values)
    }
    assert given == {"engine/rows.py"}
