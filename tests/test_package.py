"""The package as a whole: what is shipped, what importing it costs, what its sources may not do."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata, resources
from pathlib import Path

import pytest
from tools import dist

import compbo

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "compbo").rglob("*.py"))
PUBLIC_NAMES = sorted(getattr(compbo, "__all__", ()))
HEAVY = (
    *("ax", "botorch", "cma", "dask", "distributed", "gpytorch", "linear_operator", "matplotlib", "optuna", "pandas"),
    *("plotly", "pyarrow", "rich", "scipy.optimize", "scipy.stats", "sklearn", "statsmodels", "typer"),
)
TORCH_DRAWS = {"bernoulli", "multinomial", "normal", "rand", "randint", "randn", "randperm"}
GLOBAL_SEEDS = {"manual_seed", "seed", "set_rng_state", "set_state", "setstate"}
NUMPY_MAKERS = {"Generator", "PCG64", "SeedSequence", "BitGenerator", "default_rng"}
MAKERS = {"np.random": NUMPY_MAKERS, "numpy.random": NUMPY_MAKERS, "random": {"Random", "SystemRandom"}}


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or attribute chain, '' of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def forbidden_calls(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and reason of every print, global seed and draw from a global generator."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        owner, _, last = name.rpartition(".")
        if name == "print":
            found.append((node.lineno, "print; use logging"))
        elif owner in {"torch", "random", "np.random", "numpy.random", "torch.random"} and last in GLOBAL_SEEDS:
            found.append((node.lineno, f"{name} sets a global generator"))
        elif owner in MAKERS and last not in MAKERS[owner]:
            found.append((node.lineno, f"{name} draws from the global generator"))
        elif owner == "torch" and last in TORCH_DRAWS and not any(k.arg == "generator" for k in node.keywords):
            found.append((node.lineno, f"{name} without generator="))
    return found


def in_fresh_process(code: str) -> str:
    """Standard output of `code` in an interpreter that has imported nothing yet."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def test_version_is_the_one_of_pyproject() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert compbo.__version__ == declared == metadata.version("compbo")


def test_type_information_is_shipped() -> None:
    assert resources.files("compbo").joinpath("py.typed").is_file()


def test_import_is_light() -> None:
    code = f"import json, sys, compbo; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    assert json.loads(in_fresh_process(code)) == []


def test_import_leaves_global_generators_and_threads_alone() -> None:
    code = """
import random, numpy, torch
before = random.getstate()[1], numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
import compbo
after = random.getstate()[1], numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
print(before == after and threads == torch.get_num_threads() and dtype == torch.get_default_dtype())
"""
    assert in_fresh_process(code).strip() == "True"


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_name_resolves(name: str) -> None:
    assert getattr(compbo, name) is not None
    assert name in dir(compbo)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = compbo.no_such_name


def test_a_name_in_british_spelling_gets_a_hint() -> None:
    code = "import compbo\ncompbo.minimise\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Did you mean: 'minimize'?" in done.stderr


def test_sources_neither_print_nor_touch_global_generators() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {reason}"
        for path in SOURCES
        for line, reason in forbidden_calls(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "caught"),
    [
        ("print(1)", True),
        ("torch.manual_seed(0)", True),
        ("np.random.seed(0)", True),
        ("numpy.random.rand(2)", True),
        ("random.shuffle(x)", True),
        ("torch.randn(3)", True),
        ("torch.randn(3, generator=g)", False),
        ("torch.Generator().manual_seed(0)", False),
        ("np.random.default_rng(0)", False),
        ("random.Random(0)", False),
    ],
)
def test_the_check_of_the_sources_can_fail(code: str, caught: bool) -> None:
    assert bool(forbidden_calls(ast.parse(code))) == caught


def test_sources_are_finished() -> None:
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|raise NotImplementedError)\b")
    assert [str(path) for path in SOURCES if unfinished.search(path.read_text(encoding="utf-8"))] == []


