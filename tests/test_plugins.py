"""Plugins in real processes: files, modules and installed packages on the command line, in a study, on Dask workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compbo import plugins
from compbo.study.results import load
from dask_cluster import Cluster
from own_parts import skeletons, write_grid, write_plugin
from study_helpers import python_path, study_output

SPACE = '[t]\ntype = "float"\nlow = 600\nhigh = 900\n\n[h]\ntype = "float"\nlow = 0\nhigh = 1\n'
TAKEN = """
import compbo

def mine(oracle, x0, **more):
    return x0

mine.name, mine.form = "RS", "ERM"
compbo.register(mine)
"""
METHOD = ("--maximizer", "sign_ascent", "--acquisition", "squared-improvement")


def compbo_output(folder: Path, *arguments: str, code: int = 0, path: str = "") -> tuple[str, str]:
    """Standard output and error of `compbo ...` in a folder."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))}
    done = subprocess.run(
        [sys.executable, "-c", "from compbo.cli import main; main()", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a space, a plugin and a grid."""
    (tmp_path / "space.toml").write_text(SPACE)
    write_plugin(tmp_path)
    write_grid(tmp_path)
    return tmp_path


def install(site: Path, entry_point: str) -> None:
    """A package as pip leaves it: a module, and a .dist-info folder with an entry point."""
    (site / "mypackage").mkdir(parents=True)
    (site / "mypackage" / "__init__.py").write_text('__version__ = "0.3"\n')
    (site / "mypackage" / "parts.py").write_text(f"{skeletons()}\n\ndef load():\n    pass\n")
    info = site / "mypackage-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text(f"[compbo.plugins]\nmine = {entry_point}\n")


def test_a_run_with_a_file(folder: Path) -> None:
    """The objective stands in the same file: it is carried out once."""
    arguments = ("optimize", "own_skeletons.py:measure", "--space", "space.toml", "--storage", "run.db", *METHOD)
    plugin = ("--plugin", "own_skeletons.py")
    compbo_output(folder, *arguments, "-n", "6", *plugin)
    compbo_output(folder, *arguments, "-n", "7", "--plugin", "own_skeletons", "--workers", "1")  # as a module: resumed
    by_hand = ("ask", "hand.db", "-n", "2")
    compbo_output(folder, *by_hand, "--space", "space.toml", *METHOD, *plugin)
    compbo_output(folder, *by_hand, *plugin)
    compbo_output(folder, "report", "run.db", *plugin)
    assert "sign_ascent" in (folder / "run.html").read_text()
    _, error = compbo_output(folder, "report", "run.db", code=2)
    assert "squared-improvement" in error
    assert "plugin" in error
    out, _ = compbo_output(folder, "catalogue", *plugin)
    assert "sign_ascent" in out


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nowhere.py", None, "Plugin nowhere.py: there is no such file."),
        ("nowhere", None, "Plugin nowhere cannot be imported: ModuleNotFoundError: No module named 'nowhere'."),
        ("broken.py", "1 / 0", "Plugin broken.py cannot be imported: ZeroDivisionError: division by zero."),
        ("leaves.py", "import sys; sys.exit(3)", "Plugin leaves.py cannot be imported: SystemExit: 3."),
        (
            "taken.py",
            TAKEN,
            "Plugin taken.py cannot be imported: ValueError: register: there is a maximizer called 'RS' already;",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported(folder: Path, name: str, text: str | None, message: str) -> None:
    if text is not None:
        (folder / name).write_text(text)
    for command in (("catalogue",), ("study", "list", "--grid", "mine.toml")):
        out, error = compbo_output(folder, *command, "--plugin", name, code=2)
        assert error.startswith(f"Error: {message}")
        assert len(error.splitlines()) == 1
        assert not out


@pytest.mark.long
def test_a_study_in_two_processes(folder: Path) -> None:
    arguments = ("--grid", "mine.toml", "--plugin", "own_skeletons.py")
    out, _ = study_output("list", *arguments, cwd=folder)
    assert "furnace/squared-improvement/sign_ascent/seed1" in out
    study_output("run", *arguments, "--workers", "2", cwd=folder)
    table = load(folder / "results")
    assert list(table["status"]) == ["done"] * 4, list(table["error"])
    assert set(table["optimiser"]) == {"sign_ascent"}
    assert set(table["acquisition"]) == {"squared-improvement", "ei"}
    assert set(table["task"]) == {"furnace"}
    _, error = study_output("run", *arguments, cwd=folder)
    assert "4 were there, 0 were run" in error
    ran_with = {json.loads(text)["plugin own_skeletons.py"] for text in table["versions"]}
    (folder / "own_skeletons.py").write_text(skeletons() + "\n# another one\n")
    study_output("run", *arguments, "--repeat", "3", cwd=folder)
    ran_with |= {json.loads(text)["plugin own_skeletons.py"] for text in load(folder / "results")["versions"]}
    assert len(ran_with) == 2  # the rows say with which sources they ran
    _, error = study_output("list", "--grid", "mine.toml", cwd=folder, code=2)
    assert "No task 'furnace'" in error
    assert "once its plugin is loaded" in error
    for command in (("status",), ("tables", "-o", "tables")):  # the results are read without the plugin
        study_output(*command, "--results", "results", cwd=folder)


@pytest.mark.long
def test_retry_loads_it_too(folder: Path) -> None:
    arguments = ("--grid", "mine.toml", "--plugin", "own_skeletons.py")
    study_output("run", *arguments, "--time-limit", "0.01", "--seed", "0", cwd=folder)
    assert set(load(folder / "results")["status"]) == {"failed"}
    study_output("retry", cwd=folder)
    assert all(
        "squared" in error or "maximizer" in error or "task" in error for error in load(folder / "results")["error"]
    )
    study_output("retry", "--plugin", "own_skeletons.py", cwd=folder)
    assert set(load(folder / "results")["status"]) == {"done"}


@pytest.mark.parametrize("entry_point", ["mypackage.parts", "mypackage.parts:load"])
def test_an_installed_package_needs_no_option(folder: Path, entry_point: str) -> None:
    site = folder / "site"
    install(site, entry_point)
    known = "maximizer='sign_ascent', acquisition='squared-improvement'"
    run = f"import compbo; compbo.Optimizer({{'x': compbo.Float(0, 1)}}, {known})"
    variables = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    subprocess.run([sys.executable, "-c", run], env=variables, check=True)
    arguments = ("optimize", "--command", "echo {t} {h}", "--space", "space.toml", "-n", "6")
    compbo_output(folder, *arguments, *METHOD, "--command", "echo 0{h}", path=str(site))
    path = {"PYTHONPATH": f"{site}{os.pathsep}{python_path()}"}
    study_output("run", "--grid", "mine.toml", "--seed", "0", "--workers", "1", cwd=folder, env=path)
    table = load(folder / "results")
    assert list(table["status"]) == ["done"] * 2, list(table["error"])
    assert all(json.loads(text)["plugin mine"].startswith("sha256:") for text in table["versions"])


def test_a_broken_package_is_named(folder: Path) -> None:
    install(folder / "site", "mypackage.nowhere")
    _, error = compbo_output(folder, "catalogue", code=2, path=str(folder / "site"))
    assert error.startswith("Error: Plugin mine of the package mypackage cannot be loaded: ModuleNotFoundError:")
    assert error.endswith("repair or uninstall it.\n")


@pytest.mark.touches_global_rng  # Dask's client draws its waiting times from it
def test_a_study_on_dask_workers(folder: Path, cluster: Cluster) -> None:
    cluster.worker()
    plugin = folder / "own_skeletons.py"
    arguments = ("run", "--grid", "mine.toml", "--plugin", str(plugin), "--dask", cluster.address)
    study_output(*arguments, "--seed", "0", cwd=folder)
    table = load(folder / "results")
    assert list(table["status"]) == ["done"] * 2, list(table["error"])
    assert all("plugin own_skeletons.py" in json.loads(text) for text in table["versions"])
    plugin.write_text(plugin.read_text() + "\n# a second version\n")
    study_output(*arguments, "--seed", "1", cwd=folder)
    assert list(load(folder / "results")["status"]) == ["done"] * 4  # the worker took in the new one


class TestLoading:
    """In this process."""

    @pytest.fixture(autouse=True)
    def _nothing_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(plugins, "_named", {})

    def test_the_same_or_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "plugin_same_or_nothing.py"
        path.write_text('__version__ = "1.2"\n')
        place = plugins.load_plugin(str(path))
        mark = plugins.named_plugins()[place]
        assert mark.startswith("1.2 sha256:")
        assert plugins.plugin_versions()["plugin plugin_same_or_nothing.py"] == mark
        plugins.load_same({place: mark})
        with pytest.raises(
            ValueError, match=r"is another one here \(1\.2 sha256:.*than where the study was started \(1\.1"
        ):
            plugins.load_same({place: "1.1 sha256:0"})

    def test_a_package_is_known_by_all_its_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        package = tmp_path / "plugin_of_two_files"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "more.py").write_text("a = 1\n")
        monkeypatch.syspath_prepend(tmp_path)
        place = plugins.load_plugin("plugin_of_two_files")
        before = plugins.named_plugins()[place]
        (package / "more.py").write_text("a = 2\n")
        assert plugins.named_plugins()[place] != before

    def test_a_file_is_carried_out_once(self, tmp_path: Path) -> None:
        path = tmp_path / "plugin_counts.py"
        path.write_text(f"with open({str(tmp_path / 'log')!r}, 'a') as file:\n    file.write('once')\n")
        assert plugins.load_file(path) is plugins.load_file(path)
        plugins.load_plugin(str(path))
        assert (tmp_path / "log").read_text() == "once"
