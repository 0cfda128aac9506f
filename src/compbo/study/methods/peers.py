"""Peers behind the study's interface: BoTorch, Optuna and pycma, with the defaults their users get.

Each is seeded by the cell. BoTorch draws from PyTorch's global generator, which is put back afterwards; the others have
generators of their own.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from compbo.seeds import derive_seed, numpy_stream
from compbo.study.methods.method import required_inner
from compbo.types import DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from compbo.study.cell import Cell
    from compbo.study.methods.method import Point
    from compbo.study.tasks import Task


class _Told:
    """What was told, in order of arrival; a failure has the worst loss seen."""

    def __init__(self, task: Task) -> None:
        self._space = task.space
        self._points: list[Mapping[str, Any]] = []
        self._losses: list[float | None] = []

    def add(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Points with their losses."""
        self._points.extend(points)
        self._losses.extend(losses)

    @property
    def x(self) -> Tensor:
        """The points in the unit cube, (n, d)."""
        return self._space.to_unit(self._points)

    @property
    def losses(self) -> list[float]:
        """One number for every point."""
        known = [loss for loss in self._losses if loss is not None]
        worst = max(known, default=0.0)
        return [worst if loss is None else loss for loss in self._losses]


class BoTorchMethod:
    """SingleTaskGP and qLogEI, the batch maximised jointly by `optimize_acqf`, all with their defaults.

    The numbers of restarts and raw samples, for which BoTorch has no default, are those of the cell.

    Args:
        cell: the experiment; it must have an inner budget.
        task: of the cell.
    """

    sequential = False  # whether the points of a batch are chosen one after the other

    def __init__(self, cell: Cell, task: Task) -> None:
        self._seed, self._inner, self._space = cell.seed, required_inner(cell), task.space
        self._told = _Told(task)
        self.last_ask: Mapping[str, Any] = {}

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses."""
        self._told.add(points, losses)

    def ask(self, count: int) -> list[Point]:
        """The next joint batch."""
        from botorch.acquisition.logei import qLogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from botorch.utils.sampling import manual_seed
        from gpytorch.mlls import ExactMarginalLogLikelihood

        clock = time.perf_counter()
        x, y = self._told.x, -torch.tensor(self._told.losses, dtype=DTYPE).unsqueeze(-1)
        seed = derive_seed(self._seed, "botorch", len(x)) % 2**32
        with warnings.catch_warnings(), manual_seed(seed):
            warnings.simplefilter("ignore")  # BoTorch warns of trouble that it repairs itself
            model = SingleTaskGP(x, y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            fitted = time.perf_counter()
            batch, value = optimize_acqf(
                qLogExpectedImprovement(model, best_f=y.max()),
                bounds=torch.stack([torch.zeros(x.shape[1], dtype=DTYPE), torch.ones(x.shape[1], dtype=DTYPE)]),
                q=count,
                num_restarts=self._inner.restarts,
                raw_samples=self._inner.raw_batches,
                sequential=self.sequential,
            )
        seconds = time.perf_counter() - fitted
        self.last_ask = {
            "fit_seconds": fitted - clock,
            "maximise_seconds": seconds,
            "acquisition_value": float(value.flatten()[-1]),  # of the whole batch
        }
        return self._space.from_unit(batch.detach().clamp(0.0, 1.0))


class _OptunaMethod:
    """An Optuna study in memory; the initial design is added to it as finished trials."""

    def __init__(self, task: Task, sampler: Any) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(sampler=sampler, direction="minimize")
        self._space, self._distributions = task.space, task.space.to_optuna()
        self._open: list[tuple[Point, Any]] = []
        self.last_ask: Mapping[str, Any] = {}

    def ask(self, count: int) -> list[Point]:
        """The next points, one after the other; Optuna counts the earlier ones as running."""
        trials = [self._study.ask(self._distributions) for _ in range(count)]
        asked = [(self._space.validate(trial.params), trial) for trial in trials]
        self._open.extend(asked)
        return [dict(point) for point, _ in asked]

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report losses of points that were asked for, or of other points."""
        from optuna.trial import TrialState, create_trial

        for point, loss in zip(points, losses, strict=True):
            state = TrialState.FAIL if loss is None else TrialState.COMPLETE
            place = next((i for i, (known, _) in enumerate(self._open) if known == dict(point)), None)
            if place is not None:
                self._study.tell(self._open.pop(place)[1], loss, state=state)
            else:
                params = dict(point)
                trial = create_trial(params=params, distributions=self._distributions, value=loss, state=state)
                self._study.add_trial(trial)


