"""The results folder: what is written comes back, what is damaged is found, and one process writes."""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import study_helpers
from compbo.errors import InUseError
from compbo.study import cell as cells
from compbo.study.cell import Cell, OtherVersionError
from compbo.study.engine.experiment import run_cell
from compbo.study.engine.status import study_status
from compbo.study.grid import load_grid
from compbo.study.results import Store, load, points, schema
from compbo.study.tasks import FunctionTask
from study_helpers import ROOT, SQUARE, cell, compbo_cell, determined, own, wait_for


@pytest.fixture(scope="module")
def rows() -> dict[Cell, schema.Row]:
    """A few small cells, run here."""
    cells = [cell(), cell(seed=1), compbo_cell(), own("sometimes", initial=6)]
    return {one: run_cell(one) for one in cells}


@pytest.fixture
def store(tmp_path: Path, rows: dict[Cell, schema.Row]) -> Store:
    """A folder with all of them."""
    filled = Store(tmp_path / "results")
    with filled.writing():
        filled.add_to_plan(rows)
        for one, row in rows.items():
            filled.write(one, schema.to_bytes(row))
    return filled


def test_a_row_comes_back_bit_for_bit(rows: dict[Cell, schema.Row]) -> None:
    for row in rows.values():
        assert row["status"] == "done", row["traceback"]
        back = schema.from_bytes(schema.to_bytes(row))
        assert tuple(back) == schema.NAMES
        assert determined(back) == determined({**dict.fromkeys(schema.NAMES), **_as_stored(row)})


def _as_stored(row: schema.Row) -> schema.Row:
    """Per-step diagnostics are single precision."""
    shorts = {column.name for column in schema.COLUMNS if column.type == schema._SHORTS}
    return {k: np.asarray(v, np.float32).tolist() if k in shorts and v is not None else v for k, v in row.items()}


def test_what_a_row_says(rows: dict[Cell, schema.Row]) -> None:
    one = compbo_cell()
    row = rows[one]
    n = one.initial + one.steps * one.batch
    assert len(row["loss"]) == n
    assert points(row).shape == (n, 4)
    assert row["x_bits"] == 52
    assert len(row["best"]) == len(row["regret"]) == one.steps + 1
    curve = [min(row["loss"][: one.initial + k * one.batch]) for k in range(one.steps + 1)]
    assert row["best"] == curve
    assert row["regret"] == pytest.approx(curve, abs=0)  # Ackley's minimum is 0
    assert row["best_x"] == points(row)[int(np.argmin(row["loss"]))].tolist()
    for name in ("ask_seconds", "fit_seconds", "maximise_seconds", "peak_memory", "acquisition_value", "verdict"):
        assert len(row[name]) == one.steps, name
    assert all(seconds > 0 for seconds in row["fit_seconds"])
    assert all(2**24 < memory < 2**36 for memory in row["peak_memory"])
    assert json.loads(row["versions"])["torch"].startswith("2.")
    assert {"host", "processor", "cores"} <= set(json.loads(row["machine"]))
    assert row["floor_kind"] == "optimum"


def test_failed_evaluations_are_part_of_the_row(rows: dict[Cell, schema.Row]) -> None:
    row = rows[own("sometimes", initial=6)]
    failed = [i for i, loss in enumerate(row["loss"]) if math.isnan(loss)]
    assert failed
    assert [int(error.split(":")[0]) for error in row["evaluation_errors"]] == failed
    assert all("ArithmeticError: left half" in error for error in row["evaluation_errors"])
    assert row["best"][-1] == np.nanmin(row["loss"])


def test_a_reckless_task_costs_its_failed_points_only() -> None:
    row = run_cell(own("reckless", initial=12))
    assert row["status"] == "done"
    losses, first = np.array(row["loss"]), points(row)[:, 0]
    assert np.array_equal(np.isnan(losses), first < 0.6)
    assert np.array_equal(losses[first >= 0.6], first[first >= 0.6])
    errors = {int(number): message for number, message in (text.split(": ", 1) for text in row["evaluation_errors"])}
    assert all(errors[i] == "SystemExit: too cold" for i in np.flatnonzero(first < 0.3))
    unreadable = [errors[i] for i in np.flatnonzero((first >= 0.3) & (first < 0.6))]
    assert unreadable == ["OSError: \\udcff is the name of the file"] * len(unreadable)
    assert len(errors) == np.isnan(losses).sum()
    assert 0 < len(unreadable) < len(errors)
    schema.to_bytes(row)


