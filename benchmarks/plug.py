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
    "batches alone, in chunks of 64. Goal: 3 times faster for both methods. What SciPy's L-BFGS-B and its driver need "
    "is the same for both and bounds the ratio at W(16,100)."
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

    never = {"maxiter": steps, "ftol": 0.0, "gtol": 0.0}
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
        rows.append(
            {
                "size": w.name,
                "acquisition": name,
                "what": method,
                "ours s": first.median,
                "BoTorch s": second.median,
                "times faster": second.median / first.median,
            }
        )
    return rows
