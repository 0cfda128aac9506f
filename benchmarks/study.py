"""The study engine: cells per hour with 1 and 2 workers, its overhead per cell, memory per worker."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil

from benchmarks.common import Row
from compbo.study.cell import Cell, InnerSpec, MethodSpec, SurrogateSpec, maximizer_method
from compbo.study.engine.driver import CellList, drive
from compbo.study.engine.messages import Limits
from compbo.study.engine.pools import LocalPool
from compbo.study.results import Store, load

TITLE = "Study engine"
NOTE = (
    "Cells of the paper's 16D budget (shifted Levy, UCB, CAdam-ME, 32 steps of q = 16), one BLAS thread each, results "
    "written to disk. The overhead is what the engine adds to a cell once its workers are up. `before`: the same, "
    "measured right after it with the code of an earlier commit, whose checkout `COMPBO_BENCH_BEFORE` names; in this "
    "table 218b841, with which the work on speed began."
)
BEFORE = "COMPBO_BENCH_BEFORE"
TRIVIAL = 30  # cells from which the overhead is taken


def cell16(steps: int, seed: int = 0) -> Cell:
    """The paper's 16D budget: q = 16, three initial points, T = 64, K = 128, B = 32."""
    method = maximizer_method("CAdam-ME", "ucb")
    return Cell("levy-16-shifted", 16, method, seed, 16, steps, 3, SurrogateSpec(), InnerSpec())


def trivial(seed: int) -> Cell:
    return Cell("levy-16-shifted", 16, MethodSpec("random-search"), seed, 16, 32, 3)


def timed(cells: list[Cell], workers: int) -> tuple[float, list[Row], dict[str, float]]:
    """Wall clock of the cells once the workers are up, their rows, and the memory of the worker processes."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        pool = LocalPool(workers, Limits())
        with store.writing() as survey:
            warm = CellList([trivial(10**6 + i) for i in range(2 * workers)])
            drive(warm, store, lambda: _kept_open(pool), survey, show=False)
            clock = time.perf_counter()
            drive(CellList(cells), store, lambda: _kept_open(pool), survey, show=False)
            seconds = time.perf_counter() - clock
        memory = _memory()
        pool.close()
        table = load(folder)
        rows = table[table["seed"] < 10**6].to_dict("records")
    return seconds, rows, memory


class _kept_open:  # noqa: N801 - a function in spirit
    """The pool, with a close that leaves the workers up."""

    def __init__(self, pool: LocalPool) -> None:
        self._pool = pool
        self.slots, self.window, self.submit, self.wait = pool.slots, pool.window, pool.submit, pool.wait

    def close(self) -> None:
        pass


def _memory() -> dict[str, float]:
    """Resident and own (not shared) megabytes of an idle worker process."""
    children = [
        child for child in psutil.Process(os.getpid()).children() if "compbo.study.engine.worker" in child.cmdline()
    ]
    information = [child.memory_full_info() for child in children]
    return {
        "resident": statistics.mean(i.rss for i in information) / 2**20,
        "own": statistics.mean(i.uss for i in information) / 2**20,
    }


def run(steps: int = 32, cells: int = 4) -> list[Row]:
    """steps, cells: fewer for a quick look; 32 steps are the paper's cell."""
    rows = measured(steps, cells)
    if BEFORE not in os.environ:
        return rows
    old = {(row["what"], row["workers"]): row["value"] for row in _before(Path(os.environ[BEFORE]), steps, cells)}
    return [{**row, "before": old.get((row["what"], row["workers"]), "")} for row in rows]


def _before(checkout: Path, steps: int, cells: int) -> list[Row]:
    """The same rows by the code of another checkout."""
    script = f"import json; from benchmarks import study; print(json.dumps(study.run({steps}, {cells})))"
    environment = {key: value for key, value in os.environ.items() if key != BEFORE}
    environment["PYTHONPATH"] = f"{checkout / 'src'}{os.pathsep}{checkout}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return rows


def measured(steps: int, cells: int) -> list[Row]:
    """The rows of this code; steps, cells: see `run`."""
    rows: list[Row] = []
    alone = 0.0
    for workers in (1, 2):
        batch = [replace(cell16(steps), seed=seed) for seed in range(cells if workers > 1 else max(1, cells // 2))]
        seconds, results, memory = timed(batch, workers)
        inside = statistics.mean(float(str(row["seconds"])) for row in results)
        alone = alone or inside
        peak = float(max(max(row["peak_memory"]) for row in results))  # type: ignore[call-overload]
        rows += [
            {"what": "16D cells per hour", "workers": workers, "value": 3600 * len(batch) / seconds, "unit": "1/h"},
            {"what": "seconds of a 16D cell", "workers": workers, "value": inside, "unit": "s"},
            {"what": "memory of a cell, peak", "workers": workers, "value": peak / 2**20, "unit": "MB"},
            {"what": "memory of an idle worker", "workers": workers, "value": memory["resident"], "unit": "MB"},
            {"what": "the same, not shared with its cell", "workers": workers, "value": memory["own"], "unit": "MB"},
        ]
    seconds, results, _ = timed([trivial(seed) for seed in range(TRIVIAL)], 1)
    overhead = (seconds - sum(float(str(row["seconds"])) for row in results)) / TRIVIAL
    rows += [
        {"what": "engine's overhead per cell", "workers": 1, "value": overhead, "unit": "s"},
        {"what": "the same, of a 16D cell (goal: under 3)", "workers": 1, "value": 100 * overhead / alone, "unit": "%"},
    ]
    return rows
