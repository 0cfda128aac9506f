"""The commands, as a person types them."""

from __future__ import annotations

import errno
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from compbo.cli import app
from compbo.study.cli.options import WorkerOptions
from compbo.study.engine.experiment import run_cell
from compbo.study.engine.rows import identity
from compbo.study.grid import load_grid
from compbo.study.results import Store, schema
from study_helpers import cell


def command(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["study", *arguments])
    assert result.exit_code == code, result.output
    return result


def flat(text: str) -> str:
    return " ".join(text.split())


def test_list_counts_and_names_every_cell() -> None:
    out = command("list", "--preset", "smoke").stdout
    cells = load_grid("smoke").cells()
    for one in cells:
        assert f"{one.hash}  {one.name}" in out
    assert f"in all {len(cells)}" in flat(out)
    data = json.loads(command("list", "--preset", "smoke", "--json").stdout)
    assert data["count"] == len(cells)
    assert [entry["cell"] for entry in data["cells"]] == [one.hash for one in cells]


def test_list_of_presets_and_of_a_file_with_filters(tmp_path: Path) -> None:
    assert "tuning-tasks" in command("list").stdout
    assert "tuning-tasks" in json.loads(command("list", "--json").stdout)["presets"]
    grid = tmp_path / "mine.toml"
    grid.write_text('[[block]]\ntasks = ["levy-2", "ackley-2"]\noptimisers = ["CAdam", "bohb"]\nacquisitions = ["ei"]')
    arguments = ("list", "--grid", str(grid), "--repeat", "3", "--task", "levy-*", "--optimizer", "CAdam")
    data = json.loads(command(*arguments, "--json").stdout)
    assert [entry["name"] for entry in data["cells"]] == [f"levy-2/ei/CAdam/seed{seed}" for seed in range(3)]


def test_what_has_no_acquisition_function_is_not_dropped_in_silence(tmp_path: Path) -> None:
    grid = tmp_path / "mine.toml"
    grid.write_text('[[block]]\ntasks = ["levy-2"]\noptimisers = ["CAdam", "bohb"]\nacquisitions = ["ei", "ucb"]')
    shown = command("list", "--grid", str(grid), "--acquisition", "ei")
    assert "bohb has no acquisition function and is left out; --acquisition none keeps them" in flat(shown.stderr)
    assert "bohb" not in shown.stdout
    shown = command("list", "--grid", str(grid), "--acquisition", "ei", "--acquisition", "none")
    assert (shown.stderr, "levy-2/bohb/seed0" in shown.stdout) == ("", True)


def test_the_count_is_compared_with_the_papers() -> None:
    exact = command("list", "--preset", "paper-exact", "--summary")
    assert "all synthetic functions 3100 3100" in flat(exact.stdout)
    assert "The captions of the paper give the same 4060; its abstract says 3958" in flat(exact.stderr)
    more = command("list", "--preset", "paper", "--summary")
    assert "all synthetic functions 3100 3870" in flat(more.stdout)
    assert "970 are more than the captions of the paper count (paper-exact): 480 finite sums" in flat(more.stderr)
    assert "in the paper" not in command("list", "--preset", "paper-time", "--summary", "--dimension", "16").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "Give either --preset"),
        (("list", "--preset", "smoke", "--grid", "x.toml"), "Give either --preset"),
        (("list", "--preset", "dim17"), "neither a preset"),
        (("list", "--preset", "smoke", "--task", "levi-4"), "none of these cells has the task"),
        (("list", "--task", "levy-4"), "Give either --preset"),
        (("run", "--preset", "smoke", "--dask", "nonsense"), "--dask nonsense: give the scheduler as its log names it"),
        (("run", "--preset", "smoke", "--dask", "tcp://a:1", "--workers", "2"), "Give either --workers or --dask"),
        (("run", "--preset", "smoke", "--results", "file/r"), "--results file/r cannot be written to (Not a"),
        (("status", "--results", "nowhere"), "--results nowhere is not a results folder"),
        (("status", "--workers", "0"), "--workers"),
        (("status", "--nonsense"), "--nonsense"),
        (("status", "--results", "folder", "--repeat", "3"), "--repeat is about a grid"),
        (("status", "--results", "folder", "--preset", "dim17"), "neither a preset"),
        (("status", "--results", "folder", "--grid", "nowhere.toml"), "nowhere.toml"),
        (("retry", "--results", "nowhere"), "--results nowhere is not a results folder"),
        (("run", "--preset", "smoke", "--results", "nowhere", "--tuned"), "run `compbo study tune`"),
        (("run", "--preset", "smoke", "--results", "nowhere", "--held-out"), "give --tuned as well"),
        (
            ("run", "--preset", "smoke", "--results", "nowhere", "--time-limit", "0"),
            "--time-limit must be a positive number",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "cells").mkdir(parents=True)
    said = command(*arguments, code=2)
    assert message in flat(said.stderr)
    assert said.stderr.splitlines()[-1].startswith("Error: ")
    assert said.stdout == ""


