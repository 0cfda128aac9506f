"""The one policy for what goes wrong in floating point.

Cholesky factors climb a ladder of jitter, every matrix of a batch on its own; a matrix that still has no factor is
marked, and no error is raised. Outputs of any finite magnitude are standardised without overflow.
"""

from __future__ import annotations

import ctypes
import math
import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

JITTER_LADDER = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # relative to the mean of the diagonal


class Cholesky(NamedTuple):
    """Lower factors (..., m, m), the relative jitter each needed (...,), and which have none (...,)."""

    factor: Tensor
    jitter: Tensor
    failed: Tensor  # True where there is no factor


def cholesky(matrix: Tensor, rounding: float = 0.0) -> Cholesky:
    """Factor a batch of symmetric matrices; only the lower triangle is read.

    A matrix without a factor at the top of the ladder (or with a non-finite entry) is marked in `failed` and gets
    the identity, so that nothing non-finite travels on.
    rounding: size of the rounding errors in the entries, where they may exceed the diagonal (a posterior covariance is
    a difference); jitter is relative to at least that.
    """
    factor, info = _lapack_cholesky(matrix) if matrix.ndim == 2 else torch.linalg.cholesky_ex(matrix)
    jitter = torch.zeros(matrix.shape[:-2], dtype=matrix.dtype)
    diagonal = factor.diagonal(dim1=-2, dim2=-1)
    if not bool(info.any()) and math.isfinite(float(diagonal.sum())):
        return Cholesky(factor, jitter, info.bool())
    bad = (info != 0) | ~torch.isfinite(diagonal).all(-1)
    return _climb_ladder(matrix, factor, jitter, bad, max(rounding, torch.finfo(matrix.dtype).tiny))


def _lapack_cholesky(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """One matrix by SciPy's LAPACK, twice as fast as PyTorch's. Rows here are columns there: lower is upper."""
    from scipy.linalg import lapack

    upper, info = lapack.dpotrf(matrix.numpy().T, lower=0)
    return torch.from_numpy(upper.T), torch.tensor(info)


def inverse_of_factor(factor: Tensor) -> Tensor:
    """L^-1 of one lower factor L (n, n)."""
    from scipy.linalg import lapack

    return torch.from_numpy(lapack.dtrtri(factor.numpy().T, lower=0)[0].T)


def lower_inverse(inverse_factor: Tensor) -> Tensor:
    """The lower triangle of C^-1 = L^-T L^-1 (n, n), zeros above it, from inverse_factor = L^-1."""
    from scipy.linalg import lapack

    return torch.from_numpy(lapack.dlauum(inverse_factor.numpy().T, lower=0)[0].T)


def _climb_ladder(matrix: Tensor, factor: Tensor, jitter: Tensor, bad: Tensor, smallest: float) -> Cholesky:
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    scale = matrix.diagonal(dim1=-2, dim2=-1).abs().mean(-1).clamp_min(smallest)
    factor, jitter, bad = factor.clone(), jitter.clone(), bad.clone()
    for level in JITTER_LADDER:
        trial, info = torch.linalg.cholesky_ex(matrix[bad] + (level * scale[bad])[..., None, None] * identity)
        good = (info == 0) & torch.isfinite(trial).all(-1).all(-1)
        mended = bad.clone()
        mended[bad] = good
        factor[mended] = trial[good]
        jitter[mended] = level
        bad &= ~mended
        if not bool(bad.any()):
            break
    factor[bad] = identity
    jitter[bad] = JITTER_LADDER[-1]
    return Cholesky(factor, jitter, bad)


class Standardised(NamedTuple):
    """y = mean + scale * values."""

    values: Tensor
    mean: float
    scale: float


def standardise(y: Tensor) -> Standardised:
    """Zero mean and unit variance, for any finite y: constants, a single value, 1e300 and 1e-300 included."""
    magnitude = float(y.abs().max())
    if magnitude == 0.0:
        return Standardised(torch.zeros_like(y), 0.0, 1.0)
    relative = y / magnitude
    mean = relative.mean()
    deviation = relative.std() if len(y) > 1 else torch.zeros(())
    if float(deviation) < 1e-13:  # constant up to rounding
        return Standardised(torch.zeros_like(y), float(mean) * magnitude, max(magnitude, torch.finfo(y.dtype).tiny))
    deviation = deviation.clamp_max(torch.finfo(y.dtype).max / magnitude)  # the scale itself must not overflow,
    scale = max(float(deviation) * magnitude, math.ulp(0.0))  # nor vanish
    return Standardised((relative - mean) / deviation, float(mean) * magnitude, scale)


@cache
def keep_freed_memory() -> bool:
    """Whether glibc was asked to keep freed blocks of up to 32 MB instead of handing them back.

    A step frees and allocates the same few megabytes again and again, and every time the kernel would map and clear
    the pages anew: that doubles the time of a value-and-gradient at small sizes. Without glibc, and where the
    environment says COMPBO_KEEP_MEMORY=0, nothing is done.
    """
    if os.environ.get("COMPBO_KEEP_MEMORY") == "0":
        return False
    m_trim_threshold, m_mmap_threshold = -1, -3
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return bool(mallopt(m_mmap_threshold, 32 * 2**20)) and bool(mallopt(m_trim_threshold, 512 * 2**20))
