"""Storing, killing, resuming, reading back."""

from __future__ import annotations

import csv
import itertools
import json
import multiprocessing
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import optuna
import pytest
import torch

import compbo
import resumed_run
from compbo import Bool, Budget, Categorical, Constant, Float, Int, Optimizer, Ordinal, Space, StartPolicy, Telemetry
from compbo.bo.settings import Settings
from compbo.bo.verdict import Verdict
from compbo.evaluation import Outcome
from compbo.records import TIMES, Record, to_frame, write
from compbo.run.result import TooManyFailuresError
from compbo.storage import StoredRun, load_optimizer, load_records
from compbo.storage.connect import connect
from compbo.storage.lease import KEY, InUseError, Lease
from compbo.storage.signature import pack, unpack
from objectives import bowl, fails_on_the_left

PLANE = {"x": Float(-5, 5), "y": Float(-5, 5)}
CHEAP: dict[str, Any] = {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8)}
TELEMETRY = Telemetry(Verdict.FLAT, "nothing", start_values=tuple(i / 7 for i in range(300)))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Much faster than SQLite, for the tests that do not care."""
    return tmp_path / "run.log"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


# -- killed and resumed -----------------------------------------------------------------------------------------------


def test_killed_and_resumed_equals_uninterrupted(db: Path) -> None:
    """SIGKILL in the middle of the fourth batch of 8, then the same call again: 48 evaluations, bit for bit."""
    command = [sys.executable, resumed_run.__file__, f"sqlite:///{db}", "48", "28"]
    assert subprocess.run(command, check=False, timeout=300).returncode == -signal.SIGKILL
    states = [record.state for record in load_records(db)]
    assert states.count("RUNNING") == 5
    assert len(states) == 32

    resumed = resumed_run.run(f"sqlite:///{db}", 48)
    whole = resumed_run.run(None, 48)
    assert resumed.history.equals(whole.history)
    assert [t.end_values for t in resumed.telemetry] == [t.end_values for t in whole.telemetry]
    assert "FAIL" in set(whole.history["state"])  # failures were resumed too

    again = resumed_run.run(f"sqlite:///{db}", 48)  # nothing left to do
    assert again.history.equals(whole.history)
    study = optuna.load_study(study_name="compbo", storage=f"sqlite:///{db}")
    assert study.best_value == whole.best_value
    assert study.best_params == whole.best_params


def test_a_finished_run_can_be_extended(journal: Path) -> None:
    resumed_run.run(str(journal), 16)
    assert resumed_run.run(str(journal), 24).history.equals(resumed_run.run(None, 24).history)


@pytest.mark.parametrize("stored", [1, 2, 3])
def test_a_batch_that_was_being_stored_is_completed(
    stored: int, monkeypatch: pytest.MonkeyPatch, journal: Path
) -> None:
    """The process dies after `stored` of 4 points of the second batch were written."""
    calls = itertools.count(1)
    create = StoredRun._create

    def dying(self: StoredRun, *args: Any) -> int:
        if next(calls) == 4 + stored + 1:
            raise ConnectionError("gone")
        return create(self, *args)

    options: dict[str, Any] = {"evaluations": 12, "batch_size": 4, "initial_points": 4, **CHEAP}
    monkeypatch.setattr(StoredRun, "_create", dying)
    with pytest.raises(ConnectionError):
        compbo.minimize(bowl, PLANE, storage=journal, **options)
    monkeypatch.setattr(StoredRun, "_create", create)
    assert len(load_records(journal)) == 4 + stored
    assert compbo.minimize(bowl, PLANE, storage=journal, **options).history.equals(
        compbo.minimize(bowl, PLANE, **options).history
    )


@pytest.mark.parametrize("glued", [b"", b'{"op_code":2,"worker_id":"x"}\n'])  # written after the disk was full
def test_a_journal_whose_last_entry_is_unfinished_goes_on(
    glued: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = tmp_path / "run.log"
    options: dict[str, Any] = {"maximizer": "RS", **CHEAP}
    compbo.minimize(bowl, PLANE, storage=journal, evaluations=3, **options)
    torn = journal.read_bytes() + b'{"op_code":6,"wor' + glued
    journal.write_bytes(torn)
    assert len(load_records(journal)) == 3
    assert journal.read_bytes() == torn  # reading changes nothing
    resumed = compbo.minimize(bowl, PLANE, storage=journal, evaluations=6, **options)
    assert "was not written to its end" in caplog.text
    assert resumed.history.equals(compbo.minimize(bowl, PLANE, evaluations=6, **options).history)
    assert len(load_records(journal)) == 6


def test_no_more_than_the_last_line_of_a_journal_is_cut(tmp_path: Path) -> None:
    journal = tmp_path / "run.log"
    compbo.minimize(bowl, PLANE, storage=journal, evaluations=2, maximizer="RS", **CHEAP)
    kept = journal.read_bytes() + b"not an entry\n"
    journal.write_bytes(kept + b'{"op_code":6,"wor')
    connect(journal)
    assert journal.read_bytes() == kept


def test_a_smaller_budget_evaluates_nothing_more(journal: Path) -> None:
    compbo.minimize(bowl, PLANE, storage=journal, evaluations=6, **CHEAP)
    fewer = compbo.minimize(lambda p: pytest.fail("evaluated"), PLANE, storage=journal, evaluations=4, **CHEAP)
    assert len(fewer.records) == 6


def test_everything_is_committed_before_the_next_evaluation(journal: Path) -> None:
    def watching(p: dict[str, Any]) -> float:
        records = load_records(journal)
        assert [r.state for r in records] == ["COMPLETE"] * len(seen) + ["RUNNING"] * (3 - len(seen) % 3)
        assert records[len(seen)].params == p
        seen.append(p)
        return bowl(p)

    seen: list[Any] = []
    result = compbo.minimize(watching, PLANE, storage=journal, evaluations=6, batch_size=3, max_failures=0, **CHEAP)
    assert len(result.records) == 6


def test_interrupted_and_too_many_failures_are_saved(db: Path, tmp_path: Path) -> None:
    def interrupts(p: dict[str, Any]) -> float:
        if len(load_records(db)) >= 4:
            raise KeyboardInterrupt
        return bowl(p)

    assert compbo.minimize(interrupts, PLANE, storage=db, evaluations=9, **CHEAP).stopped == "interrupted"
    assert [r.state for r in load_records(db)] == ["COMPLETE"] * 3 + ["RUNNING"]
    assert len(compbo.minimize(bowl, PLANE, storage=db, evaluations=6, **CHEAP).records) == 6

    other = tmp_path / "other.db"
    with pytest.raises(TooManyFailuresError):
        compbo.minimize(fails_on_the_left, PLANE, storage=other, evaluations=20, max_failures=1, **CHEAP)
    records = load_records(other)
    assert [r.message for r in records if r.state == "FAIL"] == ["ArithmeticError: left"] * 2
    with pytest.raises(TooManyFailuresError):  # again, at once
        compbo.minimize(
            lambda p: pytest.fail("evaluated"), PLANE, storage=other, evaluations=20, max_failures=1, **CHEAP
        )


# -- what must be the same --------------------------------------------------------------------------------------------


def test_a_different_run_is_refused_by_name(journal: Path) -> None:
    same: dict[str, Any] = {"space": PLANE, "evaluations": 1, "storage": journal, **CHEAP}
    compbo.minimize(bowl, **same)
    before = journal.read_bytes()
    for change, match in [
        ({"seed": 1}, r"seed \(stored 0, given 1\)"),
        ({"acquisition": "ei"}, r"acquisition \(stored 'portfolio', given 'ei'\)"),
        ({"batch_size": 2}, "batch_size"),
        ({"budget": Budget(steps=9)}, r"budget.steps \(stored 8, given 9\)"),
        ({"space": {"x": Float(-5, 6), "y": Float(-5, 5)}}, r"x.high \(stored 5.0, given 6.0\)"),
        ({"space": {"x": Float(-5, 5), "z": Float(-5, 5)}}, r"stored x, y; given x, z"),
    ]:
        with pytest.raises(ValueError, match=match) as caught:
            compbo.minimize(bowl, **{**same, **change})
        assert "beta" not in str(caught.value)  # of another acquisition only the name
    with pytest.raises(ValueError, match="direction minimize"):
        compbo.maximize(bowl, **same)
    assert journal.read_bytes() == before
    compbo.minimize(bowl, **{**same, "evaluations": 2})
    compbo.minimize(bowl, **{**same, "study_name": "another", "seed": 1})
    assert (len(load_records(journal, "compbo")), len(load_records(journal, "another"))) == (2, 1)


def test_another_number_of_threads_is_said(
    journal: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums are rounded in another order: the last bits of a suggestion may differ."""
    compbo.minimize(bowl, PLANE, storage=journal, evaluations=1)
    compbo.minimize(bowl, PLANE, storage=journal, evaluations=1)
    assert "threads" not in caplog.text
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    monkeypatch.setenv("COMPBO_THREADS", "2")
    try:
        compbo.minimize(bowl, PLANE, storage=journal, evaluations=1)
    finally:
        torch.set_num_threads(threads)
    assert "begun with 1 threads and goes on with 2" in caplog.text


