"""The rooms of compbo, and which room may import which: one direction, no way back.

    python -m tools.rooms          # say what is wrong, if anything is
    python -m tools.rooms --draw   # write docs/rooms.svg

The tables `ROOMS` and `HEAVY` decide, and tests/test_rooms.py holds the sources to them. Every import counts: at the
top of a file, in a function, for type checkers only, or as the name of a module in a string, as
`importlib.import_module` takes it.
"""

from __future__ import annotations

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
PACKAGE = "compbo"


class Room(NamedTuple):
    """A part of the package: what it is for, its modules (names below `compbo`), the rooms it may import."""

    about: str
    modules: tuple[str, ...]
    may_import: tuple[str, ...] = ()


class Import(NamedTuple):
    """One import: the file, the line, what is imported, and whether that happens when the file is imported."""

    path: Path
    line: int
    module: str
    eager: bool


# From the ground up: a room imports only rooms above it in this list. A module belongs to the room with the longest
# name that fits.
ROOMS = {
    "base": Room(
        "types, numbers, seeds, errors, words, files",
        (
            *("errors", "words", "versions", "files", "inputs", "extras", "seeds", "numerics", "threads", "types"),
            *("evaluation", "records", "plugins", "strict_json", "dask_client", "html_table", "backend"),
        ),
    ),
    "space": Room("parameters <-> unit cube", ("space",), ("base",)),
    "surrogate": Room("Gaussian process", ("surrogate",), ("base",)),
    "acquisition": Room("integrands, samples, oracle", ("acquisition",), ("base", "surrogate")),
    "compiled": Room("the oracle, compiled", ("compiled",), ("base", "surrogate", "acquisition")),
    "maximizers": Room("rules, trackers, catalogue", ("maximizers",), ("base", "space")),
    "bo": Room(
        "settings, suggestion, ask and tell",
        ("bo",),
        ("base", "space", "surrogate", "acquisition", "compiled", "maximizers"),
    ),
    "baselines": Room("Thompson, BOHB, random", ("baselines",), ("base", "space", "surrogate", "bo")),
    "storage": Room("runs in an Optuna storage", ("storage",), ("base", "space", "bo")),
    "report": Room("a run as one HTML page", ("report",), ("base", "space", "surrogate", "bo")),
    "run": Room(
        "minimize, maximize", ("run",), ("base", "space", "acquisition", "maximizers", "bo", "storage", "report")
    ),
    "laboratory": Room("ask and tell through files", ("laboratory",), ("base", "space", "bo", "storage")),
    "integrations": Room(
        "BoTorch, Optuna, Ax, Bayesmark",
        ("integrations",),
        ("base", "space", "surrogate", "acquisition", "maximizers", "bo", "storage", "report"),
    ),
    "public names": Room("import compbo", ("", "parts"), ("base", "space", "acquisition", "maximizers", "bo", "run")),
    "console": Room("how commands speak", ("console",), ("base",)),
    "study.cell": Room("one experiment, as data", ("study", "study.cell"), ("base", "acquisition", "maximizers")),
    "study.tasks": Room("what is optimised", ("study.tasks",), ("base", "space")),
    "study.methods": Room(
        "what suggests points",
        ("study.methods",),
        ("base", "maximizers", "baselines", "public names", "study.cell", "study.tasks"),
    ),
    "study.grid": Room(
        "which cells",
        ("study.grid",),
        ("base", "surrogate", "acquisition", "maximizers", "study.cell", "study.tasks", "study.methods"),
    ),
    "study.results": Room("rows, files, scores", ("study.results",), ("base", "study.cell", "study.tasks")),
    "study.engine": Room(
        "driver, pools, workers",
        ("study.engine",),
        ("base", "public names", "study.cell", "study.tasks", "study.methods", "study.results"),
    ),
    "study.tuner": Room(
        "hyperparameters of maximizers",
        ("study.tuner",),
        ("base", "maximizers", "public names", "study.cell", "study.tasks", "study.results", "study.engine"),
    ),
    "study.outputs": Room(
        "tables, figures, a page",
        ("study.outputs",),
        (
            *("base", "acquisition", "maximizers", "report", "study.cell", "study.tasks", "study.methods"),
            *("study.grid", "study.results"),
        ),
    ),
    "study.cli": Room(
        "compbo study ...",
        ("study.cli",),
        (
            *("base", "console", "study.cell", "study.grid", "study.results", "study.engine", "study.tuner"),
            "study.outputs",
        ),
    ),
    "cli": Room(
        "the commands",
        ("cli",),
        (
            *("base", "space", "acquisition", "maximizers", "bo", "storage", "report", "run", "laboratory", "console"),
            "study.cli",
        ),
    ),
}

