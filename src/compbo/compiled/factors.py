"""Cholesky factors of small matrices, and the cotangents of what was factored."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from compbo.compiled.build import part, summing_part

if TYPE_CHECKING:
    from compbo.compiled.build import Array


@summing_part
def cholesky(matrix: Array, factor: Array) -> bool:
    """The lower factor of a matrix, row by row; its diagonal holds reciprocals until the end. Whether there is one."""
    m = matrix.shape[0]
    for i in range(m):
        for j in range(i):
            rest = matrix[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = rest * factor[j, j]
        rest = matrix[i, i]
        for k in range(i):
            rest -= factor[i, k] * factor[i, k]
        if not 0.0 < rest < math.inf:
            return False
        factor[i, i] = 1.0 / math.sqrt(rest)
        for j in range(i + 1, m):
            factor[i, j] = 0.0
    for i in range(m):
        factor[i, i] = 1.0 / factor[i, i]
    return True


@part
def covariance_cotangent(factor: Array, dfactor: Array, work: Array, out: Array) -> None:
    """out = -2 dSigma (q, q) for the cotangent dL, `dfactor`, of the factor L.

    Phi is the lower triangle of L^T dL with halved diagonal, S = L^-T Phi L^-1, dSigma = (S + S^T)/2.
    work (q, q): memory.
    """
    q = factor.shape[0]
    for i in range(q):
        for j in range(q):
            work[i, j] = 0.0
        for k in range(i, q):
            weight = factor[k, i]
            for j in range(i + 1):
                work[i, j] += weight * dfactor[k, j]
        work[i, i] *= 0.5
    solve_transposed(factor, work)
    for i in range(q):
        for j in range(q):
            out[i, j] = work[j, i]
    solve_transposed(factor, out)  # S^T
    for i in range(q):
        for j in range(i + 1):
            both = -(out[i, j] + out[j, i])
            out[i, j] = both
            out[j, i] = both


@part
def solve_transposed(factor: Array, right: Array) -> None:
    """right := L^-T right, for a lower factor L."""
    q = factor.shape[0]
    for i in range(q - 1, -1, -1):
        for k in range(i + 1, q):
            weight = factor[k, i]
            for j in range(q):
                right[i, j] -= weight * right[k, j]
        weight = 1.0 / factor[i, i]
        for j in range(q):
            right[i, j] *= weight
