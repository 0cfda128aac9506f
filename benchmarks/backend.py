"""(b) The compiled backend beside PyTorch's: a value-and-gradient, the raw batches, a maximisation."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.common import RAW, B, Q, Row, T, Work, alternate
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import ACQUISITIONS
from compbo.compiled.choice import oracle_threads
from compbo.compiled.oracle import CompiledOracle
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.types import Box, Budget

TITLE = "The compiled backend beside PyTorch's"
NOTE = (
    "One thread. What is measured: `value and gradient` of 32 restarts by acquisition function, the values of the 1024 "
    "`raw batches` and a `maximisation` of 64 steps, both of UCB. Floor: 1.5 times at W(16,100), 1 elsewhere."
)
REPEATS = 25


def compiled(oracle: AcquisitionOracle) -> CompiledOracle:
    """The same oracle in compiled code."""
    return CompiledOracle(oracle.acquisition, oracle.posterior, oracle.samples, oracle.best)


def value_and_gradient(w: Work, oracle: AcquisitionOracle) -> Callable[[], None]:
    def call() -> None:
        with oracle_threads(oracle, 0.0):
            inner = oracle.inner(w.x, w.draw)
            oracle.outer(inner.v)
            inner.pullback(oracle.outer_gradient(inner.v))

    return call


def raw_values(w: Work, oracle: AcquisitionOracle) -> Callable[[], None]:
    x = torch.rand(RAW, Q, w.d, dtype=torch.float64, generator=stream(0, "raw", w.name))

    def call() -> None:
        with oracle_threads(oracle, 0.0):
            oracle.value(x, w.draw)

    return call


def maximisation(w: Work, oracle: AcquisitionOracle, name: str) -> Callable[[], None]:
    box = Box.unit(w.d)

    def call() -> None:
        with oracle_threads(oracle, 0.0):
            make_maximizer(name)(oracle, w.x, budget=Budget(steps=T), box=box, generator=stream(0, "backend"))

    return call


def compare(
    w: Work, what: str, call: Callable[[AcquisitionOracle], Callable[[], None]], oracle: AcquisitionOracle
) -> Row:
    repeats = REPEATS if "gradient" in what else 5
    torch_time, compiled_time = alternate(call(oracle), call(compiled(oracle)), repeats=repeats)
    return {
        "size": w.name,
        "what": what,
        "torch ms": 1e3 * torch_time.median,
        "compiled ms": 1e3 * compiled_time.median,
        "times faster": torch_time.median / compiled_time.median,
    }


def run(works: list[Work]) -> list[Row]:
    rows: list[Row] = []
    for w in works:
        rows += [
            compare(w, f"value and gradient, {name}", lambda o, w=w: value_and_gradient(w, o), w.oracle(name))
            for name in ACQUISITIONS
        ]
        rows.append(compare(w, "raw batches", lambda o, w=w: raw_values(w, o), w.oracle()))
        for name in ("Adam-ERM", "CAdam-ME"):
            oracle = w.oracle(form=make_maximizer(name).form)
            rows.append(compare(w, f"{B} restarts, {name}", lambda o, w=w, name=name: maximisation(w, o, name), oracle))
    return rows
