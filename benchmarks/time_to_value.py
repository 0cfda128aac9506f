"""Seconds until a batch that is as good: value of the batch against time, for BoTorch and for compbo.

Curves are kept in time_to_value.json, scene by scene: a run that was stopped goes on there. Delete the file to measure
anew.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks.bo_step import trajectory
from benchmarks.common import SIZES, Q, Row, Work, botorch_acquisition, work
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.acquisition.registry import get_acquisition
from compbo.acquisition.samples import make_samples, sobol_normals
from compbo.bo.propose import AcquisitionProblem, propose
from compbo.bo.starts import StartPolicy
from compbo.bo.suggest import INCUMBENTS
from compbo.maximizers import make_maximizer
from compbo.seeds import stream
from compbo.surrogate.gp import fit_gp
from compbo.types import Budget, Draw

TITLE = "Time to value: seconds until a batch as good as BoTorch's best"
NOTE = (
    "Seconds of CPU with one thread; joint batches of 16. BoTorch as its users call it: `optimize_acqf` with 10 "
    "restarts of 512 raw samples and 512 Monte-Carlo samples, L-BFGS-B and Adam (`gen_candidates_torch`) with their "
    "own stopping rules, each stopped after 12 seconds of the clock. The goal of a row is 99 % of what the better "
    "of the two gains over its best raw batch, on a common sample of 4096. `BoTorch s`: the first of the two that "
    "is there. The other columns: how many times sooner compbo returns a batch that is as good, its verdict "
    "included, at the smallest of the budgets of 8, 32, 64 and 128 steps that is enough; `never` if none is. Runs: "
    "the history of a run on a shifted Levy function in 6 dimensions. One seed. Goal for the default: 5 times, never "
    "below 3. It is missed: the default often stops short of BoTorch's value, since the steps of its rule become "
    "shorter and shorter, and yet its runs end at a lower regret than those of maximizers that climb higher "
    "([the defaults](../docs/defaults.md)). A race with `polish` reaches these values more often; tried as the "
    "default, its runs ended at a higher regret ([racing](../docs/racing.md)). Who wants the value takes that, or "
    "`Adam-ERM`.\n\n"
    "![Value against seconds](time_to_value.png)"
)
ACQUISITIONS = ("ucb", "ei", "sr", "logei")
OURS: dict[str, tuple[str, StartPolicy]] = {
    "default": ("CAdam", StartPolicy()),
    "race": ("CAdam", StartPolicy(race=True)),
    "race and polish": ("CAdam", StartPolicy(race=True, polish=True)),
    "CAdam-ME": ("CAdam-ME", StartPolicy()),
    "Adam-ERM": ("Adam-ERM", StartPolicy()),
    "L-BFGS-B": ("L-BFGS-B", StartPolicy()),
}
THEIRS = ("BoTorch L-BFGS-B", "BoTorch Adam")
STEPS = (8, 32, 64, 128)
RUNS = {"run, early": 19, "run, middle": 83, "run, converged": 243}
GOAL = 0.99  # of what BoTorch gains over its best raw batch
SECONDS = 12.0  # of one call of BoTorch
FILE = Path(__file__).parent / "time_to_value.json"


class Curve(NamedTuple):
    """Seconds, and the value on the common sample of the best batch at that time."""

    seconds: list[float]
    value: list[float]

    def reaches(self, goal: float) -> float | None:
        """The first time at which the value is at least the goal."""
        return next((s for s, v in zip(self.seconds, self.value, strict=True) if v >= goal), None)


def scenes() -> dict[str, Work]:
    """The four sizes and the three histories, by name."""
    found = {f"W({d},{n})": work(d, n) for d, n in SIZES}
    x, y = trajectory(6, max(RUNS.values()))
    return found | {name: Work(6, n, fit_gp(x[:n], y[:n]), x[:0], x[:0]) for name, n in RUNS.items()}


def on_common_sample(w: Work, acquisition: str, batches: list[Tensor]) -> list[float]:
    """Values of batches (q, d) on one sample that nothing was climbed on."""
    samples = make_samples("ERM", Q)
    oracle = AcquisitionOracle(get_acquisition(acquisition), w.gp.posterior, samples, w.gp.best)
    common = Draw(sobol_normals(Q, 4096, stream(0, "common")))
    return [float(value) for value in oracle.value(torch.stack(batches), common)]


def theirs(w: Work, acquisition: str, method: str) -> Curve:
    """One call of BoTorch; every evaluation that is its best so far is a point of the curve."""
    from botorch.generation.gen import gen_candidates_scipy, gen_candidates_torch
    from botorch.optim import optimize_acqf

    function = botorch_acquisition(w, acquisition, samples=512)
    best, seconds, batches = -torch.inf, list[float](), list[Tensor]()
    started = time.process_time()

    def seen(_: Any, inputs: tuple[Tensor, ...], values: Tensor) -> None:
        nonlocal best
        top = int(values.argmax())
        if float(values[top]) > best:
            best = float(values[top])
            seconds.append(time.process_time() - started)
            batches.append(inputs[0][top].detach().clone())

    function.register_forward_hook(seen)
    torch.manual_seed(0)
    optimize_acqf(
        function,
        torch.stack([torch.zeros(w.d), torch.ones(w.d)]).to(torch.float64),
        q=Q,
        num_restarts=10,
        raw_samples=512,
        gen_candidates=gen_candidates_torch if method.endswith("Adam") else gen_candidates_scipy,
        timeout_sec=SECONDS,
    )
    few = sorted({0, len(batches) - 1, *range(0, len(batches), max(1, len(batches) // 40))})
    return Curve([seconds[i] for i in few], on_common_sample(w, acquisition, [batches[i] for i in few]))


def ours(w: Work, acquisition: str, method: str) -> Curve:
    """One proposal for every number of steps."""
    maximizer, starts = OURS[method]
    incumbents = w.gp.train_x[w.gp.train_y.argsort(descending=True)[:INCUMBENTS]]
    problem = AcquisitionProblem(w.gp.posterior, get_acquisition(acquisition), w.gp.best, incumbents)
    seconds, batches = list[float](), list[Tensor]()
    for steps in STEPS:
        started = time.process_time()
        proposal = propose(
            problem,
            Q,
            maximizer=make_maximizer(maximizer),
            generator=stream(0, "time to value"),
            budget=Budget(steps=steps),
            starts=starts,
        )
        seconds.append(time.process_time() - started)
        batches.append(proposal.batch)
    return Curve(seconds, on_common_sample(w, acquisition, batches))


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch with one thread, so that seconds of CPU are those of the method."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def measured(names: list[str] | None = None) -> dict[str, dict[str, Curve]]:
    """The curves by scene and acquisition ("W(6,60), ucb") and method; those that are stored are not measured again.

    names: of scenes; None: all.
    """
    stored: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name, w in scenes().items():
        if names is not None and name not in names:
            continue
        ours(w, "ucb", "default")  # warm up
        for acquisition in ACQUISITIONS:
            key = f"{name}, {acquisition}"
            if key not in stored:
                with one_thread(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    peers = {method: theirs(w, acquisition, method) for method in THEIRS}
                    stored[key] = peers | {method: ours(w, acquisition, method) for method in OURS}
                FILE.write_text(json.dumps(stored, indent=1) + "\n")
    return {key: {method: Curve(*curve) for method, curve in curves.items()} for key, curves in stored.items()}


def row(key: str, curves: dict[str, Curve]) -> Row:
    """A row of the table."""
    peers = [curves[method] for method in THEIRS]
    best, first = max(max(curve.value) for curve in peers), min(curve.value[0] for curve in peers)
    goal = first + GOAL * (best - first)
    reached = min(s for curve in peers if (s := curve.reaches(goal)) is not None)
    found: Row = {"scene": key, "BoTorch s": reached, "goal": goal}
    for method in OURS:
        seconds = curves[method].reaches(goal)
        found[method] = "never" if seconds is None else reached / seconds
    return found


def draw(curves: dict[str, dict[str, Curve]], path: Path) -> None:
    """A figure: a plot for every scene and acquisition."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    columns = len(ACQUISITIONS)
    rows = -(-len(curves) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(14, 2.4 * rows), layout="constrained", squeeze=False)
    for place, (key, methods) in zip(axes.flat, curves.items(), strict=False):
        for i, (method, curve) in enumerate(methods.items()):
            line = {"linestyle": "--"} if method in THEIRS else {"marker": "o", "markersize": 3}
            place.plot(curve.seconds, curve.value, color=f"C{i}", label=method, linewidth=1.2, **line)
        place.set_xscale("log")
        place.set_ylim(bottom=min(curve.value[0] for method, curve in methods.items() if method not in THEIRS))
        place.set_title(key, fontsize=9)
        place.tick_params(labelsize=7)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=7, loc="outside upper center", frameon=False)
    figure.supxlabel("seconds")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def run() -> list[Row]:
    """The table; the figure is drawn beside it."""
    curves = measured()
    draw(curves, FILE.with_suffix(".png"))
    return [row(key, methods) for key, methods in curves.items()]
