"""Plain acquisition functions over plain GPs take compbo's own oracle, which has no autograd in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.acquisition.monte_carlo import (
    qExpectedImprovement,
    qProbabilityOfImprovement,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import IdentityMCObjective

from compbo.acquisition.integrands import EI, PI, SR, UCB, Acquisition, LogEI
from compbo.acquisition.oracle import AcquisitionOracle
from compbo.surrogate.botorch import recognise
from compbo.surrogate.posterior import with_pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from compbo.acquisition.samples import Samples
    from compbo.surrogate.posterior import Posterior


class PlainProblem(NamedTuple):
    """An acquisition function of the ordinary kind: compbo's integrand, its posterior with pending points, f*."""

    acquisition: Acquisition
    posterior: Posterior
    best: float  # f*


def plain_problem(acqf: Any) -> PlainProblem | None:
    """The parts of the acquisition function `acqf`, or None where anything about it is unusual."""
    acquisition = _plain_acquisition(acqf)
    if acquisition is None or not _plain_setting(acqf):
        return None
    posterior = recognise(acqf.model)
    if posterior is None:
        return None
    best = getattr(acqf, "best_f", None)
    if best is not None and best.numel() != 1:
        return None
    joint = with_pending(posterior, None if acqf.X_pending is None else acqf.X_pending.detach())
    return PlainProblem(acquisition, joint, 0.0 if best is None else float(best))


def is_plain_kind(acqf: Any) -> bool:
    """Whether `acqf` is one of the classes that have parts; its model does not matter here."""
    return _plain_acquisition(acqf) is not None and _plain_setting(acqf)


def fast_oracle(problem: PlainProblem, q: int, make_samples: Callable[[int], Samples]) -> AcquisitionOracle:
    """compbo's oracle of a plain problem for batches of q points, on samples of compbo's.

    make_samples: makes the samples, given the rows of a draw.

    qUCB's deviations are taken from the posterior mean instead of the sample mean, and qLogEI's maximum over the
    points is the exact one instead of a smooth one: the same expectations with less noise.
    """
    samples = make_samples(q + problem.posterior.extra_points)
    return AcquisitionOracle(problem.acquisition, problem.posterior, samples, problem.best)


def _plain_setting(acqf: Any) -> bool:
    """No objective, transform or outcome constraint of the caller's, no batch of pending sets, no other device."""
    if type(acqf.objective) is not IdentityMCObjective or acqf.posterior_transform is not None:
        return False
    if acqf._constraints is not None or (acqf.X_pending is not None and acqf.X_pending.ndim != 2):
        return False
    return all(tensor.device.type == "cpu" for tensor in getattr(acqf.model, "train_inputs", None) or ())


def _plain_acquisition(acqf: Any) -> Acquisition | None:
    """The integrand of exactly these classes; a subclass may have changed anything."""
    kind = type(acqf)
    if kind is qExpectedImprovement:
        return EI()
    if kind is qSimpleRegret:
        return SR()
    if kind is qProbabilityOfImprovement and acqf.tau.numel() == 1:
        return PI(tau=float(acqf.tau))
    if kind is qUpperConfidenceBound:
        return UCB(beta=2.0 * acqf.beta_prime**2 / math.pi)
    if kind is qLogExpectedImprovement and acqf._fat is True:
        return LogEI(tau=float(acqf.tau_relu))
    return None
