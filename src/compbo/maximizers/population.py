"""Evolution on a fixed sample: CMA-ES by pycma, differential evolution by SciPy.

An individual is a whole batch, a vector of q d numbers; a generation is one step, and all T of them are made: a
generation of equal values, as on a plateau, ends nothing. With the samples of the compositional form these are
CMA-ES-Comp and DE-Comp: the nested oracle f(g(x)) on a minibatch that stays for the whole run, so that ranks compare.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
import torch

from compbo.maximizers.archive import Archive
from compbo.maximizers.climb import Traits
from compbo.seeds import next_seed
from compbo.threads import single_threaded_blas
from compbo.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from compbo.maximizers.climb import Maximisation
    from compbo.maximizers.restarts import RestartBatch
    from compbo.types import Box

FirstPopulation = Literal["around-best", "starts"]
FIRST_POPULATIONS: tuple[FirstPopulation, ...] = get_args(FirstPopulation)
SEPARABLE_ABOVE = 200  # dimensions q d from which CMA-ES adapts the diagonal of its covariance only
SMALLEST_POPULATION = 5  # SciPy's minimum; smaller sets of start points are filled up with uniform batches


@dataclass(frozen=True)
class CMAES:
    """CMA-ES (Hansen, 2016) with a population of B and T generations.

    sigma: the initial step as a part of the box. first_population: "around-best" draws it around the best start point,
    "starts" takes the start points, as the paper does. Above 200 dimensions the covariance is diagonal
    (sep-CMA-ES, Ros and Hansen, 2008): in 64 generations a full matrix of (q d)^2 numbers has learned nothing, and
    costs (q d)^3.
    """

    sigma: float = 0.03
    first_population: FirstPopulation = "around-best"
    traits: ClassVar[Traits] = Traits(order=0, rule="CMA-ES")

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> Status:
        """Generations until the budget is spent."""
        numbers = np.random.default_rng(next_seed(task.generator))
        with single_threaded_blas(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="elements of z2")  # a long evolution path in many dimensions
            warnings.filterwarnings("ignore", message="Could not import matplotlib")  # pycma draws; we do not
            return self._evolve(task, restarts, numbers)

    def _evolve(self, task: Maximisation, restarts: RestartBatch, numbers: np.random.Generator) -> Status:
        archive, steps = Archive(task, restarts), task.budget.steps
        if bool(restarts.failed.all()):
            return Status.FAILED
        cube = _Cube(task.box, restarts.x.shape[1])
        strategy = self._begin(cube.vectors(restarts.x), cube.vectors(restarts.best[:1]), numbers)
        for _ in range(steps):
            restarts.clock.check()
            asked = strategy.ask()
            points = cube.batches(np.stack(asked))
            value = archive.evaluate(points)
            if bool(value.isnan().all()):
                return Status.FAILED
            strategy.tell(asked, _costs(value).tolist())
            archive.advance(points, value)
        return Status.DONE

    def _begin(self, starts: NDArray[np.float64], best: NDArray[np.float64], numbers: np.random.Generator) -> Any:
        """pycma before its first generation; start points that are the population begin around their mean."""
        if self.first_population == "around-best":
            return _strategy(best[0], self.sigma, len(starts), numbers)
        strategy = _strategy(starts.mean(0), self.sigma, len(starts), numbers)
        _inject(strategy, starts)
        return strategy


def _strategy(mean: NDArray[np.float64], sigma: float, size: int, numbers: np.random.Generator) -> Any:
    """pycma's strategy in the unit cube, quiet, with its numbers from our generator."""
    import cma

    options = {
        "popsize": max(SMALLEST_POPULATION, size),
        "bounds": [0.0, 1.0],
        "CMA_diagonal": len(mean) > SEPARABLE_ABOVE,
        "AdaptSigma": cma.sigma_adaptation.CMAAdaptSigmaCSA,  # the paper's; TPA would use NumPy's global generator
        "randn": lambda *sizes: numbers.standard_normal(sizes),
        "seed": np.nan,  # do not seed NumPy's global generator
        "verbose": -10,  # silent, and no signal file is looked for
        "verb_log": 0,
    }
    return cma.CMAEvolutionStrategy(mean, sigma, options)


