"""The fit: hyperparameters that minimise J, at once or in turn on few observations and on more.

An evaluation of J takes time that grows with the cube of the observations. Hyperparameters of few of them, taken at
even ranks, are near those of all: from there a few iterations are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.threads import lapack_threads_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from compbo.surrogate.log_posterior import Hyperparameters, NegativeLogPosterior

TOLERANCE = 1e-7  # relative change of J that ends the fit
MAX_ITERATIONS = 200
FIRST_FIT = 512  # observations that hyperparameters are fitted to before they are refined on more
# Iterations on more: on two histories five ended within 2 of the smallest J; the first fit alone was off by 10 to 130.
REFINEMENTS = 8


class Fit(NamedTuple):
    """Hyperparameters that minimise a loss J."""

    loss: NegativeLogPosterior  # J
    hyperparameters: Hyperparameters  # theta
    least: float  # J at theta
    evaluations: int  # of J, on few and on more observations
    refined: bool = False  # whether theta was fitted to few observations first


def fit(loss: NegativeLogPosterior, start: Hyperparameters | None, iterations: int) -> Fit:
    """The fit of a loss by L-BFGS-B.

    Args:
        loss: J of the observations.
        start: where it begins; None: at the best of a few guesses.
        iterations: at most.

    Returns:
        What was found.
    """
    with lapack_threads_for(len(loss.y) ** 3):
        theta, least = _minimise(loss, loss.cold_start() if start is None else loss.pack(start), iterations)
    return Fit(loss, loss.unpack(theta), least, loss.evaluations)


def fit_in_turn(
    few: NegativeLogPosterior, more: NegativeLogPosterior, start: Hyperparameters | None, iterations: int
) -> Fit:
    """The fit to few observations, and from there in `REFINEMENTS` iterations to more of them, if they are more.

    Args:
        few: J of few observations.
        more: J of more of them.
        start: where the first fit begins; None: at the best of a few guesses.
        iterations: of the first fit, at most.

    Returns:
        What was found for more of them.
    """
    if len(more.y) <= len(few.y):
        return fit(more, start, iterations)
    first = fit(few, start, iterations)
    second = fit(more, first.hyperparameters, min(REFINEMENTS, iterations))
    return second._replace(evaluations=first.evaluations + second.evaluations, refined=True)


def _minimise(
    loss: NegativeLogPosterior, start: NDArray[np.float64], iterations: int
) -> tuple[NDArray[np.float64], float]:
    """L-BFGS-B in theta / steps."""
    from scipy.optimize import Bounds, minimize

    steps = loss.steps
    lower, upper = np.array(loss.bounds).T

    def scaled_loss(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = loss(scaled * steps)
        return value, gradient * steps

    found = minimize(
        scaled_loss,
        start / steps,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower / steps, upper / steps),
        options={"maxiter": iterations, "ftol": TOLERANCE},
    )
    return np.asarray(found.x, dtype=np.float64) * steps, float(found.fun)
