"""The operators on the representation of elements in NumPy."""

import numpy as np
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)

from xrelay.dialects.tensor import bits
from xrelay.interpreters.arrays import dtype_of
from xrelay.interpreters.base import elementwise, predicate
from xrelay.interpreters.numerics import quiet


@register_impls
class BitFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.tensor.bits`."""

    run_bitwise_not = elementwise(bits.BitwiseNotOp, np.bitwise_not)
    run_isfinite = predicate(bits.IsFiniteOp, np.isfinite)
    run_isinf = predicate(bits.IsInfOp, np.isinf)
    run_isnan = predicate(bits.IsNanOp, np.isnan)

    @impl(bits.ReinterpretOp)
    def run_reinterpret(
        self, interpreter: Interpreter, op: bits.ReinterpretOp, args: PythonValues
    ) -> PythonValues:
        return (np.ascontiguousarray(args[0]).reshape(args[0].shape).view(dtype_of(op.dtype)),)

    @impl(bits.FixedPointMultiplyOp)
    @quiet
    def run_fixed_point_multiply(
        self, interpreter: Interpreter, op: bits.FixedPointMultiplyOp, args: PythonValues
    ) -> PythonValues:
        left, right = map(np.int64, op.shifts)
        x = np.asarray(args[0].astype(np.int64) << left)
        product = np.asarray(x * np.int64(op.multiplier.value.data))
        rounded = product + (np.int64(1) << (right - np.int64(1)))
        return (np.asarray(rounded >> right, np.int64).astype(np.int32),)
