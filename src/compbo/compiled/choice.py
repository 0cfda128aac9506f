"""Which oracle computes an acquisition function: PyTorch's, in double or in single precision, or compiled."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from compbo.acquisition.oracle import AcquisitionOracle
from compbo.backend import COMPILED, SINGLE, TORCH, chosen_backend
from compbo.surrogate.single import in_single, is_single
from compbo.threads import single_threaded_blas, threads_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compbo.acquisition.integrands import Acquisition
    from compbo.acquisition.samples import Samples
    from compbo.surrogate.posterior import Posterior


def make_oracle(acquisition: Acquisition, posterior: Posterior, samples: Samples, best: float) -> AcquisitionOracle:
    """The oracle of the chosen backend; that of PyTorch for what is not compiled.

    Compiled are EI, PI, SR, UCB and LogEI over our GP with a stationary kernel; beside pending points the
    reference is faster. `backend_of` says what an oracle is.

    Args:
        acquisition: the acquisition function.
        posterior: of a batch of points.
        samples: where the base samples z come from.
        best: f*, the best observed value in the posterior's units.

    Returns:
        The oracle.
    """
    if chosen_backend() == COMPILED:
        from compbo.compiled.oracle import CompiledOracle, is_covered

        if is_covered(acquisition, posterior):
            return CompiledOracle(acquisition, posterior, samples, best)
    return AcquisitionOracle(acquisition, posterior, samples, best)


def climbing_oracle(oracle: AcquisitionOracle) -> AcquisitionOracle:
    """What ranks raw batches and climbs in place of `oracle`: the same in single precision, if asked for and safe."""
    if chosen_backend() != SINGLE:
        return oracle
    posterior = in_single(oracle.posterior)
    if posterior is oracle.posterior:
        return oracle
    return AcquisitionOracle(oracle.acquisition, posterior, oracle.samples, oracle.best)


def backend_of(oracle: AcquisitionOracle) -> str:
    """The name of the backend of an oracle: "torch", "single" or "compiled"."""
    if type(oracle) is not AcquisitionOracle:
        return COMPILED
    return SINGLE if is_single(oracle.posterior) else TORCH


@contextmanager
def oracle_threads(oracle: AcquisitionOracle, flops: float) -> Iterator[None]:
    """The threads that an oracle computes with; flops: operations of its largest product.

    Compiled code has one, even if more are allowed: no bit depends on their number.
    """
    if backend_of(oracle) != COMPILED:
        with threads_for(flops):
            yield
    else:
        with single_threaded_blas(), threads_for(0.0):
            yield
