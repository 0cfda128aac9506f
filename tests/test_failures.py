"""A program that always fails: the run stops at once, says why, and goes on when it is repaired."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import compbo
from compbo import AlwaysFailsError, Budget, Float, StartPolicy, TooManyFailuresError
from compbo.cli.resume import with_option
from compbo.evaluation import LONGEST_TRACEBACK, evaluate
from compbo.run.failures import kind_of
from compbo.storage import StoredRun, load_records
from objectives import bowl

PLANE = {"x": Float(-5, 5), "y": Float(-5, 5)}
CHEAP: dict[str, Any] = {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8)}
COMPBO = [sys.executable, "-c", "from compbo.cli import main; main()"]


def typo(p: dict[str, Any]) -> float:
    return p["x"] ** 2 + p["why"]  # type: ignore[no-any-return]


def states(path: Path) -> list[str]:
    return [record.state for record in load_records(path)]


# -- stop -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "failures"),
    [
        ({}, 4),  # the initial design of two parameters
        ({"initial_points": 16}, 5),
        ({"initial_points": 1}, 3),
        ({"batch_size": 8}, 5),
        ({"evaluations": 2}, None),
    ],
)
def test_the_same_error_from_the_beginning_stops_the_run(options: dict[str, Any], failures: int | None) -> None:
    wanted: dict[str, Any] = {"evaluations": 100, **CHEAP, **options}
    if failures is None:
        assert [r.state for r in compbo.minimize(typo, PLANE, **wanted).records] == ["FAIL"] * 2
        return
    with pytest.raises(
        AlwaysFailsError, match="failed with the same error, so the run stopped: KeyError: 'why'"
    ) as caught:
        compbo.minimize(typo, PLANE, **wanted)
    assert sum(record.state == "FAIL" for record in caught.value.result.records) == failures
    assert str(caught.value).startswith(f"The first {failures} evaluations")
    assert "Repair it and call again, or allow failures with max_failures=100." in str(caught.value)
    (note,) = caught.value.__notes__  # the user's own frame, nothing of compbo
    assert note.startswith("The last one:\nTraceback (most recent call last):")
    assert 'test_failures.py", line 27, in typo' in note
    assert note.count("File") == 1


def test_parallel_evaluations_stop_too() -> None:
    with pytest.raises(AlwaysFailsError, match="KeyError") as caught:
        compbo.minimize(typo, PLANE, evaluations=100, workers=2, **CHEAP)
    assert "in typo" in caught.value.traceback
    assert sum(record.state == "FAIL" for record in caught.value.result.records) <= 6


def test_different_errors_or_one_success_do_not_stop_it() -> None:
    def varied(p: dict[str, Any]) -> float:
        seen.append(p)
        raise (ValueError, TypeError)[len(seen) % 2](p["x"])

    def lucky(p: dict[str, Any]) -> float:
        seen.append(p)
        if len(seen) == 2:
            return 1.0
        raise ValueError("again")

    for objective in (varied, lucky):
        seen: list[Any] = []
        assert len(compbo.minimize(objective, PLANE, evaluations=8, **CHEAP).records) == 8


def test_numbers_in_a_message_make_no_difference() -> None:
    def wrong(p: dict[str, Any]) -> float:
        raise ValueError(f"{p['x']} is no good (attempt {1e-7 * p['y']})")

    with pytest.raises(AlwaysFailsError):
        compbo.minimize(wrong, PLANE, evaluations=50)
    assert kind_of("exit code 1: a") != kind_of("exit code 1: b")


def test_a_limit_of_ones_own_replaces_the_rule() -> None:
    assert len(compbo.minimize(typo, PLANE, evaluations=12, max_failures=12).records) == 12
    with pytest.raises(TooManyFailuresError):
        compbo.minimize(typo, PLANE, evaluations=12, max_failures=6)


# -- and go on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.db", "run.log"])
def test_the_repaired_program_goes_on_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    options: dict[str, Any] = {"evaluations": 10, "batch_size": 2, **CHEAP}
    for _ in range(2):  # the second time at once: nothing is evaluated
        with pytest.raises(AlwaysFailsError, match=r"call again with retry_failed=True, or allow .* max_failures=10"):
            compbo.minimize(typo, PLANE, storage=path, **options)
        assert states(path).count("FAIL") == 4
    repaired = compbo.minimize(bowl, PLANE, storage=path, retry_failed=True, **options)
    whole = compbo.minimize(bowl, PLANE, **options)
    assert [(r.params, r.value) for r in repaired.records] == [(r.params, r.value) for r in whole.records]
    assert [r.number for r in repaired.records] == list(range(4, 14))  # the failed ones keep their numbers
    assert states(path) == ["COMPLETE"] * 10
    assert compbo.load(path).best_value == whole.best_value


def test_only_what_failed_is_evaluated_again(tmp_path: Path) -> None:
    def left(p: dict[str, Any]) -> float:
        if p["x"] < 0:
            raise ArithmeticError("left")
        return bowl(p)

    path = tmp_path / "run.log"
    first = compbo.minimize(left, PLANE, evaluations=6, storage=path, **CHEAP)
    seen: list[Any] = []
    failed = [r.params for r in first.records if r.state == "FAIL"]
    assert failed
    again = compbo.minimize(
        lambda p: seen.append(p) or bowl(p), PLANE, evaluations=6, storage=path, retry_failed=True, **CHEAP
    )
    assert seen == failed
    assert len(again.records) == 6
    assert all(r.state == "COMPLETE" for r in again.records)
    compbo.minimize(lambda p: pytest.fail("evaluated"), PLANE, evaluations=6, storage=path, retry_failed=True, **CHEAP)


def test_a_retry_that_fails_again_can_be_retried(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    options: dict[str, Any] = {"evaluations": 4, "storage": path, **CHEAP}
    for _ in range(3):
        with pytest.raises(AlwaysFailsError):
            compbo.minimize(typo, PLANE, retry_failed=True, **options)
    assert [r.number for r in load_records(path)] == [8, 9, 10, 11]
    assert len(compbo.minimize(bowl, PLANE, retry_failed=True, **options).records) == 4


def test_killed_while_retrying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of four are pending again when the process dies; the same call does the rest."""
    path = tmp_path / "run.log"
    options: dict[str, Any] = {"evaluations": 6, "storage": path, **CHEAP}
    with pytest.raises(AlwaysFailsError):
        compbo.minimize(typo, PLANE, **options)
    create, calls = StoredRun._create, [0]

    def dying(self: StoredRun, *args: Any) -> int:
        calls[0] += 1
        if calls[0] == 3:
            raise ConnectionError("gone")
        return create(self, *args)

    monkeypatch.setattr(StoredRun, "_create", dying)
    with pytest.raises(ConnectionError):
        compbo.minimize(bowl, PLANE, retry_failed=True, **options)
    monkeypatch.setattr(StoredRun, "_create", create)
    assert sorted(states(path)) == ["FAIL"] * 2 + ["RUNNING"] * 2
    result = compbo.minimize(bowl, PLANE, retry_failed=True, **options)
    whole = compbo.minimize(bowl, PLANE, evaluations=6, **CHEAP)
    assert {str(r.params) for r in result.records} == {str(r.params) for r in whole.records}


