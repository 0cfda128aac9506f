"""Methods of the study behind one interface: ask for points, tell losses, look at the last step.

`KINDS` is a plain dict; a kind more is a row more, and grids, tests and tables follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from compbo.maximizers import CATALOGUE
from compbo.study.cell import Inner, Surrogate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compbo.baselines.asktell import AskTell
    from compbo.study.cell import Cell
    from compbo.study.tasks import Task

Point = dict[str, Any]
Flavour = Literal["function", "weight", "decoupled"]  # of Thompson sampling


class Step(NamedTuple):
    """What one ask looked like, as far as the method can tell; the rest is NaN or empty."""

    fit_seconds: float = math.nan
    start_seconds: float = math.nan  # raw batches and the choice of start points
    maximise_seconds: float = math.nan
    acquisition_value: float = math.nan  # of the chosen batch
    acquisition_gain: float = math.nan  # over the best raw batch
    acquisition_error: float = math.nan  # Monte-Carlo standard error of the value
    spread: float = math.nan  # of the restarts' end values
    ascent_steps: int = 0
    jitter: float = math.nan
    replaced: int = 0  # suggestions that repeated an earlier point
    verdict: str = ""
    reason: str = ""


class Method(Protocol):
    """One run of one method: losses are minimised."""

    def ask(self, count: int) -> list[Point]:
        """The next points."""
        ...

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Their losses; None is a failed evaluation."""
        ...

    @property
    def last_step(self) -> Step:
        """What the last ask looked like."""
        ...


class CompboMethod:
    """`compbo.Optimizer`: an acquisition function maximised by a catalogue entry."""

    def __init__(self, cell: Cell, task: Task) -> None:
        from compbo.optimizer import Optimizer
        from compbo.propose import StartPolicy
        from compbo.types import Budget

        surrogate, inner = cell.surrogate or Surrogate(), cell.inner or Inner()
        self._optimizer = Optimizer(
            task.space,
            acquisition=cell.method.make_acquisition(),
            maximizer=cell.method.maximizer,
            hyperparameters=dict(cell.method.hyperparameters),
            batch_size=cell.batch,
            direction="minimize",
            seed=cell.seed,
            kernel=surrogate.kernel,
            priors=surrogate.priors,
            noise=0.0 if surrogate.noise == "fixed" else None,
            initial_points=1,  # the initial design is told, the same to every method
            starts=StartPolicy(inner.raw_batches, inner.restarts, inner.around_incumbents),
            budget=Budget(steps=inner.steps),
            minibatch=inner.minibatch,
        )

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        return self._optimizer.ask(count)

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._optimizer.tell(points, losses)

    @property
    def last_step(self) -> Step:
        """The telemetry of the last ask."""
        seen = self._optimizer.telemetry[-1]
        return Step(
            fit_seconds=seen.fit_seconds,
            start_seconds=seen.start_seconds,
            maximise_seconds=seen.maximise_seconds,
            acquisition_value=seen.value,
            acquisition_gain=seen.gain,
            acquisition_error=seen.standard_error,
            spread=seen.spread,
            ascent_steps=seen.steps,
            jitter=seen.jitter,
            replaced=seen.replaced_duplicates,
            verdict=str(seen.verdict),
            reason=seen.reason,
        )


class BaselineMethod:
    """A baseline of `compbo.baselines`."""

    def __init__(self, baseline: AskTell) -> None:
        self._baseline = baseline
        self.last_step = Step()

    def ask(self, count: int) -> list[Point]:
        """The next points."""
        return self._baseline.ask(count)

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._baseline.tell(points, losses)


def _random_search(cell: Cell, task: Task) -> Method:
    from compbo.baselines.random import RandomSearch

    return BaselineMethod(RandomSearch(task.space, cell.seed))


def _bohb(cell: Cell, task: Task) -> Method:
    from compbo.baselines.bohb import BOHBModel

    return BaselineMethod(BOHBModel(task.space, cell.seed))


def _thompson(flavour: Flavour) -> Callable[[Cell, Task], Method]:
    """Thompson sampling: as many candidates as raw batches, as many steps as a maximizer."""

    def make(cell: Cell, task: Task) -> Method:
        from compbo.baselines.thompson import ThompsonSampling

        surrogate, inner = cell.surrogate or Surrogate(), cell.inner or Inner()
        return BaselineMethod(
            ThompsonSampling(
                task.space,
                cell.seed,
                flavour=flavour,
                noise=0.0 if surrogate.noise == "fixed" else None,
                kernel=surrogate.kernel,
                priors=surrogate.priors,
                candidates=inner.raw_batches,
                steps=inner.steps,
            )
        )

    return make


def _peer(name: str) -> Callable[[Cell, Task], Method]:
    """A class of `peers`, imported when it is needed."""

    def make(cell: Cell, task: Task) -> Method:
        from compbo.study.methods import peers

        method: Method = getattr(peers, name)(cell, task)
        return method

    return make


@dataclass(frozen=True)
class Kind:
    """How a method is made, what of a cell it looks at, and what it imports (to be loaded ahead of the cells)."""

    make: Callable[[Cell, Task], Method]
    surrogate: bool = False
    inner: bool = False
    group: str = "baseline"
    modules: tuple[str, ...] = ()


_BOTORCH = ("botorch.acquisition.logei", "botorch.fit", "botorch.models", "botorch.optim")
_THOMPSON = ("compbo.baselines.thompson",)
KINDS: dict[str, Kind] = {
    "maximizer": Kind(CompboMethod, surrogate=True, inner=True, group="compbo", modules=("compbo.optimizer",)),
    **{
        f"thompson-{flavour}": Kind(_thompson(flavour), surrogate=True, inner=True, modules=_THOMPSON)
        for flavour in get_args(Flavour)
    },
    "bohb": Kind(_bohb, modules=("compbo.baselines.bohb", "statsmodels.nonparametric.api")),
    "random-search": Kind(_random_search),
    "botorch-qlogei": Kind(_peer("BoTorchMethod"), inner=True, group="peer", modules=_BOTORCH),
    "optuna-tpe": Kind(_peer("OptunaTPE"), group="peer", modules=("optuna",)),
    "optuna-gp": Kind(_peer("OptunaGP"), group="peer", modules=("optuna", "optuna._gp.acqf")),
    "pycma": Kind(_peer("PycmaMethod"), group="peer", modules=("cma",)),
}
MAXIMIZER = "maximizer"


def make_method(cell: Cell, task: Task) -> Method:
    """The method of a cell, before its first tell."""
    return KINDS[cell.method.kind].make(cell, task)


def optimiser_names() -> list[str]:
    """Everything that may stand on the optimiser axis: the catalogue, then the baselines and the peers."""
    return [*CATALOGUE, *(kind for kind in KINDS if kind != MAXIMIZER)]


def optimiser_group(name: str) -> str:
    """`paper` or `extended` for a catalogue entry, `baseline` or `peer` for the others."""
    if name in CATALOGUE:
        return "extended" if CATALOGUE[name].category == "extended" else "paper"
    return KINDS[name].group