def test_a_long_error_is_cut_and_a_noiseless_loss_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def count(params: Mapping[str, Any]) -> float:
        calls.append(1)
        if len(calls) > 7:
            raise ValueError("m" * 10**6)
        return -float(len(calls))

    task = FunctionTask("counted", SQUARE, count, optimum=-8.0)
    monkeypatch.setattr(study_helpers, "counted", task, raising=False)
    row = run_cell(own("counted"))
    assert (len(calls), row["regret"]) == (7, [5.0, 3.0, 1.0])
    row = run_cell(own("counted"))
    assert row["error"].startswith("RuntimeError: none of the 7 evaluations gave a loss; the first, 0: ValueError: mmm")
    assert len(row["error"]) < 1000
    assert len(row["traceback"]) < 30_000


def test_pandas_reads_the_table_in_two_lines(store: Store, rows: dict[Cell, schema.Row]) -> None:
    table = pd.read_parquet(store.folder / "cells")
    assert sorted(table["cell"]) == sorted(one.hash for one in rows)
    loaded = load(store.folder, columns=["cell", "best"])
    assert list(loaded.columns) == ["cell", "best"]
    assert len(loaded) == len(rows)
    assert load(store.folder, cells=[cell(), cell(seed=99)])["cell"].tolist() == [cell().hash]
    assert load(store.folder, cells=[]).empty
    assert load(store.folder / "nothing").empty


def test_every_column_is_described() -> None:
    documented = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    for column in schema.COLUMNS:
        line = next((line for line in documented.splitlines() if line.startswith(f"| `{column.name}` |")), "")
        assert f"| {column.about} |" in line, f"docs/study.md: column {column.name} is missing or described otherwise"
        assert line.endswith(" yes |") == column.measured


# -- size


def incompressible(dimension: int, steps: int, batch: int, initial: int, rng: np.random.Generator) -> schema.Row:
    """A row that no real cell is larger than: uniform points, no number twice."""
    one = compbo_cell(task="levy-16", dimension=dimension, steps=steps, batch=batch, initial=initial)
    n = initial + steps * batch
    row: schema.Row = {}
    texts = iter(range(10**6))
    for column in schema.COLUMNS:
        if column.type == schema._REALS or column.type == schema._SHORTS:
            row[column.name] = rng.random(steps + 1).tolist()
        elif column.type == schema._WHOLES:
            row[column.name] = rng.integers(2**28, 2**30, steps).tolist()
        elif column.type == schema._TEXTS:
            row[column.name] = [
                f"one more step along the gradient still gains {rng.random():.3g}" for _ in range(steps)
            ]
        elif column.type == schema._TEXT:
            row[column.name] = f"some text {next(texts)} " * 4
        else:
            row[column.name] = 1
    x = rng.random(n * dimension)
    bits = schema.kept_bits(x.size)
    row |= {"x": schema.rounded(x, bits).tolist(), "x_bits": bits, "loss": rng.random(n).tolist()}
    return row | {"definition": one.definition, "best_x": x[:dimension].tolist(), "true_loss": None}


def test_the_papers_4060_experiments_stay_under_200_MB(rng: np.random.Generator) -> None:
    once = [one for one in load_grid("paper-exact").cells() if one.seed == 0]
    shapes = Counter((one.dimension, one.steps, one.batch, one.initial) for one in once)
    total = sum(count * len(schema.to_bytes(incompressible(*shape, rng))) for shape, count in shapes.items())
    assert (len(once), total < 200e6) == (4060, True)


