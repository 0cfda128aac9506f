"""(c) A whole maximisation, raw batches to chosen batch, and the value it reached."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.alone import alone
from benchmarks.common import RAW, SIZES, B, Q, Row, T, Work, alternate, botorch_acquisition, work
from compbo.acquisition.integrands import UCB
from compbo.acquisition.samples import sobol_normals
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.types import Budget, Draw

TITLE = "A whole maximisation of UCB, from 1024 raw batches to the chosen one"
NOTE = (
    "Equal restarts (32), steps (64) and samples (128). Value: UCB of the chosen batch on a common sample of 4096 "
    "(higher is better), mean over the repeats. Goal for Adam-ERM against "
    "`gen_candidates_torch`: 4, 3, 3 times faster at W(16,100), W(40,250), W(120,515). One thread each. `alone`: "
    "BoTorch in a process of its own, without the memory that compbo keeps."
)
MAXIMIZERS = ("Adam-ERM", "CAdam", "CAdam-ME", "L-BFGS-B")


def ours(w: Work, maximizer: str, reached: list[Tensor]) -> Callable[[], None]:
    problem = AcquisitionProblem(w.gp.posterior, UCB(), w.gp.best, incumbents=torch.empty(0, w.d, dtype=torch.float64))
    starts = StartPolicy(raw_batches=RAW, restarts=B, around_incumbents=0.0)

    def call() -> None:
        generator = stream(len(reached), "maximisation", w.name)
        proposal = propose(
            problem,
            Q,
            maximizer=make_maximizer(maximizer),
            generator=generator,
            budget=Budget(steps=T),
            starts=starts,
        )
        reached.append(proposal.batch)

    return call


def theirs(w: Work, method: str, reached: list[Tensor]) -> Callable[[], None]:
    from botorch.generation.gen import gen_candidates_scipy, gen_candidates_torch
    from botorch.optim import optimize_acqf

    bounds = torch.stack([torch.zeros(w.d), torch.ones(w.d)]).to(torch.float64)
    torch_options: dict[str, Any] = {
        "optimizer_options": {"lr": 0.025},
        "stopping_criterion_options": {"maxiter": T, "rel_tol": 0.0},
        "init_batch_limit": 64,
    }
    options = torch_options if method == "Adam" else {"maxiter": T, "init_batch_limit": 64}
    generate = gen_candidates_torch if method == "Adam" else gen_candidates_scipy

    def call() -> None:
        function = botorch_acquisition(w, seed=len(reached))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batch, _ = optimize_acqf(
                function,
                bounds,
                q=Q,
                num_restarts=B,
                raw_samples=RAW,
                options={**options, "seed": len(reached)},
                gen_candidates=generate,
                retry_on_optimization_warning=False,
            )
        reached.append(batch.detach())

    return call


def theirs_alone() -> dict[str, float]:
    """Seconds of BoTorch's Adam by size."""
    return {w.name: alternate(theirs(w, "Adam", []), repeats=3, warmup=1)[0].median for w in (work(*s) for s in SIZES)}


def run(works: list[Work], repeats: int = 3) -> list[Row]:
    rows: list[Row] = []
    by_itself = alone("maximisation", "theirs_alone")
    for w in works:
        reached: dict[str, list[Tensor]] = {}
        calls: dict[str, Callable[[], None]] = {}
        for method in ("Adam", "L-BFGS-B"):
            calls["BoTorch " + method] = theirs(w, method, reached.setdefault("BoTorch " + method, []))
        for maximizer in MAXIMIZERS:
            calls[maximizer] = ours(w, maximizer, reached.setdefault(maximizer, []))
        timings = dict(zip(calls, alternate(*calls.values(), repeats=repeats, warmup=1), strict=True))
        common = Draw(sobol_normals(Q, 4096, stream(0, "common")))
        oracle = w.oracle()
        for name, timing in timings.items():
            value = float(oracle.value(torch.stack(reached[name]), common).mean())
            rows.append(
                {
                    "size": w.name,
                    "method": name,
                    "seconds": timing.median,
                    "faster than BoTorch Adam": timings["BoTorch Adam"].median / timing.median,
                    "the same alone": by_itself[w.name] / timing.median,
                    "faster than BoTorch L-BFGS-B": timings["BoTorch L-BFGS-B"].median / timing.median,
                    "times Adam-ERM": timing.median / timings["Adam-ERM"].median,
                    "value": value,
                }
            )
    return rows
