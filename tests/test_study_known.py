"""Going on from results that are elsewhere, in a compact file or in another folder, through the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.league import __main__ as league
from typer.testing import CliRunner

from compbo.cli import app
from compbo.study.cell import cell_from_json
from compbo.study.outputs.compact import COLUMNS, to_bytes
from compbo.study.outputs.several import merged
from compbo.study.outputs.source import read_results
from compbo.study.results import schema
from study_helpers import ROOT, python_path, stored

GRID = '[[block]]\ntasks = ["levy-2", "ackley-2"]\noptimisers = ["random-search"]\nsteps = 2\nseeds = [0, 1]\n'
MEASURED = {column.name for column in schema.COLUMNS if column.measured}


def command(*arguments: str | Path, code: int = 0) -> str:
    """What the command says."""
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a grid of four cells: two were run and exported, then the rest; and what the second run said."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "g.toml").write_text(GRID)
    grid, known = ("--grid", folder / "g.toml"), folder / "known.parquet"
    command("run", *grid, "--results", folder / "first", "--seed", "0")
    command("export", "--compact", "--results", folder / "first", "-o", known)
    return folder, command("run", *grid, "--results", folder / "more", "--known", known)


@pytest.fixture
def place(made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, as the current one: g.toml, first/, known.parquet, more/."""
    monkeypatch.chdir(made[0])
    return made[0]


def status(*arguments: str) -> tuple[int, int, int]:
    """Cells that are done, failed and left."""
    said = json.loads(CliRunner().invoke(app, ["study", "status", "--json", *arguments]).stdout)
    return said["done"], said["failed"], said["left"]


def test_what_is_done_elsewhere_is_not_run(made: tuple[Path, str], place: Path, tmp_path: Path) -> None:
    known = place / "known.parquet"
    assert f"2 of them are done in {known} 2 were there, 2 were run." in made[1]
    assert len(stored(place / "more")) == 2
    assert not stored(place / "more") & stored(place / "first")
    again = command("run", "--grid", "g.toml", "--results", tmp_path, "--known", "first", "--known", "more")
    assert "4 of them are done in first, more 4 were there, 0 were run." in again
    assert not stored(tmp_path)


def test_status_counts_what_is_known(place: Path) -> None:
    grid, known = ("--results", "more", "--grid", "g.toml"), ("--known", "known.parquet")
    assert status(*grid) == (2, 0, 2)
    assert status(*grid, *known) == (4, 0, 0)
    assert status("--results", "more") == (2, 0, 0)  # what this folder was asked for
    assert status("--results", "more", *known) == (2, 0, 0)
    assert status("--results", "first", "--grid", "g.toml", *known) == (2, 0, 2)


def test_both_together_are_what_one_folder_would_hold(place: Path, tmp_path: Path) -> None:
    more, both = ("--compact", "--results", "more", "--also", "known.parquet"), tmp_path / "both.parquet"
    assert "Wrote 4 cells" in command("export", *more, "-o", both)
    command("run", "--grid", "g.toml", "--results", tmp_path / "whole")
    whole = read_results(tmp_path / "whole")
    for name in (name for name in COLUMNS if name not in MEASURED):
        pairs = zip(read_results(both)[name], whole[name], strict=True)
        assert all(repr(one) == repr(other) for one, other in pairs), name
    command("export", *more, "-o", both, "--grid", "g.toml", "--task", "levy-2")
    assert read_results(both)["task"].tolist() == ["levy-2", "levy-2"]
    said = command("export", "--compact", "--results", "first", *more[-2:], "--grid", "g.toml", "-o", both)
    assert "2 of the 4 cells of the grid are not in first or known.parquet yet." in said


def test_what_failed_elsewhere_is_run_and_what_is_done_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repaired = tmp_path / "repaired"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPBO_TEST_REPAIRED", str(repaired))
    monkeypatch.setenv("PYTHONPATH", python_path())
    Path("own.toml").write_text(
        '[[block]]\ntasks = ["study_helpers:once_repaired"]\noptimisers = ["random-search"]\nsteps = 1\nbatch = 1\n'
    )
    command("run", "--grid", "own.toml", "--results", "broken")
    command("export", "--compact", "--results", "broken", "-o", "broken.parquet")
    repaired.touch()
    said = command("run", "--grid", "own.toml", "--results", "mended", "--known", "broken.parquet")
    assert "0 of them are done in broken.parquet 0 were there, 1 were run." in said
    for results, also in (("mended", "broken.parquet"), ("broken", "mended")):
        command("export", "--compact", "--results", results, "--also", also, "-o", "both.parquet")
        assert read_results("both.parquet")["status"].tolist() == ["done"]
    assert status("--results", "broken") == (0, 1, 0)
    assert status("--results", "broken", "--known", "mended") == (1, 0, 0)


def test_the_folders_own_row_counts(place: Path) -> None:
    mine, theirs = read_results("first"), read_results("known.parquet").assign(seconds=-1.0)
    assert merged([mine, theirs])["seconds"].tolist() == mine["seconds"].tolist()
    assert merged([theirs, mine])["seconds"].tolist() == [-1.0, -1.0]
    assert merged([mine.assign(status="failed"), theirs])["seconds"].tolist() == [-1.0, -1.0]


def test_a_file_of_another_version_is_named(place: Path, tmp_path: Path) -> None:
    table = read_results("known.parquet")
    table["definition"] = table["definition"].str.replace('"format":', '"format":9')
    (tmp_path / "later.parquet").write_bytes(to_bytes(table))
    said = command("run", "--grid", "g.toml", "--results", "new", "--known", tmp_path / "later.parquet", code=2)
    assert "later.parquet was written by another version of compbo (Cell: format 9" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--grid", "g.toml", "--known", "nowhere"), "--known nowhere is neither a results folder nor a"),
        (("run", "--grid", "g.toml", "--known", "g.toml"), "g.toml is not a readable Parquet file"),
        (("status", "--results", "first", "--known", "nowhere"), "--known nowhere is neither a results folder nor"),
        (("export", "--compact", "--results", "first", "--also", "nowhere"), "--also nowhere is neither a results"),
        (("export", "--results", "first", "--also", "known.parquet"), "--also joins compact tables; give --compact"),
    ],
)
def test_a_slip_is_one_clear_line(place: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in command(*arguments, code=2)
    assert not (place / "results").exists()


def test_the_league_goes_on_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, part = ROOT / "results" / "league.parquet", tmp_path / "part.parquet"
    table = read_results(whole)
    searches = [cell_from_json(text) for text in table[table["kind"] == "random-search"]["definition"]]
    few = [cell for cell in searches if "levy" in cell.task][:2]  # the plugin, which would stay, is not needed for them
    monkeypatch.setattr(league, "league_cells", lambda _: few)
    part.write_bytes(to_bytes(table[table["cell"] != few[0].hash]))
    league.run(few, tmp_path / "runs", [part], 1, retry=False)
    assert "1 were there, 1 were run, 0 failed." in capsys.readouterr().out
    assert stored(tmp_path / "runs") == {few[0].hash}
    league.export([tmp_path / "runs"], [part], tmp_path / "both.parquet")
    assert set(read_results(tmp_path / "both.parquet")["cell"]) == {cell.hash for cell in few}
