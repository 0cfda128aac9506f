"""Batches of 64 and 128 points: seconds, memory and value of compbo and of BoTorch, joint and point by point.

`python -m benchmarks.large_batches compbo 300 20 64` measures one case in this process and prints it as JSON.
"""

from __future__ import annotations

import json
import math
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from benchmarks.common import Row, Work, botorch_acquisition, data
from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import make_samples, sobol_normals
from compbo.bo import verdict
from compbo.bo.peak import bytes_at_peak
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.gp import fit_gp
from compbo.types import DTYPE, Budget, Draw

TITLE = "Large batches"
MAXIMIZER, OBSERVATIONS, STEPS, SAMPLES = "CAdam", 300, 64, 128
FEW, DEFAULTS = StartPolicy(64, 8), StartPolicy()
LIMIT = 30  # seconds of processor time of a maximisation
NOTE = (
    f"UCB, {SAMPLES} samples, one thread, each in a process of its own. {FEW.restarts} restarts of {FEW.raw_batches} "
    f"raw batches and {STEPS} steps: CAdam against `optimize_acqf`, joint and with `sequential=True`, with L-BFGS-B "
    f"as it comes; what took more than {LIMIT} s was stopped. Value: UCB of the batch on one sample of 4096 for all. "
    f"Defaults: {DEFAULTS.restarts} restarts of {DEFAULTS.raw_batches} raw batches, {STEPS} steps, every look of the "
    "verdict taken. MB: what the whole maximisation, with the choice and the verdict, adds to the process at its "
    "peak. Stated: `compbo.bo.peak.bytes_at_peak`, a bound on its arrays that is known before; a process keeps memory "
    "that was freed, and may hold a little more."
)
CASES = ((20, 64), (20, 128), (60, 64), (60, 128))
PEAKS = tuple((n, d, q) for n in (300, 1000) for d in (20, 60) for q in (8, 64, 128))
COMPBO, PEAK = "compbo", "compbo, defaults"
METHODS = (COMPBO, "BoTorch joint", "BoTorch sequential")
BARE = torch.zeros(1, 1, 1, dtype=DTYPE)


def run() -> list[Row]:
    """One row per case and method, then the peaks of the defaults."""
    rows = [_row(method, OBSERVATIONS, d, q) for d, q in CASES for method in METHODS]
    return rows + [_row(PEAK, *case) for case in PEAKS]


def _row(method: str, n: int, d: int, q: int) -> Row:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.large_batches", method, str(n), str(d), str(q)]
    row: Row = {"n": n, "d": d, "q": q, "method": method}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {**row, "CPU s": f"> {LIMIT}", "MB": "", "stated MB": "", "value": ""}
    done.check_returncode()
    return {**row, **json.loads(done.stdout.splitlines()[-1])}


def measure(method: str, n: int, d: int, q: int) -> Row:
    """Seconds of processor time, megabytes added and stated, and the value of the batch found.

    Args:
        method: one of `METHODS`, or `PEAK`.
        n: observations.
        d: dimensions.
        q: points of the batch.

    Returns:
        The columns of a row.
    """
    torch.set_num_threads(1)
    x, y = data(d, n)
    w = Work(d, n, fit_gp(x, y), BARE, BARE[0])
    samples = make_samples(make_maximizer(MAXIMIZER).form, q, minibatch=SAMPLES, steps=STEPS)
    oracle = AcquisitionOracle(UCB(), w.gp.posterior, samples, w.gp.best)
    _maximised(COMPBO if method == PEAK else method, w, 2)  # imports, and memory that is taken once
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before, began = _kilobytes("VmRSS"), time.process_time()
    if method != PEAK:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began) + LIMIT, resource.RLIM_INFINITY))
    batch = _maximised(method, w, q)
    seconds, megabytes = time.process_time() - began, (_kilobytes("VmHWM") - before) / 1024
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    starts = {COMPBO: FEW, PEAK: DEFAULTS}.get(method)
    stated = bytes_at_peak(oracle, starts, tracked=True) / 2**20 if starts else ""
    if method == PEAK:
        return {"CPU s": "", "MB": megabytes, "stated MB": stated, "value": ""}
    common = Draw(sobol_normals(q, 4096, stream(0, "large batches")))
    value = float(oracle.value(batch.unsqueeze(0), common))
    return {"CPU s": seconds, "MB": megabytes, "stated MB": stated, "value": value}


def _maximised(method: str, w: Work, q: int) -> torch.Tensor:
    """The batch (q, d) that a method finds."""
    if method == PEAK:
        verdict._counts = lambda *_: False  # the verdict takes every look
        return _proposed(w, q, DEFAULTS)
    return _proposed(w, q, FEW) if method == COMPBO else _with_botorch(method, w, q)


def _proposed(w: Work, q: int, starts: StartPolicy) -> torch.Tensor:
    """compbo's batch (q, d)."""
    best = w.gp.train_x[w.gp.train_y.argsort(descending=True)[:8]]
    return propose(
        AcquisitionProblem(w.gp.posterior, UCB(), w.gp.best, best),
        q,
        maximizer=make_maximizer(MAXIMIZER),
        generator=stream(0, "large batches"),
        budget=Budget(STEPS),
        starts=starts,
        minibatch=SAMPLES,
    ).batch


def _with_botorch(method: str, w: Work, q: int) -> torch.Tensor:
    """BoTorch's batch (q, d)."""
    from botorch.optim import optimize_acqf

    call: dict[str, Any] = {
        "num_restarts": FEW.restarts,
        "raw_samples": FEW.raw_batches,
        "options": {"maxiter": STEPS, "seed": 0},
    }
    bounds = torch.stack([torch.zeros(w.d), torch.ones(w.d)]).to(DTYPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)  # BoTorch chooses with PyTorch's global generator
        function = botorch_acquisition(w, "ucb", samples=SAMPLES)
        found, _ = optimize_acqf(function, bounds=bounds, q=q, sequential=method == "BoTorch sequential", **call)
    return found.detach()


def _kilobytes(what: str) -> int:
    found = re.search(what + r":\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
