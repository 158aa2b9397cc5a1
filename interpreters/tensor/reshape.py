"""Operators that change the shape of a tensor, in NumPy."""

from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor import reshape
from xrelay.dialects.tensor.reshape import apply_reshape
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.base import meaning


@register_impls
class ReshapeFunctions(InterpreterFunctions):
    """The operators of `xrelay.dialects.tensor.reshape`."""

    @meaning
    def run_reshape(self, op: reshape.ReshapeOp, data: Array) -> Array:
        codes, allowzero = op.newshape.get_values(), bool(op.allowzero.value.data)
        return data.reshape(apply_reshape(data.shape, codes, allowzero))

    @meaning
    def run_reverse_reshape(self, op: reshape.ReverseReshapeOp, data: Array) -> Array:
        return data.reshape(op.new_shape(data.shape))

    @meaning
    def run_batch_flatten(self, op: reshape.BatchFlattenOp, data: Array) -> Array:
        first, *rest = data.shape
        return data.reshape(first, prod(rest))

    @meaning
    def run_squeeze(self, op: reshape.SqueezeOp, data: Array) -> Array:
        return np.squeeze(data, None if op.axis is None else op.axis.get_values())

    @meaning
    def run_expand_dims(self, op: reshape.ExpandDimsOp, data: Array) -> Array:
        shape = data.shape
        axis = normalize_axis(op.axis.value.data, len(shape) + 1)
        ones = (1,) * op.num_newaxis.value.data
        return data.reshape(shape[:axis] + ones + shape[axis:])
