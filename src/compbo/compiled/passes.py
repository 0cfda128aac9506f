"""The way forward to the columns v of a stack of batches, and the way back, a few batches at a time.

Notation is that of `surrogate/posterior.py`: P the scaled points, A the scaled observations, U = Ks C^-1. Shapes: b
batches of q points, d dimensions, n observations, K samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from compbo.compiled.blas import multiply
from compbo.compiled.build import entry, part, summing_part
from compbo.compiled.columns import inner_row, inner_row_cotangent
from compbo.compiled.factors import cholesky, covariance_cotangent
from compbo.compiled.kernels import kernel_row

if TYPE_CHECKING:
    from compbo.compiled.build import Array
    from compbo.compiled.columns import Integrand

ROWS = 256  # points handled at once: what belongs to them stays in the cache
BLOCK = 96  # columns handled at once in a product with a triangular matrix


class Model(NamedTuple):
    """What the passes need of a posterior."""

    kernel: int  # a constant of `kernels.py`
    train: Array  # A (n, d)
    norms: Array  # |A|^2 (n,)
    alpha: Array  # (n,)
    inverse: Array  # C^-1 (n, n); L_C^-1 where C is ill-conditioned
    inverse_factor: Array  # L_C^-1 (n, n)
    ill_conditioned: bool  # whether C is
    shift: float  # of the outputs
    scale: float  # of the outputs, that of the kernel included


class Kept(NamedTuple):
    """What the way back needs: of every batch, or of the last few alone where there is no way back."""

    mean: Array  # (b, q)
    factor: Array  # L at unit output scale (b, q, q)
    slope: Array  # dk/dr2 of Ks (b, q, n), up to the kernel's factor
    weights: Array  # U (b, q, n); Ks L_C^-T where C is ill-conditioned or there is no way back
    own_slope: Array  # dk/dr2 of Kss (b, q, q)


def batches_at_once(q: int) -> int:
    """How many batches of q points are handled at once."""
    return max(1, ROWS // q)


@entry
def forward(points: Array, z: Array, model: Model, integrand: Integrand, way_back: bool, kept: Kept, v: Array) -> bool:
    """Fill `kept` and v (b, q, K) at the points P (b, q, d) and the samples z (q, K), for a model and an integrand.

    way_back: whether there will be a way back; otherwise `kept` is memory for the batches handled at once. Returns
    whether every batch has a factor; it stops at the first that has none.
    """
    b, q, d = points.shape
    n, size, whitened = model.alpha.shape[0], max(1, ROWS // q), model.ill_conditioned or not way_back
    cross, norms, pairs = np.empty((size * q, n)), np.empty(size * q), np.empty((2, q * (q + 1) // 2))
    covariance, deviation = np.empty((q, q)), np.empty((q, z.shape[1]))
    for lo in range(0, b, size):
        hi = min(lo + size, b)
        rows, at = (hi - lo) * q, lo if way_back else 0  # `at`: of `kept`
        to = at + hi - lo
        weights, mean = kept.weights[at:to].reshape(rows, n), kept.mean[at:to].reshape(rows)
        cross_covariance(
            points[lo:hi].reshape(rows, d), model, norms, cross[:rows], kept.slope[at:to].reshape(rows, n), mean
        )
        if whitened:
            times_upper(cross[:rows], model.inverse_factor, weights)
        else:
            multiply(1.0, cross[:rows], model.inverse, 0.0, weights)
        for i in range(hi - lo):
            mine = slice(i * q, (i + 1) * q)
            right = weights[mine] if whitened else cross[mine]
            multiply(-1.0, weights[mine], right.T, 0.0, covariance)
            add_own(model.kernel, points[lo + i], norms[mine], pairs, covariance, kept.own_slope[at + i])
            if not cholesky(covariance, kept.factor[at + i]):
                return False
            multiply(model.scale, kept.factor[at + i], z, 0.0, deviation)
            for j in range(q):
                inner_row(integrand, mean[i * q + j], deviation[j], v[lo + i, j])
    return True


@part
def cross_covariance(points: Array, model: Model, norms: Array, cross: Array, slope: Array, mean: Array) -> None:
    """Norms |P|^2 (m,), `cross` = Ks (m, n), its slope (m, n) and the mean (m,) of a model at the points P (m, d)."""
    multiply(-2.0, points, model.train.T, 0.0, cross)
    for i in range(cross.shape[0]):
        row = cross[i]
        norms[i] = dot(points[i], points[i])
        for j in range(row.shape[0]):
            row[j] += norms[i] + model.norms[j]
        kernel_row(model.kernel, row, slope[i])
        mean[i] = dot(row, model.alpha) + model.shift


@summing_part
def dot(a: Array, b: Array) -> float:
    """a^T b of two rows."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@part
