"""Four processes on one study: in a SQLite file, a journal file and a PostgreSQL server."""

from __future__ import annotations

import multiprocessing
import uuid
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import optuna
import pytest
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from compbo.integrations.optuna import CompBOSampler
from compbo.storage.signature import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from optuna.storages import BaseStorage
    from optuna.trial import Trial

WORKERS, TRIALS = 4, 5


def open_storage(where: str) -> BaseStorage:
    if "://" not in where:
        return JournalStorage(JournalFileBackend(where))
    patience = {"connect_args": {"timeout": 60}} if where.startswith("sqlite") else {}
    return RDBStorage(where, engine_kwargs=patience)


def objective(trial: Trial) -> float:
    """256 points: a race that gives two trials the same one is seen."""
    return abs(trial.suggest_int("x", 0, 15) - 11) + abs(trial.suggest_int("y", 0, 15) - 4)


def sampler(batch_size: int) -> CompBOSampler:
    return CompBOSampler(
        seed=1, batch_size=batch_size, n_startup_trials=6, raw_batches=32, restarts=4, steps=4, minibatch=16
    )


def work(where: str, name: str, batch_size: int) -> int:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name=name, storage=open_storage(where), sampler=sampler(batch_size))
    study.optimize(objective, n_trials=TRIALS)
    return TRIALS


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def where(storage: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if storage == "PostgreSQL":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'study.db'}" if storage == "SQLite" else str(tmp_path / "journal.log")


@pytest.mark.parametrize(("storage", "batch_size"), [("SQLite", 1), ("SQLite", 4), ("journal", 4), ("PostgreSQL", 4)])
def test_no_two_trials_get_the_same_point(where: str, batch_size: int, workers: ProcessPoolExecutor) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name = f"workers-{uuid.uuid4()}"
    study = optuna.create_study(study_name=name, storage=open_storage(where))
    done = [workers.submit(work, where, name, batch_size) for _ in range(WORKERS)]
    assert sum(future.result() for future in done) == WORKERS * TRIALS
    trials = study.get_trials()
    assert [t.number for t in trials] == list(range(WORKERS * TRIALS))
    assert {t.state for t in trials} == {TrialState.COMPLETE}
    points = [(t.params["x"], t.params["y"]) for t in trials if unpack("compbo:point", t.system_attrs)]
    assert len(points) >= WORKERS * TRIALS - 2 * WORKERS  # the first ones have no space to be planned in
    assert len(set(points)) == len(points)
    if batch_size > 1:
        plans = {t.number: unpack("compbo:plan", t.system_attrs) for t in trials}
        for number, plan in plans.items():
            assert plan is None or number // batch_size * batch_size <= plan["anchor"] <= number
        assert any(plans.values())
