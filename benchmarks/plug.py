"""`optimize_acqf` through the plug and BoTorch's own, at equal work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.common import RAW, B, Q, Row, T, Work, alternate, botorch_acquisition

TITLE = "`optimize_acqf` of the BoTorch plug and BoTorch's own"
NOTE = (
    "Seconds of CPU with one thread, median of paired alternation. Equal restarts (32), steps (64) and samples (128), "
    "and no stopping criterion: Adam-ERM, on fresh samples, against `gen_candidates_torch`, L-BFGS-B against "
    "`gen_candidates_scipy`, which takes the same steps on the same sample. Start points: the choice among 1024 raw "
    "batches alone, in chunks of 64. Goal: 3 times faster for both methods. Of L-BFGS-B, in runs of their own: the "
    "part of our time in SciPy's compiled `setulb`; that in the whole driver (BoTorch's port with `setulb`, without "
    "what it calls), the same code for both; and the ratio of what is left of both times without the driver."
)
ACQUISITIONS = ("ucb", "logei")


def run(works: list[Work], repeats: int = 3, steps: int = T) -> list[Row]:
    """One row per size, acquisition function and method."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [row for w in works for name in ACQUISITIONS for row in _rows(w, name, repeats, steps)]
    finally:
        torch.set_num_threads(threads)


def _rows(w: Work, name: str, repeats: int, steps: int) -> list[Row]:
    from botorch.generation.gen import gen_candidates_scipy, gen_candidates_torch
    from botorch.optim import optimize_acqf as theirs
    from botorch.optim.initializers import gen_batch_initial_conditions

    from compbo.integrations.botorch import optimize_acqf as ours
    from compbo.integrations.botorch.ranking import ranked_initial_conditions

    bounds = torch.stack([torch.zeros(w.d), torch.ones(w.d)]).to(torch.float64)
    starts = {"init_batch_limit": 64, "seed": 0}
    call: dict[str, Any] = {"bounds": bounds, "q": Q, "num_restarts": B, "raw_samples": RAW}
    stop = {"stopping_criterion_options": {"maxiter": steps, "rel_tol": 0.0}, "optimizer_options": {"lr": 0.03}}

    def choice(function: Callable[..., Any]) -> Callable[[], None]:
        def run_it() -> None:
            torch.manual_seed(0)  # BoTorch chooses with PyTorch's global generator
            function(botorch_acquisition(w, name), options=starts, **call)

        return run_it

    def maximised(function: Callable[..., Any], options: dict[str, Any], **more: Any) -> Callable[[], None]:
        def run_it() -> None:
            torch.manual_seed(0)
            function(botorch_acquisition(w, name), options={**starts, **options}, **call, **more)

        return run_it

    # with `gtol` among its options BoTorch would stack all restarts in one problem
    never = {"maxiter": steps, "factr": 0.0, "pgtol": 0.0}
    pairs = {
        "start points": (choice(ranked_initial_conditions), choice(gen_batch_initial_conditions)),
        "Adam-ERM": (
            maximised(ours, {"maxiter": steps}, maximizer="Adam-ERM"),
            maximised(theirs, stop, gen_candidates=gen_candidates_torch),
        ),
        "L-BFGS-B": (
            maximised(ours, {"maxiter": steps}, maximizer="L-BFGS-B", ftol=0.0, gtol=0.0),
            maximised(theirs, never, gen_candidates=gen_candidates_scipy),
        ),
    }
    rows: list[Row] = []
    for method, (mine, peer) in pairs.items():
        first, second = alternate(mine, peer, repeats=repeats, warmup=1, now=time.process_time)
        row: Row = {
            "size": w.name,
            "acquisition": name,
            "what": method,
            "ours s": first.median,
            "BoTorch s": second.median,
            "times faster": second.median / first.median,
            "ours in setulb %": "",
            "ours in the driver %": "",
            "the rest, times faster": "",
        }
        if method == "L-BFGS-B":
            (compiled, driver), (_, peer_driver) = driver_shares(mine), driver_shares(peer)
            row["ours in setulb %"], row["ours in the driver %"] = 100.0 * compiled, 100.0 * driver
            row["the rest, times faster"] = row["times faster"] * (1.0 - peer_driver) / (1.0 - driver)
        rows.append(row)
    return rows


def driver_shares(call: Callable[[], None]) -> tuple[float, float]:
    """Which parts of the CPU time of a call are spent in SciPy's compiled L-BFGS-B, and in all of its driver.

    The driver is BoTorch's port of SciPy's, with `setulb` and without the evaluations and callbacks that it asks for.
    """
    from botorch.optim import batched_lbfgs_b as port
    from scipy.optimize import _lbfgsb

    compiled, whole, now = _lbfgsb.setulb, port._minimize_lbfgsb, time.process_time
    spent = {"setulb": 0.0, "driver": 0.0, "called": 0.0}

    def timed(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run_it(*arguments: Any, **options: Any) -> Any:
            began = now()
            try:
                return function(*arguments, **options)
            finally:
                spent[what] += now() - began

        return run_it

    def driven(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if options.get("callback") is not None:
            options["callback"] = timed("called", options["callback"])
        return whole(timed("called", function), *arguments, **options)

    _lbfgsb.setulb, port._minimize_lbfgsb = timed("setulb", compiled), timed("driver", driven)
    try:
        began = now()
        call()
        total = now() - began
    finally:
        _lbfgsb.setulb, port._minimize_lbfgsb = compiled, whole
    return spent["setulb"] / total, (spent["driver"] - spent["called"]) / total
