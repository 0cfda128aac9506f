"""The driver with local processes: limits, failures, resuming, Ctrl-C, and the same bits every way."""

from __future__ import annotations

import ast
import errno
import io
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from distributed import KilledWorker
from typer.testing import CliRunner

from compbo.cli import app
from compbo.errors import OptionError
from compbo.study.cell import Cell, MethodSpec
from compbo.study.engine.driver import run_study
from compbo.study.engine.experiment import run_cell
from compbo.study.engine.launcher import Launcher, LauncherClosedError
from compbo.study.engine.messages import Limits
from compbo.study.engine.pools import FinishedCell, LocalPool, Pool, PoolError, cell_error
from compbo.study.engine.progress import StudyProgress
from compbo.study.engine.status import study_status
from compbo.study.grid import load_grid
from compbo.study.methods.registry import KINDS
from compbo.study.results import Store, load, schema
from compbo.study.results.survey import Survey
from compbo.threads import threads_for
from study_helpers import (
    ROOT,
    cell,
    compbo_cell,
    determined,
    determined_table,
    marked_processes,
    own,
    stored,
    study,
    wait_for,
)


class LentPool(LocalPool):
    """A pool whose processes are not ended by every driver that uses it."""

    def close(self) -> None:
        assert self.wait(0.01) is None

    def end(self) -> None:
        super().close()


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file that mends the task `once_repaired`."""
    path = tmp_path_factory.mktemp("repair") / "done"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPBO_TEST_REPAIRED", str(path))
        yield path


@pytest.fixture(scope="module")
def pool(repaired: Path) -> Iterator[LentPool]:
    """Two worker processes for the whole module: starting one costs seconds."""
    lent = LentPool(2, Limits())
    yield lent
    lent.end()


def run(cells: list[Cell], results: Path, pool: Pool, retry: bool = False) -> Store:
    store = Store(results)
    run_study(cells, store, lambda: pool, retry=retry)
    return store


def mixed_cells() -> list[Cell]:
    """Cells of every sort of arithmetic: first order, second order, pool, population, baseline, peer."""
    names = ("Adam-ERM", "CAdam", "L-BFGS-B", "CMA-ES")
    others = ("thompson-decoupled", "bohb", "pycma", "optuna-gp")
    cells = [compbo_cell(name, "ucb", batch=2, steps=3) for name in names]
    return cells + [
        cell(
            MethodSpec(kind),
            steps=6,
            surrogate=cells[0].surrogate if KINDS[kind].surrogate else None,
            inner=cells[0].inner if KINDS[kind].inner else None,
        )
        for kind in others
    ]


def test_a_cell_is_bit_equal_alone_in_parallel_and_after_a_resume(tmp_path: Path, pool: LentPool) -> None:
    cells = mixed_cells()
    with threads_for(0.0):  # one thread, as in the worker processes
        alone = {one.hash: determined(schema.from_bytes(schema.to_bytes(run_cell(one)))) for one in cells}
    parallel = run(cells, tmp_path / "parallel", pool)
    halves = run(cells[3:], tmp_path / "halves", pool)
    run(cells, halves.folder, pool)
    for one in cells:
        for store in (parallel, halves):
            row = store.row(one.hash)
            assert row["status"] == "done", row["traceback"]
            assert row["threads"] == 1
            assert determined(row) == alone[one.hash], one.name


def test_what_is_stored_does_not_run_again(tmp_path: Path, pool: LentPool) -> None:
    cells = [cell(seed=seed) for seed in range(4)]
    store = run(cells[:2], tmp_path, pool)
    written = {path: path.stat().st_mtime_ns for path in store.cells.rglob("*.parquet")}
    assert run_study(cells, store, lambda: pool) == (2, 0, 2)
    assert all(path.stat().st_mtime_ns == written[path] for path in written)
    assert len(load(tmp_path)) == 4
    assert run_study(cells, store, lambda: pytest.fail("no pool is needed")) == (0, 0, 4)


def test_failures_are_recorded_and_never_fatal(tmp_path: Path, pool: LentPool) -> None:
    dead, broken, fine = own("killer"), own("no_such_task"), cell()
    store = run([dead, broken, fine, own("chatter"), own("leaver"), own("broken")], tmp_path, pool)
    rows = {one: store.row(one.hash) for one in (dead, broken, fine)}
    assert rows[fine]["status"] == "done"
    assert rows[dead]["status"] == rows[broken]["status"] == "failed"
    assert rows[dead]["error"] == "the process of the cell was killed by signal SIGKILL"
    assert "study_helpers has no 'no_such_task'" in rows[broken]["error"]
    assert "Traceback (most recent call last)" in rows[broken]["traceback"]
    assert store.row(own("chatter").hash)["status"] == "done"
    assert store.row(own("leaver").hash)["error"].endswith("exit code 7 and no result: enough of this")
    nothing = "RuntimeError: none of the 7 evaluations gave a loss; the first, 0: OSError: the furnace is off"
    assert store.row(own("broken").hash)["error"] == nothing
    assert len(study_status(store).failed) == 4
    assert run_study([dead, broken, fine], store, lambda: pytest.fail("failures wait for retry")).run == 0


def test_a_cell_that_cannot_begin_has_failed_and_its_worker_lives_on(tmp_path: Path, pool: LentPool) -> None:
    wrong = [cell(task="powell-10", dimension=10), cell(task="rf-boston-acc"), cell(MethodSpec("no-such-kind"))]
    incomplete = [replace(compbo_cell(), surrogate=None), replace(compbo_cell(), inner=None)]
    workers = worker_processes()
    store = run([*wrong, *incomplete], tmp_path, pool)
    errors = [store.row(one.hash)["error"] for one in (*wrong, *incomplete)]
    assert "the dimension must be a multiple of 4, got 10" in errors[0]
    assert "boston is measured by mae or mse, not acc" in errors[1]
    assert "no kind of method 'no-such-kind'; there are maximizer, thompson-function" in errors[2]
    assert "maximizer fits a model; give the cell a `surrogate`" in errors[3]
    assert "maximizer maximises a function; give the cell an `inner`" in errors[4]
    assert worker_processes() == workers != []


def worker_processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "compbo.study.engine.worker" in child.cmdline()]


def test_retry_runs_failures_and_nothing_else(tmp_path: Path, pool: LentPool, repaired: Path) -> None:
    cells = [own("once_repaired"), cell()]
    store = run(cells, tmp_path / "results", pool)
    assert store.row(cells[0].hash)["status"] == "failed"
    repaired.touch()
    kept = store.path(cells[1].hash).stat().st_mtime_ns
    assert run_study(cells, store, lambda: pool, retry=True) == (1, 0, 1)
    assert store.row(cells[0].hash)["status"] == "done"
    assert store.path(cells[1].hash).stat().st_mtime_ns == kept


def test_time_and_memory_limits_and_threads(tmp_path: Path) -> None:
    slow, large, fine = own("sleeper"), own("eater"), compbo_cell()
    limits = Limits(threads=2, time_limit=5.0, memory_limit=0.6)
    store = Store(tmp_path)
    assert run_study([slow, large, fine], store, lambda: LocalPool(1, limits)) == (3, 2, 0)
    assert store.row(slow.hash)["error"].startswith("time limit: ")
    assert 5.0 < store.row(slow.hash)["seconds"] < 55.0
    assert store.row(large.hash)["error"].startswith("memory limit: ")
    assert store.row(fine.hash)["status"] == "done"
    assert store.row(fine.hash)["threads"] == 2


def test_what_a_cell_leaves_running_is_ended_and_not_waited_for(tmp_path: Path, pool: LentPool) -> None:
    breeding = own("breeder")
    assert run([breeding], tmp_path, pool).row(breeding.hash)["status"] == "done"
    workers = worker_processes()
    assert [child.children(recursive=True) for child in workers] == [[]] * len(workers)
    assert not any("time.sleep(4321)" in " ".join(process.info["cmdline"] or ()) for process in processes())


def processes() -> Iterator[psutil.Process]:
    return psutil.process_iter(["cmdline"])


def test_a_dead_worker_process_is_replaced(tmp_path: Path, pool: LentPool) -> None:
    cells = [cell(seed=seed) for seed in range(6)]
    first = run(cells, tmp_path / "first", pool)
    workers = worker_processes()
    assert len(workers) == 2
    workers[0].kill()
    second = run(cells, tmp_path / "second", pool)
    assert determined_table(first.folder) == determined_table(second.folder)
    assert all(known.status == "done" for known in study_status(second).done)


def test_closing_a_launcher_ends_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv("COMPBO_TEST_MARK", mark)
    launcher = Launcher(Limits(), {})
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(launcher.run, own("sleeper").definition)
        wait_for(lambda: len(marked_processes(mark)) == 2, "the process of the cell")
        launcher.close()
        with pytest.raises(LauncherClosedError):
            running.result()
    wait_for(lambda: not marked_processes(mark), "the end of all processes")
    with pytest.raises(LauncherClosedError):
        launcher.run(cell().definition)


class Broken:
    """A pool on which nothing runs."""

    slots = window = 1

    def __init__(self, error: BaseException) -> None:
        self._error, self._cell = error, cell()

    def submit(self, one: Cell) -> None:
        self._cell = one

    def wait(self, seconds: float) -> FinishedCell:
        return FinishedCell(self._cell, None, self._error)

    def close(self) -> None:
        """Nothing to close."""


def test_a_cell_that_no_worker_survives_has_failed_other_trouble_ends_the_run(tmp_path: Path) -> None:
    store, one = Store(tmp_path), cell()
    with pytest.raises(PoolError, match="The workers cannot run cells: ModuleNotFoundError: No module named 'compbo'"):
        run_study([one], store, lambda: Broken(ModuleNotFoundError("No module named 'compbo'")))
    assert stored(tmp_path) == set()
    gone = KilledWorker("task", SimpleNamespace(address="tcp://gone:1"), 3)  # type: ignore[arg-type]
    assert run_study([one], store, lambda: Broken(cell_error(gone))) == (1, 1, 0)
    assert "Dask gave up" in store.row(one.hash)["error"]


class Alien(Broken):
    """A pool whose workers send something else."""

    def wait(self, seconds: float) -> FinishedCell:
        return FinishedCell(self._cell, b"from another version")


def test_workers_of_another_version_end_the_run_in_words(tmp_path: Path) -> None:
    with pytest.raises(
        PoolError, match=f"{cell().name}: not a readable .*; do all workers have the compbo of this driver"
    ):
        run_study([cell()], Store(tmp_path), lambda: Alien(ValueError()))
    assert stored(tmp_path) == set()


def test_progress_without_a_terminal_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moment = [0.0]
    monkeypatch.setattr(
        "compbo.study.engine.progress.time", SimpleNamespace(monotonic=lambda: moment[0], strftime=time.strftime)
    )
    progress = StudyProgress(Survey({}, {}))
    progress.add(cell(), {"status": "done", "seconds": 30.0})
    progress.show([cell(seed=1)], 8, 2)  # tuning: one of the eight that are left is known
    assert capsys.readouterr().err == ""
    moment[0] += 61.0
    progress.add(cell(seed=2), {"status": "failed", "error": "no"})
    progress.show([cell(seed=1)], 8, 2)
    assert capsys.readouterr().err.split("  ")[1] == "2 of 10 cells, left: 2 min, 1 failed\n"
    progress.show([cell(seed=1)], 8, 2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("show", [None, True])
def test_a_study_survives_its_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, show: bool | None) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.EIO, "Input/output error")

    class Here:
        slots = window = 1

        def submit(self, one: Cell) -> None:
            self.cell = one

        def wait(self, seconds: float) -> FinishedCell | None:
            monkeypatch.setattr(sys, "stderr", Closed())
            return FinishedCell(self.cell, schema.to_bytes(run_cell(self.cell)))

        def close(self) -> None:
            closed.append(1)

    closed: list[int] = []
    monkeypatch.setattr("compbo.study.engine.progress.LINE_SECONDS", 0.0)
    monkeypatch.setattr("rich.progress.Progress.start", lambda self: None)  # it would draw in a thread
    assert run_study([cell(), cell(seed=1)], Store(tmp_path), Here, show=show) == (2, 0, 0)
    assert closed == [1]


def test_what_a_dask_worker_imports_is_light() -> None:
    heavy = ("torch", "pyarrow", "scipy")
    code = f"import sys, compbo.study.engine.launcher; print([m for m in {heavy} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_failed_rows_are_made_in_one_place() -> None:
    """`schema.FAILED` is given as a status in one file; elsewhere it is only compared with."""
    package = ROOT / "src" / "compbo" / "study"
    given = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Dict)
        and any(isinstance(value, ast.Attribute) and value.attr == "FAILED" for value in node.values)
    }
    assert given == {"engine/rows.py"}


@pytest.mark.parametrize("limits", [{"threads": 0}, {"threads": 1.5}, {"time_limit": 0.0}, {"memory_limit": -1}])
def test_limits_that_nothing_fits_in(limits: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(limits))} must be a (positive|whole) number"):
        Limits(**limits)  # type: ignore[arg-type]


def test_running_a_cell_leaves_torch_as_it_was() -> None:
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    row = run_cell(compbo_cell())
    assert row["status"] == "done"
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)


# -- the command, interrupted and killed


def test_interrupt_then_kill_then_the_same_command(tmp_path: Path, pool: LentPool) -> None:
    mark = uuid.uuid4().hex
    results = tmp_path / "stopped"
    optimisers = ("RS", "CAdam", "NASA")
    keep = [word for name in optimisers for word in ("--optimiser", name)]
    arguments = ("run", "--preset", "smoke", *keep, "--workers", "1", "--results", str(results))
    cells = [one for one in load_grid("smoke").cells() if one.method.optimiser in optimisers]

    with study(*arguments, env={"COMPBO_TEST_MARK": mark}) as driver:
        wait_for(lambda: stored(results), "a cell", driver)
        driver.send_signal(signal.SIGINT)
        _, err = driver.communicate(timeout=240)
    assert driver.returncode == 130
    assert "the same command goes on with the rest" in err
    assert "Traceback" not in err
    wait_for(lambda: not marked_processes(mark), "the end of all processes")
    first = len(stored(results))
    found = study_status(Store(results))
    assert (len(found.done), found.total, found.owner) == (first, len(cells), None)

    with study(*arguments, env={"COMPBO_TEST_MARK": mark}) as driver:
        wait_for(lambda: len(stored(results)) >= first + 2, "two cells more", driver)
        assert str(driver.pid) in (Store(results).owner() or "")
        driver.kill()
    wait_for(lambda: not marked_processes(mark), "the end of the killed driver's processes")
    before = {path: path.stat().st_mtime_ns for path in (results / "cells").rglob("*.parquet")}
    assert first + 2 <= len(before) < len(cells)

    third = CliRunner().invoke(app, ["study", *arguments])  # in this process: a start less to wait for
    assert f"{len(before)} were there, {len(cells) - len(before)} were run." in third.output
    assert stored(results) == {one.hash for one in cells}
    assert all(path.stat().st_mtime_ns == moment for path, moment in before.items())
    whole = run(cells, tmp_path / "whole", pool)
    assert determined_table(results) == determined_table(whole.folder)


def test_a_second_driver_is_refused_by_the_command(tmp_path: Path) -> None:
    with Store(tmp_path).writing():
        second = CliRunner().invoke(app, ["study", "run", "--preset", "smoke", "--results", str(tmp_path)])
    assert second.exit_code == 1
    assert f"is in use by process {os.getpid()} on " in " ".join(second.output.split())
    assert stored(tmp_path) == set()