def test_constraints_are_plain_pins() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", pin)] == []
    assert "torch==2.13.0" in pins
    assert [pin for pin in pins if pin.startswith(("nvidia", "triton", "compbo"))] == []


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    names = {re.split(r"[<>=\[ ]", requirement)[0].lower() for requirement in wanted} - {"compbo"}
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    assert names - pinned == set()


def test_notation_names_what_exists() -> None:
    rows = re.findall(r"^\|[^|]+\|([^|]+)\|([^|]+)\|", (ROOT / "docs" / "notation.md").read_text(), re.MULTILINE)
    named = [(names, file) for names, files in rows for file in re.findall(r"`([^`]+\.py)`", files)]
    assert len(named) > 20
    for names, file in named:
        path = ROOT / "src" / "compbo" / file
        assert path.is_file(), f"docs/notation.md names {file}, which does not exist"
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r"`([^`]+)`", names):
            identifier = re.split(r"[(.\[ ]", name)[-1 if "." in name else 0]
            assert re.search(rf"\b{re.escape(identifier)}\b", source), f"docs/notation.md: no {identifier} in {file}"


def test_the_tree_of_the_design_names_every_room_and_nothing_else() -> None:
    tree = re.search(r"^## Tree\n+```\n(.*?)^```", (ROOT / "docs" / "design.md").read_text(), re.MULTILINE | re.DOTALL)
    assert tree is not None
    named = set(re.findall(r"[\w*]+(?:\.py|\.html|\.js|\.css|/)", tree[1]))
    package = ROOT / "src" / "compbo"
    rooms = {f"{init.parent.name}/" for init in package.rglob("__init__.py")}
    modules = {path.name for path in package.glob("*.py")}
    assert (rooms | modules) - named == set(), "not in the tree of docs/design.md"
    outside = {"src/", "tests/", "benchmarks/", "docs/", "examples/", "tools/", "rooms.py"}
    assert [name for name in named - outside - rooms if not any(package.rglob(name))] == [], "named but not there"


@pytest.mark.touches_global_rng  # the inner tests do, on purpose
def test_guard_on_global_generators_can_fail(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers = touches_global_rng\n")
    pytester.makepyfile("""
        import random, numpy, pytest, torch
        def test_random(): random.random()
        def test_numpy(): numpy.random.seed(0)
        def test_torch(): torch.rand(1)
        def test_own_generator(generator, rng): torch.rand(1, generator=generator); rng.random()
        @pytest.mark.touches_global_rng
        def test_peer(): torch.rand(1)
    """)
    pytester.runpytest("-p", "no:xdist").assert_outcomes(failed=3, passed=2)


def test_the_wheel_made_from_the_sdist_has_every_file_of_the_package(tmp_path: Path) -> None:
    sdist, wheel = dist.build(tmp_path)
    package = ROOT / "src" / "compbo"
    wanted = {
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert dist.files_of(wheel) == wanted
    assert {"py.typed", "report/template.html"} < wanted
    with tarfile.open(sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "CITATION.cff", "CHANGELOG.md", "constraints.txt", "tests/test_package.py"} < shipped


def test_a_wheel_that_installs_more_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "compbo-0.whl", "w") as archive:
        archive.writestr("compbo/__init__.py", "")
        archive.writestr("tests/__init__.py", "")
    with pytest.raises(ValueError, match=r"would install tests/__init__\.py beside the package"):
        dist.files_of(tmp_path / "compbo-0.whl")


def test_the_citation_has_the_version_and_the_paper() -> None:
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == compbo.__version__
    assert citation["authors"] == [{"name": "The compbo developers"}]
    paper = citation["preferred-citation"]
    assert paper["authors"][0]["family-names"] == "Grosnit"
    assert (paper["year"], paper["volume"], len(paper["authors"])) == (2021, 22, 6)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md"])
def test_links_and_pictures_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (ROOT / page).parent.joinpath(link).exists()] == []


def test_the_tour_names_files_that_exist() -> None:
    tour = (ROOT / "CONTRIBUTING.md").read_text().split("## The rooms in ten minutes")[1].split("\n## ")[0]
    named = re.findall(r"`([\w/]+(?:\.py|/))`", tour)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "src" / "compbo" / name).exists()] == []
