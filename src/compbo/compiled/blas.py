"""Matrix products inside compiled code, by the BLAS under SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

from compbo.compiled.build import part

if TYPE_CHECKING:
    from compbo.compiled.build import Array


AS_IT_IS, TRANSPOSED = ord("N"), ord("T")
DOUBLE = 8  # bytes

# Compiled code, also that read from disk, finds the routine by this name.
SYMBOL = "compbo_dgemm"
llvmlite.binding.add_symbol(SYMBOL, get_cython_function_address("scipy.linalg.cython_blas", "dgemm"))

_CHAR, _INT, _REAL = ir.IntType(8), ir.IntType(32), ir.DoubleType()
_ADDRESS = _CHAR.as_pointer()
_ARGUMENTS = (*[_CHAR] * 2, *[_INT] * 3, _REAL, _ADDRESS, _INT, _ADDRESS, _INT, _REAL, _ADDRESS, _INT)


@intrinsic  # type: ignore[untyped-decorator]
def _dgemm(
    typing: Any, transa: Any, transb: Any, m: Any, n: Any, k: Any, alpha: Any, a: Any, lda: Any, b: Any, ldb: Any,
    beta: Any, c: Any, ldc: Any,
) -> Any:  # fmt: skip
    """BLAS's dgemm: letters by their codes, arrays by their addresses."""
    del typing, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc

    def codegen(context: Any, builder: Any, _: Any, values: Any) -> Any:
        signature = ir.FunctionType(ir.VoidType(), [_ADDRESS] * len(_ARGUMENTS))
        function = cgutils.get_or_insert_function(builder.module, signature, SYMBOL)
        builder.call(function, [_passed(builder, kind, value) for kind, value in zip(_ARGUMENTS, values, strict=True)])
        return context.get_dummy_value()

    return types.void(*(types.float64 if kind is _REAL else types.int64 for kind in _ARGUMENTS)), codegen


def _passed(builder: Any, kind: Any, value: Any) -> Any:
    """An argument as Fortran takes it: an address as it is, anything else by reference."""
    if kind is _ADDRESS:
        return builder.inttoptr(value, _ADDRESS)
    if kind is not _REAL:  # an integer, or the code of a letter
        value = builder.trunc(value, kind)
    slot = cgutils.alloca_once(builder, value.type)
    builder.store(value, slot)
    return builder.bitcast(slot, _ADDRESS)


@part
def multiply(alpha: float, a: Array, b: Array, beta: float, c: Array) -> None:
    """c = alpha a b + beta c; the rows of c are contiguous, of a and b the rows or the columns."""
    m, k = a.shape
    n = b.shape[1]
    if m == 0 or n == 0 or k == 0:
        return
    a_is, lda = (AS_IT_IS, max(a.strides[0], k * DOUBLE)) if a.strides[1] == DOUBLE else (TRANSPOSED, a.strides[1])
    b_is, ldb = (AS_IT_IS, max(b.strides[0], n * DOUBLE)) if b.strides[1] == DOUBLE else (TRANSPOSED, b.strides[1])
    # rows here are columns there: c^T = b^T a^T; the stride of a single row says nothing
    _dgemm(
        *(b_is, a_is, n, m, k, alpha, b.ctypes.data, ldb // DOUBLE, a.ctypes.data, lda // DOUBLE),
        *(beta, c.ctypes.data, max(c.strides[0] // DOUBLE, n)),
    )
