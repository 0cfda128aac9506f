"""Threads: one by default, of PyTorch and of every BLAS.

Waiting threads of PyTorch (OpenMP) and of BLAS spin. Beside other work on the same cores (asynchronous evaluations,
several Optuna processes, a shared server) that costs a factor of 5 to 20, and a second thread gains 30 % at best. With
one thread suggestions do not depend on the number of cores either. COMPBO_THREADS=4 allows up to four threads where
the work is large enough to keep them busy.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from compbo.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "COMPBO_THREADS"

# Operations of one matrix product that pay for a thread; measured by `python -m benchmarks threads`.
FLOPS_PER_THREAD = 5_000_000


def allowed_threads() -> int:
    """How many threads an ask may use: COMPBO_THREADS, 1 where it is not set; at most the number that PyTorch has.

    >>> allowed_threads() >= 1
    True
    """
    given = os.environ.get(VARIABLE, "1")
    if not given.isdecimal() or int(given) < 1:
        raise OptionError(VARIABLE, "{option} must be a whole number from 1 on, got {given!r}.", given=given)
    return min(torch.get_num_threads(), int(given))


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401 - the controller sees only the libraries loaded before it
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep the BLAS under SciPy at one thread: its pool and PyTorch's fight for the same cores otherwise."""
    threads = torch.get_num_threads()
    with _blas().select(user_api="blas").limit(limits=1):
        torch.set_num_threads(threads)
        yield


@contextmanager
def lapack_threads_for(flops: float) -> Iterator[None]:
    """One PyTorch thread, and for SciPy's LAPACK one per FLOPS_PER_THREAD of `flops`, at most `allowed_threads`.

    For work that alternates between the two: only one of the pools may have several threads.
    """
    threads, wanted = torch.get_num_threads(), _threads_worth(flops)
    with _blas().select(user_api="blas").limit(limits=wanted):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextmanager
def threads_for(flops: float) -> Iterator[None]:
    """One PyTorch thread per FLOPS_PER_THREAD of `flops`, at most `allowed_threads`; afterwards as before."""
    threads, wanted = torch.get_num_threads(), _threads_worth(flops)
    if wanted == threads:
        yield
        return
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _threads_worth(flops: float) -> int:
    return min(allowed_threads(), max(1, int(flops / FLOPS_PER_THREAD)))