# -- what is kept of a failure ----------------------------------------------------------------------------------------


def test_the_traceback_is_kept_with_times(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(AlwaysFailsError) as caught:
        compbo.minimize(typo, PLANE, evaluations=9, storage=path)
    for record, stored in zip(caught.value.result.records, load_records(path), strict=True):
        assert "KeyError: 'why'" in record.traceback
        assert stored.traceback == record.traceback
        assert stored.seconds == record.seconds
        assert (record.seconds or -1) >= 0
        assert record.asked
        assert record.asked <= record.ended


def test_of_a_long_traceback_the_end_is_kept() -> None:
    def deep(p: dict[str, Any], levels: int = 3000) -> float:
        return (deep if levels % 2 else deeper)(p, levels - 1) if levels else 1 / 0

    def deeper(p: dict[str, Any], levels: int) -> float:
        return deep(p, levels)

    outcome = evaluate(deep, {})
    assert outcome.message.startswith("RecursionError")
    assert len(outcome.traceback) <= LONGEST_TRACEBACK + 4
    assert outcome.traceback.rstrip().splitlines()[-1].startswith("RecursionError")


def test_causes_are_part_of_the_traceback() -> None:
    def wrapped(p: dict[str, Any]) -> float:
        try:
            return 1 / 0
        except ZeroDivisionError as error:
            raise ValueError("outer") from error

    text = evaluate(wrapped, {}).traceback
    assert "ZeroDivisionError" in text
    assert text.rstrip().endswith("ValueError: outer")


# -- from the command line --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text("[x]\ntype = 'float'\nlow = 0\nhigh = 1\n[y]\ntype = 'float'\nlow = 0\nhigh = 1\n")
    return tmp_path


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMPBO, *words], capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("storage", [None, "run.db"])
def test_a_typo_does_not_burn_the_budget(storage: str | None, folder: Path) -> None:
    """Stopped, shown, repaired, resumed with the command that was printed."""
    Path("objective.py").write_text("def f(p):\n    return p['x'] + p['z']\n")
    words = ["optimize", "objective.py:f", "--space", "space.toml", "-n", "8"]
    stopped = command(*words, *(["--storage", storage] if storage else []))
    assert stopped.returncode == 1
    assert stopped.stdout == ""
    lines = stopped.stderr.strip().splitlines()
    place = storage or "compbo-run.db"
    assert f'  File "{folder}/objective.py", line 2, in f' in lines
    assert lines[-2] == (
        "Error: The first 4 evaluations failed with the same error, so the run stopped: KeyError: 'z'. Repair it and "
        f"call again with --retry-failed, or allow failures with --max-failures 8. 4 of 8 evaluations are saved in "
        f"{place}. Resume when it is repaired, with:"
    )
    assert lines[-1].endswith("--retry-failed" + ("" if storage else f" --storage {place}"))
    Path("objective.py").write_text("def f(p):\n    return p['x'] + p['y']\n")
    resumed = command(*shlex.split(lines[-1])[1:])
    assert resumed.returncode == 0, resumed.stderr
    assert states(Path(place)) == ["COMPLETE"] * 8


