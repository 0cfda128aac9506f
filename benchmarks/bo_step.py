"""(e) A whole BO step, fit and maximise, on the trajectory of a real run and at the four sizes."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from benchmarks.common import RAW, B, Q, Row, T, Work, alternate, levy
from benchmarks.gp_fit import botorch_fit
from benchmarks.maximisation import theirs as botorch_maximise
from compbo.acquisition.integrands import UCB
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.gp import GP, fit_gp
from compbo.types import DTYPE, Budget

TITLE = "A whole BO step: fit and maximise (UCB, q = 16)"
NOTE = (
    "BoTorch: `fit_gpytorch_mll`, then `optimize_acqf` with `gen_candidates_torch` (Adam), the same restarts, steps "
    "and samples; one thread each. Rows `n = ...` follow one run of compbo on a shifted Levy function in 16 "
    "dimensions. Goal: 5 times. Most of a step is the maximisation, and of that the matrix products (see the profile)."
)
MAXIMIZERS = ("Adam-ERM", "CAdam", "CAdam-ME")
TRAJECTORY = (20, 67, 131, 259, 515)
STARTS = StartPolicy(raw_batches=RAW, restarts=B, around_incumbents=0.0)


def maximise(gp: GP, maximizer: str, seed: int, steps: int = T) -> Tensor:
    d = gp.train_x.shape[1]
    problem = AcquisitionProblem(gp.posterior, UCB(), gp.best, incumbents=torch.empty(0, d, dtype=DTYPE))
    return propose(
        problem,
        Q,
        maximizer=make_maximizer(maximizer),
        generator=stream(seed, "step"),
        budget=Budget(steps=steps),
        starts=STARTS,
    ).batch


def trajectory(d: int = 16, length: int = 515) -> tuple[Tensor, Tensor]:
    """The points and values of a run from three uniform points, 16 at a time."""
    generator = stream(0, "trajectory")
    centre = 0.2 + 0.6 * torch.rand(d, dtype=DTYPE, generator=generator)
    x = torch.rand(3, d, dtype=DTYPE, generator=generator)
    y = levy(x, centre)
    while len(y) < length:
        batch = maximise(fit_gp(x, y), "Adam-ERM", len(y), steps=16)
        x, y = torch.cat([x, batch]), torch.cat([y, levy(batch, centre)])
    return x[:length], y[:length]


def compare(name: str, w: Work, x: Tensor, y: Tensor, repeats: int) -> Row:
    def ours(maximizer: str) -> None:
        maximise(fit_gp(x, y), maximizer, len(y))

    def theirs() -> None:
        botorch_fit(w, None)
        botorch_maximise(w, "Adam", [])()

    calls = [functools.partial(ours, maximizer) for maximizer in MAXIMIZERS]
    *mine, peer = alternate(*calls, theirs, repeats=repeats, warmup=1)
    seconds = {f"{name} s": time.median for name, time in zip(MAXIMIZERS, mine, strict=True)}
    ratios = {f"{name} times faster": peer.median / time.median for name, time in zip(MAXIMIZERS, mine, strict=True)}
    return {"step": name, **seconds, "BoTorch s": peer.median, **ratios}


def run(works: list[Work], repeats: int = 3) -> list[Row]:
    rows = [compare(w.name, w, w.gp.train_x, w.gp.train_y, repeats) for w in works]
    x, y = trajectory()
    for n in TRAJECTORY:
        gp = fit_gp(x[:n], y[:n])
        w = Work(16, n, gp, x[:0], x[:0])
        rows.append(compare(f"run, n = {n}", w, x[:n], y[:n], repeats))
    return rows
