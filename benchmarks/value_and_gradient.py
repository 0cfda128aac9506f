"""(a) One value-and-gradient of every acquisition function, and (f) the bound: the matrix products alone."""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.common import K, Q, B, Work, alternate, botorch_acquisition, botorch_model
from compbo.acquisition.integrands import ACQUISITIONS
from compbo.numerics import threads_for


def ours(w: Work, acquisition: str) -> Any:
    oracle, draw = w.oracle(acquisition), w.draw

    def call() -> None:
        with threads_for(2.0 * B * Q * w.n * (w.n + w.d)):
            inner = oracle.inner(w.x, draw)
            oracle.outer(inner.v)
            inner.pullback(oracle.outer_gradient(inner.v))

    return call


def theirs(w: Work, acquisition: str, model: Any) -> Any:
    function = botorch_acquisition(w, acquisition, model)

    def call() -> None:
        x = w.x.clone().requires_grad_(True)
        torch.autograd.grad(function(x).sum(), x)

    return call


def bound(w: Work) -> Any:
    """P A^T, Ks Linv^T, dV Linv, W A: 4 B q n^2 + 4 B q n d floating-point operations."""
    rows = B * Q
    p, a = torch.rand(rows, w.d, dtype=torch.float64), torch.rand(w.n, w.d, dtype=torch.float64)
    inverse, cross = torch.rand(w.n, w.n, dtype=torch.float64), torch.rand(rows, w.n, dtype=torch.float64)

    def call() -> None:
        with threads_for(2.0 * rows * w.n * (w.n + w.d)):
            p @ a.mT
            cross @ inverse.mT
            cross @ inverse
            cross @ a

    return call


def run(works: list[Work]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for w in works:
        model = botorch_model(w)
        for acquisition in ACQUISITIONS:
            mine, peer, products = alternate(ours(w, acquisition), theirs(w, acquisition, model), bound(w))
            rows.append(
                {
                    "size": w.name,
                    "acquisition": acquisition,
                    "ours ms": 1e3 * mine.median,
                    "BoTorch ms": 1e3 * peer.median,
                    "times faster": peer.median / mine.median,
                    "times the products": mine.median / products.median,
                }
            )
    return rows


assert K  # the minibatch of the workload
