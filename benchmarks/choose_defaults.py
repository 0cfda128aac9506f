"""What settings of every maximizer climb: `python -m benchmarks.choose_defaults [NAME ...]`.

UCB over the Gaussian processes of the benchmark, W(16,100), W(40,250) and W(120,515), q = 16, B = 32, T = 64,
K = 128. The start points are the 32 best of 256 batches, half of them uniform and half around the best observations (a
fifth of the coordinates moved), as in a run. A setting's score at one size is the gain of its median restart, on one
common sample, as a part of the largest gain of any setting of any maximizer there; printed is the score at every size
and their mean. The defaults of the catalogue are settings with a high mean, one for ERM and FSM together; they are to
climb, and to be replaced by tuned ones.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks.common import B, K, Q, T, Work, work
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import get_acquisition
from compbo.acquisition.samples import make_samples, sobol_normals
from compbo.maximizers import get_entry, make_maximizer
from compbo.seeds import stream
from compbo.types import DTYPE, Box, Budget, Draw

SIZES = ((16, 100), (40, 250), (120, 515))

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "SGA-ERM": {"lr": (0.03, 0.1, 0.3, 1.0), "momentum": (0.0, 0.9)},
    "Adagrad-ERM": {"lr": (0.03, 0.1, 0.2)},
    "RMSprop-ERM": {"lr": (0.003, 0.01, 0.03), "alpha": (0.9, 0.99)},
    "Adam-ERM": {"lr": (0.01, 0.03, 0.05)},
    "AdamW-ERM": {"lr": (0.03,), "weight_decay": (0.01, 0.1)},
    "Adadelta-ERM": {"lr": (3.0, 10.0, 30.0)},
    "Rprop-ERM": {"lr": (0.003, 0.01, 0.03, 0.1)},
    "AdamOS-ERM": {"lr": (0.03, 0.1, 0.2)},
    "SCGA": {"lr": (0.1, 0.3, 1.0, 3.0), "beta": (0.9,)},
    "ASCGA": {"lr": (0.1, 0.3, 1.0, 3.0), "beta": (0.9,)},
    "Nested-MC": {"lr": (0.01, 0.03, 0.05)},
    "SCSC": {"lr": (0.1, 0.3, 1.0, 3.0), "beta": (0.3, 0.9)},
    "SCSC-Adam": {"lr": (0.03,), "beta": (0.3, 0.9)},
    "SOX": {"lr": (0.03, 0.1), "beta": (0.3, 0.9)},
    "MSVR": {"lr": (0.03, 0.1), "beta": (0.03, 0.3)},
    "CMA-ES": {"sigma": (0.01, 0.03, 0.1)},
    "DE": {"F": (0.2, 0.5), "p_mutation": (0.2, 0.5)},
    "L-BFGS-B": {},
    "CAdam": {},
    "CAdam-ME": {},
    "NASA": {},
    "NASA-ME": {},
}


def settings(name: str) -> Iterator[dict[str, Any]]:
    grid = GRIDS[name]
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def start_points(w: Work, common: AcquisitionOracle, draw: Draw) -> Tensor:
    generator = stream(0, "raw", w.name)
    raw = torch.rand(256, Q, w.d, dtype=DTYPE, generator=generator)
    incumbents = w.gp.train_x[w.gp.train_y.topk(Q).indices]
    moved = torch.rand(128, Q, w.d, dtype=DTYPE, generator=generator) < 0.2
    step = 0.1 * torch.randn(128, Q, w.d, dtype=DTYPE, generator=generator)
    raw[:128] = (incumbents + moved * step).clamp_(0, 1)
    values = torch.cat([common.value(chunk, draw) for chunk in raw.chunk(8)])
    return raw[values.topk(B).indices]


def median_end(w: Work, name: str, setting: dict[str, Any], x0: Tensor, common: AcquisitionOracle, draw: Draw) -> float:
    samples = make_samples(get_entry(name).form, Q, minibatch=K, steps=T)
    oracle = AcquisitionOracle(get_acquisition("ucb"), w.gp.posterior, samples, w.gp.best)
    maximizer = make_maximizer(name, **setting)
    trace = maximizer(oracle, x0, budget=Budget(T), box=Box.unit(w.d), generator=stream(0, "climb"))
    return float(common.value(trace.final, draw).median())


def main(names: list[str]) -> None:
    ends: dict[tuple[str, str], list[float]] = {}
    starts: list[float] = []
    for d, n in SIZES:
        w = work(d, n)
        draw, common = Draw(sobol_normals(Q, 512, stream(0, "common"))), w.oracle()
        x0 = start_points(w, common, draw)
        starts.append(float(common.value(x0, draw).median()))
        print(f"{w.name}: median start {starts[-1]:.4f}", flush=True)
        for name in names:
            for setting in settings(name):
                end = median_end(w, name, setting, x0, common, draw)
                ends.setdefault((name, str(setting)), []).append(end)
                print(f"  {name:14} {setting}: {end:.4f}", flush=True)
    largest = [max(column) - start for column, start in zip(zip(*ends.values(), strict=True), starts, strict=True)]
    for (name, setting), row in sorted(ends.items()):
        gains = [(end - start) / most for end, start, most in zip(row, starts, largest, strict=True)]
        print(f"{name:14} {sum(gains) / len(gains):7.3f}  {'  '.join(f'{g:6.3f}' for g in gains)}  {setting}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(GRIDS))