# Packages that take long to import, and the modules that may import them when they are imported themselves: the
# package is what they are for. Everywhere else the import stands in the function that needs it.
HEAVY = {
    "ax": ("integrations.ax",),
    "botorch": ("integrations.botorch",),
    "cma": (),
    "dask": (),
    "distributed": (),
    "gpytorch": (),
    "linear_operator": ("integrations.botorch",),
    "llvmlite": ("compiled",),
    "matplotlib": (),
    "numba": ("compiled",),
    "optuna": ("integrations.optuna",),
    "pandas": (),
    "plotly": (),
    "pyarrow": (),
    "rich": ("console",),
    "scipy": ("baselines.kde", "study.tasks"),
    "sklearn": (),
    "sqlalchemy": (),
    "statsmodels": (),
    "typer": ("console", "cli", "study.cli"),
}


def room_of(module: str) -> str | None:
    """The room of a module, `compbo.run.api` for instance; None if no room has it."""
    name = module.removeprefix(PACKAGE).removeprefix(".")
    fitting = [
        (len(own), room)
        for room, (_, modules, _) in ROOMS.items()
        for own in modules
        if name == own or (own and name.startswith(f"{own}."))
    ]
    return max(fitting)[1] if fitting else None


def modules(sources: Path = SOURCES) -> dict[str, Path]:
    """Every module of the package and its file."""
    paths = sorted((sources / PACKAGE).rglob("*.py"))
    return {".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports_of(path: Path, known: dict[str, Path]) -> list[Import]:
    """Every import of a file, and every string in it that is the name of a module of the package."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node, eager in _with_eagerness(tree.body, eager=True):
        if isinstance(node, ast.Import):
            found += [Import(path, node.lineno, alias.name, eager) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [Import(path, node.lineno, name if name in known else str(node.module), eager) for name in full]
        elif isinstance(node, ast.Constant) and node.value in known and node.value != PACKAGE:
            found.append(Import(path, node.lineno, str(node.value), eager=False))
    return found


def _with_eagerness(nodes: list[ast.stmt] | list[ast.AST], *, eager: bool) -> list[tuple[ast.AST, bool]]:
    """All nodes below these, each with whether it is carried out when the file is imported."""
    found: list[tuple[ast.AST, bool]] = []
    for node in nodes:
        found.append((node, eager))
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
            isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        )
        found += _with_eagerness(list(ast.iter_child_nodes(node)), eager=eager and not later)
    return found


def uses(sources: Path = SOURCES) -> dict[tuple[str, str], list[Import]]:
    """The imports from one room into another, by the two rooms."""
    known = modules(sources)
    found: dict[tuple[str, str], list[Import]] = {}
    for module, path in known.items():
        for imported in imports_of(path, known):
            if imported.module.partition(".")[0] == PACKAGE:
                here, there = room_of(module) or "?", room_of(imported.module) or "?"
                if here != there:
                    found.setdefault((here, there), []).append(imported)
    return found


def complaints(sources: Path = SOURCES) -> list[str]:
    """Everything in the sources that the tables do not allow, and everything that they allow without need."""
    known = modules(sources)
    wrong = [f"{module} is in no room: add it to ROOMS" for module in known if room_of(module) is None]
    used = uses(sources)
    for (here, there), found in used.items():
        if here in ROOMS and there not in ROOMS[here].may_import:
            wrong += [f"{_place(each)}: {here} may not import {there} ({each.module})" for each in found]
    allowed = {(room, other) for room, (_, _, others) in ROOMS.items() for other in others}
    wrong += [f"{room} does not import {other}: take it out of ROOMS" for room, other in sorted(allowed - set(used))]
    for module, path in known.items():
        wrong += [
            f"{_place(each)}: {each.module} takes long to import; import it in the function that needs it"
            for each in imports_of(path, known)
            if each.eager and not _may_be_heavy(module, each.module.partition(".")[0])
        ]
    return wrong


def _may_be_heavy(module: str, package: str) -> bool:
    name = module.removeprefix(f"{PACKAGE}.")
    return package not in HEAVY or any(name == own or name.startswith(f"{own}.") for own in HEAVY[package])


def _place(found: Import) -> str:
    path = found.path.relative_to(ROOT) if found.path.is_relative_to(ROOT) else found.path
    return f"{path}:{found.line}"


def direction() -> list[str]:
    """The rooms so that every room stands after those that it may import; CycleError if there is a way back."""
    return list(TopologicalSorter({room: others for room, (_, _, others) in ROOMS.items()}).static_order())


def main(arguments: list[str]) -> int:
    """Command line."""
    direction()
    wrong = complaints()
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    if "--draw" in arguments:
        from tools.rooms_picture import PICTURE, picture

        PICTURE.write_text(picture(), encoding="utf-8")
        sys.stderr.write(f"{PICTURE.relative_to(ROOT)}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
