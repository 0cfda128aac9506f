"""(b) The other backends beside PyTorch's: a value-and-gradient, the raw batches, a maximisation, a whole proposal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import torch
from torch import Tensor

from benchmarks.common import RAW, B, Q, Row, T, Work, alternate
from compbo.acquisition.integrands import UCB
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import ACQUISITIONS
from compbo.acquisition.samples import sobol_normals
from compbo.backend import COMPILED, SINGLE, TORCH, VARIABLE
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.bo.suggest import INCUMBENTS
from compbo.compiled.choice import oracle_threads
from compbo.compiled.oracle import CompiledOracle
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.single import SinglePosterior
from compbo.types import Box, Budget, Draw

TITLE = "The backends `single` and `compiled` beside PyTorch's"
NOTE = (
    "One thread. What is measured: `value and gradient` of 32 restarts by acquisition function, the values of the 1024 "
    "`raw batches`, a `maximisation` of 64 steps and a whole `proposal` (raw batches, maximisation, and in double "
    "precision choice and verdict), the last three of UCB. Floor of `compiled`: 1.5 times at W(16,100), 1 elsewhere; "
    "of `single`: 1.25 times for a proposal at W(40,250) and W(120,515). `single gains`: what the proposed batches are "
    "worth beside those of PyTorch with the same seeds, in double on a common sample of 4096, as a mean share of what "
    "PyTorch's climbs gained."
)
REPEATS = 25
MAXIMIZERS = ("Adam-ERM", "CAdam")


def compiled(oracle: AcquisitionOracle) -> CompiledOracle:
    """The same oracle in compiled code."""
    return CompiledOracle(oracle.acquisition, oracle.posterior, oracle.samples, oracle.best)


def single(w: Work, oracle: AcquisitionOracle) -> AcquisitionOracle:
    """The same oracle in single precision."""
    posterior = SinglePosterior(w.gp.posterior)
    return AcquisitionOracle(oracle.acquisition, posterior, oracle.samples, oracle.best)


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


def row(w: Work, what: str, calls: list[Callable[[], None]], repeats: int) -> Row:
    """The calls of PyTorch, single precision and compiled code, beside one another."""
    torch_time, single_time, compiled_time = (timing.median for timing in alternate(*calls, repeats=repeats))
    return {
        "size": w.name,
        "what": what,
        "torch ms": 1e3 * torch_time,
        "single ms": 1e3 * single_time,
        "compiled ms": 1e3 * compiled_time,
        "single times faster": torch_time / single_time,
        "compiled times faster": torch_time / compiled_time,
        "single gains": "",
    }


def compare(
    w: Work, what: str, call: Callable[[AcquisitionOracle], Callable[[], None]], oracle: AcquisitionOracle
) -> Row:
    repeats = REPEATS if "gradient" in what else 5
    return row(w, what, [call(oracle), call(single(w, oracle)), call(compiled(oracle))], repeats)


@contextmanager
def chosen(backend: str) -> Iterator[None]:
    """The backend that is asked for."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = backend
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def proposal(w: Work, name: str, backend: str, batches: list[Tensor], gains: list[float]) -> Callable[[], None]:
    """Asks, each with the next seed; what they propose and what their climbs gain is added to the lists."""
    incumbents = w.gp.train_x[w.gp.train_y.argsort(descending=True)[:INCUMBENTS]]
    problem = AcquisitionProblem(w.gp.posterior, UCB(), w.gp.best, incumbents)
    seeds = count()

    def call() -> None:
        with chosen(backend):
            batch, telemetry = propose(
                problem,
                Q,
                maximizer=make_maximizer(name),
                generator=stream(next(seeds), "proposal", w.name),
                budget=Budget(steps=T),
                starts=StartPolicy(),
            )
        batches.append(batch)
        gains.append(telemetry.acquisition_gain)

    return call


def proposals(w: Work, name: str) -> Row:
    batches: dict[str, list[Tensor]] = {backend: [] for backend in (TORCH, SINGLE, COMPILED)}
    gains: dict[str, list[float]] = {backend: [] for backend in batches}
    calls = [proposal(w, name, backend, batches[backend], gains[backend]) for backend in batches]
    found = row(w, f"proposal, {name}", calls, 5)
    common = Draw(sobol_normals(Q, 4096, stream(0, "common")))
    values = {backend: w.oracle().value(torch.stack(found), common) for backend, found in batches.items()}
    found["single gains"] = float((values[SINGLE] - values[TORCH]).sum()) / sum(gains[TORCH])
    return found


def run(works: list[Work]) -> list[Row]:
    rows: list[Row] = []
    for w in works:
        rows += [
            compare(w, f"value and gradient, {name}", lambda o, w=w: value_and_gradient(w, o), w.oracle(name))
            for name in ACQUISITIONS
        ]
        rows.append(compare(w, "raw batches", lambda o, w=w: raw_values(w, o), w.oracle()))
        for name in MAXIMIZERS:
            oracle = w.oracle(form=make_maximizer(name).form)
            rows.append(compare(w, f"{B} restarts, {name}", lambda o, w=w, name=name: maximisation(w, o, name), oracle))
        rows += [proposals(w, name) for name in MAXIMIZERS]
    return rows
