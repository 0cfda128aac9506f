"""The compact file: small, exact, and enough for every output."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from compbo.study.cell import OtherVersionError
from compbo.study.outputs import compact as compact_module
from compbo.study.outputs.compact import COLUMNS, LISTS, compact, from_bytes, to_bytes
from compbo.study.outputs.page.page import render_page
from compbo.study.outputs.runs import study_of
from compbo.study.outputs.source import read_results, select
from compbo.study.outputs.write import write_figures, write_tables
from outputs_tables import cells, compact_of, failed_row, full, mixed_cells, paper_cells, row, write_folder


def same(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Equal to the last bit, NaN included."""
    lists = all(
        np.array_equal(a, b, equal_nan=True) and a.dtype == b.dtype
        for name in LISTS
        for a, b in zip(first[name], second[name], strict=True)
    )
    rest = [name for name in COLUMNS if name not in LISTS]
    return lists and first[rest].equals(second[rest])


def test_a_file_gives_back_the_table_bit_for_bit_and_the_same_bytes_again() -> None:
    some = mixed_cells()
    rows = [row(cell) for cell in some[:40]] + [failed_row(cell) for cell in some[40:44]]
    table = compact(full(rows))
    data = to_bytes(table)
    again = from_bytes(data)
    assert same(table, again)
    assert to_bytes(again) == data
    assert to_bytes(compact(full(rows[::-1]))) == data  # whatever the order of the cells


def test_it_keeps_the_curves_exactly_and_no_more_than_it_says() -> None:
    cell = cells(["levy-16"], ["CAdam"], ["ei"], [0])[0]
    original = row(cell, verdict=["flat", "", "converged", "flat", "flat", "flat"], evaluation_errors=["3: no"])
    kept = compact(full([original])).iloc[0]
    assert kept["best"].tolist() == original["best"]
    assert kept["regret"].tolist() == original["regret"]
    assert kept["maximise_seconds"].tolist() == original["maximise_seconds"]
    assert kept["peak_memory"].tolist() == original["peak_memory"]
    assert json.loads(kept["verdicts"]) == {"converged": 1, "flat": 4}
    assert kept["first_acquisition_value"] == original["acquisition_value"][0]
    assert kept["failed_evaluations"] == 1
    assert "host" not in json.loads(kept["machine"])
    assert "secret" not in kept["machine"]
    assert set(kept.index) == set(COLUMNS)
    assert not {"x", "loss", "traceback"} & set(COLUMNS)


def test_a_cell_takes_at_most_3_kB_even_if_nothing_can_be_compressed(rng: np.random.Generator) -> None:
    chosen = paper_cells()[::25]
    rows = []
    for cell in chosen:
        curve, steps = rng.random(cell.steps + 1), cell.steps
        noise = {name: rng.random(steps).tolist() for name in ("ask_seconds", "maximise_seconds", "acquisition_value")}
        memory = rng.integers(2**29, 2**31, steps).tolist()
        lists = {"best": curve.tolist(), "regret": rng.random(steps + 1).tolist(), "generalisation": curve.tolist()}
        rows.append(row(cell, **lists, **noise, peak_memory=memory))
    size = len(to_bytes(compact(full(rows))))
    assert len(chosen) > 200
    assert size / len(chosen) < 3000


def outputs(study: object, folder: Path) -> dict[str, bytes]:
    """Every file of every command."""
    write_tables(study, folder / "tables")  # type: ignore[arg-type]
    write_figures(study, folder / "figures", formats=["svg"])  # type: ignore[arg-type]
    (folder / "study.html").write_text(render_page(study), encoding="utf-8")  # type: ignore[arg-type]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


@pytest.mark.long
def test_every_output_is_the_same_from_the_folder_and_from_the_compact_file(tmp_path: Path) -> None:
    some = mixed_cells()
    rows = [row(cell) for cell in some[3:]] + [failed_row(some[0])]
    folder = write_folder(tmp_path / "results", rows)
    table = read_results(folder)
    (tmp_path / "study.parquet").write_bytes(to_bytes(table))
    first = outputs(study_of(table), tmp_path / "a")
    second = outputs(study_of(read_results(tmp_path / "study.parquet")), tmp_path / "b")
    assert first == second
    assert {"tables/table1.csv", "tables/missing.md", "figures/critical-difference.svg", "study.html"} <= set(first)


def test_cells_are_selected_by_grid_or_filter() -> None:
    some = cells(["levy-16", "ackley-16"], ["CAdam", "NASA"], ["ei"], [0])
    table = compact_of(some)
    assert len(select(table)) == 4
    assert select(table, some[:1])["cell"].tolist() == [some[0].hash]
    kept = select(table, keep=lambda found: [cell for cell in found if cell.task == "levy-16"])
    assert set(kept["task"]) == {"levy-16"}


def test_other_files_are_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad\.parquet is not a readable Parquet file"):
        read_results(bad)
    pd.DataFrame({"a": [1]}).to_parquet(bad)
    with pytest.raises(ValueError, match=r"not a compact results file; `compbo study export` writes one"):
        read_results(bad)
    data = bytearray(bad.read_bytes())
    data[4:20] = bytes(16)  # its columns are not looked at: who reads them may still be at it when the program ends
    bad.write_bytes(data)
    with pytest.raises(ValueError, match="not a compact results file"):
        read_results(bad)
    with pytest.raises(ValueError, match="neither a results folder nor a compact file"):
        read_results(tmp_path / "nothing")
    monkeypatch.setattr(compact_module, "FORMAT", b"99")
    bad.write_bytes(to_bytes(compact_of([])))
    monkeypatch.undo()
    with pytest.raises(OtherVersionError, match="another version of compbo"):
        read_results(bad)


def test_a_run_with_several_settings_is_refused_with_a_way_out() -> None:
    cell = cells(["levy-16"], ["CAdam"], ["ei"], [0])[0]
    tuned = cell.with_hyperparameters({"lr": 0.5})
    with pytest.raises(ValueError, match=r"levy-16/ei/CAdam/0 .* several settings.*preset or grid, and tuned"):
        study_of(compact_of([cell, tuned]))