def test_a_program_that_always_fails_shows_what_it_wrote(folder: Path) -> None:
    Path("program.py").write_text("import sys\nprint(sys.argv[3])\n")
    words = ["optimize", "--command", f"{shlex.quote(sys.executable)} program.py {{x}} {{y}}", "--space", "space.toml"]
    stopped = command(*words, "-n", "50", "--storage", "run.db")
    assert stopped.returncode == 1
    assert "in <module>\n    print(sys.argv[3])" in stopped.stderr
    assert (
        "failed with the same error, so the run stopped: exit code 1: IndexError: list index out of" in stopped.stderr
    )
    assert states(Path("run.db")) == ["FAIL"] * 4


def test_the_hint_names_a_higher_number(folder: Path) -> None:
    Path("objective.py").write_text("def f(p):\n    raise ValueError(p)\n")
    words = [
        "optimize",
        "objective.py:f",
        "--space",
        "space.toml",
        "-n",
        "9",
        "--max-failures",
        "1",
        "--storage",
        "a.db",
    ]
    stopped = command(*words)
    message, resume = stopped.stderr.strip().splitlines()[-2:]
    assert "2 evaluations failed, more than --max-failures 1;" in message
    assert message.endswith("Resume with a higher --max-failures:")
    assert resume.endswith("--storage a.db --max-failures 4")
    again = command(*shlex.split(resume)[1:])
    assert "5 evaluations failed, more than --max-failures 4" in again.stderr
    assert again.stderr.strip().endswith("--max-failures 10")


def test_an_option_is_replaced_in_a_command() -> None:
    words = ["compbo", "optimize", "--max-failures=1", "f.py:g", "--max-failures", "2"]
    assert with_option(words, "--max-failures", "4") == ["compbo", "optimize", "f.py:g", "--max-failures", "4"]
    assert with_option(["a", "--retry-failed", "b"], "--retry-failed") == ["a", "b", "--retry-failed"]
