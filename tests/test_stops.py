"""What stops a run before its evaluations are used up, what is left, and how it goes on."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import compbo
from compbo import STOP, Budget, Float, StartPolicy
from compbo.run.stops import Stopped
from compbo.storage import load_records
from objectives import bowl, sleeps_on_the_left

PLANE = {"x": Float(-5, 5), "y": Float(-5, 5)}
OPTIONS: dict[str, Any] = {
    "evaluations": 11,
    "batch_size": 4,
    "seed": 3,
    "starts": StartPolicy(raw_batches=64, restarts=4),
    "budget": Budget(steps=8),
}


@pytest.fixture(scope="module")
def whole() -> compbo.Result:
    """The run that nothing stops."""
    return compbo.minimize(bowl, PLANE, **OPTIONS)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def resumed(db: Path) -> compbo.Result:
    return compbo.minimize(bowl, PLANE, storage=db, **OPTIONS)


def test_a_run_that_nothing_stops_says_so(whole: compbo.Result) -> None:
    assert whole.stopped == "evaluations used up"
    assert whole.stopped is Stopped.EVALUATIONS
    assert "stopped='evaluations used up'" in repr(whole)


# -- a target ---------------------------------------------------------------------------------------------------------


def test_the_first_value_as_good_as_the_target_stops_the_run_in_both_directions(whole: compbo.Result, db: Path) -> None:
    values = [record.value or 0.0 for record in whole.records]
    at = next(i for i, value in enumerate(values) if 0 < i % 4 < 3 and value == min(values[: i + 1]))  # inside a batch
    for target, minimize, f in ((values[at], True, bowl), (-values[at], False, lambda p: -bowl(p))):
        run = compbo.minimize if minimize else compbo.maximize
        result = run(f, PLANE, storage=db, study_name=str(minimize), target=target, **OPTIONS)
        states = [record.state for record in result.records]
        assert result.stopped == "target reached"
        assert states == ["COMPLETE"] * (at + 1) + ["RUNNING"] * (3 - at % 4)
        assert result.best_value == target
    again = compbo.minimize(bowl, PLANE, storage=db, study_name="True", **OPTIONS)
    assert again.records == whole.records  # without the target it goes on as if it had never stopped


def test_a_target_that_was_reached_before_evaluates_nothing(db: Path) -> None:
    compbo.minimize(bowl, PLANE, storage=db, **{**OPTIONS, "evaluations": 3})
    result = compbo.minimize(lambda p: pytest.fail("evaluated"), PLANE, storage=db, target=1e9, **OPTIONS)
    assert (result.stopped, len(load_records(db))) == ("target reached", 3)


def test_a_target_out_of_reach_stops_nothing(whole: compbo.Result) -> None:
    assert compbo.minimize(bowl, PLANE, target=-1e-9, **OPTIONS).records == whole.records


# -- a callback -------------------------------------------------------------------------------------------------------


def test_a_callback_stops_the_run_and_nothing_else_that_it_returns_does(whole: compbo.Result, db: Path) -> None:
    def enough(optimizer: compbo.Optimizer) -> object:
        return STOP if len(optimizer.evaluations) == 6 else True

    result = compbo.minimize(bowl, PLANE, storage=db, callback=enough, **OPTIONS)
    assert result.stopped == "stopped by the callback"
    assert [record.state for record in result.records] == ["COMPLETE"] * 6 + ["RUNNING"] * 2
    assert resumed(db).records == whole.records


# -- a time limit -----------------------------------------------------------------------------------------------------


class Clock:
    """A clock that goes on by a second with every evaluation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("compbo.run.stops.time.monotonic", lambda: self.now)

    def objective(self, p: dict[str, Any]) -> float:
        self.now += 1.0
        return bowl(p)


