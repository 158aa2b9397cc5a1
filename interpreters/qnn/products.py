"""Products of quantised tensors in NumPy."""

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Block

from xrelay.dialects.qnn import products as qnn
from xrelay.interpreters.arrays import type_of
from xrelay.interpreters.numerics import quiet
from xrelay.interpreters.qnn.parameters import along


@quiet
def _product(interpreter: Interpreter, op: qnn.QnnProductOp, args: PythonValues) -> PythonValues:
    """The product of the factors without their zero points."""
    lhs, rhs, lhs_zero, rhs_zero, *_ = args
    factors = (
        np.asarray(lhs.astype(np.int32) - lhs_zero),
        np.asarray(rhs.astype(np.int32) - along(rhs_zero, op.channel_axis or 0, rhs.ndim)),
    )
    operands = Block(arg_types=[type_of(factor) for factor in factors]).args
    return interpreter.run_op(op.integer_product(*operands), factors)


@register_impls
class QnnProductFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.qnn.products`."""

    @impl(qnn.QnnBatchMatmulOp)
    def run_batch_matmul(
        self, interpreter: Interpreter, op: qnn.QnnBatchMatmulOp, args: PythonValues
    ) -> PythonValues:
        return _product(interpreter, op, args)

    @impl(qnn.QnnConv2DOp)
    def run_conv2d(
        self, interpreter: Interpreter, op: qnn.QnnConv2DOp, args: PythonValues
    ) -> PythonValues:
        return _product(interpreter, op, args)

    @impl(qnn.QnnConv2DTransposeOp)
    def run_conv2d_transpose(
        self, interpreter: Interpreter, op: qnn.QnnConv2DTransposeOp, args: PythonValues
    ) -> PythonValues:
        return _product(interpreter, op, args)

    @impl(qnn.QnnDenseOp)
    def run_dense(
        self, interpreter: Interpreter, op: qnn.QnnDenseOp, args: PythonValues
    ) -> PythonValues:
        return _product(interpreter, op, args)