class OptunaTPE(_OptunaMethod):
    """Optuna's default sampler.

    Args:
        cell: the experiment; its seed is used.
        task: of the cell.
    """

    def __init__(self, cell: Cell, task: Task) -> None:
        from optuna.samplers import TPESampler

        super().__init__(task, TPESampler(seed=derive_seed(cell.seed, "optuna-tpe") % 2**32))


class OptunaGP(_OptunaMethod):
    """Optuna's Gaussian-process sampler.

    Args:
        cell: the experiment; its seed is used.
        task: of the cell; the sampler is told whether it is noisy.
    """

    def __init__(self, cell: Cell, task: Task) -> None:
        from optuna.samplers import GPSampler

        seed = derive_seed(cell.seed, "optuna-gp") % 2**32
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an experimental argument: the right one for a noiseless task
            sampler = GPSampler(seed=seed, deterministic_objective=not task.noisy)
        super().__init__(task, sampler)


class PycmaMethod:
    """CMA-ES on the black box itself, from the best initial point, sigma 0.25 of the box.

    pycma's generation for d dimensions has 4 + 3 log d points; here it is the nearest multiple of the batch, so that a
    generation is whole batches.

    Args:
        cell: the experiment; its seed is used.
        task: of the cell.
    """

    SIGMA = 0.25

    def __init__(self, cell: Cell, task: Task) -> None:
        self._seed, self._space = cell.seed, task.space
        self._told = _Told(task)
        self._strategy: Any = None
        self._generation: list[Any] = []  # asked of pycma since it was last told, in order
        self._losses: list[float] = []  # of the first of these
        self.last_ask: Mapping[str, Any] = {}

    def _start(self, count: int) -> None:
        import cma

        numbers = numpy_stream(self._seed, "pycma")
        x = self._told.x.numpy()
        usual = 4 + int(3 * math.log(x.shape[1]))
        options = {
            "popsize": count * max(round(usual / count), 1),
            "bounds": [0.0, 1.0],
            "randn": lambda *sizes: numbers.standard_normal(sizes),
            "seed": np.nan,  # leave NumPy's global generator alone
            "verbose": -10,
            "verb_log": 0,
        }
        self._strategy = cma.CMAEvolutionStrategy(x[int(np.argmin(self._told.losses))], self.SIGMA, options)

    def ask(self, count: int) -> list[Point]:
        """The next points of the generation."""
        if self._strategy is None:
            self._start(count)
        batch = self._strategy.ask(number=count)
        self._generation.extend(batch)
        return self._space.from_unit(torch.from_numpy(np.clip(np.stack(batch), 0.0, 1.0)))

    def tell(self, points: Sequence[Mapping[str, Any]], losses: Sequence[float | None]) -> None:
        """Report the losses of the last batch, or, before the first ask, of the initial design."""
        if self._strategy is None:
            self._told.add(points, losses)
            return
        self._losses.extend(math.inf if loss is None else loss for loss in losses)
        if len(self._losses) < self._strategy.popsize:
            return
        worst = max((loss for loss in self._losses if math.isfinite(loss)), default=0.0)
        values = [loss if math.isfinite(loss) else worst + 1.0 for loss in self._losses]
        self._strategy.tell(self._generation[: len(values)], values)
        self._generation, self._losses = [], []
