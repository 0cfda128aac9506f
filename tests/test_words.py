"""Words: the end of messages about names that are not known, and habits that the prose must not fall back into."""

from __future__ import annotations

import ast
import doctest
import io
import re
import tokenize
from pathlib import Path

import pytest

from compbo import words
from compbo.words import NAMES_LISTED, meant_or_known

ROOT = Path(__file__).parents[1]
GENERATED = ("docs/gallery", "docs/catalogue.md")  # from the sources, which are tested
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src/compbo").rglob("*.py"))
PAGES = sorted(
    name
    for pattern in ("*.md", "docs/**/*.md", "examples/*.md", "benchmarks/*.md", "optunahub/**/*.md")
    for path in ROOT.glob(pattern)
    if not (name := str(path.relative_to(ROOT))).startswith(GENERATED)
)

# Words that make a sentence hard for a reader whose first language is not English; each has a plain way to be said.
HABITS = {
    "so many": "the number",
    "as many(?! as)": "the same number of",
    "who(?:so)?ever": "the person or program that is meant",
    "whichever|whatever|wherever": "what varies, or `any`",
    "such(?! as)|no such": "name the thing",
    "of (?:which|whom)": "two sentences",
    "there(?:of|by|in|from)|hence|whence|lest|thus": "`so`, or two sentences",
    "nobody": "what the code does",
    "else than": "other than, or say it in a positive way",
    "nowhere else|nothing else|the only place": "is it true? say what there is",
}
HABIT = re.compile(rf"\b(?:{'|'.join(HABITS)})\b", re.IGNORECASE)
SHORTEST = 6  # characters of a docstring: "t(y)." and "1." do not say what is returned


def test_the_examples_are_true() -> None:
    assert doctest.testmod(words).failed == 0
    assert doctest.testmod(words).attempted > 0


def test_resembling_names_whatever_their_case() -> None:
    assert meant_or_known("CADAM_me", ["CAdam-ME", "RS"]) == "did you mean CAdam-ME?"
    assert meant_or_known(None, ["None-ERM", "RS"]) == "did you mean None-ERM?"


def test_otherwise_all_names_unless_they_are_many() -> None:
    few = ["RS", "DE"]
    assert meant_or_known("???", iter(few)) == "choose one of RS, DE."
    assert meant_or_known("???", few, otherwise="there are") == "there are RS, DE."
    many = [f"task-{i}" for i in range(NAMES_LISTED + 3)]
    hint = meant_or_known("???", many)
    assert hint.endswith(f"task-{NAMES_LISTED - 1} and 3 more.")


def docstrings(source: str) -> list[tuple[int, str]]:
    """Every docstring of a file with the line of its definition, without its examples."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    found = [(getattr(node, "lineno", 1), ast.get_docstring(node)) for node in nodes]
    return [(line, text.split(">>>")[0]) for line, text in found if text]


def comments(source: str) -> list[tuple[int, str]]:
    """Every comment of a file with its line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def paragraphs(page: str) -> list[tuple[int, str]]:
    """The paragraphs of a page with their lines, without code and without what stands in backquotes."""
    without_code = re.sub(r"```.*?```", lambda block: "\n" * block[0].count("\n"), page, flags=re.DOTALL)
    parts = re.finditer(r"(?:[^\n]+\n?)+", without_code)
    return [(without_code[: part.start()].count("\n") + 1, re.sub(r"`[^`]*`", "", part[0])) for part in parts]


def habits_in(pieces: list[tuple[int, str]]) -> list[str]:
    """The habits that some pieces of prose have fallen into, each with its line."""
    return [f"line {line}: {word[0]}" for line, text in pieces for word in HABIT.finditer(" ".join(text.split()))]


@pytest.mark.parametrize("name", SOURCES)
def test_docstrings_and_comments_are_plain(name: str) -> None:
    source = (ROOT / name).read_text()
    assert habits_in(docstrings(source) + comments(source)) == []
    assert [line for line, text in docstrings(source) if len(text.strip()) < SHORTEST or "itself." in text] == []


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_plain(name: str) -> None:
    assert habits_in(paragraphs((ROOT / name).read_text())) == []


def test_the_habits_are_found() -> None:
    assert habits_in([(1, "as many\nas it takes, and so many\nmore"), (7, "Whoever reads this")]) == [
        "line 1: so many",
        "line 7: Whoever",
    ]
    assert habits_in(paragraphs("Plain.\n\n```\nwhatever\n```\n\nThe best, of which\none is kept; `whatever`.\n")) == [
        "line 7: of which"
    ]