def times_upper(left: Array, lower: Array, out: Array) -> None:
    """out = left @ lower^T by blocks, without the products with the zeros above the diagonal of `lower`."""
    n = lower.shape[0]
    blocks = max(1, n // BLOCK)
    for i in range(blocks):
        start, stop = i * n // blocks, (i + 1) * n // blocks
        multiply(1.0, left[:, :stop], lower[start:stop, :stop].T, 0.0, out[:, start:stop])


@part
def add_own(kernel: int, points: Array, norms: Array, pairs: Array, covariance: Array, slope: Array) -> None:
    """Add Kss of a kernel to the lower triangle of `covariance`, and write its slope (q, q).

    points (q, d) and norms (q,): P and |P|^2. pairs (2, q (q + 1) / 2): memory for both of every pair of points.
    """
    q, at = points.shape[0], 0
    for i in range(q):
        for j in range(i + 1):
            pairs[0, at + j] = norms[i] + norms[j] - 2.0 * dot(points[i], points[j])
        at += i + 1
    kernel_row(kernel, pairs[0], pairs[1])
    at = 0
    for i in range(q):
        for j in range(i + 1):
            covariance[i, j] += pairs[0, at + j]
            slope[i, j] = pairs[1, at + j]
            slope[j, i] = pairs[1, at + j]
        at += i + 1


@entry
def backward(points: Array, z: Array, model: Model, integrand: Integrand, kept: Kept, c: Array, out: Array) -> None:
    """Fill out (b, q, d) with dP / 2, up to the kernel's factor, for the cotangent c (b, q, K) of v.

    points, z, model, integrand, kept: as on the way forward.
    """
    b, q, d = points.shape
    n, size, z_t = model.alpha.shape[0], max(1, ROWS // q), np.ascontiguousarray(z.T)
    w, unwhitened = np.empty((size * q, n)), np.empty((size * q if model.ill_conditioned else 0, n))
    deviation, dmean = np.empty((q, z.shape[1])), np.empty(q)
    dfactor, dcovariance, work = np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    for lo in range(0, b, size):
        hi = min(lo + size, b)
        rows = (hi - lo) * q
        weights = kept.weights[lo:hi].reshape(rows, n)
        if model.ill_conditioned:
            multiply(1.0, weights, model.inverse, 0.0, unwhitened[:rows])
            weights = unwhitened[:rows]
        for i in range(lo, hi):
            multiply(model.scale, kept.factor[i], z, 0.0, deviation)
            for j in range(q):
                dmean[j] = inner_row_cotangent(integrand, c[i, j], kept.mean[i, j], deviation[j])
            multiply(model.scale, deviation, z_t, 0.0, dfactor)
            covariance_cotangent(kept.factor[i], dfactor, work, dcovariance)
            mine = w[(i - lo) * q : (i - lo + 1) * q]
            multiply(1.0, dcovariance, weights[(i - lo) * q : (i - lo + 1) * q], 0.0, mine)
            for j in range(q):
                total = times_slope(mine[j], dmean[j], model.alpha, kept.slope[i, j])
                pull_of_point(j, total, dcovariance[j], kept.own_slope[i, j], points[i], out[i, j])
        multiply(-1.0, w[:rows], model.train, 1.0, out[lo:hi].reshape(rows, d))


@summing_part
def times_slope(row: Array, dmean: float, alpha: Array, slope: Array) -> float:
    """A row of -2 dSigma U becomes one of W = (dmean alpha^T - 2 dSigma U) * slope; returns its sum."""
    total = 0.0
    for j in range(row.shape[0]):
        row[j] = (row[j] + dmean * alpha[j]) * slope[j]
        total += row[j]
    return total


@part
def pull_of_point(j: int, total: float, dcovariance: Array, slope: Array, points: Array, out: Array) -> None:
    """out (d,) = (total + sum(O)) P_j - O P of point j, with its row O = 2 dSigma * dk/dr2 of Kss.

    dcovariance (q,): its row of -2 dSigma. slope (q,): of Kss. points (q, d): P.
    """
    out[:] = 0.0
    for i in range(points.shape[0]):
        weight = dcovariance[i] * slope[i]
        total -= weight
        for k in range(out.shape[0]):
            out[k] += weight * points[i, k]
    for k in range(out.shape[0]):
        out[k] += total * points[j, k]
