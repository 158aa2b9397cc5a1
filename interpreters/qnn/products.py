"""Products of quantised tensors in NumPy."""

from typing import TypeVar

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.ir import Block

from xrelay.dialects.qnn import products as qnn
from xrelay.interpreters.arrays import type_of
from xrelay.interpreters.base import Implementation
from xrelay.interpreters.numerics import quiet
from xrelay.interpreters.qnn.parameters import along

_ProductT = TypeVar("_ProductT", bound=qnn.QnnProductOp)


def _product(op_type: type[_ProductT]) -> Implementation[_ProductT]:
    """The product of the factors without their zero points."""

    @impl(op_type)
    @quiet
    def run(
        functions: InterpreterFunctions,
        interpreter: Interpreter,
        op: _ProductT,
        args: PythonValues,
    ) -> PythonValues:
        lhs, rhs, lhs_zero, rhs_zero, *_ = args
        factors = (
            np.asarray(lhs.astype(np.int32) - lhs_zero),
            np.asarray(rhs.astype(np.int32) - along(rhs_zero, op.channel_axis or 0, rhs.ndim)),
        )
        operands = Block(arg_types=[type_of(factor) for factor in factors]).args
        return interpreter.run_op(op.integer_product(*operands), factors)

    return run


@register_impls
class QnnProductFunctions(InterpreterFunctions):
    """One entry for each operator of `xrelay.dialects.qnn.products`."""

    run_batch_matmul = _product(qnn.QnnBatchMatmulOp)
    run_conv2d = _product(qnn.QnnConv2DOp)
    run_conv2d_transpose = _product(qnn.QnnConv2DTransposeOp)
    run_dense = _product(qnn.QnnDenseOp)
