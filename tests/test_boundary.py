"""The small modules at the boundary: what users hand in, files, words, versions, worker processes."""

from __future__ import annotations

import errno
import math
import os
import stat
import subprocess
import sys
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compbo.errors import OptionError
from compbo.files import write_atomically
from compbo.inputs import positive_seconds, real, whole_number
from compbo.versions import VERSION, installed_versions
from compbo.words import counted, did_you_mean, either, meant_or_known


@pytest.mark.parametrize("value", [1, np.int8(1), 10**30])
def test_whole_numbers_become_plain(value: Any) -> None:
    number = whole_number("n", value)
    assert number == value
    assert type(number) is int


@pytest.mark.parametrize("value", [0, True, 1.0, np.float64(1), "1", None, math.nan])
def test_what_is_no_whole_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(OptionError, match=r"^n must be a whole number >= 1, got ") as caught:
        whole_number("n", value)
    assert caught.value.option == "n"


def test_real_numbers() -> None:
    assert [real(value) for value in (1, 2.5, np.float32(0.5), Fraction(1, 4))] == [1.0, 2.5, 0.5, 0.25]
    assert all(math.isnan(real(value)) for value in (True, "1", None, 10**400, 1j))


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "3", True])
def test_seconds_are_positive_and_finite(value: Any) -> None:
    assert positive_seconds("t", Fraction(1, 2)) == 0.5
    with pytest.raises(OptionError, match=r"^t must be a positive number of seconds, got "):
        positive_seconds("t", value)


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_as_a_whole_and_others_may_read_it(tmp_path: Path) -> None:
    path, scratch = tmp_path / "file", tmp_path / "scratch"
    scratch.mkdir()
    write_atomically(path, "ä")
    assert path.read_bytes() == b"\xc3\xa4"
    write_atomically(path, b"new", scratch=scratch)
    assert path.read_bytes() == b"new"
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_what_cannot_be_written_leaves_the_old_file_and_names_it(
    function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, function, full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, "new")
    assert caught.value.filename == str(path)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("file", "old")]


# -- words and versions -----------------------------------------------------------------------------------------------


def test_words() -> None:
    assert (counted(0, "point"), counted(1, "point"), counted(2, "point")) == ("0 points", "1 point", "2 points")
    assert (either([]), either(["a"]), either(["a", "b", "c"])) == ("", "a", "a, b or c")


def test_names_that_were_probably_meant() -> None:
    known = ["CAdam", "CAdam-ME", "Adam-ERM", "SGA"]
    assert did_you_mean("cadam-me", known).startswith("did you mean CAdam-ME")
    assert did_you_mean("sgb", known) == "did you mean SGA?"
    assert did_you_mean("furnace", known) == did_you_mean(3, known) == did_you_mean("SGA", []) == ""
    assert meant_or_known("sgb", known) == "did you mean SGA?"
    assert meant_or_known("furnace", known, "there are") == "there are CAdam, CAdam-ME, Adam-ERM, SGA."
    assert meant_or_known("?", [str(number) for number in range(50)]).endswith("38, 39 and 10 more.")


def test_versions() -> None:
    found = installed_versions(["torch", "no-such-package"])
    assert list(found) == ["python", "compbo", "torch"]
    assert (found["compbo"], found["torch"]) == (VERSION, metadata.version("torch"))


# -- worker processes -------------------------------------------------------------------------------------------------


def test_a_worker_process_imports_nothing_heavy() -> None:
    code = "import sys, compbo.run.worker_process; print([m for m in ('torch', 'numpy', 'optuna') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"