def test_no_limit_may_be_written_as_infinity() -> None:
    assert WorkerOptions(time_limit=math.inf, memory_limit=math.inf).pool_maker()


def test_status_and_retry_of_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(tmp_path)
    good, bad, left = cell(), cell(seed=1), cell(seed=2)
    with store.writing():
        store.add_to_plan([good, bad, left])
        store.write(good, schema.to_bytes(run_cell(good)))
        row = {**identity(bad), "status": "failed", "error": "out of luck", "traceback": "", "seconds": 1.0}
        store.write(bad, schema.to_bytes(row))
    out = flat(command("status", "--results", str(tmp_path)).stdout)
    assert "done 1 of 3" in out
    assert "failed 1 left 1" in out
    assert "failed ackley-4/random-search/seed1: out of luck" in out
    assert "running now no" in out
    seed = ("status", "--results", str(tmp_path), "--seed", "1")
    assert "done 0 of 1 failed 1 left 0" in flat(command(*seed).stdout)
    assert "--repeat is about a grid" in command(*seed, "--repeat", "2", code=2).output
    store.path(good.hash).write_bytes(b"")
    data = json.loads(command("status", "--results", str(tmp_path), "--json").stdout)
    assert (data["done"], data["failed"], data["left"]) == (0, 1, 2)
    assert list(data["damaged"]) == [str(store.path(good.hash))]
    said = command("retry", "--results", str(tmp_path)).output
    assert "1 cell, results in" in said
    assert "0 were there, 1 were run." in said
    assert f"{store.path(good.hash)}: not a readable Parquet file" in caplog.text
    assert "No cell of" in command("retry", "--results", str(tmp_path)).output


def test_every_command_finds_tasks_of_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "r").writing():
        pass
    monkeypatch.chdir(tmp_path)
    for arguments in (("list",), ("status", "--results", "r"), ("retry", "--results", "r")):
        monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
        command(*arguments)
        assert str(tmp_path) in sys.path, arguments


def test_a_reader_that_leaves_early_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: str) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("typer.echo", gone)
    assert "Broken pipe" not in command("list", "--preset", "smoke", code=1).output


def test_tune_and_run_tuned(tmp_path: Path) -> None:
    grid = tmp_path / "g.toml"
    grid.write_text(
        '[[block]]\ntasks = ["levy-2"]\noptimisers = ["SCGA"]\nacquisitions = ["ei"]\nbatch = 2\nsteps = 2\n'
        "inner = { raw_batches = 16, restarts = 2, steps = 3, minibatch = 8 }"
    )
    where = ("--grid", str(grid), "--results", str(tmp_path / "r"))
    assert "1 problem tuned, 3 cells run." in command("tune", *where, "--configurations", "3").output
    assert "0 were there, 1 were run." in command("run", *where, "--tuned").output
    other = command("run", *where, "--tuned", "--held-out", code=2).output
    assert "run `compbo study tune` with --held-out for this grid first" in flat(other)
    tuning = "tuned 1 of 1 problem configurations judged 3 of 3"
    assert tuning in flat(command("status", *where).stdout)
    assert tuning in flat(command("status", *where[2:]).stdout)
    command("run", *where, "--tuned", "--repeat", "2")
    seed = command("status", *where[2:], "--seed", "1").stdout
    assert "done 1 of 1" in flat(seed)
    assert "tuned" not in seed


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from compbo.cli import main; main()"
    command = [sys.executable, "-c", code, "study", "run", "--preset", "smoke", "--results", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert 'pyarrow is not installed: pip install "compbo[study]"' in flat(ended.stderr)
