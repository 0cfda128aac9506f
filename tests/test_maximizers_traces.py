"""Twenty seeded steps of every row, recorded: a change must be intended (see `recorded_traces.py`)."""

from __future__ import annotations

import shutil

import pytest

from compbo.maximizers import CATALOGUE
from recorded_traces import FILE, record, recorded, trace_of


@pytest.mark.parametrize("name", CATALOGUE)
def test_trace_is_the_recorded_one(name):
    expected, found = recorded()[name], trace_of(name)
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        for field in ("value_0", "value_1", "point"):
            assert float(row[field]) == pytest.approx(float(wanted[field]), rel=1e-9, abs=1e-11), (row["step"], field)


def test_recorded_traces_cover_the_catalogue():
    assert list(recorded()) == list(CATALOGUE)


def test_only_missing_rows_are_recorded(tmp_path):
    """A row without a trace gets one, the others keep theirs to the letter, and those of unknown names go."""
    file = tmp_path / "traces.csv"
    kept = [line for line in FILE.read_text().splitlines() if not line.startswith("RS,")]
    file.write_text("\n".join([*kept, "Gone,1,0,0,0"]) + "\n")
    assert record(file) == ["RS"]
    assert list(recorded(file)) == list(CATALOGUE)
    assert [line for line in file.read_text().splitlines() if not line.startswith("RS,")] == kept
    shutil.copy(FILE, file)
    assert record(file) == []
    assert file.read_text() == FILE.read_text()