def test_rounded_points_are_near_and_keep_the_bounds(rng: np.random.Generator) -> None:
    x = np.concatenate([rng.random(1000), [0.0, 1.0]])
    for bits in (8, 9, 11, 12, 20, 27):
        kept = schema.rounded(x, bits)
        assert np.abs(kept - x).max() <= 0.51 / (2**bits - 1)
        assert kept[-2:].tolist() == [0.0, 1.0]
    assert schema.rounded(x, 52) is x
    assert schema.kept_bits(146 * 9) == 52
    assert schema.kept_bits(515 * 120) == 8


def test_columns_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="Not columns of the results: colour"):
        schema.to_bytes({"colour": 1})


# -- damage


def test_every_flipped_byte_is_found_or_harmless(rows: dict[Cell, schema.Row], rng: np.random.Generator) -> None:
    good = schema.to_bytes(rows[compbo_cell()])
    expected = schema.from_bytes(good)
    unnoticed = 0
    for place in rng.choice(len(good), 400, replace=False):
        bad = bytearray(good)
        bad[place] ^= int(rng.integers(1, 256))
        try:
            row = schema.from_bytes(bytes(bad))
        except ValueError:
            continue
        unnoticed += 1
        assert repr(row) == repr(expected), f"byte {place} changed the row and was not noticed"
    assert unnoticed < 200  # some bytes of the footer say nothing