def test_a_run_of_before_an_option_goes_on_without_it(db: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It names neither the levels of its starts nor a backend: levels were not searched, and precision was double."""
    space = {"n": Int(0, 9), "x": Float(0, 1)}
    options: dict[str, Any] = {"storage": db, "evaluations": 1, "budget": Budget(steps=8)}
    old, new = (StartPolicy(raw_batches=64, restarts=4, levels=levels) for levels in (False, True))
    compbo.minimize(lambda p: p["n"] + p["x"], space, starts=new, **options)
    with closing(sqlite3.connect(db)) as file, file:
        file.execute("UPDATE study_system_attributes SET value_json = replace(value_json, ',\\\"levels\\\":true', '')")
        file.execute("DELETE FROM study_system_attributes WHERE key = 'compbo:backend'")
    assert load_optimizer(db).settings.starts == old
    with pytest.raises(ValueError, match=r"starts\.levels \(stored False, given True\)"):
        compbo.minimize(lambda p: p["n"] + p["x"], space, starts=new, **options)
    compbo.minimize(lambda p: p["n"] + p["x"], space, starts=old, **options)
    assert "begun with the backend torch and goes on with single" in caplog.text


def test_a_study_of_another_program_is_not_written_to(db: Path) -> None:
    study = optuna.create_study(study_name="compbo", storage=f"sqlite:///{db}")
    study.add_trial(optuna.trial.create_trial(value=1.0))
    before = db.read_bytes()
    with pytest.raises(ValueError, match="not written by compbo"):
        compbo.minimize(bowl, PLANE, storage=db, evaluations=1)
    assert db.read_bytes() == before


# -- storages ---------------------------------------------------------------------------------------------------------


def test_every_kind_of_value_reads_back_exactly(db: Path) -> None:
    space = Space({
        "f": Float(-1e3, 1e3),
        "g": Float(1e-12, 1e12, scale="log"),
        "u": Float(0.001, 0.999, scale="logit"),
        "i": Int(-(2**40), 2**40),
        "b": Bool(),
        "c": Categorical([None, "a", 2.5, "<script>alert(1)</script>"]),
        "o": Ordinal([1, 2, 4]),
        "k": Constant("same"),
        "ünï:名": Float(0, 1),
    })  # fmt: skip
    points = space.sample(12, torch.Generator().manual_seed(1))
    values = [0.1 + 0.2, 1e300, -1e-300, 5e-324, 1 / 3, 0.0, 1e22, 123456789.123456789, 2.0**-1074, 7.0, 3.14, 1e-17]
    run = StoredRun.open(db, "compbo", space, Settings())
    numbers = run.add(points, TELEMETRY)
    for number, value in zip(numbers, values, strict=True):
        run.finish(number, Outcome(value))
    run.close()
    optimizer = load_optimizer(db)
    assert optimizer.space == space
    assert [e.params for e in optimizer.evaluations] == points
    assert [repr(e.value) for e in optimizer.evaluations] == [repr(v) for v in values]
    assert [[type(v) for v in e.params.values()] for e in optimizer.evaluations] == [
        [type(v) for v in p.values()] for p in points
    ]
    assert optimizer.telemetry == [TELEMETRY] or repr(optimizer.telemetry) == repr([TELEMETRY])  # NaN != NaN


@pytest.mark.parametrize("kind", ["url", "path", "journal", "object", "memory"])
def test_storages(kind: str, tmp_path: Path) -> None:
    storage: Any = {
        "url": f"sqlite:///{tmp_path / 'a b.db'}",
        "path": tmp_path / "run 100%?.db",
        "journal": str(tmp_path / "run.log"),
        "object": optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "j"))),
        "memory": optuna.storages.InMemoryStorage(),
    }[kind]
    first = compbo.minimize(bowl, PLANE, storage=storage, evaluations=3, **CHEAP)
    both = compbo.minimize(bowl, PLANE, storage=storage, evaluations=6, **CHEAP)
    assert both.history.iloc[:3].equals(first.history)
    assert both.history.equals(compbo.minimize(bowl, PLANE, evaluations=6, **CHEAP).history)
    assert load_optimizer(storage).evaluations == both.optimizer.evaluations
    if kind == "path":
        assert storage.is_file()


def test_postgres(postgres_url: str) -> None:
    name = f"compbo-{os.getpid()}"
    options: dict[str, Any] = {"storage": postgres_url, "study_name": name, "batch_size": 2, **CHEAP}
    compbo.minimize(bowl, PLANE, evaluations=4, **options)
    resumed = compbo.minimize(bowl, PLANE, evaluations=8, **options)
    assert resumed.history.equals(compbo.minimize(bowl, PLANE, evaluations=8, batch_size=2, **CHEAP).history)
    optuna.delete_study(study_name=name, storage=postgres_url)


@pytest.mark.touches_global_rng  # something that the dashboard imports draws from it
def test_the_dashboard_opens_the_file(db: Path) -> None:
    dashboard = pytest.importorskip("optuna_dashboard")
    compbo.minimize(fails_on_the_left, PLANE, storage=db, evaluations=8, **CHEAP)
    app = dashboard.wsgi(optuna.storages.get_storage(f"sqlite:///{db}"))
    answer: list[str] = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/api/studies", "wsgi.input": None, "wsgi.errors": sys.stderr}
    body = b"".join(app(environ, lambda status, headers, *rest: answer.append(status)))
    assert answer == ["200 OK"]
    assert b'"compbo"' in body
    (trial, *_) = [
        t for t in optuna.load_study(study_name="compbo", storage=f"sqlite:///{db}").trials if t.value is None
    ]
    assert trial.user_attrs["message"] == "ArithmeticError: left"
    assert trial.user_attrs["verdict"] in set(Verdict)


def test_long_texts_are_cut_into_pieces_every_database_takes(db: Path) -> None:
    data = {"text": "é" * 5000, "numbers": [0.1] * 500}
    pieces = pack("key", data)
    assert max(map(len, pieces.values())) <= 2000
    assert unpack("key", pieces) == data
    assert unpack("other", pieces) is None
    run = StoredRun.open(db, "compbo", Space(PLANE), Settings())
    run.add([{"x": 0.0, "y": 0.0}], TELEMETRY)
    run.close()
    (trial,) = optuna.load_study(study_name="compbo", storage=f"sqlite:///{db}").trials
    assert max(len(str(value)) for value in trial.system_attrs.values()) <= 2000


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("missing.db", "no such file"),
        ("sqlite:///missing.db", "no such file"),
        ("folder", "is a folder"),
        ("text.txt", "neither an SQLite database nor an Optuna journal"),
        ("empty.db", "no run"),
        ("nonsense://", "cannot be opened"),
    ],
)
def test_what_cannot_be_read_is_said(source: str, match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("text.txt").write_text("hello, this is no database")
    optuna.storages.RDBStorage("sqlite:///empty.db")
    with pytest.raises(ValueError, match=match):
        load_optimizer(source)
    assert not Path("missing.db").exists()


OTHERS_FILES = {
    "app.db": "name another file",
    "sqlite:///app.db": "name another file",
    "package.json": "neither an SQLite database nor an Optuna journal",
    "notes.txt": "neither an SQLite database nor an Optuna journal",
}


@pytest.mark.parametrize(("storage", "match"), OTHERS_FILES.items())
def test_the_file_of_another_program_is_left_alone(
    storage: str, match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("app.db")) as connection:
        connection.execute("CREATE TABLE studies (name TEXT)")  # even if a table is called like one of Optuna's
        connection.commit()
    Path("package.json").write_text('{"name": "app"}\n')
    Path("notes.txt").write_text("hello")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=match):
        compbo.minimize(bowl, PLANE, storage=storage, evaluations=1)
    with pytest.raises(ValueError, match=match):
        load_records(storage)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("content", ["no bytes", "no tables", "a plain study"])
@pytest.mark.parametrize("as_url", [False, True])
def test_an_empty_file_and_an_optuna_database_can_be_written_to(content: str, as_url: bool, db: Path) -> None:
    if content == "no bytes":
        db.touch()
    elif content == "no tables":
        with closing(sqlite3.connect(db)) as connection:
            connection.execute("PRAGMA user_version = 1")
            connection.commit()
        assert db.stat().st_size > 0
    else:
        plain_study(f"sqlite:///{db}")
    storage = f"sqlite:///{db}" if as_url else db
    if content != "a plain study":
        before = db.read_bytes()
        with pytest.raises(ValueError, match="there is no run in this storage"):
            load_records(storage)
        assert db.read_bytes() == before  # reading made no tables
    compbo.minimize(bowl, PLANE, storage=storage, evaluations=1)
    assert len(load_records(storage, "compbo")) == 1


@pytest.mark.parametrize("storage", ["", "sqlite://", "sqlite:///"])
def test_a_storage_without_a_name_is_refused(storage: str) -> None:
    with pytest.raises(ValueError, match=re.escape("sqlite:///run.db")):
        compbo.minimize(bowl, PLANE, storage=storage, evaluations=1)


def test_a_password_stays_secret() -> None:
    with pytest.raises(ValueError, match="cannot be opened") as caught:
        connect("postgresql+psycopg2://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


def test_several_runs_in_one_file(journal: Path) -> None:
    for name in ("one", "two"):
        compbo.minimize(bowl, PLANE, storage=journal, study_name=name, evaluations=2)
    with pytest.raises(ValueError, match=r'"one", "two".*choose'):
        load_optimizer(journal)
    with pytest.raises(ValueError, match='no run called "three"'):
        load_optimizer(journal, "three")
    assert len(load_optimizer(journal, "two").evaluations) == 2


# -- reading what others wrote ----------------------------------------------------------------------------------------


def plain_study(url: str) -> optuna.Study:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 1e-3, 10.0, log=True)
        n = trial.suggest_int("n", 0, 10, step=2)
        if trial.suggest_categorical("c", ["a", "b"]) == "a":
            trial.suggest_float("only a", 0, 1)
        if trial.number == 3:
            raise optuna.TrialPruned
        return x + n

    study = optuna.create_study(
        study_name="plain", storage=url, direction="maximize", sampler=optuna.samplers.RandomSampler(0)
    )
    study.optimize(objective, n_trials=8)
    study.enqueue_trial({"x": 1.0})
    return study


def test_a_plain_optuna_study_is_read(db: Path) -> None:
    study = plain_study(f"sqlite:///{db}")
    optimizer = load_optimizer(db)
    assert optimizer.space.names == ("x", "n", "c") or set(optimizer.space.names) == {"x", "n", "c"}
    assert optimizer.settings.direction == "maximize"
    assert optimizer.best is not None
    assert optimizer.best.value == study.best_value
    assert len(optimizer.evaluations) == 7
    assert not any(e.failed for e in optimizer.evaluations)  # a pruned trial has neither failed nor succeeded
    records = load_records(db)
    assert [record.state for record in records] == ["COMPLETE"] * 3 + ["PRUNED"] + ["COMPLETE"] * 4
    assert "only a" in to_frame(records).columns
    optimizer.ask(1)


def test_two_objectives_and_no_common_parameter_are_refused(db: Path) -> None:
    optuna.create_study(study_name="two", storage=f"sqlite:///{db}", directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="2 objectives"):
        load_optimizer(db)
    study = optuna.create_study(study_name="bare", storage=f"sqlite:///{db}")
    study.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(ValueError, match="in common"):
        load_optimizer(db, "bare")


def test_trials_added_by_hand_become_observations(db: Path) -> None:
    compbo.minimize(bowl, PLANE, storage=db, evaluations=3, **CHEAP)
    study = optuna.load_study(study_name="compbo", storage=f"sqlite:///{db}")
    known = {"x": 0.3, "y": -1.2}
    study.add_trial(optuna.trial.create_trial(value=0.0, params=known, distributions=Space(PLANE).to_optuna()))
    result = compbo.minimize(bowl, PLANE, storage=db, evaluations=6, **CHEAP)
    assert result.best_params == known
    assert len(result.records) == 6


def test_export_reads_back_exactly(tmp_path: Path) -> None:
    import pandas as pd

    result = resumed_run.run(None, 16)
    for suffix in (".csv", ".json", ".parquet"):
        write(result.records, tmp_path / f"run{suffix}")
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["number", "state", "value", "x", "n", "kind", "message", *TIMES]
    for record, row, plain in zip(result.records, rows, json.loads((tmp_path / "run.json").read_text()), strict=True):
        assert (int(row["number"]), row["state"]) == (record.number, record.state)
        assert (float(row["x"]), int(row["n"]), row["kind"]) == tuple(record.params.values())
        assert (row["value"] == "") if record.value is None else (float(row["value"]) == record.value)
        everything = asdict(record)
        params, suggested = everything.pop("params"), everything.pop("suggested")
        assert suggested is None
        assert plain == {**everything, **params}
        times = {key: "" if everything[key] is None else str(everything[key]) for key in TIMES}
        assert {key: row[key] for key in TIMES} == times
        assert row["seconds"] != ""
    assert "" in {row["value"] for row in rows}
    assert pd.read_parquet(tmp_path / "run.parquet").drop(columns=list(TIMES)).equals(result.history)
    with pytest.raises(ValueError, match=r"\.csv"):
        write(result.records, tmp_path / "run.xls")


def test_none_is_a_word_in_csv_and_what_is_not_there_is_empty(tmp_path: Path) -> None:
    records = [
        Record(0, "COMPLETE", 1.0, {"kind": None, "n": 3}),
        Record(
            1,
            "FAIL",
            None,
            {"kind": "rbf"},
            "it, broke",
            None,
            None,
            'File "x"\nline 2',
            "2026-01-31T17:00:00",
            "",
            0.25,
        ),
        Record(2, "RUNNING", None, {"kind": "None", "n": 4}),
    ]
    write(records, tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["kind"], row["n"], row["value"]) for row in rows] == [
        ("None", "3", "1.0"),
        ("rbf", "", ""),
        ("None", "4", ""),
    ]
    assert (rows[1]["message"], rows[1]["traceback"], rows[1]["seconds"]) == ("it, broke", 'File "x"\nline 2', "0.25")
    write(records, tmp_path / "run.json")
    plain = json.loads((tmp_path / "run.json").read_text())
    assert [(row["kind"], row["n"]) for row in plain] == [(None, 3), ("rbf", None), ("None", 4)]
    write([], tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == "number,state,value\n"


def test_a_parameter_called_like_a_column_keeps_its_own() -> None:
    result = compbo.minimize(lambda p: p["value"], {"value": Float(0, 1), "state": Int(0, 5)}, evaluations=2)
    columns = ["number", "state", "value", "param:value", "param:state", "message"]
    assert list(result.history.columns) == columns
    assert result.history["value"].tolist() == result.history["param:value"].tolist()


# -- one process at a time --------------------------------------------------------------------------------------------


def hold(path: str, ready: Any, done: Any) -> None:
    run = StoredRun.open(path, "compbo", Space(PLANE), Settings())
    ready.set()
    done.wait(60)
    run.close()


def test_a_second_process_is_refused_until_the_first_ends(db: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(str(db), ready, done))
    holder.start()
    assert ready.wait(120)
    with pytest.raises(InUseError, match=f"process {holder.pid} on {socket.gethostname()}"):
        compbo.minimize(bowl, PLANE, storage=db, evaluations=1)
    assert load_records(db) == []  # reading is always possible
    holder.kill()  # it cannot clean up
    holder.join()
    compbo.minimize(bowl, PLANE, storage=db, evaluations=1)


BEGIN = """
import pathlib, sys, time
import compbo
pathlib.Path(sys.argv[2]).touch()
while len(list(pathlib.Path.cwd().glob("ready*"))) < 3:
    time.sleep(0.01)
compbo.minimize(lambda p: p["x"], {"x": compbo.Float(0, 1)}, evaluations=2, storage="run.db", study_name=sys.argv[1])
"""


@pytest.mark.parametrize("names", ["abc", "aaa"])
def test_three_processes_create_one_database_at_once(names: str, tmp_path: Path) -> None:
    """Of three runs all succeed; of one run three times, each succeeds or is told to wait."""
    commands = [[sys.executable, "-c", BEGIN, name, f"ready{number}"] for number, name in enumerate(names)]
    started = [subprocess.Popen(c, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for c in commands]
    said = [process.communicate(timeout=300)[1] for process in started]
    succeeded = [process.returncode == 0 for process in started]
    if names == "abc":
        assert all(succeeded), said
    assert any(succeeded), said
    for success, text in zip(succeeded, said, strict=True):
        assert success or "is in use by process" in text or "took over this run" in text
    for name in set(names):
        assert [record.state for record in load_records(tmp_path / "run.db", name)] == ["COMPLETE"] * 2
    assert [path.name for path in tmp_path.iterdir() if "ready" not in path.name] == ["run.db"]


def test_a_read_only_database_says_so_and_can_be_read(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"evaluations": 2, **CHEAP}
    compbo.minimize(bowl, PLANE, storage=db, **options)
    read_only = f"sqlite:///file:{db}?mode=ro&uri=true"  # as SQLite itself refuses it
    with pytest.raises(ValueError, match="is read-only: make it writable, or work on a copy of it"):
        compbo.minimize(bowl, PLANE, storage=read_only, **options)
    with pytest.raises(ValueError, match="is read-only"):
        StoredRun.reopen(read_only, None, brief=True)
    assert compbo.load(read_only).best_value == compbo.load(db).best_value
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    with pytest.raises(ValueError, match=re.escape(f"{db} is read-only: make it writable")):
        compbo.minimize(bowl, PLANE, storage=db, **options)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != db.parent and may(path, mode))
    with pytest.raises(ValueError, match="its folder is read-only"):
        compbo.minimize(bowl, PLANE, storage=db, **options)
    assert len(load_records(db)) == 2


def test_a_run_elsewhere_is_believed_to_live_while_its_heart_beats() -> None:
    storage = optuna.storages.InMemoryStorage()
    study_id = storage.create_new_study([optuna.study.StudyDirection.MINIMIZE], "a")
    import time

    for age, taken in ((5.0, True), (120.0, False)):
        holder = {"token": "t", "host": "elsewhere", "pid": 1, "born": "", "beat": time.time() - age}
        storage.set_study_system_attr(study_id, KEY, holder)
        lease = Lease(storage, study_id)
        if taken:
            with pytest.raises(InUseError, match="elsewhere"):
                lease.acquire()
        else:
            lease.acquire()
            lease.check()
            storage.set_study_system_attr(study_id, KEY, holder)
            with pytest.raises(InUseError, match="took over"):
                lease.check()
            lease.release()
            assert storage.get_study_system_attrs(study_id)[KEY] == holder  # not ours to erase


def test_a_loaded_optimizer_goes_on_where_the_run_stands(journal: Path) -> None:
    result = compbo.minimize(bowl, PLANE, storage=journal, evaluations=8, batch_size=4, **CHEAP)
    loaded = load_optimizer(journal)
    assert isinstance(loaded, Optimizer)
    assert loaded.ask(4) == result.optimizer.ask(4)


def test_a_run_that_was_stored_with_auto_goes_on_with_what_it_was(journal: Path) -> None:
    """Earlier versions stored outputs="auto", which was Yeo-Johnson."""
    compbo.minimize(bowl, PLANE, evaluations=4, storage=journal, outputs="yeo-johnson", **CHEAP)
    storage = connect(journal)
    study_id = storage.get_all_studies()[0]._study_id
    settings = unpack("compbo:settings", storage.get_study_system_attrs(study_id))
    assert settings["outputs"] == "yeo-johnson"
    for key, text in pack("compbo:settings", {**settings, "outputs": "auto"}).items():
        storage.set_study_system_attr(study_id, key, text)
    assert load_optimizer(journal).settings.outputs == "yeo-johnson"
    resumed = compbo.minimize(bowl, PLANE, evaluations=5, storage=journal, outputs="yeo-johnson", **CHEAP)
    assert len(resumed.history) == 5
    with pytest.raises(compbo.OptionError, match=r"outputs \(stored 'yeo-johnson', given 'evidence'\)"):
        compbo.minimize(bowl, PLANE, evaluations=6, storage=journal, **CHEAP)
