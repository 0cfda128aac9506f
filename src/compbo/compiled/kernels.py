"""The kernels of `surrogate/kernels.py`, one row of squared distances at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from compbo.compiled.build import inlined_part, part

if TYPE_CHECKING:
    from compbo.compiled.build import Array

MATERN52, SQUARED_EXPONENTIAL = 0, 1

LOG2_E = 1.4426950408889634
LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # their sum is ln 2
ROUNDS = 6755399441055744.0  # 1.5 2^52: what is added to it is rounded to an integer, which stands in the lowest bits
LARGEST_EXPONENT = 708.0  # exp(-708) is the smallest that is not denormal
C2, C3, C4, C5, C6, C7 = (1 / math.factorial(i) for i in range(2, 8))
C8, C9, C10, C11, C12, C13 = (1 / math.factorial(i) for i in range(8, 14))


@inlined_part
def exp_minus(s: float) -> float:
    """exp(-s) for s >= 0 to the last bit or two: 2^k times a polynomial in the rest r, |r| <= ln(2) / 2.

    Unlike the exponential of the C library, a loop can compute it for several numbers at a time.
    """
    x = -LARGEST_EXPONENT if s > LARGEST_EXPONENT else -s
    shifted = x * LOG2_E + ROUNDS
    k = shifted - ROUNDS
    r = (x - k * LN_2_HIGH) - k * LN_2_LOW
    p = (((((C13 * r + C12) * r + C11) * r + C10) * r + C9) * r + C8) * r + C7
    p = ((((((p * r + C6) * r + C5) * r + C4) * r + C3) * r + C2) * r + 1.0) * r + 1.0
    return np.int64(np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)).view(np.float64)


@part
def kernel_row(kernel: int, row: Array, slope: Array) -> None:
    """r2 -> k in `row`, and dk/dr2 up to the kernel's factor in `slope`: see `surrogate/kernels.py`."""
    if kernel == MATERN52:
        for j in range(row.shape[0]):
            r2 = 0.0 if row[j] < 0.0 else row[j]
            s = math.sqrt(r2)
            e = exp_minus(s)
            slope[j] = e + s * e
            row[j] = slope[j] + (1.0 / 3.0) * r2 * e
    else:
        for j in range(row.shape[0]):
            e = exp_minus(0.0 if row[j] < 0.0 else row[j])
            slope[j] = e
            row[j] = e
