"""Batches of 64 and 128 points: seconds, memory and value of compbo and of BoTorch, joint and point by point.

`python -m benchmarks.large_batches compbo 20 64` measures one case in this process and prints it as JSON.
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
from compbo.acquisition.samples import FreshSamples, sobol_normals
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.gp import fit_gp
from compbo.types import DTYPE, Budget, Draw

TITLE = "Large batches"
OBSERVATIONS, RESTARTS, RAW, STEPS, SAMPLES = 300, 8, 64, 64, 128
LIMIT = 40  # seconds of processor time of a maximisation
NOTE = (
    f"n = {OBSERVATIONS}, UCB, {RESTARTS} restarts of {RAW} raw batches, {STEPS} steps, {SAMPLES} samples, one thread, "
    "each in a process of its own. CAdam-ME against `optimize_acqf`, joint and with `sequential=True`, with L-BFGS-B "
    f"as it comes; what took more than {LIMIT} s was stopped. MB: what the whole maximisation, with the choice and the "
    "verdict, adds to the process at its peak. Of that the ascent is stated to need (`oracle.bytes_needed`) 2 B q "
    "(32 n + 48 K) bytes, which grow with q and n, not with d. Value: UCB of the batch on one sample of 4096 for all."
)
CASES = ((20, 64), (20, 128), (60, 64), (60, 128))
METHODS = ("compbo", "BoTorch joint", "BoTorch sequential")
BARE = torch.zeros(1, 1, 1, dtype=DTYPE)


def run() -> list[Row]:
    """One row per case and method."""
    return [_row(method, d, q) for d, q in CASES for method in METHODS]


def _row(method: str, d: int, q: int) -> Row:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.large_batches", method, str(d), str(q)]
    row: Row = {"d": d, "q": q, "method": method}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {**row, "CPU s": f"> {LIMIT}", "MB": "", "ascent, stated MB": "", "value": ""}
    done.check_returncode()
    return {**row, **json.loads(done.stdout.splitlines()[-1])}


def measure(method: str, d: int, q: int) -> Row:
    """Seconds of processor time, megabytes added and stated, and the value of the batch found.

    Args:
        method: one of `METHODS`.
        d: dimensions.
        q: points of the batch.

    Returns:
        The columns of a row.
    """
    torch.set_num_threads(1)
    x, y = data(d, OBSERVATIONS)
    w = Work(d, OBSERVATIONS, fit_gp(x, y), BARE, BARE[0])
    samples = FreshSamples(q, SAMPLES)
    oracle = AcquisitionOracle(UCB(), w.gp.posterior, samples, w.gp.best)
    _maximised(method, w, 2)  # imports, and memory that is taken once
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before, began = _kilobytes("VmRSS"), time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began) + LIMIT, resource.RLIM_INFINITY))
    batch = _maximised(method, w, q)
    seconds, megabytes = time.process_time() - began, (_kilobytes("VmHWM") - before) / 1024
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    common = Draw(sobol_normals(q, 4096, stream(0, "large batches")))
    stated = oracle.bytes_needed(RESTARTS, tracked=True) / 2**20 if method == "compbo" else ""
    value = float(oracle.value(batch.unsqueeze(0), common))
    return {"CPU s": seconds, "MB": megabytes, "ascent, stated MB": stated, "value": value}


def _maximised(method: str, w: Work, q: int) -> torch.Tensor:
    """The batch (q, d) that a method finds."""
    if method == "compbo":
        best = w.gp.train_x[w.gp.train_y.argsort(descending=True)[:8]]
        return propose(
            AcquisitionProblem(w.gp.posterior, UCB(), w.gp.best, best),
            q,
            maximizer=make_maximizer("CAdam-ME"),
            generator=stream(0, "large batches"),
            budget=Budget(STEPS),
            starts=StartPolicy(RAW, RESTARTS),
            minibatch=SAMPLES,
        ).batch
    from botorch.optim import optimize_acqf

    call: dict[str, Any] = {"num_restarts": RESTARTS, "raw_samples": RAW, "options": {"maxiter": STEPS, "seed": 0}}
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
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
