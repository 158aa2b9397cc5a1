"""Matrix products in NumPy."""

from typing import Any

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls
from xdsl.ir import Attribute

from xrelay.dialects.nn import dense
from xrelay.dialects.nn.dense import MatrixProductOp
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.base import by, meaning
from xrelay.interpreters.numerics import convert, narrow, quiet, widen


@quiet
def product(lhs: Array, rhs: Array, out_dtype: Attribute | None) -> Array:
    """The matrix product of (batches of) matrices, summed in `out_dtype` or else their dtype."""
    dtype = lhs.dtype if out_dtype is None else dtype_of(out_dtype)
    summands: tuple[Any, Any] = widen(convert(lhs, dtype)), widen(convert(rhs, dtype))
    return narrow(np.matmul(*summands), dtype)


def _matrix_product(op: MatrixProductOp, tensor_a: Array, tensor_b: Array) -> Array:
    if op.transpose_a.value.data:
        tensor_a = tensor_a.swapaxes(-1, -2)
    if op.transpose_b.value.data:
        tensor_b = tensor_b.swapaxes(-1, -2)
    return product(tensor_a, tensor_b, op.out_dtype)


@register_impls
class DenseFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.nn.dense`."""

    @meaning
    def run_dense(self, op: dense.DenseOp, data: Array, weight: Array) -> Array:
        return product(data, weight.T, op.out_dtype)

    @meaning
    def run_dense_pack(self, op: dense.ContribDensePackOp, data: Array, weight: Array) -> Array:
        blocks, depth, lanes = weight.shape
        columns = weight.transpose(1, 0, 2).reshape(depth, blocks * lanes)
        return product(data, columns, op.out_dtype)

    run_matmul = by(dense.MatmulOp, _matrix_product)
    run_batch_matmul = by(dense.BatchMatmulOp, _matrix_product)
