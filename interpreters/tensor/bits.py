"""The operators on the representation of elements in NumPy."""

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import bits
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import elementwise, meaning, predicate


@register_impls
class BitFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.tensor.bits`."""

    run_bitwise_not = elementwise(bits.BitwiseNotOp, np.bitwise_not)
    run_isfinite = predicate(bits.IsFiniteOp, np.isfinite)
    run_isinf = predicate(bits.IsInfOp, np.isinf)
    run_isnan = predicate(bits.IsNanOp, np.isnan)

    @meaning
    def run_reinterpret(self, op: bits.ReinterpretOp, data: Array) -> Array:
        return np.ascontiguousarray(data).reshape(data.shape).view(dtype_of(op.dtype))

    @meaning
    def run_fixed_point_multiply(self, op: bits.FixedPointMultiplyOp, data: Array) -> Array:
        left, right = map(np.int64, op.shifts)
        x = np.asarray(data.astype(np.int64) << left)
        product = np.asarray(x * np.int64(op.multiplier.value.data))
        rounded = product + (np.int64(1) << (right - np.int64(1)))
        return np.asarray(rounded >> right, np.int64).astype(np.int32)
