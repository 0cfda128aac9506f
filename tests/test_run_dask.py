"""A run on a real Dask cluster on loopback: workers that die, a scheduler that dies, functions and programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import pytest

import compbo
from compbo import Budget, Float, StartPolicy
from compbo.run.result import RunError
from dask_cluster import Cluster
from objectives import bowl, dies_on_the_left
from study_helpers import python_path, wait_for

PLANE = {"x": Float(-5, 5), "y": Float(-5, 5)}
SPACE = '[x]\ntype = "float"\nlow = -5\nhigh = 5\n[y]\ntype = "float"\nlow = -5\nhigh = 5\n'
CHEAP: dict[str, Any] = {"starts": StartPolicy(raw_batches=64, restarts=4), "budget": Budget(steps=8)}

pytestmark = pytest.mark.touches_global_rng  # Dask's client draws its waiting times from it


def client_of(cluster: Cluster) -> Any:
    import distributed

    with dask.config.set({"distributed.comm.timeouts.connect": "3s"}):  # how long it hopes for a scheduler's return
        return distributed.Client(cluster.address, set_as_default=False)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    opened = client_of(cluster)
    yield opened
    opened.close(timeout=5)


def optimize(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """`compbo optimize ...` as a process, in a folder that has space.toml."""
    (folder / "space.toml").write_text(SPACE)
    command = [sys.executable, "-c", "from compbo.cli import main; main()", "optimize", "--space", "space.toml"]
    variables = {**os.environ, "PYTHONPATH": python_path(), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    return subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, cwd=folder
    )


def test_the_same_run_as_on_one_machine_and_nothing_stays_on_the_scheduler(
    cluster: Cluster, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {"evaluations": 8, "batch_size": 4, **CHEAP}
    shift = 0.5

    def start_a_worker_when_it_is_missed() -> None:
        wait_for(lambda: "no workers; the run waits" in caplog.text, "the warning")
        cluster.worker()

    with ThreadPoolExecutor(1) as beside:
        started = beside.submit(start_a_worker_when_it_is_missed)
        there = compbo.minimize(lambda p: bowl(p) + shift, PLANE, executor=client.get_executor(), **options)
        started.result()
    assert there.history.equals(compbo.minimize(lambda p: bowl(p) + shift, PLANE, **options).history)
    left = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.task_metadata)
    assert [counts for run, counts in left.items() if run.startswith("compbo-")] == [{}]

    class Unknown:
        def __reduce__(self) -> Any:
            return __import__, ("no_such_module",)

        def __call__(self, p: dict[str, Any]) -> float:
            return 0.0

    with pytest.raises(ValueError, match=r"cannot be loaded in the executor's workers \(.*no_such_module.*installed"):
        compbo.minimize(Unknown(), PLANE, executor=client.get_executor(), **options)


@pytest.mark.parametrize("asynchronous", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_killed_worker_costs_its_evaluations_only(
    tmp_path: Path, cluster: Cluster, client: Any, asynchronous: bool
) -> None:
    """The first evaluation waits on a worker until that is killed, and is run again on the other."""
    begun = tmp_path / "begun"

    def waits_once(p: dict[str, Any]) -> float:
        import time

        try:
            begun.write_text(str(os.getpid())) if not begun.exists() else None
            while begun.read_text() == str(os.getpid()):
                time.sleep(0.05)
        except OSError:
            pass
        return bowl(p)

    def kill_the_one_that_waits() -> None:
        pid = int(wait_for(lambda: begun.exists() and begun.read_text(), "an evaluation"))
        next(worker for worker in workers if worker.pid == pid).kill()

    workers = [cluster.worker(), cluster.worker()]
    killer = threading.Thread(target=kill_the_one_that_waits)
    killer.start()
    result = compbo.minimize(
        waits_once,
        PLANE,
        evaluations=8,
        batch_size=4,
        asynchronous=asynchronous,
        executor=client.get_executor(),
        **CHEAP,
    )
    killer.join()
    assert [r.state for r in result.records] == ["COMPLETE"] * 8
    assert sum(worker.poll() is not None for worker in workers) == 1
    if not asynchronous:
        assert result.history.equals(compbo.minimize(bowl, PLANE, evaluations=8, batch_size=4, **CHEAP).history)


def test_an_evaluation_that_kills_its_workers_has_failed_after_the_second(cluster: Cluster, client: Any) -> None:
    with ThreadPoolExecutor(1) as alone:
        points = [r.params for r in compbo.minimize(bowl, PLANE, evaluations=2, batch_size=2, executor=alone).records]
    deadly = sum(point["x"] < 0 for point in points)
    assert deadly == 1  # of the first two points
    workers = [cluster.worker() for _ in range(3)]
    result = compbo.minimize(
        dies_on_the_left, PLANE, evaluations=2, batch_size=2, executor=client.get_executor(), max_failures=2
    )
    assert sorted(r.state for r in result.records) == ["COMPLETE", "FAIL"]
    assert {r.message for r in result.records if r.state == "FAIL"} == {"its worker died, 2 times"}
    assert sum(worker.poll() is not None for worker in workers) == 2


def test_a_lost_scheduler_ends_the_run_and_another_one_goes_on(tmp_path: Path, cluster: Cluster, client: Any) -> None:
    place = tmp_path / "run.db"
    cluster.worker()

    def lose(optimizer: compbo.Optimizer) -> None:
        if len(optimizer.evaluations) == 5:
            cluster.scheduler.kill()
            cluster.scheduler.wait()

    options: dict[str, Any] = {"evaluations": 12, "batch_size": 4, **CHEAP}
    with pytest.raises(
        RunError, match=rf"^The run stopped: the Dask scheduler at {cluster.address} is gone\. "
    ) as caught:
        compbo.minimize(bowl, PLANE, storage=place, executor=client.get_executor(), callback=lose, **options)
    kept = sum(r.state == "COMPLETE" for r in caught.value.result.records)
    assert 5 <= kept <= 8
    resumed = compbo.minimize(bowl, PLANE, storage=place, **options)
    assert resumed.history.equals(compbo.minimize(bowl, PLANE, **options).history)


def test_a_program_on_the_cluster_from_the_command_line(tmp_path: Path, cluster: Cluster) -> None:
    """A worker is killed in the middle, then the scheduler; what is printed goes on with another scheduler."""
    script = tmp_path / "program.py"
    script.write_text("import sys, time\ntime.sleep(0.2)\nprint(float(sys.argv[1]) ** 2 + float(sys.argv[2]) ** 2)\n")
    command = f"{sys.executable} {script} {{x}} {{y}}"
    arguments = ("--command", command, "-n", "40", "--batch", "2", "--async", "--timeout", "60", "--storage", "run.db")
    workers = [cluster.worker(), cluster.worker()]

    def done() -> int:
        try:
            return sum(r.state != "RUNNING" for r in compbo.load(tmp_path / "run.db").records)
        except ValueError:
            return 0

    with optimize(tmp_path, *arguments, "--dask", cluster.address) as driver:
        wait_for(lambda: done() >= 3, "three evaluations", driver)
        workers[0].kill()
        before = done()
        wait_for(lambda: done() >= before + 3, "more, from the other worker", driver)
        cluster.scheduler.kill()
        _, err = driver.communicate(timeout=120)
    assert driver.returncode == 1
    assert "Traceback" not in err
    last = err[err.index("Error: ") :]
    assert last.startswith(f"Error: The run stopped: the Dask scheduler at {cluster.address} is gone. ")
    assert re.search(r"of 40 evaluations are saved in run\.db\. Resume with:\n.*--dask tcp://", last)
    kept = compbo.load(tmp_path / "run.db").records
    assert all(r.state != "FAIL" for r in kept)
    assert len(kept) < 40


def test_what_does_not_go_with_dask_is_refused_in_a_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from compbo.cli import app

    space = tmp_path / "space.toml"
    space.write_text(SPACE)
    base = ["optimize", "--space", str(space), "-n", "4"]
    nowhere = ["--dask", "tcp://127.0.0.1:9"]
    program = ["--command", "no-such-program-here {x} {y}"]
    for arguments, code, said in (
        ([*program, "--dask", "nonsense", "--batch", "2"], 2, "--dask nonsense: give the scheduler as its log"),
        ([*program, *nowhere], 2, "--dask needs --batch: how many"),
        ([*program, *nowhere, "--batch", "2", "--workers", "2"], 2, "Give --workers or --dask, not both"),
        (["objectives:bowl", *nowhere, "--batch", "2", "--timeout", "9"], 2, "--timeout with --dask needs --command"),
        ([*program, *nowhere, "--batch", "2"], 1, "No Dask scheduler answers at tcp://127.0.0.1:9"),
    ):
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
            result = CliRunner().invoke(app, [*base, *arguments])
        assert said in " ".join(result.output.split()), arguments
        assert result.exit_code == code
