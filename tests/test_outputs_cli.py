"""`compbo study tables`, `figures`, `report` and `export`, as a person types them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from compbo.cli import app
from compbo.study.grid import load_grid
from outputs_tables import cells, row, write_folder

MEMORY = Path(__file__).parent.parent / "benchmarks" / "memory.csv"


def command(*arguments: str | Path, code: int = 0) -> str:
    """What the command says."""
    result: Result = CliRunner().invoke(app, ["study", *(str(argument) for argument in arguments)])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of the preset `smoke`, as if it had been run."""
    folder = tmp_path_factory.mktemp("smoke") / "results"
    return write_folder(folder, [row(cell) for cell in load_grid("smoke").cells()])


def test_tables_and_what_is_missing_are_written(smoke: Path, tmp_path: Path) -> None:
    said = command("tables", "--results", smoke, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "table1.csv").read_text().startswith("category,order,optimiser,dimension")
    assert (tmp_path / "out" / "table1-shifted.tex").exists()
    assert "Not written: pairs" not in said  # CAdam and CAdam-ME are there
    assert f"to {tmp_path / 'out'}" in said
    index = (tmp_path / "out" / "index.md").read_text()
    assert "[csv](table1.csv)" in index


def test_some_figures_in_some_formats(smoke: Path, tmp_path: Path) -> None:
    command(
        "figures", "--results", smoke, "-o", tmp_path, "--only", "memory", "--only", "final-regret", "--format", "svg",
        "--memory", MEMORY,
    )  # fmt: skip
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["final-regret-shifted.svg", "final-regret.svg", "index.md", "memory.svg"]


def test_the_page_and_the_compact_file_give_the_same_page(smoke: Path, tmp_path: Path) -> None:
    said = command("export", "--compact", "--results", smoke, "-o", tmp_path / "study.parquet")
    assert f"{len(load_grid('smoke').cells())} cells" in said
    command("report", "--results", smoke, "-o", tmp_path / "a.html", "--title", "Mine")
    command("report", "--results", tmp_path / "study.parquet", "-o", tmp_path / "b.html", "--title", "Mine")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert '<h1 id="title">Mine</h1>' in (tmp_path / "a.html").read_text()


def test_a_full_export_is_the_whole_table(smoke: Path, tmp_path: Path) -> None:
    command("export", "--results", smoke, "-o", tmp_path / "all.parquet", "--optimiser", "CAdam*")
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert set(table["optimiser"]) == {"CAdam", "CAdam-ME"}
    assert "x" in table.columns


def test_a_grid_selects_and_says_what_is_not_there_yet(tmp_path: Path) -> None:
    some = load_grid("smoke").cells()
    folder = write_folder(tmp_path / "results", [row(cell) for cell in some[:5]])
    write_folder(folder, [row(cell) for cell in cells(["levy-16"], ["CAdam"], ["ei"], [0])])  # of no grid
    said = command("export", "--compact", "--preset", "smoke", "--results", folder, "-o", tmp_path / "s.parquet")
    assert f"{len(some) - 5} of the {len(some)} cells of the grid are not in {folder} yet." in said
    assert "Wrote 5 cells" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tables", "--results", "nowhere"], "--results nowhere is neither a results folder nor a compact file"),
        (["figures", "--format", "gif"], "--format: no format 'gif'; there are png, svg, pdf"),
        (["tables", "--only", "table2"], "--only: no output is called 'table2'; there are table1"),
        (["report", "-o", "no/such/folder.html"], "does not exist"),
        (["report", "--tuned"], "--tuned is about a grid; give --preset or --grid"),
        (["report", "--held-out"], "give --tuned as well"),
        (["tables", "--optimiser", "Nobody"], "none of these cells has the optimiser 'Nobody'"),
        (["figures", "--memory", "pyproject.toml"], "--memory pyproject.toml: not a table of memory"),
    ],
)
def test_a_slip_is_one_clear_line(
    smoke: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent)
    where = [] if "--results" in arguments else ["--results", str(smoke)]
    assert message in command(*arguments, *where, code=2)


def test_tuned_cells_are_not_in_a_compact_file(smoke: Path, tmp_path: Path) -> None:
    command("export", "--compact", "--results", smoke, "-o", tmp_path / "s.parquet")
    said = command("tables", "--results", tmp_path / "s.parquet", "--preset", "smoke", "--tuned", code=2)
    assert "--tuned needs the results folder" in said


def test_several_settings_of_a_run_are_refused_until_a_grid_says_which(tmp_path: Path) -> None:
    some = load_grid("smoke").cells()
    tuned = next(cell for cell in some if cell.method.maximizer == "CAdam").with_hyperparameters({"lr": 0.5})
    folder = write_folder(tmp_path / "results", [row(cell) for cell in [*some, tuned]])
    assert "several settings" in command("tables", "--results", folder, "-o", tmp_path / "t", code=2)
    command("tables", "--results", folder, "--preset", "smoke", "--only", "table1", "-o", tmp_path / "t")
    command("export", "--compact", "--results", folder, "-o", tmp_path / "all.parquet")  # it may hold both