def test_nothing_is_begun_after_the_time_limit(whole: compbo.Result, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    result = compbo.minimize(clock.objective, PLANE, storage=db, time_limit=4.5, **OPTIONS)
    assert result.stopped == "time limit"
    assert [record.state for record in result.records] == ["COMPLETE"] * 5 + ["RUNNING"] * 3
    more = compbo.minimize(clock.objective, PLANE, storage=db, time_limit=2.5, **OPTIONS)  # of every call anew
    assert sum(record.state == "COMPLETE" for record in more.records) == 8
    monkeypatch.undo()
    assert resumed(db).records == whole.records


def test_an_ask_that_takes_the_rest_of_the_time_is_kept_for_the_next_call(
    whole: compbo.Result, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    ask = compbo.Optimizer.ask

    def slow(self: Any, count: int | None = None) -> Any:
        clock.now += 10.0 * bool(self.evaluations)
        return ask(self, count)

    monkeypatch.setattr(compbo.Optimizer, "ask", slow)
    result = compbo.minimize(bowl, PLANE, storage=db, time_limit=5.0, **OPTIONS)
    assert [record.state for record in result.records] == ["COMPLETE"] * 4 + ["RUNNING"] * 4
    monkeypatch.undo()
    assert resumed(db).records == whole.records


def test_the_time_limit_stops_worker_processes(db: Path) -> None:
    """Those on the left would sleep for ten minutes; they are evaluated again on resuming, and have not failed."""
    options = {**OPTIONS, "evaluations": 4, "storage": db}
    result = compbo.minimize(sleeps_on_the_left, PLANE, workers=2, time_limit=12.0, timeout=500.0, **options)
    assert result.stopped == "time limit"
    states = Counter(record.state for record in result.records)
    assert (states["FAIL"], states["RUNNING"] >= 2) == (0, True)
    assert all(record.params["x"] >= 0 for record in result.records if record.state == "COMPLETE")
    done = compbo.minimize(bowl, PLANE, **options)
    assert done.records == compbo.minimize(bowl, PLANE, **{**options, "storage": None}).records


def test_a_time_limit_before_the_first_evaluation_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    result = compbo.minimize(bowl, PLANE, time_limit=1e-9, **OPTIONS)
    assert (result.stopped, result.best, result.all_failed) == ("time limit", None, False)
    assert "failed" not in caplog.text


@pytest.mark.parametrize(
    ("option", "value"), [("time_limit", 0), ("time_limit", "soon"), ("target", float("nan")), ("target", "low")]
)
def test_a_wrong_limit_is_named(option: str, value: Any) -> None:
    with pytest.raises(compbo.OptionError, match=option):
        compbo.minimize(bowl, PLANE, evaluations=1, **{option: value})


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------


def interrupts_at(count: int) -> Any:
    seen = [0]

    def objective(p: dict[str, Any]) -> float:
        seen[0] += 1
        if seen[0] == count:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        return bowl(p)

    return objective


def test_ctrl_c_returns_the_result_and_says_how_to_resume(
    whole: compbo.Result, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "compbo"):
        result = compbo.minimize(interrupts_at(6), PLANE, storage=db, **OPTIONS)
    assert result.stopped == "interrupted"
    assert [record.state for record in result.records] == ["COMPLETE"] * 5 + ["RUNNING"] * 3
    assert f"Interrupted after 5 of 11 evaluations; the result has them, and so has storage='{db}'" in caplog.text
    assert "the same call again resumes" in caplog.text
    assert resumed(db).records == whole.records


def test_without_a_storage_ctrl_c_says_how_to_go_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "compbo"):
        result = compbo.minimize(interrupts_at(2), PLANE, **OPTIONS)
    assert "nothing is stored" in caplog.text
    assert len(result.optimizer.evaluations) == 1


def test_a_script_shows_the_way_to_resume_and_no_traceback(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, time, compbo\n"
        "def f(p):\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(60)\n"
        "result = compbo.minimize(f, {'x': compbo.Float(0, 1)}, evaluations=3, storage='run.db')\n"
        "print(result.stopped)\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n")
    assert "Traceback" not in done.stderr
    assert "Interrupted after 0 of 3 evaluations" in done.stderr
