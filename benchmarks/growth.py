"""(g) How the time grows with n, d, q, B, K and M, one at a time; the exponent of the fitted power law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from benchmarks.common import Row, alternate
from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import PoolSamples
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.kernels import MATERN52
from compbo.surrogate.posterior import GPPosterior
from compbo.types import DTYPE, Box, Budget

TITLE = "Growth of the time of a CAdam step"
NOTE = "The others stay at n = 250, d = 40, q = 16, B = 32, K = 128, M = 2048. Exponent e of time ~ size^e."
BASE = {"n": 250, "d": 40, "q": 16, "B": 32, "K": 128, "M": 2048}
RANGES = {
    "n": (125, 250, 500, 1000),
    "d": (20, 40, 80, 160),
    "q": (8, 16, 32, 64, 128),
    "B": (8, 16, 32, 64),
    "K": (64, 128, 256, 512),
    "M": (2048, 4096, 8192, 16384),
}


def steps(count: int, *, n: int, d: int, q: int, B: int, K: int, M: int) -> Callable[[], None]:
    generator = stream(0, "growth", n, d, q)
    x = torch.rand(n, d, dtype=DTYPE, generator=generator)
    posterior = GPPosterior(
        x, x.sum(-1), kernel=MATERN52, lengthscale=torch.ones(d, dtype=DTYPE), outputscale=1.0, noise=1e-2
    )
    oracle = AcquisitionOracle(UCB(), posterior, PoolSamples(q, K, M), best=1.0)
    start = torch.rand(B, q, d, dtype=DTYPE, generator=generator)
    maximizer = make_maximizer("CAdam")

    def call() -> None:
        maximizer(oracle, start, budget=Budget(steps=count), box=Box.unit(d), generator=stream(0, "growth"))

    return call


def run() -> list[Row]:
    rows: list[Row] = []
    for name, sizes in RANGES.items():
        seconds = []
        for size in sizes:
            shape = {**BASE, name: size}
            # the difference of two lengths leaves out what is done once per maximisation
            long, short = alternate(steps(12, **shape), steps(4, **shape), repeats=5, warmup=1)
            seconds.append(max((long.median - short.median) / 8, 1e-9))
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        row: Row = {"varied": name, "sizes": ", ".join(map(str, sizes))}
        row["ms per step"] = ", ".join(f"{1e3 * value:.1f}" for value in seconds)
        rows.append({**row, "exponent": exponent})
    return rows
