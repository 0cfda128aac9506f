"""The rooms of the package: what imports what, in one direction, and the picture of it."""

from __future__ import annotations

import re
from graphlib import CycleError
from pathlib import Path

import pytest
from tools import rooms
from tools.rooms import ROOMS, ROOT, SOURCES, Room, complaints, direction, modules, room_of
from tools.rooms_picture import PICTURE, needed, picture, rows_of


def test_no_room_imports_one_that_it_may_not() -> None:
    assert complaints() == []


def test_there_is_no_way_back() -> None:
    assert set(direction()) == set(ROOMS)
    listed = list(ROOMS)
    for room, (_, _, others) in ROOMS.items():
        assert all(listed.index(other) < listed.index(room) for other in others), f"{room} stands too early in ROOMS"


def test_the_library_never_imports_the_study() -> None:
    """Nor does `import compbo`; the commands, which are above both, do."""
    above = {room for room, (_, _, others) in ROOMS.items() if any(other.startswith("study") for other in others)}
    assert {room for room in above if not room.startswith("study")} == {"cli"}
    assert all("cli" not in others for _, _, others in ROOMS.values())


def test_every_module_is_in_a_room() -> None:
    assert room_of("compbo") == "public names"
    assert room_of("compbo.run.api") == "run"
    assert room_of("compbo.spaceship") is None
    assert all(room_of(module) for module in modules())


def test_the_picture_is_the_one_of_these_sources() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run python -m tools.rooms --draw"


def test_the_document_of_the_study_names_the_files_of_every_room() -> None:
    text = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| `(\w+)/` \| (.+) \|$", text[text.index("## The rooms of the code") :], re.MULTILINE))
    folder = SOURCES / "compbo" / "study"
    assert list(named) == [room.removeprefix("study.") for room in ROOMS if room.startswith("study.")][1:]  # cell.py
    for room, files in named.items():
        present = {path.name for path in (folder / room).glob("*.py")} - {"__init__.py"}
        assert set(re.findall(r"`(\w+\.py)`", files)) == present, f"docs/study.md: {room}"


# -- the check can fail -----------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two rooms, `low` and `high`, of which only `high` may import the other."""
    for name in ("low", "high"):
        folder = tmp_path / "compbo" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (tmp_path / "compbo" / "__init__.py").touch()
    monkeypatch.setattr(
        rooms, "ROOMS", {"top": Room("", ("",)), "low": Room("", ("low",)), "high": Room("", ("high",), ("low",))}
    )
    (tmp_path / "compbo" / "high" / "module.py").write_text("from compbo.low import thing\n")
    return tmp_path


@pytest.mark.parametrize(
    "code",
    [
        "import compbo.high.module",
        "from compbo import high",
        "from compbo.high import module",
        "def f():\n    from compbo.high.module import thing",
        "if TYPE_CHECKING:\n    from compbo.high.module import Thing",
        "importlib.import_module('compbo.high.module')",
    ],
)
def test_a_way_back_is_found_however_it_is_written(code: str, package: Path) -> None:
    assert complaints(package) == []
    (package / "compbo" / "low" / "module.py").write_text(f"x = 1\n{code}\n")
    (found,) = complaints(package)
    assert "low may not import high" in found
    assert "module.py:" in found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import pandas as pd", True),
        ("from optuna.trial import TrialState", True),
        ("try:\n    import plotly\nexcept ImportError:\n    pass", True),
        ("class A:\n    import sklearn", True),
        ("import torch", False),
        ("def f():\n    import pandas", False),
        ("if TYPE_CHECKING:\n    import pandas as pd", False),
    ],
)
def test_a_heavy_import_is_found_where_it_is_not_lazy(code: str, found: bool, package: Path) -> None:
    (package / "compbo" / "high" / "heavy.py").write_text(f"{code}\n")
    assert ["takes long to import" in line for line in complaints(package)] == [True] * found


def test_what_is_in_no_room_or_allowed_without_need_is_found(package: Path) -> None:
    (package / "compbo" / "other.py").touch()
    (package / "compbo" / "high" / "module.py").write_text("")
    assert complaints(package) == [
        "compbo.other is in no room: add it to ROOMS",
        "high does not import low: take it out of ROOMS",
    ]


def test_a_circle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "ROOMS", {"a": Room("", ("a",), ("b",)), "b": Room("", ("b",), ("a",))})
    with pytest.raises(CycleError):
        direction()


def test_the_picture_leaves_out_what_follows_from_the_rest() -> None:
    edges = {("c", "b"), ("b", "a"), ("c", "a"), ("d", "a")}
    assert needed(edges) == edges - {("c", "a")}
    assert rows_of(["a", "b", "c", "d"], edges) == {"a": 0, "b": 1, "c": 2, "d": 1}
