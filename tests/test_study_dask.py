"""A real Dask cluster on loopback: a scheduler and two workers, each a process, and what kill -9 does to them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import dask
import pytest
from typer.testing import CliRunner

from compbo.cli import app
from compbo.study.engine.driver import run_study
from compbo.study.engine.experiment import run_cell
from compbo.study.engine.messages import Limits
from compbo.study.engine.pools import DaskPool, PoolError
from compbo.study.engine.status import study_status
from compbo.study.grid import load_grid
from compbo.study.results import Store, load, schema
from compbo.threads import threads_for
from dask_cluster import Cluster
from study_helpers import determined, own, stored, study, study_output, wait_for


@pytest.mark.touches_global_rng  # scikit-learn draws from it when it is first imported
def test_kill_a_worker_then_the_driver_and_lose_nothing(tmp_path: Path, cluster: Cluster) -> None:
    results = tmp_path / "results"
    arguments = ("run", "--preset", "smoke", "--results", str(results), "--dask", cluster.address)
    cells = load_grid("smoke").cells()
    workers = [cluster.worker(), cluster.worker()]

    with study(*arguments) as driver:
        wait_for(lambda: len(stored(results)) >= 2, "two cells", driver)
        workers[0].kill()
        wait_for(lambda: len(stored(results)) >= 6, "more cells, from the other worker", driver)
        driver.kill()
    before = {path: path.stat().st_mtime_ns for path in (results / "cells").rglob("*.parquet")}
    assert 6 <= len(before) < len(cells)

    cluster.worker()
    resumed = CliRunner().invoke(app, ["study", *arguments])  # in this process: a start less to wait for
    assert f"{len(before)} were there, {len(cells) - len(before)} were run." in resumed.output
    assert all(path.stat().st_mtime_ns == moment for path, moment in before.items()), "a cell was run twice"
    table = load(results)
    assert sorted(table["cell"]) == sorted(one.hash for one in cells), "a cell was lost, or is there twice"
    store = Store(results)
    with threads_for(0.0):
        for one in cells:
            row = store.row(one.hash)
            assert row["status"] == "done", row["traceback"]
            assert determined(row) == determined(schema.from_bytes(schema.to_bytes(run_cell(one)))), one.name


@pytest.mark.touches_global_rng  # Dask's client draws its waiting times from it
def test_failures_on_a_worker_and_the_death_of_the_scheduler(tmp_path: Path, cluster: Cluster) -> None:
    level = logging.getLogger("distributed.client").level
    cluster.worker()
    store = Store(tmp_path / "results")
    dead, fine = own("killer"), own("chatter")

    def pool(**limits: Any) -> DaskPool:
        return DaskPool(cluster.address, Limits(**limits))

    assert run_study([dead, fine], store, pool) == (2, 1, 0)
    assert store.row(dead.hash)["error"] == "the process of the cell was killed by signal SIGKILL"

    sleeping = own("sleeper")
    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):  # how long it hopes for the scheduler's return
        lasting = pool()
    assert logging.getLogger("distributed.client").level == level  # what Dask has to say is heard
    cluster.scheduler.kill()
    with pytest.raises(PoolError, match="is gone; start it and give the same command"):
        run_study([sleeping], store, lambda: lasting)
    assert len(study_status(store).left) == 1


def test_no_scheduler_at_the_address(tmp_path: Path) -> None:
    address = "tcp://127.0.0.1:9"
    _, err = study_output(
        *("run", "--preset", "smoke", "--results", str(tmp_path / "r"), "--dask", address),
        code=1,
        env={"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"},
    )
    assert f"No Dask scheduler answers at {address}" in err
    assert "Traceback" not in err
