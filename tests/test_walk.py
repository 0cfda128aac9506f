"""docs/walk.md: every module that it names is there, and defines the names beside it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "compbo"
PAGE = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")


def test_every_module_of_the_walk_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)`", PAGE)
    assert len(set(named)) > 50
    assert [path for path in dict.fromkeys(named) if not (PACKAGE / path).is_file()] == []


def test_every_name_of_the_walk_is_defined_where_it_says() -> None:
    rows = re.findall(r"^\| `([\w/]+\.py)` \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert len(rows) > 40
    missing = [
        f"{path}: {name}"
        for path, names in rows
        for name in re.findall(r"`(\w+)`", names)
        if not re.search(rf"^(class|def) {name}\b|^{name}\b.* =", (PACKAGE / path).read_text(), re.MULTILINE)
    ]
    assert missing == []
