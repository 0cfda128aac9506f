"""(a) One value-and-gradient of every acquisition function, beside (f) the bound: the matrix products alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.alone import alone
from benchmarks.backend import single as in_single
from benchmarks.common import SIZES, B, Q, Row, Work, alternate, botorch_acquisition, botorch_model, work
from compbo.acquisition.registry import ACQUISITIONS
from compbo.threads import threads_for

TITLE = "One value-and-gradient of the acquisition function, and the bound of its matrix products"
NOTE = (
    "One thread each. Goals for UCB at W(16,100), W(40,250), W(120,515): 6, 5, 5 times faster than BoTorch, in single "
    "precision, in which the default climbs (`single`); in double reach for 3, 2, 1.5 times the products P A^T, "
    "Ks Linv^T, dV Linv, W A. Ours needs one product with C^-1 where that bound counts two with its factor, so the "
    "last column can fall below 1. `alone`: BoTorch in a process of its own, without the memory that compbo keeps, as "
    "it runs in a program that does not load compbo. At W(16,100) about half of the time are products (see the profile "
    "below), the rest are some hundred operators on arrays too small to keep a core busy, which the compiled backend "
    "joins."
)
REPEATS = 25


def products_flops(w: Work) -> float:
    return 2.0 * B * Q * w.n * (w.n + w.d)


def ours(w: Work, acquisition: str, *, single: bool = False) -> Callable[[], None]:
    oracle, draw = w.oracle(acquisition), w.draw
    if single:
        oracle = in_single(w, oracle)

    def call() -> None:
        with threads_for(products_flops(w)):
            inner = oracle.inner(w.x, draw)
            oracle.outer(inner.v)
            inner.pullback(oracle.outer_gradient(inner.v))

    return call


def theirs(w: Work, acquisition: str, model: Any) -> Callable[[], None]:
    function = botorch_acquisition(w, acquisition, model)

    def call() -> None:
        x = w.x.clone().requires_grad_(True)
        torch.autograd.grad(function(x).sum(), x)

    return call


def bound(w: Work) -> Callable[[], None]:
    """P A^T, Ks Linv^T, dV Linv, W A: 4 B q n^2 + 4 B q n d floating-point operations."""
    rows = B * Q
    p, a = torch.rand(rows, w.d, dtype=torch.float64), torch.rand(w.n, w.d, dtype=torch.float64)
    inverse, cross = torch.rand(w.n, w.n, dtype=torch.float64), torch.rand(rows, w.n, dtype=torch.float64)

    def call() -> None:
        with threads_for(products_flops(w)):
            torch.mm(p, a.mT)
            torch.mm(cross, inverse.mT)
            torch.mm(cross, inverse)
            torch.mm(cross, a)

    return call


def theirs_alone() -> dict[str, float]:
    """Seconds of BoTorch by size and acquisition."""
    seconds = {}
    for size in SIZES:
        w = work(*size)
        model = botorch_model(w)
        for acquisition in ACQUISITIONS:
            seconds[f"{w.name} {acquisition}"] = alternate(theirs(w, acquisition, model), repeats=REPEATS)[0].median
    return seconds


def run(works: list[Work]) -> list[Row]:
    rows: list[Row] = []
    by_itself = alone("value_and_gradient", "theirs_alone")
    for w in works:
        model = botorch_model(w)
        for acquisition in ACQUISITIONS:
            calls = (ours(w, acquisition), ours(w, acquisition, single=True), theirs(w, acquisition, model), bound(w))
            mine, short, peer, products = alternate(*calls, repeats=REPEATS)
            rows.append(
                {
                    "size": w.name,
                    "acquisition": acquisition,
                    "double ms": 1e3 * mine.median,
                    "single ms": 1e3 * short.median,
                    "BoTorch ms": 1e3 * peer.median,
                    "alone ms": 1e3 * by_itself[f"{w.name} {acquisition}"],
                    "double, times faster": peer.median / mine.median,
                    "single, times faster": peer.median / short.median,
                    "single, than alone": by_itself[f"{w.name} {acquisition}"] / short.median,
                    "double, times the products": mine.median / products.median,
                }
            )
    return rows
