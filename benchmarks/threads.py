"""Where a second thread begins to pay: one value-and-gradient with one thread and with all, over sizes."""

from __future__ import annotations

import torch

from benchmarks.common import B, Q, Row, alternate
from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.samples import FreshSamples
from compbo.seeds import stream
from compbo.surrogate.kernels import MATERN52
from compbo.surrogate.posterior import GPPosterior
from compbo.types import DTYPE

TITLE = "Threads: value-and-gradient with one thread against all"
NOTE = "`threads.FLOPS_PER_THREAD` decides how many threads a size gets, where COMPBO_THREADS allows more than one."


def run() -> list[Row]:
    rows: list[Row] = []
    threads = torch.get_num_threads()
    for n, d in ((30, 6), (60, 6), (100, 16), (150, 16), (250, 40), (350, 60), (515, 120)):
        generator = stream(0, "threads", n)
        x = torch.rand(n, d, dtype=DTYPE, generator=generator)
        posterior = GPPosterior(
            x, x.sum(-1), kernel=MATERN52, lengthscale=torch.ones(d, dtype=DTYPE), outputscale=1.0, noise=1e-2
        )
        oracle = AcquisitionOracle(UCB(), posterior, FreshSamples(Q), best=1.0)
        oracle.start(generator)
        draw, batch = oracle.draw(), torch.rand(B, Q, d, dtype=DTYPE, generator=generator)

        def call(count: int) -> None:
            torch.set_num_threads(count)
            inner = oracle.inner(batch, draw)
            inner.pullback(oracle.outer_gradient(inner.v))

        one, many = alternate(lambda: call(1), lambda: call(threads), repeats=15)
        torch.set_num_threads(threads)
        rows.append(
            {
                "n": n,
                "d": d,
                "million flops": 2e-6 * B * Q * n * (n + d),
                "one thread ms": 1e3 * one.median,
                f"{threads} threads ms": 1e3 * many.median,
                "gain": one.median / many.median,
            }
        )
    return rows