DAMAGES = {
    "half-written": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "without its end": lambda data: data[:-1],
    "text": lambda data: b"not a Parquet file at all",
    "zeros": lambda data: bytes(len(data)),
    "flipped": lambda data: data[:2000] + bytes([data[2000] ^ 255]) + data[2001:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named_set_aside_and_due_again(
    damage: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    one = compbo_cell()
    path = store.path(one.hash)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    before = study_status(store)
    assert list(before.damaged) == [path]
    assert [left.hash for left in before.left] == [one.hash]
    with caplog.at_level(logging.WARNING), store.writing() as survey:
        assert one.hash not in survey.stored
        assert not path.exists()
        (aside,) = (store.folder / "quarantine").iterdir()
    assert str(path) in caplog.text
    assert str(aside) in caplog.text


def test_what_is_set_aside_replaces_nothing(store: Store) -> None:
    first, second = store.cells / "notes.txt", store.cells / "ab" / "notes.txt"
    second.parent.mkdir(exist_ok=True)
    first.write_text("one")
    second.write_text("two")
    with store.writing():
        pass
    (store.folder / "quarantine" / "000-notes.txt").unlink()
    first.write_text("three")
    with store.writing():
        pass
    first.write_text("four")
    with store.writing():
        pass
    kept = {path.read_text() for path in (store.folder / "quarantine").iterdir()}
    assert {"three", "four"} < kept
    assert len(kept) == 3


def test_a_file_under_a_wrong_name_is_set_aside(store: Store) -> None:
    one, other = cell(), cell(seed=5)
    store.path(other.hash).parent.mkdir(exist_ok=True)
    store.path(other.hash).write_bytes(store.path(one.hash).read_bytes())
    stray = store.cells / "notes.txt"
    stray.write_text("hello")
    with store.writing() as survey:
        assert one.hash in survey.stored
        assert other.hash not in survey.stored
        assert len(survey.damaged) == 2
        assert len(list((store.folder / "quarantine").iterdir())) == 2


def test_a_table_with_another_column_is_damaged(store: Store) -> None:
    path = store.path(cell().hash)
    pd.read_parquet(path).assign(colour="red").to_parquet(path)
    assert study_status(store).damaged == {path: "its columns are not those of the results table"}


def test_results_of_another_version_are_refused_and_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {path: path.read_bytes() for path in store.folder.rglob("*.parquet")}
    with monkeypatch.context() as newer:  # a version without the column `reason`
        newer.setattr(schema, "_PLAIN_SCHEMA", schema._PLAIN_SCHEMA.remove(schema.NAMES.index("reason")))
        with pytest.raises(OtherVersionError, match=r"parquet was written by another version of compbo .* results\."):
            study_status(store)
        with pytest.raises(OtherVersionError), store.writing():
            pytest.fail("not for this version to write to")
    with monkeypatch.context() as newer:
        newer.setattr(cells, "FORMAT", 2)
        with pytest.raises(OtherVersionError, match="format 1 is not 2"):
            store.survey()
        with pytest.raises(OtherVersionError, match=r"plan\.jsonl was written by another version"):
            store.plan()
    assert {path: path.read_bytes() for path in store.folder.rglob("*.parquet")} == files
    assert study_status(store).damaged == {}


def test_a_damaged_plan_costs_no_result(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    plan = store.folder / "plan.jsonl"
    plan.write_bytes(plan.read_bytes()[:-40])
    found = study_status(store)
    assert (len(found.done), found.total) == (4, 4)
    assert f"{plan}, line 4 is damaged" in caplog.text


def test_a_full_disk_is_named_and_leaves_nothing_behind(
    store: Store, rows: dict[Cell, schema.Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    data = schema.to_bytes(rows[cell()])
    monkeypatch.setattr(os, "fsync", full)
    before = store.path(cell().hash).read_bytes()
    with pytest.raises(OSError, match=r"could not be written: No space left on device.*the same command goes on"):
        store.write(cell(), data)
    assert list((store.folder / "tmp").iterdir()) == []
    assert store.path(cell().hash).read_bytes() == before


def test_bytes_of_another_cell_are_not_written(tmp_path: Path, rows: dict[Cell, schema.Row]) -> None:
    empty = Store(tmp_path / "r")
    with empty.writing(), pytest.raises(ValueError, match=f"it holds cell {cell().hash}, not"):
        empty.write(cell(seed=9), schema.to_bytes(rows[cell()]))


def test_what_a_crash_left_is_cleared(store: Store) -> None:
    leftover = store.folder / "tmp" / "something.parquet.123"
    leftover.write_bytes(b"half")
    with store.writing():
        assert not leftover.exists()


def test_the_plan_grows_and_is_not_repeated(store: Store, rows: dict[Cell, schema.Row]) -> None:
    assert list(store.plan().values()) == list(rows)
    with store.writing():
        store.add_to_plan([cell(), cell(seed=77)])
    assert [one.hash for one in store.plan().values()] == [*(one.hash for one in rows), cell(seed=77).hash]


def test_status_sorts_the_cells(store: Store) -> None:
    failed = replace(cell(), seed=3)
    with store.writing():
        row = {**run_cell(failed), "status": "failed", "error": "why", "seconds": 2.0}
        store.write(failed, schema.to_bytes(row))
        store.add_to_plan([cell(seed=4), failed])
    found = study_status(store)
    assert (len(found.done), len(found.failed), len(found.left)) == (4, 1, 1)
    assert found.failed[0].error == "why"
    assert found.seconds_left is not None
    assert found.owner is None
    assert study_status(store, [cell()]).total == 1


# -- one writer

HOLD = """
import sys, time
from compbo.study.results import Store
with Store(sys.argv[1]).writing():
    print("locked", flush=True)
    time.sleep(600)
"""


def test_the_second_writer_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    results = tmp_path / "results"
    command = [sys.executable, "-c", HOLD, str(results)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == "locked\n"
            pattern = re.escape(f"{results} is in use by process {first.pid} on ") + ".* Wait until it ends"
            with pytest.raises(InUseError, match=pattern), Store(results).writing():
                pytest.fail("two writers")
            assert str(first.pid) in (Store(results).owner() or "")
        finally:
            first.send_signal(signal.SIGKILL)
    wait_for(lambda: Store(results).owner() is None, "the lock of a dead process")
    with Store(results).writing():
        assert str(os.getpid()) in (Store(results).owner() or "")


def test_two_writers_in_one_process_are_refused(tmp_path: Path) -> None:
    one = Store(tmp_path / "r")
    with one.writing():
        with pytest.raises(InUseError), Store(tmp_path / "r").writing():
            pytest.fail("two writers")
        assert one.owner() is not None
    assert one.owner() is None


def test_schema_metadata_describes_the_columns() -> None:
    described: dict[str, Any] = {field.name: field.metadata[b"about"].decode() for field in schema.SCHEMA}
    assert described["regret"].startswith("(noiseless) loss of that best point")