def _inject(strategy: Any, vectors: NDArray[np.float64]) -> None:
    """Make these vectors the next generation; pycma takes them without its bends at the bounds."""
    strategy.inject(
        [strategy.gp.geno(vector, from_bounds=strategy.boundary_handler.inverse) for vector in vectors], force=True
    )


def _costs(value: Tensor) -> Tensor:
    """What pycma minimises: a batch without a value ranks last."""
    worst = value.nan_to_num(nan=torch.inf).min()
    return -torch.where(value.isnan(), worst - 1.0, value)


@dataclass(frozen=True)
class DifferentialEvolution:
    """Differential evolution (Storn and Price, 1997), rand/1/bin as in the paper, from the start points.

    F scales the difference of two batches, p_mutation is the chance of a coordinate to take part.
    """

    F: float = 0.2
    p_mutation: float = 0.5
    traits: ClassVar[Traits] = Traits(order=0, rule="DE")

    def __call__(self, task: Maximisation, restarts: RestartBatch) -> Status:
        """Generations until the budget is spent."""
        numbers, steps = np.random.default_rng(next_seed(task.generator)), task.budget.steps
        with single_threaded_blas():
            archive, start = Archive(task, restarts), restarts.x
            cube = _Cube(task.box, start.shape[1])

            def cost(columns: NDArray[np.float64]) -> NDArray[np.float64]:
                restarts.clock.check()
                return (-archive.evaluate(cube.batches(columns.T))).nan_to_num(nan=torch.inf).numpy()

            def after_generation(intermediate_result: Any) -> None:
                energies = torch.as_tensor(intermediate_result.population_energies.copy())
                points = cube.batches(intermediate_result.population)
                archive.advance(points, torch.where(energies.isinf(), torch.nan, -energies))

            _evolve(cost, after_generation, cube.vectors(start), self.F, self.p_mutation, steps, numbers)
        return Status.DONE


def _evolve(
    cost: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    after_generation: Callable[[Any], None],
    start: NDArray[np.float64],
    F: float,
    p_mutation: float,
    steps: int,
    numbers: np.random.Generator,
) -> None:
    """SciPy's evolution in the unit cube, whole generations at a time; `after_generation` sees them all."""
    from scipy import optimize

    missing = max(0, SMALLEST_POPULATION - len(start))
    solve: Any = optimize.differential_evolution  # its stubs know no vectorised oracle
    solve(
        cost,
        [(0.0, 1.0)] * start.shape[1],
        strategy="rand1bin",
        maxiter=steps,
        mutation=F,
        recombination=p_mutation,
        init=np.concatenate([start, numbers.random((missing, start.shape[1]))]),
        updating="deferred",
        vectorized=True,
        polish=False,
        tol=0.0,
        atol=-1.0,  # out of reach, so that equal values do not end it
        callback=after_generation,
        rng=numbers,
    )


class _Cube:
    """Batches (S, q, d) of the box as vectors (S, q d) of the unit cube, where both libraries search."""

    def __init__(self, box: Box, q: int) -> None:
        self._box, self._q = box, q
        self._width = box.upper - box.lower

    def vectors(self, x: Tensor) -> NDArray[np.float64]:
        """Batches -> vectors; a dimension without width sits in the middle."""
        free = self._width > 0
        y = torch.where(free, (x - self._box.lower) / torch.where(free, self._width, 1.0), 0.5)
        vectors: NDArray[np.float64] = y.reshape(len(x), -1).numpy()
        return vectors

    def batches(self, vectors: NDArray[np.float64]) -> Tensor:
        """Vectors -> batches inside the box."""
        y = torch.as_tensor(np.array(vectors)).reshape(len(vectors), self._q, -1)
        return self._box.project(torch.addcmul(self._box.lower, y, self._width))
